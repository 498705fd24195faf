"""From settings to how Temporal is reached."""

from pathlib import Path

import pytest

from riven.main.temporal import address_of
from riven.settings import Settings


def read(**settings: str) -> Settings:
    given = {"ENGINE": "temporal", "TEMPORAL_ADDRESS": "temporal.example:7233", **settings}
    return Settings.read({f"RIVEN_{name}": value for name, value in given.items()})


def test_without_more_it_is_reached_without_tls() -> None:
    where = address_of(read(TEMPORAL_NAMESPACE="orders"))
    assert (where.address, where.namespace, where.tls, where.api_key) == (
        "temporal.example:7233",
        "orders",
        None,
        None,
    )


@pytest.mark.parametrize(
    "how", [{"TEMPORAL_TLS": "true"}, {"TEMPORAL_API_KEY": "k"}, {"TEMPORAL_TLS_SERVER_NAME": "n"}]
)
def test_whatever_needs_tls_brings_it(how: dict[str, str]) -> None:
    where = address_of(read(**how))
    assert where.tls is not None
    assert where.tls.server_name == how.get("TEMPORAL_TLS_SERVER_NAME")
    assert where.api_key == how.get("TEMPORAL_API_KEY")


def test_a_key_may_be_sent_without_tls_by_whoever_says_so() -> None:
    assert address_of(read(TEMPORAL_API_KEY="k", TEMPORAL_TLS="false")).tls is None


def test_files_are_read(tmp_path: Path) -> None:
    files = {}
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_bytes(name.encode())
        files[f"TEMPORAL_TLS_{name.upper()}_FILE"] = str(tmp_path / name)
    tls = address_of(read(**files)).tls
    assert tls is not None
    assert (tls.server_ca, tls.client_certificate, tls.client_key) == (b"ca", b"cert", b"key")

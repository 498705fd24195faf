"""From settings to how Temporal is reached."""

import asyncio
import contextlib
import ssl
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from riven.engines.port import EngineAwayError
from riven.engines.temporal.client import check_connection
from riven.main.temporal import address_of, open_client
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


# ---- on the wire -----------------------------------------------------------------------------------------------------


def certificate(name: str, issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None, folder: Path):
    """Signed by the issuer, or by itself; written as `name.pem` and `name-key.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)  # noqa: TID251 - of certificates
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer[0].subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key if issuer is None else issuer[1], hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / f"{name}-key.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return made, key


@asynccontextmanager
async def guarded(address: str, folder: Path):
    """A door before Temporal that speaks TLS, and lets in whom it knows."""
    authority = certificate("authority", None, folder)
    certificate("temporal.test", authority, folder)
    certificate("riven", authority, folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "authority.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "temporal.test.pem", folder / "temporal.test-key.pem")
    context.set_alpn_protocols(["h2"])
    host, _, port = address.partition(":")

    async def pour(reader, writer):
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def let_in(reader, writer):
        inside, outside = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pour(reader, outside), pour(inside, writer))

    door = await asyncio.start_server(let_in, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{door.sockets[0].getsockname()[1]}"
    finally:
        door.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def test_certificates_let_in_and_without_them_it_is_away(temporal_server, tmp_path):
    async with guarded(temporal_server.address, tmp_path) as address:
        files = {
            "TEMPORAL_TLS_CA_FILE": str(tmp_path / "authority.pem"),
            "TEMPORAL_TLS_CERT_FILE": str(tmp_path / "riven.pem"),
            "TEMPORAL_TLS_KEY_FILE": str(tmp_path / "riven-key.pem"),
            "TEMPORAL_TLS_SERVER_NAME": "temporal.test",
        }
        await check_connection(await open_client(read(TEMPORAL_ADDRESS=address, **files)))
        del files["TEMPORAL_TLS_CERT_FILE"], files["TEMPORAL_TLS_KEY_FILE"]
        for less in (files, {}):
            with pytest.raises((EngineAwayError, TimeoutError)):
                async with asyncio.timeout(2):
                    await check_connection(await open_client(read(TEMPORAL_ADDRESS=address, **less)))

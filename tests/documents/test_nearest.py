import time

import pytest

from riven.documents.nearest import hint, nearest


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("maxAttempts", "maxAttempts"),
        ("max_attempts", "maxAttempts"),
        ("MAXATTEMPTS", "maxAttempts"),
        ("maxAtempts", "maxAttempts"),
        ("jiter", "jitter"),
        ("dependsOn", "needs"),
        ("zzz", None),
        ("", None),
        ("x" * 100_000, None),
    ],
)
def test_the_name_that_was_meant_is_found(name: str, found: str | None) -> None:
    assert nearest(name, ["maxAttempts", "jitter", "needs"], {"dependson": "needs"}) == found


def test_a_synonym_counts_only_where_its_name_exists() -> None:
    assert nearest("dependsOn", ["jitter"], {"dependson": "needs"}) is None


def test_the_hint_is_printable_or_nothing() -> None:
    assert hint("ordr", ["order"]) == "; did you mean 'order'?"
    assert hint("zzz", ["order"]) == ""
    assert hint("a\x07", ["a\x07b"]) == "; did you mean 'a\ufffdb'?"


def test_ten_thousand_names_are_compared_in_no_time() -> None:
    names = [f"node_number_{number}" for number in range(10_000)]
    begun = time.process_time()
    assert nearest("node_nmber_17", names) is not None
    assert time.process_time() - begun < 1

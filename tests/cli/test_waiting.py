"""Why an execution does not go on, in words."""

import pytest

from riven.cli.waiting import waiting_words


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        ({"kind": "paused"}, "paused"),
        (
            {"kind": "workspace_limit", "limit": 5, "inUse": 5, "position": 3, "holders": ["x"]},
            "waits for a free slot: 5 of 5 in use, position 3",
        ),
        ({"kind": "timer", "until": "2026-11-20T08:00:00.000Z"}, "waits, until 2026-11-20T08:00:00.000Z"),
        ({"kind": "worker_busy", "position": 1}, "all workers are busy, position 1"),
        ({"kind": "of a later version"}, "of a later version"),
        ({"kind": "a\x1b[2J"}, "a\\x1b[2J"),
    ],
)
def test_it_says_what_is_waited_for(waiting: dict[str, object], words: str) -> None:
    assert waiting_words(waiting) == words


def test_every_kind_has_words() -> None:
    kinds = (
        "paused dispatch_retry approval signal timer retry workspace_disabled engine_disabled engine_down"
        " worker_absent worker_busy workspace_limit"
    )
    for kind in kinds.split():
        assert waiting_words({"kind": kind}) != kind or kind == "paused"

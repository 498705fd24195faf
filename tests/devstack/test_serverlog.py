from pathlib import Path

import pytest

from riven.devstack.serverlog import ServerLog, progress_in, reason_in


def test_only_whole_lines_that_are_new_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("of an earlier start\n", encoding="utf-8")
    log = ServerLog(path)
    with log.open() as file:
        file.write(b"one\ntw")
        assert log.new_lines() == ["one"]
        assert log.new_lines() == []
        file.write(b"o\n")
        assert log.new_lines() == ["two"]
    assert path.read_text(encoding="utf-8") == "of an earlier start\none\ntwo\n"


def test_a_log_that_has_grown_is_cut_under_the_writer_and_its_end_kept(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log", limit=1000)
    with log.open() as file:
        for number in range(500):
            file.write(b"%03d\n" % number)
        log.keep_bounded()
        file.write(b"after\n")
        assert log.new_lines() == ["after"]
    assert log.path.read_bytes() == b"after\n"
    assert log.older.stat().st_size == 1000
    assert log.older.read_bytes().endswith(b"498\n499\n")
    for path in (log.path, log.older):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "log", limit=1000)
    with log.open() as file:
        file.write(b"x" * 1000)
    log.keep_bounded()
    assert log.path.stat().st_size == 1000
    assert not log.older.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "LOG:  database system was not properly shut down; automatic recovery in progress",
            "recovering after a crash",
        ),
        ("LOG:  redo in progress, elapsed time: 12.00 s, current LSN: 0/1", "recovering after a crash: 12 s"),
        (
            "LOG:  syncing data directory (fsync), elapsed time: 3.01 s, current path: ./base",
            "recovering after a crash: syncing files, 3 s",
        ),
        ("LOG:  listening on IPv4 address", None),
    ],
)
def test_progress_of_a_start_is_told_in_words(line: str, words: str | None) -> None:
    assert progress_in(["LOG:  starting PostgreSQL", line, "LOG:  something else"]) == words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('PANIC:  could not write to file "pg_wal/xlogtemp.9": No space left on device', "the disk is full"),
        ('LOG:  could not bind IPv4 address "127.0.0.1": Address already in use', "its port is taken"),
        ("FATAL:  something nobody has seen before", "something nobody has seen before"),
        ("", "it said nothing"),
    ],
)
def test_why_a_server_gave_up_is_told_in_words(line: str, words: str) -> None:
    assert reason_in([line]).startswith(words)

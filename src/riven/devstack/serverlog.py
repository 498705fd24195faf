"""A server's log: bounded, read for how far it got, and for why it gave up.

The server appends to it and nothing of ours lies between, so that it neither waits for riven nor dies with it. When the
file has grown too large it is copied away and cut to nothing; the server's next line begins it anew.
"""

import os
import re
import shutil
from pathlib import Path
from typing import IO

LIMIT = 8 * 1024 * 1024
"""Bytes of the log and of the one older log that is kept."""

_PROGRESS = (
    (re.compile(r"automatic recovery in progress"), "recovering after a crash"),
    (re.compile(r"redo in progress, elapsed time: (\d+)"), "recovering after a crash: {0} s"),
    (
        re.compile(r"syncing data directory \(\w+\), elapsed time: (\d+)"),
        "recovering after a crash: syncing files, {0} s",
    ),
    (
        re.compile(r"performing end-of-recovery checkpoint|end-of-recovery"),
        "recovering after a crash: almost done",
    ),
)

_REASONS = (
    ("No space left on device", "the disk is full; free some space and start again"),
    ("Disk quota exceeded", "the disk quota is used up; free some space and start again"),
    ("Read-only file system", "the file system is read-only"),
    ("could not bind", "its port is taken by another program"),
    ("could not create shared memory segment", "the system's limits on shared memory are too low"),
    ("could not create semaphores", "the system's limits on semaphores are too low"),
    ("Cannot allocate memory", "there is not enough memory"),
    ("could not map anonymous shared memory", "there is not enough memory"),
    ("is still in use", "processes of an earlier server still run on the directory"),
    ("Permission denied", "files of the data directory are not accessible to the user it runs as"),
    ("invalid permissions", "the data directory may be entered by others; `chmod 700` it"),
    ("wrong ownership", "the data directory belongs to another user"),
    (
        "database files are incompatible",
        "the data directory was made by another version or on another kind of machine",
    ),
    ("could not locate a valid checkpoint record", "the data directory is damaged; restore it from a backup"),
    ("invalid primary checkpoint record", "the data directory is damaged; restore it from a backup"),
    ("could not read file", "the data directory is damaged; restore it from a backup"),
    ("unrecognized configuration parameter", "postgresql.conf sets something that does not exist"),
    ("configuration file", "postgresql.conf or riven.conf has errors"),
)


class ServerLog:
    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self.path = path
        self._limit = limit
        self._read_to = 0

    @property
    def older(self) -> Path:
        return self.path.with_name(self.path.name + ".1")

    def open(self) -> IO[bytes]:
        """For a server to write to; what is written from now on is new."""
        self.keep_bounded()
        file = _private(self.path, os.O_APPEND)
        self._read_to = os.fstat(file.fileno()).st_size
        return file

    def keep_bounded(self) -> None:
        """A few lines written while this works may be lost; the server is never held up."""
        try:
            if self.path.stat().st_size <= self._limit:
                return
            with self.path.open("rb") as full, _private(self.older, os.O_TRUNC) as kept:
                full.seek(-self._limit, os.SEEK_END)
                shutil.copyfileobj(full, kept)
        except FileNotFoundError:
            return
        except OSError:  # no room for a copy: then without one
            self.older.unlink(missing_ok=True)
        os.truncate(self.path, 0)
        self._read_to = 0

    def new_lines(self) -> list[str]:
        """Whole lines written since the log was opened or last asked."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                text = file.read(self._limit)
        except OSError:
            return []
        whole = text.rpartition(b"\n")[0]
        if whole:
            self._read_to += len(whole) + 1
        return whole.decode(errors="replace").splitlines() if whole else []


def _private(path: Path, mode: int) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags | mode, 0o600), "wb", buffering=0)


def progress_in(lines: list[str]) -> str | None:
    """The last thing in these lines that tells how far a start is."""
    for line in reversed(lines):
        for pattern, words in _PROGRESS:
            if found := pattern.search(line):
                return words.format(*found.groups())
    return None


def reason_in(lines: list[str]) -> str:
    """Why a program gave up, in words; its own last words where they are not known to us."""
    for mark, reason in _REASONS:
        if any(mark in line for line in lines):
            return reason
    loud = [line for line in lines if re.search(r"\b(?:FATAL|PANIC|ERROR|error|fatal):", line)]
    last = (loud or [line for line in lines if line.strip()] or ["it said nothing"])[-1]
    return re.sub(r"^.*?\b(?:FATAL|PANIC|ERROR|error|fatal):\s*", "", last).strip()

"""A directory of ours: private, owned by one process at a time, its small files written whole or not at all.

Ownership is a `flock` on the file `lock`: the kernel gives it back when its holder dies, however it dies, so that no
stale lock has to be judged. The pid inside is for the message alone.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import time
from pathlib import Path

from riven.devstack.errors import DataDirectoryError, DirectoryBusyError

LOCK = "lock"

_GRACE = 1.0
"""Seconds for which a lock is waited for whose holder is not alive."""


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._lock: int | None = None

    @property
    def owned(self) -> bool:
        return self._lock is not None

    def own(self) -> None:
        """Make the directory if need be, and own it. Raises DirectoryBusyError when another process does."""
        if self._lock is not None:
            return
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirectoryError.of(self.path, error) from error
        lock = self.open_lock(LOCK)
        try:
            self._take(lock)
            os.truncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(lock)
            raise DataDirectoryError.of(self.path, error) from error
        except DirectoryBusyError:
            os.close(lock)
            raise
        self._lock = lock

    def release(self) -> None:
        """Let others own it. The file stays: whoever removed it could remove one that another process just locked."""
        if self._lock is None:
            return
        with contextlib.suppress(OSError):  # a full disk must not keep us from letting go
            os.truncate(self._lock, 0)
        fcntl.flock(self._lock, fcntl.LOCK_UN)  # not by closing alone: a forked process may have a copy
        os.close(self._lock)
        self._lock = None

    def read(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataDirectoryError.of(self.path / name, error) from error

    def write(self, name: str, text: str) -> None:
        """Private (0600), and durable when this returns; after a crash either the old text is there or the new."""
        path = self.path / name
        with contextlib.suppress(DataDirectoryError, ValueError):
            if self.read(name) == text:
                return
        fresh = self.path / f".{name}.{secrets.token_hex(4)}"
        try:
            write_durably(fresh, text)
            self.hand_over(fresh)
            fresh.replace(path)
            sync_directory(self.path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise DataDirectoryError.of(path, error) from error

    def _take(self, lock: int) -> None:
        end = time.monotonic() + _GRACE
        while not take(lock):
            text = os.pread(lock, 20, 0).decode(errors="replace").strip()
            pid = int(text) if text.isdecimal() else None
            # Not yet written, or dead already: what it forked a moment ago may hold a copy of the lock until its exec.
            if (pid is not None and _lives(pid)) or time.monotonic() > end:
                owner = f"process {pid}" if pid else "another process"
                raise DirectoryBusyError(
                    f"{self.path} is in use by {owner}: stop that one first, "
                    "or choose another directory with --data-dir",
                    pid,
                )
            time.sleep(0.01)

    def open_lock(self, name: str) -> int:
        """A file to be taken by `take`: it closes with the process and is not inherited, unless it is passed on."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            lock = os.open(self.path / name, flags, 0o600)
            self.hand_over(self.path / name)
        except OSError as error:
            raise DataDirectoryError.of(self.path / name, error) from error
        return lock

    def hand_over(self, path: Path) -> None:
        """What root writes into somebody's directory belongs to that somebody."""
        if os.geteuid() == 0:
            owner = self.path.stat()
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def take(descriptor: int) -> bool:
    """Lock an open file if nobody else has; the lock lives as long as any copy of the descriptor, in any process."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise
    return True


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def write_durably(path: Path, text: str) -> None:
    """A new file is private, one that is there keeps its owner and rights.

    No link is followed: the directory may belong to another user, and we may be root.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: a rename is one only then."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Why an embedded server does not run, in one line that says what to do.

DevstackError
├── DataDirectoryError        the directory: missing rights, full disk, not ours
│   ├── DirectoryBusyError    somebody else works in it; `pid` where it is known
│   └── DataVersionError      it was made by another major version
├── MissingServerError        the wheel is not installed
├── LaunchError               the program cannot be run as the user it must run as
└── ServerFailedError         the server started and gave up; `log` says more
"""

import errno
from pathlib import Path

from riven.core.errors import RivenError

_ADVICE = {
    errno.EACCES: "permission denied; choose another directory with --data-dir, or give this user the right to write",
    errno.EPERM: "not permitted; choose another directory with --data-dir",
    errno.EROFS: "the file system is read-only; choose another directory with --data-dir",
    errno.ENOSPC: "the disk is full; free some space or choose another directory with --data-dir",
    errno.EDQUOT: "the disk quota is used up; free some space or choose another directory with --data-dir",
    errno.ENOTDIR: "a part of the path is a file; choose another directory with --data-dir",
    errno.ELOOP: "it is a link, which is not followed there; remove it",
    errno.EEXIST: "a file of that name is in the way; choose another directory with --data-dir",
    errno.ENOLCK: "its file system cannot lock files; choose a directory on a local disk with --data-dir",
    errno.EOPNOTSUPP: "its file system cannot lock files; choose a directory on a local disk with --data-dir",
}


class DevstackError(RivenError):
    pass


class DataDirectoryError(DevstackError):
    @classmethod
    def of(cls, path: Path, error: OSError) -> "DataDirectoryError":
        return cls(f"{path}: {_ADVICE.get(error.errno or 0, error.strerror or str(error))}")


class DirectoryBusyError(DataDirectoryError):
    def __init__(self, message: str, pid: int | None) -> None:
        self.pid = pid
        super().__init__(message)


class DataVersionError(DataDirectoryError):
    pass


class MissingServerError(DevstackError):
    pass


class LaunchError(DevstackError):
    pass


class ServerFailedError(DevstackError):
    def __init__(self, message: str, log: Path | None = None) -> None:
        self.log = log
        super().__init__(message)

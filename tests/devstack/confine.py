"""Runs a program with less than it may (Linux): `python -m tests.devstack.confine MODE PATH PROGRAM...`

user            as an ordinary user, to whom the files of whoever starts this belong
no-namespaces   as root, who may not make user namespaces; PATH unused
no-privileges   the same, and without the privilege to pass through directories of others
small-disk      as root, with 24 MB of disk at PATH
read-only       as root, with a disk at PATH that cannot be written to
"""

import ctypes
import os
import sys
from pathlib import Path

NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
READ_ONLY = 1
PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2

libc = ctypes.CDLL(None, use_errno=True)


def called(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(flags: int, mapping: str) -> None:
    """Become the first of a new user namespace. More than oneself can only be mapped from outside of it."""
    pid = os.getpid()
    entered, mapped = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.close(entered[1])
        os.read(entered[0], 1)
        setgroups = Path(f"/proc/{pid}/setgroups")
        if os.geteuid() != 0:
            setgroups.write_text("deny", encoding="ascii")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{pid}/{name}").write_text(mapping, encoding="ascii")
        os.write(mapped[1], b".")
        os._exit(0)
    called(libc.unshare(flags | NEW_USER))
    os.write(entered[1], b".")
    os.close(mapped[1])
    if not os.read(mapped[0], 1):
        raise PermissionError("the user namespace could not be mapped")


def main(mode: str, path: str, command: list[str]) -> None:
    uid = os.geteuid()
    match mode:
        case "user":
            enter(0, f"1000 {uid} 1")
        case "no-namespaces" | "no-privileges":
            enter(0, "0 0 65536")
            Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
            if mode == "no-privileges":
                called(libc.prctl(PR_CAPBSET_DROP, DAC_OVERRIDE, 0, 0, 0))
                called(libc.prctl(PR_CAPBSET_DROP, DAC_READ_SEARCH, 0, 0, 0))
        case "small-disk" | "read-only":
            enter(NEW_MOUNTS, f"0 {uid} 1")
            flags = READ_ONLY if mode == "read-only" else 0
            called(libc.mount(b"none", path.encode(), b"tmpfs", flags, b"size=24m"))
        case _:
            raise SystemExit(__doc__)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])

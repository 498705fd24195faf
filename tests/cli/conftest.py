"""The command inside the test's process: as the real one, without the time that Python takes to start."""

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from riven.cli.app import run_app
from riven.main.command import COMMANDS, LOADERS


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `riven` with these arguments in `tmp_path`, its standard input empty unless `stdin` is given."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        data = stdin.encode("utf-8", errors="surrogatepass")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        code = run_app(arguments, COMMANDS, LOADERS)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, told.out, told.err)

    return run

"""The console script: what holds for every command."""

import importlib.metadata
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from tests.cli.terminal import RIVEN, riven

from riven.cli.app import Entry, run_app
from riven.main.command import COMMANDS, LOADERS


def test_alone_it_prints_its_help() -> None:
    alone = riven()
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == riven("--help").stdout
    for name in COMMANDS:
        assert f"\n  {name} " in alone.stdout


def test_the_version_is_that_of_the_package() -> None:
    assert riven("--version").stdout == f"riven {importlib.metadata.version('riven')}\n"


def test_the_console_script_is_installed() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="riven")
    assert script.value == "riven.main.command:main"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_the_command_understands(name: str) -> None:
    done = riven(name, "--help")
    assert done.returncode == 0
    examples = re.findall(rf"^\s+(?:.*\| )?riven ({name} .*)$", done.stdout, re.MULTILINE)
    assert examples
    for example in examples:
        arguments = shlex.split(re.split(r" [>|] ", example)[0])[1:]
        COMMANDS[name].load().make_context(name, arguments)  # raises for what it does not understand


@pytest.mark.parametrize("group", ["executions", "workspaces", "keys"])
def test_so_has_that_of_every_command_of_a_group(group: str) -> None:
    found = COMMANDS[group].load()
    assert isinstance(found, click.Group)
    for name, command in found.commands.items():
        examples = re.findall(rf"^\s+riven {group} {name}\b(.*)$", command.epilog or "", re.MULTILINE)
        assert examples, f"riven {group} {name}"
        for example in examples:
            command.make_context(name, shlex.split(re.split(r" [>|] ", example)[0]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rnu"], "did you mean 'run'?"),
        (["frobnicate"], "there are run, validate, graph"),
        (["refund.yaml"], "riven run refund.yaml"),
        (["--frobnicate"], "no such option"),
        (["run"], "missing argument 'FILE'"),
        (["run", "x.yaml", "--jsn"], "--json"),
        (["graph", "a", "b"], "unexpected extra argument"),
        (["worker", "--engine", "banana"], "'embedded', 'temporal'"),
        (["api", "--port", "banana"], "'banana' is not a whole number"),
        (["\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_a_wrong_call_is_one_line_that_says_what_to_do(arguments: list[str], said: str) -> None:
    done = riven(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.startswith("riven")
    assert done.stderr.count("\n") == 1
    assert done.stderr[:-1].isprintable()


def broken() -> None:
    raise RuntimeError("a secret\nplan")


def test_an_error_of_our_own_is_one_line_and_more_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    entries = {"broken": Entry("Breaks.", lambda: click.Command("broken", callback=broken))}
    assert run_app(["broken"], entries, LOADERS) == 1
    told = capsys.readouterr().err
    assert (
        told
        == "riven: internal error: RuntimeError: a secret\\nplan (please report it, with what --debug adds)\n"
    )
    assert run_app(["broken", "--debug"], entries, LOADERS) == 1
    assert "Traceback" in capsys.readouterr().err


def test_listing_the_commands_loads_none_of_them() -> None:
    program = "import sys\nfrom riven.main.command import COMMANDS, LOADERS\nfrom riven.cli.app import run_app\nrun_app([], COMMANDS, LOADERS)\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([RIVEN[0], "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not {"riven.cli.run", "riven.cli.validate", "pydantic", "rich", "yaml"} & set(done.stderr.split())


def shell(command: str) -> subprocess.CompletedProcess[str]:
    line = command.replace("riven", " ".join(RIVEN), 1)
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "command", ["riven --help >&-", "riven validate - </dev/null 2>&- >&-", "riven run - <&-"]
)
def test_streams_that_are_closed_are_no_error_of_ours(command: str) -> None:
    done = shell(command)
    assert done.returncode == (0 if "--help" in command else 2)
    assert "internal" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line() -> None:
    done = shell("riven validate - </dev/null >/dev/full")
    assert (done.returncode, done.stderr) == (
        1,
        "riven: the output cannot be written: No space left on device\n",
    )

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.terminal import RIVEN, Call, Terminal

GOOD = "name: good\nnodes:\n  a: {type: noop}\n"
BAD = """\
name: bad
nodes:
  order:
    type: htp_request
  pay:
    type: noop
    needs: [ordr]
    colour: red
"""
WARNS = 'name: warns\nnodes:\n  a: {type: condition, with: {if: "true"}}\n'


@pytest.fixture(autouse=True)
def work(tmp_path: Path) -> Path:
    for name, text in {"good": GOOD, "bad": BAD, "warns": WARNS}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_a_valid_document_says_so(call: Call) -> None:
    done = call("validate", "good.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "valid: good.yaml\n1 document, no problems\n",
        "",
    )


def test_every_problem_is_shown_with_its_lines(call: Call) -> None:
    done = call("validate", "bad.yaml")
    assert (done.returncode, done.stderr) == (2, "")
    assert "bad.yaml:4:" in done.stdout
    assert "error: nodes.order.type: " in done.stdout
    assert "  3 |   order:\n  4 |     type: htp_request\n    |           ^\n" in done.stdout
    assert "  8 |     colour: red\n" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 document, 3 errors, 0 warnings"
    assert "\x1b" not in done.stdout


def test_warnings_do_not_make_a_document_invalid(call: Call) -> None:
    done = call("validate", "warns.yaml")
    assert done.returncode == 0
    assert "warning: nodes.a" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["valid: warns.yaml", "1 document, 0 errors, 1 warning"]


def test_json_lists_every_file_also_those_that_cannot_be_read(call: Call) -> None:
    done = call("validate", "--json", "good.yaml", "bad.yaml", "none.yaml")
    assert (done.returncode, done.stderr) == (2, "")
    good, bad, none = json.loads(done.stdout)
    assert good == {"file": "good.yaml", "valid": True, "problems": []}
    assert (bad["file"], bad["valid"], len(bad["problems"])) == ("bad.yaml", False, 3)
    assert bad["problems"][0] == bad["problems"][0] | {"path": "nodes.order.type", "line": 4, "column": 11, "severity": "error"}  # fmt: skip
    assert (none["file"], none["valid"]) == ("none.yaml", False)
    assert none["problems"][0]["code"] == "unreadable_file"
    assert json.loads(call("validate", "--json", "good.yaml").stdout)[0]["valid"] is True


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_checked(call: Call) -> None:
    done = call("validate", "none.yaml", ".", "good.yaml")
    assert done.returncode == 2
    assert "error: none.yaml: there is no such file" in done.stdout
    assert "is a directory; name a file in it" in done.stdout
    assert "valid: good.yaml" in done.stdout


def test_a_document_from_standard_input(call: Call) -> None:
    done = call("validate", "-", stdin=BAD)
    assert done.returncode == 2
    assert "<stdin>:4:" in done.stdout


def test_functions_are_known_when_they_are_given(work: Path, call: Call) -> None:
    (work / "call.yaml").write_text(
        "name: call\nnodes:\n  a: {type: python, with: {function: shop.greet, args: {}}}\n"
    )
    (work / "jobs.py").write_text(
        "from riven.authoring import function\n\n\n@function(name='shop.greet')\ndef greet() -> int:\n    return 1\n"
    )
    (work / "others.py").write_text(
        "from riven.authoring import function\n\n\n@function(name='shop.great')\ndef greet() -> int:\n    return 1\n"
    )
    assert call("validate", "call.yaml").returncode == 0
    assert call("validate", "call.yaml", "--functions", "jobs.py").returncode == 0
    wrong = call("validate", "call.yaml", "--functions", "others.py")
    assert wrong.returncode == 2
    assert "shop.great" in wrong.stdout


def test_called_workflows_are_checked_too(work: Path, call: Call) -> None:
    (work / "parent.yaml").write_text("name: parent\nnodes:\n  sub: {type: call, with: {workflow: child}}\n")
    missing = call("validate", "parent.yaml")
    assert missing.returncode == 2
    assert "child" in missing.stdout
    (work / "child.yaml").write_text("name: child\nnodes:\n  a: {type: noop}\n")
    assert call("validate", "parent.yaml").returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "a: [",
        "- 1\n- 2",
        "name: x\x1b[2J\nnodes: {}",
        "\ufeffname: ok\nnodes: {a: {type: no\u202epe}}",
        "name: é\nnodes:\n\ta: 1",
        "a: &a [x]\nb: *c",
        "[" * 10_000,
        '{"name": "x", "nodes": {"a": ' + "9" * 5_000 + "}}",
    ],
)
def test_hostile_text_is_a_listed_problem_and_nothing_of_it_acts_on_the_terminal(
    text: str, call: Call
) -> None:
    done = call("validate", "-", stdin=text)
    assert (done.returncode, done.stderr) == (2, "")
    assert all(char.isprintable() or char == "\n" for char in done.stdout)
    assert ": error: " in done.stdout
    answer = json.loads(call("validate", "--json", "-", stdin=text).stdout)
    assert answer[0]["valid"] is False


@pytest.mark.slow
def test_colours_on_a_terminal_unless_they_are_not_wanted(work: Path) -> None:
    for env, coloured in (
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
    ):
        with Terminal("validate", "bad.yaml", directory=work, env=env) as terminal:
            assert terminal.end() == 2
            assert ("\x1b[31m" in terminal.raw.decode()) is coloured, env
            assert "bad.yaml:4:11: error: nodes.order.type" in terminal.text


@pytest.mark.slow
def test_a_broken_pipe_ends_quietly(work: Path) -> None:
    nodes = "\n".join(f"  n{number}: {{type: nope}}" for number in range(2_000))
    (work / "many.yaml").write_text(f"name: many\nnodes:\n{nodes}\n")
    command = f"{' '.join(RIVEN)} validate many.yaml | head -n 1"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=work, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("many.yaml:3:")


@pytest.mark.slow
def test_a_small_document_is_checked_without_what_only_a_run_needs(work: Path) -> None:
    program = (
        "import sys\nfrom riven.cli.app import run_app\nfrom riven.main.command import COMMANDS, LOADERS\n"
        f"code = run_app(['validate', {str(work / 'good.yaml')!r}], COMMANDS, LOADERS)\n"
        "print(code, *sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([RIVEN[0], "-c", program], capture_output=True, text=True, timeout=60, check=False)
    code, *modules = done.stderr.split()
    assert code == "0"
    assert not {
        "rich",
        "httpx",
        "httpcore",
        "asyncio",
        "riven.engines.embedded.memory",
        "riven.cli.run",
    } & set(modules)

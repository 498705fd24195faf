import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tests.cli.terminal import RIVEN, Call, riven

REFUND = """\
name: refund
input:
  type: object
  required: [amount]
  properties: {amount: {type: number}, who: {type: string, default: nobody}}
nodes:
  double: {type: set, with: {value: "{{ input.amount * 2 }}"}}
  large: {type: condition, needs: [double], with: {if: "input.amount > 100"}}
  big: {type: set, needs: [{node: large, outcome: "true"}], with: {value: "big"}}
  small: {type: set, needs: [{node: large, outcome: "false"}], with: {value: "small"}}
output: {double: "{{ steps.double.output }}", who: "{{ input.who }}"}
"""
SLEEPER = """\
name: sleeper
nodes:
  first: {type: noop}
  nap: {type: python, needs: [first], with: {function: riven.sleep, args: {seconds: 60}}, timeout: 5m}
"""
ASKER = """\
name: asker
nodes:
  ask: {type: approval, with: {title: "Refund it?"}}
  wait_paid: {type: signal, needs: [{node: ask, outcome: approved}], with: {name: paid}}
output: {comment: "{{ steps.?ask.?output.?comment.orValue(null) }}", paid: "{{ steps.?wait_paid.?output.orValue(null) }}"}
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path) -> Path:
    for name, text in {"refund": REFUND, "sleeper": SLEEPER, "asker": ASKER}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def one_object(output: str) -> dict[str, Any]:
    found = json.loads(output)
    assert isinstance(found, dict)
    return found


def test_a_completed_run_is_one_line_for_each_change_and_a_summary_with_the_output(call: Call) -> None:
    done = call("run", "refund.yaml", "--input", "amount=150")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["double", "COMPLETED"]
    assert any(line.split()[:3] == ["large", "COMPLETED", "true"] for line in lines)
    assert any(line.split() == ["small", "SKIPPED", "not_chosen"] for line in lines)
    assert lines[-1].startswith("refund  COMPLETED  ")
    assert lines[-1].endswith('output: {"double":300,"who":"nobody"}')
    assert "\x1b" not in done.stdout


def test_json_is_one_object(call: Call) -> None:
    done = call("run", "refund.yaml", "--input", '{"amount": 1}', "--input", "who=me", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = one_object(done.stdout)
    assert result["status"] == "COMPLETED"
    assert result["output"] == {"double": 2, "who": "me"}
    assert {node["path"]: node["status"] for node in result["nodes"]} == {
        "double": "COMPLETED",
        "large": "COMPLETED",
        "big": "SKIPPED",
        "small": "COMPLETED",
    }


def test_the_input_may_be_a_file_json_or_yaml(work: Path, call: Call) -> None:
    (work / "in.json").write_text('{"amount": 5}')
    (work / "in.yaml").write_text("amount: 6\nwho: yes\n")
    for name, output in {
        "in.json": {"double": 10, "who": "nobody"},
        "in.yaml": {"double": 12, "who": "yes"},
    }.items():
        done = call("run", "refund.yaml", "--input", f"@{name}", "--json")
        assert one_object(done.stdout)["output"] == output
    piped = call("run", "refund.yaml", "--input", "@-", "--json", stdin='{"amount": 7}')
    assert one_object(piped.stdout)["output"] == {"double": 14, "who": "nobody"}


def test_the_document_may_come_from_standard_input_and_be_json(call: Call) -> None:
    document = json.dumps(
        {"name": "piped", "nodes": {"a": {"type": "set", "with": {"value": 1}}}, "output": 7}
    )
    done = call("run", "-", "--json", stdin=document)
    assert (done.returncode, one_object(done.stdout)["output"]) == (0, 7)


def test_a_failed_run_is_exit_code_1_and_says_which_node_and_why(work: Path, call: Call) -> None:
    (work / "f.yaml").write_text(
        "name: f\nnodes:\n  ok: {type: noop}\n  stop: {type: fail, needs: [ok], with: {message: out of stock}}\n"
    )
    done = call("run", "f.yaml")
    assert done.returncode == 1
    assert "stop: EXECUTION_ERROR: out of stock" in done.stdout.splitlines()[-1]
    result = one_object(call("run", "f.yaml", "--json").stdout)
    assert result["status"] == "FAILED"
    assert result["error"]["node"] == "stop"


def test_a_run_that_takes_too_long_is_failed(call: Call) -> None:
    done = call("run", "sleeper.yaml", "--timeout", "200ms", "--json")
    assert done.returncode == 1
    assert one_object(done.stdout)["error"]["type"] == "TIMEOUT"


def test_an_invalid_document_is_exit_code_2_with_its_problems(work: Path, call: Call) -> None:
    (work / "bad.yaml").write_text("name: bad\nnodes:\n  a: {type: nope}\n  b: {type: noop, needs: [c]}\n")
    done = call("run", "bad.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "bad.yaml:3:" in done.stderr
    assert "  3 |   a: {type: nope}" in done.stderr
    piped = call("run", "bad.yaml", "--json")
    assert (piped.returncode, piped.stderr) == (2, "")
    answer = one_object(piped.stdout)
    assert answer["valid"] is False
    assert len(answer["problems"]) == 2
    assert set(answer["problems"][0]) == {"path", "line", "column", "code", "severity", "message"}


def test_an_input_that_its_schema_refuses_is_exit_code_2(call: Call) -> None:
    done = call("run", "refund.yaml", "--input", "amount=much")
    assert (done.returncode, done.stdout) == (2, "")
    assert "input.amount" in done.stderr
    answer = one_object(call("run", "refund.yaml", "--json").stdout)
    assert answer["valid"] is False
    assert answer["problems"][0]["path"].startswith("input")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope.yaml"], "there is no such file"),
        (["refnd.yaml"], "did you mean 'refund.yaml'?"),
        (["."], "is a directory"),
        (["refund.yaml", "--input", '{"amount": '], "line 1, column"),
        (["refund.yaml", "--input", "@nope.json"], "there is no such file"),
        (["refund.yaml", "--input", "amount=1", "--functions", "nope.py"], "nope.py"),
        (["refund.yaml", "--input", "amount=1", "--signal", "paid=1"], "the document has no signal"),
        (["asker.yaml", "--signal", "payed=1"], "the document has paid"),
        (["asker.yaml", "--approve", "aks=approved"], "the document has ask"),
        (["asker.yaml", "--approve", "ask=perhaps"], "the decision is approved or rejected"),
        (["refund.yaml", "--input", "amount=1", "--timeout", "soon"], "--timeout"),
        (["refund.yaml", "--with", "nope.yaml"], "there is no such file"),
    ],
)
def test_a_wrong_call_is_one_line_or_one_object(arguments: list[str], said: str, call: Call) -> None:
    done = call("run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    piped = call("run", *arguments, "--json")
    assert (piped.returncode, piped.stderr) == (2, "")
    answer = one_object(piped.stdout)
    assert answer["valid"] is False
    assert said in answer["problems"][0]["message"]


@pytest.mark.parametrize("option", ["--inptu", "--max-in-flight=0", "--jsn"])
def test_a_wrong_option_is_one_line(option: str, call: Call) -> None:
    done = call("run", "refund.yaml", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "riven run --help" in done.stderr


def test_a_missing_argument_is_one_line_that_can_be_read(call: Call) -> None:
    done = call("executions", "approve", "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f", "ask")
    assert (done.returncode, done.stdout) == (2, "")
    assert "approved, rejected (see 'riven executions approve --help')" in done.stderr
    assert "\\" not in done.stderr


def test_an_unreadable_file_is_one_line(work: Path, call: Call) -> None:
    (work / "secret.yaml").write_text("name: x")
    (work / "secret.yaml").chmod(0)
    with unprivileged():
        done = call("run", "secret.yaml")
    assert (done.returncode, done.stderr) == (2, "riven: secret.yaml: you may not read this file\n")


@contextmanager
def unprivileged() -> Iterator[None]:
    """The administrator may read everything: as nobody, then."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65_534)
    yield
    os.seteuid(own)


def test_decisions_and_signals_given_beforehand_are_used(call: Call) -> None:
    done = call(
        "run",
        "asker.yaml",
        "--approve",
        "ask=approved",
        "--signal",
        'paid={"by": "card"}',
        "--json",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert one_object(done.stdout)["output"] == {"comment": None, "paid": {"by": "card"}}
    rejected = call("run", "asker.yaml", "--approve", "ask=rejected")
    assert rejected.returncode == 0
    assert any(line.split()[:3] == ["ask", "COMPLETED", "rejected"] for line in rejected.stdout.splitlines())


def test_a_decision_without_numbers_decides_that_of_every_item(work: Path, call: Call) -> None:
    (work / "all.yaml").write_text(
        "name: all\nnodes:\n  each:\n    type: for_each\n    with: {items: [1, 2, 3]}\n    body:\n"
        "      nodes:\n        ask: {type: approval}\n      output: '{{ steps.ask.outcome }}'\n"
        "output: '{{ steps.each.output }}'\n"
    )
    done = call("run", "all.yaml", "--approve", "each.ask=approved", "--approve", "each[1].ask=rejected", "--json")  # fmt: skip
    assert one_object(done.stdout)["output"] == ["approved", "rejected", "approved"]


def test_without_a_terminal_it_says_what_it_waits_for_and_how_to_give_it(call: Call) -> None:
    done = call("run", "asker.yaml", "--timeout", "300ms")
    assert done.returncode == 1
    assert "ask waits for a decision (Refund it?); give it with --approve ask=approved" in done.stderr
    approved = call("run", "asker.yaml", "--approve", "ask=approved", "--timeout", "300ms", "--json")
    assert one_object(approved.stdout)["status"] == "FAILED"
    assert "waits for the signal 'paid'; give it with --signal paid=JSON" in approved.stderr


def test_functions_and_secrets_reach_the_nodes_and_secrets_no_output(work: Path, call: Call) -> None:
    (work / "jobs.py").write_text(
        "from riven.authoring import function\n\n\n"
        '@function(name="shop.greet")\n'
        "def greet(who: str, token: str) -> str:\n"
        '    print("noise")\n'
        '    return f"hello {who}, {len(token)}"\n'
    )
    (work / "greet.yaml").write_text(
        "name: greet\nnodes:\n  say:\n    type: python\n"
        "    with: {function: shop.greet, args: {who: you, token: '{{ secrets.token }}'}}\n"
        "output: '{{ steps.say.output }}'\n"
    )
    greet = ("run", "greet.yaml", "--functions", "jobs.py", "--secret", "token=hunter2")
    done = call(*greet, "--json")
    assert done.returncode == 0
    assert one_object(done.stdout)["output"] == "hello you, 7"
    assert "hunter2" not in done.stdout + done.stderr
    plain = call(*greet)
    assert "hunter2" not in plain.stdout + plain.stderr
    unknown = call("run", "greet.yaml", "--json")
    assert unknown.returncode == 2
    assert one_object(unknown.stdout)["problems"][0]["path"] == "nodes.say.with.function"


@pytest.mark.parametrize("given", [(), ("--with", "other/elsewhere.yaml")])
def test_called_workflows_are_found_beside_the_file_or_among_with(
    work: Path, given: tuple[str, ...], call: Call
) -> None:
    child = "name: child\nnodes:\n  inner: {type: noop}\noutput: from the child\n"
    (work / "other").mkdir()
    (work / ("other/elsewhere.yaml" if given else "child.yaml")).write_text(child)
    (work / "parent.yaml").write_text(
        "name: parent\nnodes:\n  sub: {type: call, with: {workflow: child}}\noutput: '{{ steps.sub.output }}'\n"
    )
    done = call("run", "parent.yaml", "--json", *given)
    assert one_object(done.stdout)["output"] == "from the child"


def test_log_nodes_speak_on_standard_error(work: Path, call: Call) -> None:
    (work / "log.yaml").write_text(
        "name: log\nnodes:\n  say: {type: log, with: {message: 'hi {{ 1 + 1 }}', level: warning, data: {a: 1}}}\n"
    )
    done = call("run", "log.yaml")
    assert (done.returncode, done.stderr) == (0, 'say: warning: hi 2 {"a":1}\n')


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def interrupted(
    request: pytest.FixtureRequest, work: Path
) -> Iterator[tuple[subprocess.Popen[str], signal.Signals]]:
    process = subprocess.Popen(
        [*RIVEN, "run", "sleeper.yaml"],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.split()[:2] == ["nap", "RUNNING"]:
            break
    yield process, request.param
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_an_interrupt_cancels_and_says_what_had_completed(
    interrupted: tuple[subprocess.Popen[str], signal.Signals],
) -> None:
    process, number = interrupted
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert errors == "riven: canceling; once more stops at once\n"
    assert any(line.split()[:2] == ["nap", "CANCELED"] for line in output.splitlines())
    assert output.splitlines()[-1].startswith("sleeper  CANCELED  ")
    assert output.splitlines()[-1].endswith("completed: first (1 of 2 nodes)")


@pytest.mark.slow
def test_a_second_interrupt_ends_even_what_does_not_listen(work: Path) -> None:
    (work / "deaf.py").write_text(
        "import time\nfrom riven.authoring import function\n\n\n"
        "@function\nasync def deaf() -> None:\n    print('deaf now', flush=True)\n    time.sleep(60)\n"
    )
    (work / "deaf.yaml").write_text("name: deaf\nnodes:\n  a: {type: python, with: {function: deaf}}\n")
    with subprocess.Popen(
        [*RIVEN, "run", "deaf.yaml", "--functions", "deaf.py"],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert any(line == "deaf now\n" for line in process.stdout)
        deadline = monotonic() + 20
        while process.poll() is None and monotonic() < deadline:  # as impatient people do
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
        assert process.returncode == 1


@pytest.mark.slow
def test_a_broken_pipe_ends_quietly(work: Path) -> None:
    (work / "many.yaml").write_text(
        "name: many\nnodes:\n  each:\n    type: for_each\n    with: {items: '{{ input.n }}'}\n"
        "    body: {nodes: {a: {type: noop}}}\n".replace("'{{ input.n }}'", json.dumps(list(range(20_000))))
    )
    command = f"{' '.join(RIVEN)} run many.yaml | head -n 1"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=work, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split()[:2] == ["each[0].a", "COMPLETED"]


@pytest.mark.parametrize("env", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}])  # fmt: skip
def test_a_terminal_without_unicode_shows_what_it_can(work: Path, env: dict[str, str]) -> None:
    (work / "u.yaml").write_text(
        "name: u\nnodes:\n  a: {type: set, with: {value: 北京}}\noutput: '{{ steps.a.output }}'\n"
    )
    done = riven("run", "u.yaml", directory=work, env=env)
    assert done.returncode == 0
    assert "\\u5317\\u4eac" in done.stdout
    assert one_object(riven("run", "u.yaml", "--json", directory=work, env=env).stdout)["output"] == "北京"


@pytest.mark.slow
def test_a_run_loads_no_database_no_server_and_no_temporal(work: Path) -> None:
    program = (
        "import sys\nfrom riven.cli.app import run_app\nfrom riven.main.command import COMMANDS, LOADERS\n"
        f"code = run_app(['run', {str(work / 'refund.yaml')!r}, '--input', 'amount=1', '--json'], COMMANDS, LOADERS)\n"
        "print(code, *sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)\n"
    )
    done = subprocess.run([RIVEN[0], "-c", program], capture_output=True, text=True, timeout=60, check=False)
    code, *modules = done.stderr.split()
    assert code == "0"
    assert not {
        "sqlalchemy",
        "asyncpg",
        "fastapi",
        "starlette",
        "uvicorn",
        "temporalio",
        "rich",
        "httpx",
        "httpcore",
    } & set(modules)

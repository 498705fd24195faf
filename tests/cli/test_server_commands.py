"""Commands that talk to a server, against the product on a real database."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.served import Served, served
from tests.cli.terminal import RIVEN
from tests.fixtures_postgres import new_database

from riven.devstack.postgres import EmbeddedPostgres

Ran = subprocess.CompletedProcess[str]
Call = Callable[..., Ran]

pytestmark = pytest.mark.slow

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
GREET = """
name: greet
input:
  type: object
  properties: {who: {type: string, default: you}}
nodes:
  say:
    type: set
    with: {value: "hello {{ input.who }}"}
output: "{{ steps.say.output }}"
"""
FAILS = """
name: fails
nodes:
  first: {type: set, with: {value: 1}}
  then: {type: fail, needs: [first], with: {message: no luck}}
"""
ASKS = """
name: asks
nodes:
  ask: {type: approval, with: {title: Really}}
  paid: {type: signal, needs: [{node: ask, outcome: approved}], with: {name: paid}}
output: "{{ steps.?paid.?output.orValue(null) }}"
"""
WRONG = """
name: wrong
nodes:
  say:
    type: sett
"""


@pytest.fixture(scope="module")
def server(postgres_server: EmbeddedPostgres, migrated_template: str) -> Iterator[Served]:
    with new_database(postgres_server.url, template=migrated_template) as url, served(url) as found:
        yield found


@pytest.fixture
def riven(call: Call, server: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """As somebody who has the platform's key in the environment, in a folder with documents."""
    monkeypatch.setenv("RIVEN_URL", server.url)
    monkeypatch.setenv("RIVEN_API_KEY", server.key)
    monkeypatch.setenv("RIVEN_WORKSPACE", server.workspace_id)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("COLUMNS", "100")
    for text in (GREET, FAILS, ASKS, WRONG):
        name = text.split()[1]
        (tmp_path / f"{name}.yaml").write_text(text.lstrip(), encoding="utf-8")
    return call


def done(ran: Ran) -> str:
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    return ran.stdout


def answer(ran: Ran) -> Any:  # noqa: ANN401 - JSON
    return json.loads(done(ran))


def refused(ran: Ran, code: int = 1) -> str:
    assert (ran.returncode, ran.stdout) == (code, ""), ran
    assert ran.stderr.startswith("riven: ")
    return ran.stderr


def started(riven: Call, name: str, *arguments: str) -> str:
    done(riven("apply", f"{name}.yaml"))
    return str(answer(riven("start", name, "--json", *arguments))["executionId"])


# ---- apply -----------------------------------------------------------------------------------------------------------


def test_a_document_is_saved_and_published(riven: Call, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text(GREET.replace("greet", "new"), encoding="utf-8")
    assert done(riven("apply", "new.yaml")) == "new  version 1 published\n"
    assert done(riven("apply", "new.yaml")) == "new  unchanged, version 1\n"
    (tmp_path / "new.yaml").write_text(GREET.replace("greet", "new").replace("hello", "hi"), encoding="utf-8")
    assert done(riven("apply", "new.yaml", "--draft")) == "new  saved as a draft\n"
    assert answer(riven("apply", "new.yaml", "--json")) == [
        {
            "file": "new.yaml",
            "workflow": "new",
            "valid": True,
            "version": 2,
            "published": True,
            "problems": [],
        }
    ]


def test_what_is_wrong_with_a_document_is_shown_with_its_lines(riven: Call) -> None:
    ran = riven("apply", "wrong.yaml", "greet.yaml")
    assert ran.returncode == 2
    assert "wrong.yaml:4:11: error: nodes.say.type: there is no node type 'sett'" in ran.stderr
    assert "  4 |     type: sett" in ran.stderr
    assert "wrong  saved as a draft, not published\n" in ran.stdout
    assert "greet  " in ran.stdout
    assert riven("apply", "wrong.yaml", "--draft").returncode == 0
    told = json.loads(riven("apply", "wrong.yaml", "--json").stdout)
    assert (told[0]["valid"], told[0]["version"], told[0]["problems"][0]["code"]) == (
        False,
        None,
        "unknown_type",
    )


def test_a_document_without_a_name_is_not_saved(riven: Call, tmp_path: Path) -> None:
    (tmp_path / "nameless.yaml").write_text("nodes: {}\n", encoding="utf-8")
    ran = riven("apply", "nameless.yaml")
    assert ran.returncode == 2
    assert "name" in ran.stderr
    assert ran.stdout == "nameless.yaml  not saved\n"


def test_what_others_call_is_published_before_them(riven: Call, tmp_path: Path) -> None:
    for number, called in ((1, 2), (2, 3), (3, None)):
        node = "{type: noop}" if called is None else f"{{type: call, with: {{workflow: chain-{called}}}}}"
        (tmp_path / f"{number}.yaml").write_text(
            f"name: chain-{number}\nnodes:\n  n: {node}\n", encoding="utf-8"
        )
    said = done(riven("apply", "1.yaml", "2.yaml", "3.yaml"))
    assert said.splitlines() == [f"chain-{number}  version 1 published" for number in (3, 2, 1)]


def test_two_files_of_one_name_are_refused(riven: Call, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(GREET, encoding="utf-8")
    assert "greet.yaml and other.yaml are both called 'greet'" in refused(
        riven("apply", "greet.yaml", "other.yaml"), 2
    )


# ---- start -----------------------------------------------------------------------------------------------------------


def test_a_start_says_which_execution_it_is(riven: Call) -> None:
    done(riven("apply", "greet.yaml"))
    said = done(riven("start", "greet"))
    assert re.fullmatch(rf"greet  PENDING  {UUID.pattern}\n", said)
    assert set(answer(riven("start", "greet", "--json"))) == {"executionId", "queueId", "status"}


def test_a_start_is_seen_through(riven: Call) -> None:
    done(riven("apply", "greet.yaml", "fails.yaml"))
    said = done(riven("start", "greet", "--input", "who=Ada", "--wait"))
    assert re.search(r"^say  COMPLETED", said, re.MULTILINE)
    assert said.splitlines()[-1].startswith("greet  COMPLETED  ")
    assert said.rstrip().endswith('output: "hello Ada"')
    failed = riven("start", "fails", "--wait")
    assert failed.returncode == 1
    assert "FAILED" in failed.stdout
    assert "no luck" in failed.stdout.splitlines()[-1]


def test_a_start_as_json_is_what_a_run_prints(riven: Call) -> None:
    done(riven("apply", "greet.yaml"))
    here = answer(riven("run", "greet.yaml", "--json"))
    there = answer(riven("start", "greet", "--wait", "--json"))
    assert set(here) <= set(there)
    assert set(here["nodes"][0]) <= set(there["nodes"][0])
    assert (there["status"], there["output"]) == (here["status"], here["output"])


def test_the_same_key_starts_once(riven: Call) -> None:
    first = started(riven, "greet", "--idempotency-key", "k1")
    assert started(riven, "greet", "--idempotency-key", "k1") == first
    assert started(riven, "greet") != first


def test_a_start_can_be_for_later(riven: Call) -> None:
    id = started(riven, "greet", "--in", "1h", "--label", "a=b", "--correlation-id", "c", "--priority", "5")
    found = answer(riven("executions", "show", id, "--json"))
    assert found["waiting"]["kind"] == "timer"
    assert (found["labels"], found["correlationId"]) == ({"a": "b"}, "c")
    assert "until" in done(riven("executions", "show", id))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["greet", "--input", "who=1"], 2, "input.who"),
        (["greet", "--at", "tomorrow"], 2, "--at: 'tomorrow' is no time; write"),
        (["greet", "--in", "soon"], 2, "--in"),
        (["greet", "--in", "1s", "--at", "2026-01-01T00:00:00Z"], 2, "not both"),
        (["greet", "--label", "x"], 2, "--label"),
        (["greet", "--version", "99"], 1, "no version 99"),
        (["gone"], 1, "no workflow called 'gone' in this workspace; check it, or save and publish it first"),
        (["wrong"], 1, "publish"),
        (["greet", "--workspace", "nowhere"], 2, "there is no workspace 'nowhere'; there is acme"),
        (["greet", "--workspace", "00000000-0000-0000-0000-000000000000"], 1, "workspace"),
        (["greet", "--api-key", "rvn_x"], 1, "--api-key"),
        (["greet", "--url", "http://127.0.0.1:1"], 1, "is 'riven dev' running?"),
        (["greet", "--url", "nonsense"], 1, "is no address of a server"),
    ],
)
def test_what_cannot_be_started_says_why(riven: Call, arguments: list[str], code: int, said: str) -> None:
    done(riven("apply", "greet.yaml"))
    riven("apply", "wrong.yaml")
    assert said in refused(riven("start", *arguments), code)


# ---- executions ------------------------------------------------------------------------------------------------------


def test_executions_are_listed(riven: Call) -> None:
    id = started(riven, "greet", "--correlation-id", "listed", "--label", "x=y")
    done(riven("executions", "watch", id))
    head, row = done(riven("executions", "list", "--correlation-id", "listed")).splitlines()
    assert head.split() == ["EXECUTION", "WORKFLOW", "STATUS", "CREATED", "TOOK", "WHY"]
    assert row.startswith(f"{id}  greet ")
    assert "COMPLETED" in row
    filters = ["--workflow", "greet", "--status", "completed", "--status", "FAILED", "--label", "x=y"]
    found = answer(riven("executions", "list", *filters, "--created-after", "2020-01-01T00:00:00Z", "--json"))
    assert id in [each["executionId"] for each in found]
    assert answer(riven("executions", "list", "--created-before", "2020-01-01T00:00:00Z", "--json")) == []
    assert len(answer(riven("executions", "list", "--limit", "1", "--json"))) == 1


def test_an_execution_is_shown(riven: Call) -> None:
    id = started(riven, "fails")
    assert riven("executions", "watch", id).returncode == 1
    said = done(riven("executions", "show", id))
    assert re.search(rf"^execution +{id}$", said, re.MULTILINE)
    assert re.search(r"^why +then: .*no luck", said, re.MULTILINE)
    assert re.search(r"^first +set +COMPLETED", said, re.MULTILINE)
    assert re.search(r"^then +fail +FAILED .*no luck", said, re.MULTILINE)


def test_an_execution_is_asked_and_told(riven: Call) -> None:
    id = started(riven, "asks")
    waits = riven("executions", "show", id)
    while "WAITING" not in waits.stdout:
        waits = riven("executions", "show", id)
    assert "ask is approved" in done(
        riven("executions", "approve", id, "ask", "approved", "--comment", "fine")
    )
    assert "has the signal paid" in done(riven("executions", "signal", id, "paid", '{"by": "card"}'))
    ran = riven("executions", "watch", id, "--json")
    assert answer(ran)["output"] == {"by": "card"}
    assert "decided" in refused(riven("executions", "approve", id, "ask", "rejected"))
    assert "no JSON" in refused(riven("executions", "signal", id, "paid", "{"), 2)


def test_watching_says_how_to_go_on_and_may_be_given_up(riven: Call) -> None:
    id = started(riven, "asks")
    watching = subprocess.Popen(
        [*RIVEN, "executions", "watch", id], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with watching:
        assert watching.stderr is not None
        said = watching.stderr.readline()
        assert said == f"riven: ask waits for a decision: riven executions approve {id} ask approved\n"
        watching.send_signal(signal.SIGINT)
        assert f"see it again with 'riven executions watch {id}'" in watching.stderr.read()
    assert watching.returncode == 1
    assert answer(riven("executions", "show", id, "--json"))["status"] in {"RUNNING", "WAITING"}
    done(riven("executions", "cancel", id))


def test_executions_are_canceled_paused_and_resumed(riven: Call) -> None:
    first, second = started(riven, "asks"), started(riven, "asks")
    assert f"{first}  pauses" in done(riven("executions", "pause", first))
    assert f"{first}  goes on" in done(riven("executions", "resume", first))
    said = done(riven("executions", "cancel", first, second))
    assert [line.split()[0] for line in said.splitlines()] == [first, second]
    assert riven("executions", "watch", first).returncode == 1
    assert refused(riven("executions", "pause", first))


def test_an_empty_key_is_not_taken_for_none(riven: Call) -> None:
    done(riven("apply", "greet.yaml"))
    assert "Idempotency-Key" in refused(riven("start", "greet", "--idempotency-key", ""), 2)


def test_what_failed_is_tried_again_or_run_anew(riven: Call) -> None:
    id = started(riven, "fails")
    riven("executions", "watch", id)
    assert riven("executions", "retry", id, "--wait").returncode == 1
    assert (
        done(riven("executions", "rerun", id, "--from", "then", "--dry-run"))
        == "runs again: then\nis kept: first\n"
    )
    again = answer(riven("executions", "rerun", id, "--from", "then", "--json"))["executionId"]
    assert again != id
    assert riven("executions", "watch", again, "--json").returncode == 1
    greeted = started(riven, "greet")
    done(riven("executions", "watch", greeted))
    ran = riven("executions", "rerun", greeted, "--input", "who=Bob", "--wait", "--json")
    assert answer(ran)["output"] == "hello Bob"
    assert refused(riven("executions", "retry", greeted))


def test_many_are_tried_again_whichever_of_them_are_refused(riven: Call) -> None:
    failed = [started(riven, "fails", "--label", "batch=1") for _ in range(2)]
    for id in failed:
        riven("executions", "watch", id)
    listed = done(riven("executions", "list", "--label", "batch=1", "--ids"))
    assert listed.split() == failed[::-1]
    greeted = started(riven, "greet")
    done(riven("executions", "watch", greeted))
    ran = riven("executions", "retry", failed[0], greeted, failed[1])
    assert ran.returncode == 1
    assert [line.split()[0] for line in ran.stdout.splitlines()] == failed
    assert ran.stderr.startswith(f"riven: {greeted}: ")
    assert ran.stderr.count("\n") == 1
    assert refused(riven("executions", "retry", "--wait", *failed), 2)


def test_an_execution_that_is_not_there_is_said(riven: Call) -> None:
    for command in ("show", "watch", "cancel", "retry"):
        assert refused(riven("executions", command, "00000000-0000-0000-0000-000000000000"))
        assert "must be a UUID" in refused(riven("executions", command, "../x"))


# ---- workspaces and keys ---------------------------------------------------------------------------------------------


def test_workspaces_are_made_shown_and_changed(riven: Call) -> None:
    made = answer(
        riven("workspaces", "create", "pro", "--tier", "PRO", "--running", "7", "--weight", "2", "--json")
    )
    assert (made["limits"]["running"], made["weight"]) == (7, 2)
    said = done(riven("workspaces", "show", "pro"))
    assert re.search(r"^running +0 of 7$", said, re.MULTILINE)
    changed = answer(riven("workspaces", "set", "pro", "--running", "tier", "--disable", "--json"))
    assert (changed["limits"]["running"], changed["disabled"]) == (5, True)
    assert re.search(r"PRO +5 +disabled +pro$", done(riven("workspaces", "list")), re.MULTILINE)
    assert answer(riven("workspaces", "set", made["workspaceId"], "--enable", "--json"))["disabled"] is False
    assert "say what to change" in refused(riven("workspaces", "set", "pro"), 2)
    assert "--queued" in refused(riven("workspaces", "set", "pro", "--queued", "many"), 2)
    done(riven("workspaces", "create", "pro"))
    assert "2 workspaces of this name" in refused(riven("workspaces", "show", "pro"), 2)


def test_keys_are_made_used_and_revoked(riven: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = riven("keys", "create", "backend", "--role", "operator", "--expires", "90d")
    key = ran.stdout.strip()
    assert re.fullmatch(r"rvn_[0-9A-Za-z]{43}", key)
    assert "not shown again" in ran.stderr
    [row] = [line for line in done(riven("keys", "list")).splitlines() if line.endswith("backend")]
    assert key not in row
    assert key[:12] in row
    id = UUID.search(row)[0]  # type: ignore[index]

    done(riven("apply", "greet.yaml"))
    monkeypatch.delenv("RIVEN_WORKSPACE")
    done(riven("start", "greet", "--api-key", key))
    assert "OPERATOR" in refused(riven("apply", "greet.yaml", "--api-key", key))
    assert f"{id}  is revoked" in done(riven("keys", "revoke", id))
    assert "give another" in refused(riven("start", "greet", "--api-key", key))
    assert "by its id" in refused(riven("keys", "revoke", key), 2)
    assert "--role" in refused(riven("keys", "create", "x"), 2)
    assert "no role" in refused(riven("keys", "create", "x", "--platform", "--role", "VIEWER"), 2)
    assert "--expires" in refused(riven("keys", "create", "x", "--role", "VIEWER", "--expires", "never"), 2)
    assert "later" in refused(riven("keys", "create", "x", "--role", "VIEWER", "--expires", "0s"), 2)
    of_nobody = ["x", "--platform", "--workspace", "acme"]
    assert "no workspace" in refused(riven("keys", "create", *of_nobody), 2)
    assert answer(riven("keys", "create", "x", "--platform", "--json"))["role"] == "PLATFORM"
    assert "x" in done(riven("keys", "list", "--platform"))


# ---- which server ----------------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RIVEN_URL", "RIVEN_API_KEY", "RIVEN_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("nothing_known")
def test_a_dev_server_is_found_with_its_key_and_workspace(call: Call, server: Served, tmp_path: Path) -> None:
    said = {"url": server.url, "apiKey": server.key, "workspaceId": server.workspace_id}
    for directory in (tmp_path / "home" / "riven", tmp_path / "elsewhere"):
        directory.mkdir(parents=True)
        (directory / "dev.json").write_text(json.dumps(said), encoding="utf-8")
    assert "acme" in done(call("workspaces", "show"))
    (tmp_path / "home" / "riven" / "dev.json").unlink()
    assert "start one" in refused(call("workspaces", "show"))
    assert "acme" in done(call("workspaces", "show", "--data-dir", "elsewhere"))


@pytest.mark.usefixtures("nothing_known")
def test_what_is_written_weighs_more_than_the_environment(
    call: Call, server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"url": server.url, "apiKey": server.key, "workspaceId": server.workspace_id}
    (tmp_path / "dev.json").write_text(json.dumps(said), encoding="utf-8")
    monkeypatch.setenv("RIVEN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("RIVEN_API_KEY", "rvn_other")
    assert "acme" in done(call("workspaces", "show", "--data-dir", str(tmp_path)))
    assert "does not answer" in refused(call("workspaces", "show"))


@pytest.mark.usefixtures("nothing_known")
def test_a_server_without_a_key_is_asked_nothing(call: Call, server: Served) -> None:
    assert "--api-key" in refused(call("workspaces", "list", "--url", server.url), 2)


@pytest.mark.usefixtures("nothing_known")
def test_with_several_workspaces_one_has_to_be_named(call: Call, server: Served) -> None:
    access = ["--url", server.url, "--api-key", server.key]
    done(call("workspaces", "create", "another", *access))
    assert "say which workspace with --workspace; there are acme, another" in refused(
        call("executions", "list", *access), 2
    )
    assert done(call("executions", "list", "--workspace", "another", *access))

"""Every example runs as its own header says, and ends as it teaches."""

import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from riven.cli.app import run_app
from riven.main.command import COMMANDS, LOADERS

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
COMMAND = re.compile(r"^#   (riven run .+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    run: dict[str, Any]

    @property
    def output(self) -> Any:  # noqa: ANN401 - JSON
        return self.run["output"]

    def ended(self) -> dict[str, str]:
        return {
            node["path"]: node["skipReason"] or node["outcome"] or node["status"]
            for node in self.run["nodes"]
        }


@dataclass
class Riven:
    capture: pytest.CaptureFixture[bytes]

    def __call__(self, command: str) -> Outcome:
        """Run a command line in this process, with --json."""
        program, *arguments = shlex.split(command)
        assert program == "riven"
        code = run_app([*arguments, "--json"], COMMANDS, LOADERS)
        told = self.capture.readouterr()
        return Outcome(code, json.loads(told.out))

    def example(self, name: str, *more: str) -> Outcome:
        """Run an example as its header says, plus `more`."""
        return self(shlex.join([*shlex.split(command_of(ROOT / "examples" / f"{name}.yaml")), *more]))


@pytest.fixture
def riven(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Riven:
    monkeypatch.chdir(ROOT)
    return Riven(capfdbinary)


def command_of(path: Path) -> str:
    found = COMMAND.findall(path.read_text(encoding="utf-8"))
    assert len(found) == 1, f"{path.name} says how to run it, once"
    return str(found[0])


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_an_example_says_what_it_teaches_and_is_valid(
    path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert f"\nname: {path.stem}\n" in text
    assert f"examples/{path.name}" in command_of(path)
    code = run_app(["validate", "--json", str(path)], COMMANDS, LOADERS)
    (report,) = json.loads(capfdbinary.readouterr().out)
    assert (code, report["problems"]) == (0, [])


def test_every_example_is_listed_and_run() -> None:
    index = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    here = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES:
        assert f"({path.name})" in index, f"examples/README.md does not list {path.name}"
        assert f'"{path.stem}"' in here, f"no test runs {path.name}"


def test_hello(riven: Riven) -> None:
    assert riven.example("hello").output == "Hello, Ada!"
    assert riven("riven run examples/hello.yaml").output == "Hello, world!"


def test_hello_refuses_other_input(riven: Riven) -> None:
    outcome = riven("riven run examples/hello.yaml --input who=5")
    assert outcome.code == 2
    assert outcome.run["valid"] is False
    assert outcome.run["problems"][0]["path"] == "input.who"


def test_parallel_branches_take_as_long_as_the_slowest(riven: Riven) -> None:
    outcome = riven.example("parallel-branches")
    assert outcome.output == "the page of Teapot is complete"
    nodes = {node["path"]: node for node in outcome.run["nodes"]}
    for one, other in [("stock", "price"), ("price", "reviews"), ("reviews", "stock")]:
        assert nodes[one]["startedAt"] < nodes[other]["finishedAt"]
    assert nodes["shelf"]["finishedAt"] < nodes["price"]["finishedAt"]


def test_condition_and_join_pays_either_way(riven: Riven) -> None:
    large = riven.example("condition-and-join")
    assert large.output == {"check": "checked 250", "paid": 250}
    small = riven("riven run examples/condition-and-join.yaml --input amount=50")
    assert small.output == {"check": "not needed", "paid": 50}
    assert small.ended() == {"large": "false", "check": "not_chosen", "pay": "success"}


@pytest.mark.parametrize(
    ("weight", "case", "carrier"),
    [(0.2, "letter", "by post"), (12, "parcel", "by courier"), (400, "default", "by freight")],
)
def test_switch_takes_the_first_case_that_holds(riven: Riven, weight: float, case: str, carrier: str) -> None:
    outcome = riven(f"riven run examples/switch.yaml --input weight={weight}")
    assert outcome.output == {"case": case, "carrier": carrier}


def test_switch_as_its_header_says(riven: Riven) -> None:
    assert riven.example("switch").output["case"] == "parcel"


def test_retry_succeeds_at_the_third_attempt(riven: Riven) -> None:
    outcome = riven.example("retry-and-failure-branch")
    assert outcome.output == {"status": "COMPLETED", "attempts": 3}
    assert outcome.ended()["apologise"] == "not_chosen"


def test_failure_branch_takes_over_when_the_attempts_are_exhausted(riven: Riven) -> None:
    outcome = riven.example("retry-and-failure-branch", "--input", "failures=9")
    assert (outcome.code, outcome.output) == (0, {"status": "FAILED", "attempts": 3})
    assert outcome.ended() == {
        "book": "FAILED",
        "confirm": "not_chosen",
        "apologise": "success",
        "tell": "success",
    }


def test_finish_branches_fails_and_still_cleans_up(riven: Riven) -> None:
    outcome = riven.example("finish-branches")
    assert outcome.code == 1
    assert outcome.run["error"]["node"] == "charge"
    assert outcome.ended() == {
        "reserve": "success",
        "charge": "FAILED",
        "ship": "upstream_failed",
        "mail": "success",
        "survey": "FAILED",
        "note": "success",
        "release": "success",
    }


def test_joins_start_early_and_report_everything(riven: Riven) -> None:
    outcome = riven.example("joins")
    assert (outcome.code, outcome.output) == (0, {"east": "east", "west": "FAILED"})
    nodes = {node["path"]: node for node in outcome.run["nodes"]}
    assert nodes["fastest"]["finishedAt"] < nodes["south"]["finishedAt"]
    assert nodes["quorum"]["finishedAt"] < nodes["east"]["finishedAt"]


def test_for_each_collects_what_failed(riven: Riven) -> None:
    outcome = riven.example("for-each")
    assert outcome.output["known"] == [
        "1. Oslo: -3 degrees, snow",
        "3. Lima: 22 degrees, clouds",
    ]
    (unknown,) = outcome.output["unknown"]
    assert "Atlantis is on no map" in unknown


def test_poll_with_repeat_looks_until_it_is_ready(riven: Riven) -> None:
    outcome = riven.example("poll-with-repeat")
    assert outcome.output == "export.csv"
    assert [path for path in outcome.ended() if path.endswith(".look")] == [
        f"export[{turn}].look" for turn in range(3)
    ]


def test_poll_with_repeat_gives_up(riven: Riven) -> None:
    outcome = riven.example("poll-with-repeat", "--input", "turns=99")
    assert outcome.code == 1
    assert outcome.run["error"]["node"] == "give_up"
    assert outcome.ended()["export"] == "exhausted"


def test_call_uses_the_output_of_the_called_workflow(riven: Riven) -> None:
    outcome = riven.example("call")
    assert outcome.output == {"small": 560, "large": 3080, "difference": 2520}
    assert "small.quote" in outcome.ended()
    assert riven.example("shipping-quote").output == {"price": 560}


@pytest.mark.parametrize(
    ("decision", "refunded"), [("approved", True), ("rejected", False)], ids=["approved", "rejected"]
)
def test_approval_leads_on_by_the_decision(riven: Riven, *, decision: str, refunded: bool) -> None:
    outcome = riven(f"riven run examples/approval.yaml --input amount=150 --approve ask={decision}")
    assert outcome.output == {"refunded": refunded, "decision": decision}


def test_approval_is_not_asked_for_small_amounts(riven: Riven) -> None:
    assert riven.example("approval").output["decision"] == "approved"
    outcome = riven("riven run examples/approval.yaml --input amount=15")
    assert outcome.output == {"refunded": True, "decision": "not asked"}


def test_signal_that_was_sent_before_is_kept(riven: Riven) -> None:
    outcome = riven.example("signal-and-wait")
    assert outcome.output == {"shipped": True}
    assert outcome.ended()["remind"] == "not_chosen"


def test_output_shaping(riven: Riven) -> None:
    assert riven.example("output-shaping").output == {
        "count": 3,
        "items": 4,
        "large": [1, 3],
        "anybodyFromAda": True,
        "first": {"id": 1, "customer": "Ada", "items": 3, "total": 120.5},
        "text": "Ada pays 120.5 EUR",
        "withTax": 4.5,
        "tags": "large, new",
        "note": "nothing special",
        "braces": "{{ is how a placeholder begins",
    }


# ---- http -------------------------------------------------------------------------------------------------------------


@dataclass
class Shop:
    url: str = ""
    keys: list[str] = field(default_factory=list)
    """Idempotency keys of the refunds that it was asked for."""


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/orders/7"
            self.answer(
                200 if found else 404, {"id": 7, "total": 120} if found else {"error": "no such order"}
            )

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            shop.keys.append(self.headers["Idempotency-Key"])
            self.answer(503 if len(shop.keys) == 1 else 201, asked)

        def answer(self, status: int, body: object) -> None:
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None:
            del args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shop.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield shop
    server.shutdown()
    thread.join()
    server.server_close()


def test_http_posts_again_under_the_same_key(riven: Riven, shop: Shop) -> None:
    outcome = riven.example("http", "--input", f"url={shop.url}")
    assert outcome.output == {"refunded": 120}
    refund = next(node for node in outcome.run["nodes"] if node["path"] == "refund")
    assert [attempt["error"] and attempt["error"]["type"] for attempt in refund["attempts"]] == [
        "HTTP_SERVER_ERROR",
        None,
    ]
    assert len(shop.keys) == 2
    assert len(set(shop.keys)) == 1


def test_http_decides_by_the_status(riven: Riven, shop: Shop) -> None:
    outcome = riven.example("http", "--input", f"url={shop.url}", "--input", "order=8")
    assert outcome.output == {"refunded": 0}
    assert outcome.ended()["unknown"] == "success"
    assert shop.keys == []


def test_the_console_script_runs_an_example() -> None:
    program = Path(sys.executable).with_name("riven")
    done = subprocess.run(
        [program, "run", "examples/hello.yaml", "--input", "who=Ada", "--json"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["output"] == "Hello, Ada!"

"""Scenarios: a document, what happens to its run from outside, and what must come of it. One file each.

name: as the file
about: what it shows, in one sentence
hurried: true                       # something in it must be done in time, which many runs at once may not be
document: {...}                     # without a name it is called as the scenario
calls: {name: document}             # workflows that its `call` nodes name
input: {...}
signals: [{name, payload, when}]    # `when`: the path of the node that waits then, or `start`
approvals: {path: decision | {decision, comment, data}}
cancel: {when: path, status}        # once that node is RUNNING, or what `status` says
expect: {...}                       # see expectations.py
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "scenarios"
START = "start"
FIELDS = {
    "name",
    "about",
    "hurried",
    "document",
    "calls",
    "input",
    "secrets",
    "signals",
    "approvals",
    "cancel",
    "expect",
}
TIMES = {"finishedBeforeStarted", "finishedBeforeFinished", "startedBeforeFinished", "took", "apart"}
"""What is expected of the clock: nobody can promise it of runs whose workers die, or of many runs at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    name: str
    payload: Any = None
    when: str = START


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    path: str
    decision: str
    comment: str | None = None
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    when: str
    status: str = "RUNNING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    document: Mapping[str, Any]
    expect: Mapping[str, Any] = field(default_factory=dict)
    input: Any = field(default_factory=dict)
    calls: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()
    approvals: tuple[Approval, ...] = ()
    cancel: Cancel | None = None
    hurried: bool = False

    @property
    def alone(self) -> bool:
        """It looks at the clock, and has the machine for itself."""
        return self.hurried or bool(TIMES & set(self.expect))

    @property
    def text(self) -> str:
        return json.dumps(self.document)


def load(path: Path) -> Scenario:
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    unknown = set(data) - FIELDS
    assert not unknown, f"{path.name}: unknown fields {unknown}"
    assert data["name"] == path.stem, f"{path.name} calls itself {data['name']}"
    assert data["about"], f"{path.name} does not say what it shows"
    return Scenario(
        name=path.stem,
        document={"name": path.stem} | data["document"],
        expect=data["expect"],
        input=data.get("input", {}),
        calls={name: json.dumps({"name": name} | called) for name, called in data.get("calls", {}).items()},
        secrets=data.get("secrets", {}),
        signals=tuple(Signal(**signal) for signal in data.get("signals", [])),
        approvals=tuple(
            Approval(path=where, **(decision if isinstance(decision, dict) else {"decision": decision}))
            for where, decision in data.get("approvals", {}).items()
        ),
        hurried=data.get("hurried", False),
        cancel=Cancel(**data["cancel"]) if "cancel" in data else None,
    )


SCENARIOS = [load(path) for path in sorted(FOLDER.glob("*.yaml"))]

"""Every operation of the application: who may call it, and a call of it that is right in everything else."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.isolation.scene import ROLES, Held

V: Final = "/api/v1"
WS: Final = f"{V}/workspaces/{{workspaceId}}"
WF: Final = f"{WS}/workflows/{{name}}"
EX: Final = f"{V}/workflow/executions"
ONE: Final = f"{EX}/{{executionId}}"
PUBLIC, ANYBODY, PLATFORM = "PUBLIC", "ANYBODY", "PLATFORM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    role: str
    """The lowest that may; or that anybody may who is somebody, everybody, or the platform alone."""
    body: Callable[[Held], Any] | None = None
    content: str | None = None
    of: str = ""
    """By what it is said whose it is: an id in the address, `query` or `body`; empty: it belongs to no workspace."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Of the address, where they are not those of whoever is asked about."""
    unnamed: int = 404
    """What the answer is when it names something that is not there, in a workspace that is."""

    def address(self, path: str, values: Mapping[str, str]) -> str:
        filled = path.format(**{**values, **self.values})
        return f"{filled}?workspaceId={values['workspaceId']}" if self.of == "query" else filled

    @property
    def lower(self) -> tuple[str, ...]:
        """Roles of a workspace that are too low."""
        if self.role in (PUBLIC, ANYBODY):
            return ()
        return ROLES if self.role == PLATFORM else ROLES[: ROLES.index(self.role)]

    @property
    def enough(self) -> tuple[str, ...]:
        return ROLES[len(self.lower) :]


def _start(held: Held) -> dict[str, Any]:
    return {
        "workspaceId": held.values["workspaceId"],
        "workflowName": held.values["name"],
        "input": {"zebrafish": ""},
    }


def _batch(held: Held) -> dict[str, Any]:
    return {"executions": [_start(held)]}


def _is(value: dict[str, Any]) -> Callable[[Held], dict[str, Any]]:
    return lambda _: value


_DRAFT: Final = "name: draft\nnodes: {}\n"
_STEER: Final[dict[str, Any]] = {"role": "OPERATOR", "of": "executionId"}
CALLS: Final[dict[tuple[str, str], Call]] = {
    ("POST", f"{V}/workspaces"): Call(role=PLATFORM, body=_is({"name": "new", "tier": "PRO"})),
    ("GET", f"{V}/workspaces"): Call(role=ANYBODY),
    ("GET", WS): Call(role="VIEWER", of="workspaceId"),
    ("PATCH", WS): Call(role=PLATFORM, of="workspaceId", body=_is({"limits": {"running": 1000}})),
    ("POST", f"{WS}/keys"): Call(role="ADMIN", of="workspaceId", body=_is({"name": "k", "role": "ADMIN"})),
    ("GET", f"{WS}/keys"): Call(role="ADMIN", of="workspaceId"),
    ("DELETE", f"{WS}/keys/{{keyId}}"): Call(role="ADMIN", of="workspaceId"),
    ("POST", f"{V}/keys"): Call(role=PLATFORM, body=_is({"name": "k"})),
    ("GET", f"{V}/keys"): Call(role=PLATFORM),
    ("DELETE", f"{V}/keys/{{keyId}}"): Call(role="ADMIN", of="keyId"),
    ("POST", f"{WS}/members"): Call(
        role="ADMIN", of="workspaceId", body=_is({"subject": "idp|new", "role": "ADMIN"})
    ),
    ("GET", f"{WS}/members"): Call(role="ADMIN", of="workspaceId"),
    ("PATCH", f"{WS}/members/{{memberId}}"): Call(
        role="ADMIN", of="workspaceId", body=_is({"role": "ADMIN"})
    ),
    ("DELETE", f"{WS}/members/{{memberId}}"): Call(role="ADMIN", of="workspaceId"),
    ("GET", f"{WS}/activity"): Call(role="VIEWER", of="workspaceId"),
    ("GET", f"{V}/admin/activity"): Call(role=PLATFORM),
    ("GET", f"{V}/admin/invariants"): Call(role=PLATFORM),
    ("GET", f"{WS}/capacity"): Call(role="VIEWER", of="workspaceId"),
    ("GET", f"{V}/workspace-tiers"): Call(role=ANYBODY),
    ("PUT", f"{V}/workspace-tiers/{{tier}}"): Call(role=PLATFORM, body=_is({"running": 1000})),
    ("GET", f"{WS}/workflows"): Call(role="VIEWER", of="workspaceId"),
    ("PUT", WF): Call(role="EDITOR", of="workspaceId", content=_DRAFT, unnamed=200),
    ("GET", WF): Call(role="VIEWER", of="workspaceId"),
    ("DELETE", WF): Call(role="EDITOR", of="workspaceId"),
    ("POST", f"{WF}/publish"): Call(role="EDITOR", of="workspaceId"),
    ("GET", f"{WF}/versions"): Call(role="VIEWER", of="workspaceId"),
    ("GET", f"{WF}/versions/{{version}}"): Call(role="VIEWER", of="workspaceId"),
    ("POST", f"{V}/workflow/validate"): Call(role=ANYBODY, of="query", content=_DRAFT),
    ("GET", f"{V}/workflow/schema"): Call(role=ANYBODY),
    ("GET", f"{V}/node-types"): Call(role=ANYBODY),
    ("POST", f"{EX}/start"): Call(role="OPERATOR", of="body", body=_start),
    ("POST", f"{EX}/start-batch"): Call(role="OPERATOR", of="body", body=_batch),
    ("GET", EX): Call(role="VIEWER", of="query"),
    ("GET", ONE): Call(role="VIEWER", of="executionId"),
    ("GET", f"{ONE}/nodes"): Call(role="VIEWER", of="executionId"),
    ("GET", f"{ONE}/waiting"): Call(role="VIEWER", of="executionId"),
    ("GET", f"{ONE}/events"): Call(role="VIEWER", of="executionId"),
    ("POST", f"{ONE}/pause"): Call(**_STEER),
    ("POST", f"{ONE}/resume"): Call(**_STEER),
    ("POST", f"{ONE}/signal/{{name}}"): Call(**_STEER, values={"name": "go"}, body=_is({"paid": True})),
    ("POST", f"{ONE}/approvals/{{path}}"): Call(**_STEER, body=_is({"decision": "approved"})),
    ("POST", f"{ONE}/rerun"): Call(**_STEER, body=_is({"dryRun": False})),
    ("POST", f"{ONE}/cancel"): Call(**_STEER),
    ("POST", f"{ONE}/retry"): Call(**_STEER),
    ("GET", f"{V}/workflow/queue"): Call(role="VIEWER", of="query"),
    ("GET", f"{V}/workflow/queue/{{queueId}}"): Call(role="VIEWER", of="queueId"),
    ("GET", "/healthz"): Call(role=PUBLIC),
    ("GET", "/readyz"): Call(role=PUBLIC),
    ("GET", "/metrics"): Call(role=PUBLIC),
}
PROTECTED: Final = {each: call for each, call in CALLS.items() if call.role != PUBLIC}
OWNED: Final = {each: call for each, call in CALLS.items() if call.of}


def operations(described: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of an OpenAPI description."""
    for path, methods in described["paths"].items():
        for method in methods:
            if method in ("get", "put", "post", "delete", "patch", "head", "options", "trace"):
                yield method.upper(), path

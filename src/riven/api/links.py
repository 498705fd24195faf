"""What can be done next with what an operation answers: links of the OpenAPI description, for people and for programs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_WORKSPACE: Final = {"workspaceId": "$response.body#/workspaceId"}
_SAME_WORKSPACE: Final = {"workspaceId": "$request.path.workspaceId"}
_WORKFLOW: Final = {**_SAME_WORKSPACE, "name": "$request.path.name"}
_KEY: Final = {**_SAME_WORKSPACE, "keyId": "$response.body#/keyId"}
_MEMBER: Final = {**_SAME_WORKSPACE, "memberId": "$response.body#/memberId"}
_EXECUTION: Final = {"executionId": "$response.body#/executionId"}
_ITEM: Final = {"queueId": "$response.body#/queueId"}


@dataclass(frozen=True, slots=True)
class Link:
    """From an operation's answer to another operation."""

    source: str
    status: int
    target: str
    parameters: Mapping[str, str]
    body: Mapping[str, str] = field(default_factory=dict)


def _links(source: str, status: int, parameters: Mapping[str, str], *targets: str) -> tuple[Link, ...]:
    return tuple(Link(source, status, target, parameters) for target in targets)


_OF_EXECUTIONS: Final = (
    "executions_get_one",
    "executions_get_nodes",
    "executions_get_waiting",
    "executions_follow",
    "executions_cancel",
    "executions_pause",
    "executions_resume",
    "executions_retry",
    "executions_rerun",
)
LINKS: Final = (
    *_links(
        "workspaces_create",
        201,
        _WORKSPACE,
        *("workspaces_get", "workspaces_change", "keys_create", "members_add", "workflows_list_all"),
        *("capacity_get", "activity_list_all", "executions_list_all", "queue_list_failed"),
    ),
    *_links("keys_create", 201, _KEY, "keys_revoke"),
    *_links("keys_create_platform", 201, {"keyId": "$response.body#/keyId"}, "keys_revoke_any"),
    *_links("members_add", 201, _MEMBER, "members_change", "members_remove"),
    *_links(
        "workflows_save",
        200,
        _WORKFLOW,
        *("workflows_get", "workflows_publish", "workflows_versions", "workflows_archive"),
    ),
    *_links(
        "workflows_publish", 200, {**_WORKFLOW, "version": "$response.body#/version"}, "workflows_version"
    ),
    Link(
        "workflows_publish",
        200,
        "executions_start_execution",
        {},
        {"workspaceId": "$request.path.workspaceId", "workflowName": "$request.path.name"},
    ),
    *_links("executions_start_execution", 202, _EXECUTION, *_OF_EXECUTIONS),
    *_links("executions_start_execution", 202, _ITEM, "queue_get_one"),
    *_links("executions_rerun", 202, _EXECUTION, "executions_get_one"),
)


def add_links(described: dict[str, Any]) -> None:
    """To the answers of the description."""
    operations = {
        operation["operationId"]: operation
        for path in described["paths"].values()
        for operation in path.values()
    }
    for link in LINKS:
        target: dict[str, Any] = {
            "operationId": link.target,
            "description": operations[link.target]["summary"],
        }
        if link.parameters:
            target["parameters"] = dict(link.parameters)
        if link.body:
            target["requestBody"] = dict(link.body)
        answer = operations[link.source]["responses"][str(link.status)]
        answer.setdefault("links", {})[link.target] = target

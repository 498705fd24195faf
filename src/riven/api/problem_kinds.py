"""The problems that the API answers with: stable codes, each with its status, its meaning and what to do about it.

`/problems/CODE` shows an entry; docs/reference/http-problems.md is this table, and a test holds them together.
A new kind of refusal is a subclass of one of `tenancy.errors`, with a code of its own, and a line here.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ProblemKind:
    code: str
    status: int
    title: str
    meaning: str
    advice: str


_ALL: Final = (
    ProblemKind("malformed_json", 400, "Malformed JSON", "The body is no JSON.", "Mend the place that is named."),
    ProblemKind(
        "bad_cursor",
        400,
        "Bad cursor",
        "The `cursor` is none that a list of this kind gave.",
        "Send `nextCursor` of the page before as it came, or none for the first page.",
    ),
    ProblemKind(
        "bad_request", 400, "Bad request", "The request is no HTTP that can be read.", "Do what the detail says."
    ),
    ProblemKind(
        "unauthenticated",
        401,
        "Not authenticated",
        "There is no credential, or it is unknown, expired or revoked.",
        "Send `Authorization: Bearer` with an API key (`rvn_...`) or a token of the identity provider.",
    ),
    ProblemKind(
        "forbidden",
        403,
        "Forbidden",
        "The credential is good, but its role is too low for this.",
        "Use a key with the role that the detail names.",
    ),
    ProblemKind(
        "foreign_workspace",
        403,
        "Foreign workspace",
        "This belongs to a workspace in which the caller is nobody.",
        "Use a key of that workspace, or become a member of it.",
    ),
    ProblemKind(
        "foreign_workflow",
        403,
        "Foreign workflow",
        "The workflow belongs to another workspace.",
        "Start it in its own workspace, or name one of the workspace's own.",
    ),
    ProblemKind(
        "workspace_disabled",
        403,
        "Workspace disabled",
        "The workspace is disabled: it starts nothing, and what is in line waits.",
        "Have the platform enable it again.",
    ),
    ProblemKind("not_found", 404, "Not found", "There is nothing at this address.", "Check the address and its ids."),
    ProblemKind(
        "workspace_not_found",
        404,
        "Workspace not found",
        "There is no workspace with this id.",
        "Take the id from `GET /api/v1/workspaces`.",
    ),
    ProblemKind(
        "workflow_not_found",
        404,
        "Workflow not found",
        "The workspace has no workflow of this name or id, or it was archived.",
        "Take it from `GET /api/v1/workspaces/{workspaceId}/workflows`, or save and publish it.",
    ),
    ProblemKind(
        "version_not_found",
        404,
        "Version not found",
        "The workflow has no such version.",
        "Take one from `GET /api/v1/workspaces/{workspaceId}/workflows/{name}/versions`, or leave it out for the latest.",
    ),
    ProblemKind(
        "execution_not_found",
        404,
        "Execution not found",
        "There is no execution with this id, or it was pruned.",
        "Take the id from the answer to the start, or from `GET /api/v1/workflow/executions`.",
    ),
    ProblemKind(
        "queue_item_not_found",
        404,
        "Queue item not found",
        "There is no queue item with this id: it leaves the line when its run is over.",
        "Ask for the execution instead.",
    ),
    ProblemKind(
        "approval_not_found",
        404,
        "Approval not found",
        "No approval waits at this path of the execution, at least not yet.",
        "Take the path from `GET /api/v1/workflow/executions/{executionId}/nodes`.",
    ),
    ProblemKind(
        "key_not_found",
        404,
        "Key not found",
        "There is no API key with this id.",
        "Take the id from `GET /api/v1/workspaces/{workspaceId}/keys`.",
    ),
    ProblemKind(
        "member_not_found",
        404,
        "Member not found",
        "The workspace has no member with this id.",
        "Take the id from `GET /api/v1/workspaces/{workspaceId}/members`.",
    ),
    ProblemKind(
        "method_not_allowed",
        405,
        "Method not allowed",
        "The address exists, but not with this method.",
        "Use one of those that the header `Allow` lists.",
    ),
    ProblemKind(
        "conflict",
        409,
        "Conflict",
        "What is asked for cannot be done in the state that it is in now.",
        "Look at its state, and decide anew.",
    ),
    ProblemKind(
        "workflow_not_published",
        409,
        "Workflow not published",
        "The workflow is a draft: there is no version of it that could run.",
        "Publish it.",
    ),
    ProblemKind(
        "refused_by_constraint",
        409,
        "Refused by a constraint",
        "The database refused the rows; nothing was stored.",
        "Read what the request names again, and decide anew.",
    ),
    ProblemKind(
        "member_exists",
        409,
        "Member exists",
        "The subject is a member of the workspace already.",
        "`PATCH` the member to change the role.",
    ),
    ProblemKind(
        "changed",
        412,
        "Changed meanwhile",
        "What `If-Match` names is not what is there now.",
        "Read it again, bring the changes together, and send the new `ETag`.",
    ),
    ProblemKind(
        "too_large",
        413,
        "Too large",
        "The body has more than 1 MiB, or as a workflow document more than 4 MiB.",
        "Send less; keep large data elsewhere and send its address.",
    ),
    ProblemKind(
        "unsupported_media_type",
        415,
        "Unsupported media type",
        "The body is declared as something that is not taken here.",
        "Send JSON with `Content-Type: application/json`.",
    ),
    ProblemKind(
        "invalid_request",
        422,
        "Invalid request",
        "Fields are missing, unknown or have values that they cannot have; `errors` lists all of them.",
        "Mend every place that `errors` names.",
    ),
    ProblemKind(
        "invalid_workflow",
        422,
        "Invalid workflow",
        "The draft has errors, so it cannot become a version; `errors` lists all of them, warnings too.",
        "Mend every place whose severity is error, save, and publish again.",
    ),
    ProblemKind(
        "invalid_input",
        422,
        "Invalid input",
        "The input does not fit the schema of the workflow's version; nothing was started.",
        "Mend every place that `errors` names.",
    ),
    ProblemKind(
        "idempotency_key_reused",
        422,
        "Idempotency key reused",
        "The `Idempotency-Key` came with another request before.",
        "Send a new request with a new key; repeat an old one as it was.",
    ),
    ProblemKind(
        "rate_limited",
        429,
        "Too many requests",
        "This credential asks more often than the installation allows.",
        "Wait for the seconds that `Retry-After` says, then go on more slowly.",
    ),
    ProblemKind(
        "limit_reached",
        429,
        "Limit reached",
        "A limit of the workspace is used up.",
        "Wait for the seconds that `Retry-After` says, or have the limit raised.",
    ),
    ProblemKind(
        "queued_limit",
        429,
        "Queue limit reached",
        "The workspace has as many executions in line as it may have.",
        "Wait until some have started and for the seconds that `Retry-After` says, or have the limit raised.",
    ),
    ProblemKind(
        "internal_error",
        500,
        "Internal error",
        "riven made a mistake; its log tells of it under the id in the detail.",
        "Tell the operator that id. Whether the request had an effect is not known.",
    ),
    ProblemKind(
        "unavailable",
        503,
        "Unavailable",
        "The database, or something else that is needed, cannot be reached.",
        "Try again after the seconds that `Retry-After` says.",
    ),
    ProblemKind(
        "idempotency_key_busy",
        503,
        "Idempotency key busy",
        "Another request with the same `Idempotency-Key` is being written in a transaction that lasts.",
        "Repeat the request after the seconds that `Retry-After` says: it gets the answer of the first one.",
    ),
    ProblemKind(
        "identity_provider_unavailable",
        503,
        "Identity provider unavailable",
        "The token cannot be checked, because the keys of its issuer cannot be fetched.",
        "Try again after the seconds that `Retry-After` says, or use an API key.",
    ),
)  # fmt: skip

PROBLEM_KINDS: Final = {kind.code: kind for kind in _ALL}

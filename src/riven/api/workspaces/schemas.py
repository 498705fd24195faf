"""Bodies about workspaces."""

from typing import Annotated, Final
from uuid import UUID

from pydantic import ConfigDict, Field

from riven.api.fields import Flag, Name, RequestBody, ResponseBody, Shown, Whole

Running = Annotated[Whole, Field(ge=0, le=1_000_000, description="Executions running at once.")]
Queued = Annotated[
    Whole, Field(ge=0, le=10**12, description="Executions waiting in line; more are refused with 429.")
]
MaxAttempts = Annotated[
    Whole, Field(ge=1, le=100, description="Starts that the engine refused before an item is FAILED.")
]
Weight = Annotated[Whole, Field(ge=1, le=1_000, description="Items admitted at each turn.")]


TIERS: Final = ("FREE", "PRO", "ENTERPRISE")
"""Those that every installation begins with. Which there are, the database says: `PUT /workspace-tiers` adds others."""
TierName = Annotated[
    str,
    Field(description="One of `GET /api/v1/workspace-tiers`.", json_schema_extra={"enum": list(TIERS)}),
]


class LimitsRequest(RequestBody):
    """What is not given, or null, is as the tier has it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"running": 8}]})

    running: Running | None = None
    queued: Queued | None = None
    max_attempts: MaxAttempts | None = None


class NewWorkspaceRequest(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "acme", "tier": "PRO"}]})

    name: Name
    tier: TierName
    limits: LimitsRequest | None = None
    weight: Weight = 1


class WorkspacePatch(RequestBody):
    """What is not given stays; a limit that is null is the tier's again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tier": "ENTERPRISE", "limits": {"running": 40}}]}
    )

    name: Annotated[Name, Field(default="")]
    tier: Annotated[TierName, Field(default="")]
    limits: Annotated[LimitsRequest, Field(default_factory=LimitsRequest)]
    weight: Annotated[Weight, Field(default=1)]
    disabled: Annotated[Flag, Field(default=False, description="Starts are 403; what waits, waits.")]


class LimitsBody(ResponseBody):
    """In force: the workspace's own, else the tier's."""

    running: int
    queued: int | None
    """Null: no limit."""
    max_attempts: int


class WorkspaceBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
                    "name": "acme",
                    "tier": "PRO",
                    "limits": {"running": 5, "queued": 1_000_000, "maxAttempts": 3},
                    "weight": 1,
                    "disabled": False,
                    "createdAt": "2026-11-19T08:30:00.125Z",
                    "updatedAt": "2026-11-19T08:30:00.125Z",
                }
            ]
        }
    )

    workspace_id: UUID
    name: str
    tier: str
    limits: LimitsBody
    weight: int
    disabled: bool
    created_at: Shown
    updated_at: Shown

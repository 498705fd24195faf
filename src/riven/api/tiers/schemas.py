"""Bodies about tiers."""

from typing import Annotated

from pydantic import ConfigDict, Field

from riven.api.fields import RequestBody, ResponseBody
from riven.api.workspaces.schemas import Queued, Running


class TierLimits(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"running": 5, "queued": 1_000_000}]})

    running: Running
    queued: Annotated[Queued | None, Field(description="Null or absent: no limit.")] = None


class TierBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "PRO", "limits": {"running": 5, "queued": 1_000_000}}]}
    )

    name: str
    limits: TierLimits

"""Bodies about the audit trail."""

from typing import Any
from uuid import UUID

from pydantic import ConfigDict

from riven.api.fields import ResponseBody, Shown


class ActivityBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b13",
                    "at": "2026-11-19T08:30:00.125Z",
                    "actor": "key:0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b12",
                    "action": "key.created",
                    "subject": "key:0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b14",
                    "details": {"name": "backend", "role": "OPERATOR"},
                }
            ]
        }
    )

    id: UUID
    at: Shown
    actor: str
    """`key:ID` or `user:SUBJECT`."""
    action: str
    subject: str
    details: dict[str, Any]

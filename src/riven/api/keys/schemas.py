"""Bodies about API keys."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from riven.api.fields import Moment, Name, RequestBody, ResponseBody, Shown

RoleName = Literal["VIEWER", "OPERATOR", "EDITOR", "ADMIN"]
Expiry = Annotated[
    Moment | None,
    Field(
        description="From then on it is refused; null or absent: never.", examples=["2030-01-01T00:00:00Z"]
    ),
]


class NewKeyRequest(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "backend", "role": "OPERATOR"}]})

    name: Name
    role: RoleName
    expires_at: Expiry = None


class NewPlatformKeyRequest(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "provisioning"}]})

    name: Name
    expires_at: Expiry = None


class KeyBody(ResponseBody):
    key_id: UUID
    name: str
    prefix: str
    """How the key begins, to recognise it by."""
    role: str
    expires_at: Shown | None
    last_used_at: Shown | None
    """To the minute."""
    created_at: Shown


class NewKeyBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "keyId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b12",
                    "key": "rvn_3kTMd0bCq8sVfYpL2wXhZr7NjGuEaQ1oI5x9BtKcRyS",
                    "prefix": "rvn_3kTMd0bC",
                    "name": "backend",
                    "role": "OPERATOR",
                    "expiresAt": None,
                    "createdAt": "2026-11-19T08:30:00.125Z",
                }
            ]
        }
    )

    key_id: UUID
    key: str
    """Shown now and never again."""
    prefix: str
    name: str
    role: str
    expires_at: Shown | None
    created_at: Shown

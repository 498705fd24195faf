"""Bodies about members."""

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from riven.api.fields import RequestBody, ResponseBody, Shown, Text
from riven.api.keys.schemas import RoleName

Subject = Annotated[
    Text,
    StringConstraints(min_length=1, max_length=255),
    Field(description="`sub` of the user's tokens, as the identity provider writes it."),
]


class NewMemberRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"subject": "auth0|5f7c8ec7", "role": "EDITOR"}]}
    )

    subject: Subject
    role: RoleName


class MemberPatch(RequestBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"role": "ADMIN"}]})

    role: RoleName


class MemberBody(ResponseBody):
    member_id: UUID
    subject: str
    role: str
    created_at: Shown

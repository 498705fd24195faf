"""POST, GET, PATCH and DELETE of members."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Admin, State
from riven.api.members.schemas import MemberBody, MemberPatch, NewMemberRequest
from riven.api.openapi import problems
from riven.api.pagination import Listed, Page, page_of
from riven.api.responses import JsonResponse, no_content
from riven.tenancy.members import Member, add_member, change_member, list_members, remove_member
from riven.tenancy.principals import Role

router = APIRouter(prefix="/api/v1/workspaces/{workspaceId}/members", route_class=Operation, tags=["members"])

MemberId = Annotated[UUID, Path(alias="memberId")]


@router.post("", summary="Add a member", status_code=201, response_model=MemberBody, responses=problems(409))
async def add(state: State, scope: Admin, body: Annotated[NewMemberRequest, Body()]) -> Response:
    """A user of the identity provider, by the subject of its tokens."""
    async with state.database.transaction() as connection:
        added = await add_member(connection, scope, subject=body.subject, role=Role(body.role))
    state.authenticator.forget(f"user:{added.subject}")
    return JsonResponse(_shown(added), 201)


@router.get("", summary="List the members", response_model=Listed[MemberBody])
async def list_all(state: State, scope: Admin, page: Annotated[Page, page_of("members")]) -> Response:
    async with state.database.read() as connection:
        found = await list_members(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.patch("/{memberId}", summary="Change a member's role", response_model=MemberBody)
async def change(
    state: State, scope: Admin, member_id: MemberId, body: Annotated[MemberPatch, Body()]
) -> Response:
    """At once."""
    async with state.database.transaction() as connection:
        changed = await change_member(connection, scope, member_id, Role(body.role))
    state.authenticator.forget(f"user:{changed.subject}")
    return JsonResponse(_shown(changed))


@router.delete("/{memberId}", summary="Remove a member", status_code=204)
async def remove(state: State, scope: Admin, member_id: MemberId) -> Response:
    """At once."""
    async with state.database.transaction() as connection:
        removed = await remove_member(connection, scope, member_id)
    state.authenticator.forget(f"user:{removed.subject}")
    return no_content()


def _shown(member: Member) -> object:
    return MemberBody(
        member_id=member.id, subject=member.subject, role=member.role, created_at=member.created_at
    ).shown()

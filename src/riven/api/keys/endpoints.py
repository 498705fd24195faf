"""POST, GET and DELETE of API keys."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Admin, Platform, SomeAdmin, State
from riven.api.keys.schemas import KeyBody, NewKeyBody, NewKeyRequest, NewPlatformKeyRequest
from riven.api.pagination import Listed, Page, page_of
from riven.api.responses import JsonResponse, no_content
from riven.api.state import AppState
from riven.tenancy.keys import (
    ApiKey,
    KeyNotFoundError,
    NewKey,
    create_key,
    create_platform_key,
    list_keys,
    list_platform_keys,
    revoke_key,
)
from riven.tenancy.principals import Principal, Role

router = APIRouter(prefix="/api/v1", route_class=Operation, tags=["keys"])

KeyId = Annotated[UUID, Path(alias="keyId", description="The key's id, not the key.")]


@router.post(
    "/workspaces/{workspaceId}/keys", summary="Make a key", status_code=201, response_model=NewKeyBody
)
async def create(state: State, scope: Admin, body: Annotated[NewKeyRequest, Body()]) -> Response:
    """The answer is the only place where the key is ever shown."""
    async with state.database.transaction() as connection:
        made = await create_key(
            connection, scope, name=body.name, role=Role(body.role), expires_at=body.expires_at
        )
    return _made(made)


@router.get(
    "/workspaces/{workspaceId}/keys", summary="List the keys of a workspace", response_model=Listed[KeyBody]
)
async def list_all(state: State, scope: Admin, page: Annotated[Page, page_of("keys")]) -> Response:
    """Without those that were revoked."""
    async with state.database.read() as connection:
        found = await list_keys(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.delete(
    "/workspaces/{workspaceId}/keys/{keyId}", summary="Revoke a key of a workspace", status_code=204
)
async def revoke(state: State, scope: Admin, key_id: KeyId) -> Response:
    """At once: the next request with it is 401."""
    return await _revoke(state, scope.principal, key_id, scope.workspace_id)


@router.post("/keys", summary="Make a platform key", status_code=201, response_model=NewKeyBody)
async def create_platform(
    state: State, platform: Platform, body: Annotated[NewPlatformKeyRequest, Body()]
) -> Response:
    """A platform key is ADMIN in every workspace, and administers workspaces, tiers and limits."""
    async with state.database.transaction() as connection:
        made = await create_platform_key(connection, platform, name=body.name, expires_at=body.expires_at)
    return _made(made)


@router.get("/keys", summary="List the platform keys", response_model=Listed[KeyBody])
async def list_platform(
    state: State, platform: Platform, page: Annotated[Page, page_of("platform-keys")]
) -> Response:
    async with state.database.read() as connection:
        found = await list_platform_keys(connection, platform, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.delete("/keys/{keyId}", summary="Revoke any key", status_code=204)
async def revoke_any(state: State, caller: SomeAdmin, key_id: KeyId) -> Response:
    """At once. A platform key by a platform key, others by an ADMIN of their workspace."""
    return await _revoke(state, caller, key_id, None)


async def _revoke(state: AppState, caller: Principal, key_id: UUID, workspace_id: UUID | None) -> Response:
    async with state.database.transaction() as connection:
        revoked = await revoke_key(connection, caller, key_id)
        if workspace_id is not None and revoked.workspace_id != workspace_id:
            raise KeyNotFoundError(f"this workspace has no key {key_id}")
    state.authenticator.forget(f"key:{key_id}")
    return no_content()


def _made(made: NewKey) -> Response:
    key = made.stored
    body = NewKeyBody(
        key_id=key.id,
        key=made.secret,
        prefix=key.prefix,
        name=key.name,
        role=key.role,
        expires_at=key.expires_at,
        created_at=key.created_at,
    )
    return JsonResponse(body.shown(), 201)


def _shown(key: ApiKey) -> object:
    return KeyBody(
        key_id=key.id,
        name=key.name,
        prefix=key.prefix,
        role=key.role,
        expires_at=key.expires_at,
        last_used_at=key.last_used_at,
        created_at=key.created_at,
    ).shown()

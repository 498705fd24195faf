"""What `riven dev` needs in its database: the schema, a workspace and a key. A process of its own, which then is gone.

The supervisor stays small for it: nothing of this is loaded where nothing of it runs. Reads `{databaseUrl, apiKey}` as
JSON from its standard input, writes `{workspaceId, apiKey}` to its standard output; `apiKey` is null where none is known.
"""

import asyncio
import json
import sys
from uuid import UUID

from riven.db.engine import Connection, Database
from riven.db.schema import migrate
from riven.tenancy.keys import create_platform_key, hash_secret
from riven.tenancy.principals import Principal, Role
from riven.tenancy.workspaces import DEFAULT, Limits, create_workspace, default_workspace

_INSTALLATION = Principal(kind="user", id="installation", name="installation", role=Role.PLATFORM)
_KNOWN = (
    "SELECT EXISTS (SELECT FROM api_keys WHERE key_hash = $1 AND revoked_at IS NULL AND workspace_id IS NULL)"
)


async def prepare(url: str, known_key: str | None) -> tuple[UUID, str]:
    """The default workspace and a platform key that works: the known one if it still does."""
    await migrate(url)
    database = Database(url, application="riven prepare", pool_size=1)
    try:
        async with database.transaction() as connection:
            workspace_id = await _workspace(connection)
            if known_key is not None and await connection.fetch_value(_KNOWN, hash_secret(known_key)):
                return workspace_id, known_key
            made = await create_platform_key(connection, _INSTALLATION, name="riven dev", expires_at=None)
            return workspace_id, made.secret
    finally:
        await database.close()


async def _workspace(connection: Connection) -> UUID:
    found = await default_workspace(connection)
    if found is not None:
        return found
    made = await create_workspace(connection, _INSTALLATION, name=DEFAULT, tier="ENTERPRISE", limits=Limits())
    return made.id


def main() -> None:
    asked = json.load(sys.stdin)
    workspace_id, key = asyncio.run(prepare(asked["databaseUrl"], asked["apiKey"]))
    json.dump({"workspaceId": str(workspace_id), "apiKey": key}, sys.stdout)


if __name__ == "__main__":
    main()

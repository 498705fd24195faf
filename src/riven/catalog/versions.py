"""Versions: immutable snapshots that executions run."""

from uuid import UUID

from riven.db.engine import Connection
from riven.wire.document import Document, from_json

_DOCUMENT = "SELECT document FROM workflow_definition_versions WHERE id = $1"


async def load_document(connection: Connection, version_id: UUID) -> Document | None:
    """The normalised document of a version; None if its row is gone. Raises InvalidDocumentError for a damaged one."""
    stored = await connection.fetch_value(_DOCUMENT, version_id)
    return None if stored is None else from_json(stored)

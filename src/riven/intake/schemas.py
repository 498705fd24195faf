"""The input schemas of versions, kept in memory: a version never changes."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final
from uuid import UUID

import orjson

from riven.catalog.versions import load_input_schemas
from riven.db.engine import Connection
from riven.wire.document import Document

_MOST_BYTES: Final = 32 << 20
_OVERHEAD: Final = 512


class InputSchemas:
    """Each as a document that has nothing but its input's schema, which is all that `check_input` looks at."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[UUID, tuple[Document, int]] = OrderedDict()
        self._bytes = 0

    async def find(
        self, connection: Connection, versions: Iterable[tuple[UUID, str]]
    ) -> dict[UUID, Document]:
        """By version id; `versions` are ids with the names of their workflows. None is there for one that is gone."""
        found: dict[UUID, Document] = {}
        missing: dict[UUID, str] = {}
        for version_id, name in versions:
            kept = self._kept.get(version_id)
            if kept is None:
                missing[version_id] = name
            else:
                self._kept.move_to_end(version_id)
                found[version_id] = kept[0]
        if missing:
            for version_id, text in (await load_input_schemas(connection, list(missing))).items():
                document = Document(name=missing[version_id], input=orjson.loads(text or "null"))
                found[version_id] = document
                self._keep(version_id, document, len(text or "") + _OVERHEAD)
        return found

    def _keep(self, version_id: UUID, document: Document, size: int) -> None:
        if size > self._most_bytes or version_id in self._kept:
            return
        self._kept[version_id] = (document, size)
        self._bytes += size
        while self._bytes > self._most_bytes:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed

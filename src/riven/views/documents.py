"""Documents of versions, remembered: they never change, and every look at the nodes of a run needs its own."""

from collections import OrderedDict
from typing import Final
from uuid import UUID

from riven.catalog.versions import load_document
from riven.core.errors import InvalidDocumentError
from riven.db.engine import Connection
from riven.wire.document import Document

_MOST: Final = 64


class Documents:
    """One for each process that shows runs."""

    def __init__(self) -> None:
        self._known: OrderedDict[UUID, Document] = OrderedDict()

    async def get(self, connection: Connection, version_id: UUID) -> Document | None:
        """None: the version is gone, or damaged."""
        known = self._known.get(version_id)
        if known is not None:
            self._known.move_to_end(version_id)
            return known
        try:
            document = await load_document(connection, version_id)
        except InvalidDocumentError:
            return None
        if document is not None:
            self._known[version_id] = document
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return document

"""What the embedded engine needs from outside: a journal. In memory, or completion's."""

from typing import Protocol

from riven.effects.recorder import Entry, Recorder


class Journal(Recorder, Protocol):
    async def write(self, entry: Entry) -> None:
        """Durable when this returns."""

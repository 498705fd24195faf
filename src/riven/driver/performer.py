"""What makes the coordinator's commands real. Each engine has its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from riven.core.messages import Command, Event


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that were taken in together, and everything that was decided on them."""

    seq: int
    """Number of the first event; the others follow it by one each."""
    events: Sequence[Event]
    commands: Sequence[Command]
    """In the order in which they take effect."""


class Performer(Protocol):
    async def record(self, batch: Batch) -> None:
        """Make the batch durable: nothing of what it asks for has begun when this is called.

        What it raises ends the loop at once, unrecorded: whoever started the run decides what becomes of it.
        """

    def perform(self, command: Command) -> None:
        """Begin what the command asks for, without waiting for it.

        Answers come through the inbox: exactly one for each StartNode. Called for every command but Finish, in order.
        """

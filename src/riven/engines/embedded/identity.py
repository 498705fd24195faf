"""UUIDs of version 7: they sort by the time at which they were made."""

import uuid
from random import Random

from riven.core.ids import ExecutionId


def new_execution_id(now: int, dice: Random) -> ExecutionId:
    """`now` in milliseconds since the epoch."""
    value = (now & (2**48 - 1)) << 80 | 7 << 76 | dice.getrandbits(12) << 64 | 2 << 62 | dice.getrandbits(62)
    return ExecutionId(str(uuid.UUID(int=value)))

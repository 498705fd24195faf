"""Ids of rows: UUIDs of version 7, which sort by the time at which they were made, so that indexes grow at one end.

Those of one process sort exactly in the order in which it made them: lists that show the newest first rely on it.
"""

import os
import time
from uuid import UUID

_last = [0]


def new_id() -> UUID:
    now = time.time_ns()  # nothing is decided by it: times that matter are the database's
    millisecond, rest = divmod(now, 1_000_000)
    moment = max(millisecond << 12 | (rest << 12) // 1_000_000, _last[0] + 1)  # to a quarter of a microsecond
    _last[0] = moment
    noise = int.from_bytes(os.urandom(8)) >> 2
    return UUID(int=(moment >> 12) << 80 | 7 << 76 | (moment & 0xFFF) << 64 | 2 << 62 | noise)

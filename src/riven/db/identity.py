"""Ids of rows: UUIDs of version 7, which sort by the time at which they were made, so that indexes grow at one end."""

import os
import time
from uuid import UUID


def new_id() -> UUID:
    now = time.time_ns() // 1_000_000  # nothing is decided by it: times that matter are the database's
    noise = int.from_bytes(os.urandom(10), "big")
    return UUID(int=now << 80 | 7 << 76 | (noise >> 64 & 0xFFF) << 64 | 2 << 62 | noise & (2**62 - 1))

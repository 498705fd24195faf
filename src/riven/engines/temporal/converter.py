"""How values travel: as JSON, large ones compressed, so that the graphs of large documents fit into one message."""

import dataclasses
import zlib
from collections.abc import Sequence

from temporalio.api.common.v1 import Payload
from temporalio.converter import DataConverter, PayloadCodec

LARGE = 4 * 1024
"""Bytes from which it pays; what is smaller stays readable in Temporal's own tools."""
_ENCODING = b"binary/zlib"


class Compressing(PayloadCodec):
    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [_compressed(each) if each.ByteSize() >= LARGE else each for each in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload.FromString(zlib.decompress(each.data))
            if each.metadata.get("encoding") == _ENCODING
            else each
            for each in payloads
        ]


def _compressed(payload: Payload) -> Payload:
    return Payload(metadata={"encoding": _ENCODING}, data=zlib.compress(payload.SerializeToString()))


CONVERTER = dataclasses.replace(DataConverter.default, payload_codec=Compressing())
"""Of every client and worker, and of whoever replays a history."""

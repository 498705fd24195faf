"""Answers as JSON, by orjson: it writes UUIDs, and floats that are finite, as they are."""

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from riven.wire.document import Json


class JsonResponse(Response):
    media_type = "application/json"

    def __init__(
        self, content: Json, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(content, status_code, headers)

    def render(self, content: Json) -> bytes:
        return orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)


NO_CONTENT = 204


def no_content() -> Response:
    return Response(status_code=NO_CONTENT)

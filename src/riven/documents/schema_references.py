"""References inside of one JSON Schema: pointers such as `#/$defs/money`, and anchors."""

from collections.abc import Mapping

from riven.wire.document import Json


class References:
    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._anchors: dict[str, Json] | None = None

    def target(self, reference: Json) -> Json:
        """What it points at; None for what is not there, or not in this schema."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        name = reference[1:]
        if name and not name.startswith("/"):
            if self._anchors is None:
                self._anchors = self._find_anchors()
            return self._anchors.get(name)
        found = self._schema
        for step in name.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif (
                isinstance(found, list) and step.isdecimal() and step.isascii() and int(step[:9]) < len(found)
            ):
                found = found[int(step[:9])]
            else:
                return None
        return found

    def _find_anchors(self) -> dict[str, Json]:
        anchors: dict[str, Json] = {}
        todo = [self._schema]
        while todo:
            each = todo.pop()
            if isinstance(each, Mapping):
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(each.get(keyword), str):
                        anchors.setdefault(each[keyword], each)
                todo += each.values()
            elif isinstance(each, list):
                todo += each
        return anchors

"""A change to a JSON value: what it names is replaced, null takes a field away (RFC 7396, JSON Merge Patch)."""

from riven.wire.document import Json


def merged(value: Json, patch: Json) -> Json:
    """A new value; neither of the two is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result

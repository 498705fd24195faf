import pytest

from riven.documents.schema_references import References
from riven.wire.document import Json

SCHEMA = {
    "$defs": {"a/b": {"x": 1}, "c~d": {"y": 2}, "e": {"$anchor": "named", "z": 3}},
    "prefixItems": [{"first": True}, {"$dynamicAnchor": "moving"}],
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", SCHEMA),
        ("#/$defs/a~1b", {"x": 1}),
        ("#/$defs/c~0d", {"y": 2}),
        ("#/prefixItems/0", {"first": True}),
        ("#named", {"$anchor": "named", "z": 3}),
        ("#moving", {"$dynamicAnchor": "moving"}),
        ("#other", None),
        ("#/prefixItems/7", None),
        ("#/prefixItems/" + "9" * 100, None),
        ("#/prefixItems/٣", None),
        ("#/$defs/nobody", None),
        ("http://x/y", None),
        ("other.json", None),
        (3, None),
        (None, None),
    ],
)
def test_references_lead_inside_of_the_schema_or_nowhere(reference: Json, found: Json) -> None:
    assert References(SCHEMA).target(reference) == found

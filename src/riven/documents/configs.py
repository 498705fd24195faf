"""The configuration of a node against its type: fields, static fields, and the type's own rules.

Where a placeholder stands, nobody knows the value yet, so what the type says of that place is left for the run.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from riven.core.graph import RESERVED_LABELS
from riven.core.validation import GraphCode
from riven.documents.codes import Code
from riven.documents.draft import DraftNode
from riven.documents.findings import Findings
from riven.documents.places import Location, find, shorten
from riven.documents.wording import Fault, faults
from riven.nodes.contract import NodeType
from riven.wire.document import Json

_WITHIN_VALUE: Final = frozenset({Code.INVALID_VALUE})
_UNCLEAR: Final = frozenset({Code.UNKNOWN_FIELD, Code.MISSING_FIELD})
"""After these nobody knows which fields were meant, so rules about several fields would speak of the same mistake."""


def check_config(node: DraftNode, node_type: NodeType[Any], findings: Findings) -> None:
    config, location = node.config, (*node.location, "with")
    templated = [place for place, _ in node.templated]
    conditions = set(expression_places(config, node_type.expression_fields))
    _check_static(node_type, location, [place for place in templated if place not in conditions], findings)
    if node_type.type == "switch":
        _check_cases(config, location, findings)
    try:
        node_type.config.model_validate(config)
    except ValidationError as error:
        wrong = faults(error, node_type.config, config)
    except Exception as error:  # noqa: BLE001 - a foreign model may raise anything of its own
        said = (
            f"the type {node_type.type} cannot check this: {type(error).__name__}: {shorten(str(error), 200)}"
        )
        findings.error(location, Code.INVALID_VALUE, said)
        return
    else:
        return
    certain = [fault for fault in wrong if not _is_left_for_the_run(fault, config, templated)]
    for fault in certain:
        missing = node.location if fault.code is Code.MISSING_FIELD else None
        where = (*location, *fault.location)
        findings.error(where, fault.code, fault.message, at_key=fault.at_key, at=missing)
    misspelt = any(len(fault.location) == 1 and fault.code in _UNCLEAR for fault in certain)
    if not misspelt and all(fault.location for fault in wrong):
        _check_rules(node_type.config, config, location, findings)


def expression_places(config: Json, fields: Sequence[str]) -> Iterator[Location]:
    """Where bare CEL stands: `cases[].if` is the `if` of every element of `cases`."""
    for name in fields:
        found: list[tuple[Location, Json]] = [((), config)]
        for step in name.split("."):
            key = step.removesuffix("[]")
            found = [
                ((*place, key), value[key])
                for place, value in found
                if isinstance(value, dict) and value.get(key) is not None
            ]
            if step.endswith("[]"):
                found = [
                    ((*place, index), item)
                    for place, items in found
                    if isinstance(items, list)
                    for index, item in enumerate(items)
                ]
        for place, _ in found:
            yield place


def _check_static(
    node_type: NodeType[Any], location: Location, templated: list[Location], findings: Findings
) -> None:
    static = {field.partition(".")[0].removesuffix("[]") for field in node_type.static_fields}
    for place in templated:
        if place and place[0] in static:
            said = f"`{place[0]}` is needed before anything runs, so no placeholder can stand here; write the value out"
            findings.error((*location, *place), Code.TEMPLATE_NOT_ALLOWED, said)
            findings.spoil((*location, *place))


def _check_cases(config: dict[str, Json], location: Location, findings: Findings) -> None:
    """The names of a switch's cases: each its own, and none that edges use for something else."""
    cases = config.get("cases")
    seen: set[str] = set()
    for index, case in enumerate(cases if isinstance(cases, list) else ()):
        name = case.get("name") if isinstance(case, dict) else None
        if not isinstance(name, str):
            continue
        place = (*location, "cases", index, "name")
        if name in RESERVED_LABELS:
            said = f"{name!r} means something of its own on edges; call this case otherwise"
            findings.error(place, GraphCode.RESERVED_LABEL, said)
            findings.spoil(place)
        elif name in seen:
            said = f"two cases are called {shorten(name)!r}; rename one"
            findings.error(place, GraphCode.DUPLICATE_LABEL, said)
            findings.spoil((*location, "cases"))
        seen.add(name)


def _is_left_for_the_run(fault: Fault, config: dict[str, Json], templated: list[Location]) -> bool:
    if not templated:
        return False
    value, place = find(config, fault.location)
    if isinstance(value, str):
        return place in templated
    # A rule about a whole list or mapping may be about the part that is not known yet.
    about_parts = fault.code in _WITHIN_VALUE and isinstance(value, list | dict) and bool(place)
    return about_parts and any(other[: len(place)] == place for other in templated)


def _check_rules(
    model: type[BaseModel], config: dict[str, Json], location: Location, findings: Findings
) -> None:
    """The rules about several fields, which pydantic has not come to, on the values as they are written."""
    draft = model.model_construct(**config)
    for rule in model.__pydantic_decorators__.model_validators.values():
        if rule.info.mode != "after":
            continue
        try:
            getattr(draft, rule.cls_var_name)()
        except (ValueError, AssertionError, PydanticCustomError) as error:
            findings.error(location, Code.INVALID_VALUE, shorten(str(error), 300))
        except Exception:  # noqa: BLE001, S112 - the rule looked into a value that is not known yet
            continue

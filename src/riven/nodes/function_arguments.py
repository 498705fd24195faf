"""The arguments of a function, checked by pydantic against its signature before it is called."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from riven.core.errors import ErrorClass
from riven.nodes.contract import NodeError
from riven.nodes.function import Function, FunctionError, annotations
from riven.wire.document import Json

Check: TypeAlias = Callable[[Mapping[str, Json]], dict[str, Any]]
"""From the `args` of a node to what the function is called with; raises NodeError, VALIDATION_ERROR."""


def compile_check(found: Function) -> Check:
    """How to check the arguments of this function.

    Raises:
        FunctionError: an annotation cannot be resolved, or pydantic cannot check its type.
    """
    hints = annotations(found.call, found.origin)
    named = [
        parameter
        for name, parameter in found.signature.parameters.items()
        if name != found.context_parameter and parameter.kind is not parameter.VAR_KEYWORD
    ]
    rest = next((p for p in found.signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    try:
        model = _model(named, hints, extra=rest is not None)
        others = _others(hints.get(rest.name)) if rest is not None else None
    except (PydanticUserError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise FunctionError(
            f"{found.origin}: {found.name}: an argument's type cannot be checked: {reason}"
        ) from None
    if not named and others is None:
        return dict if rest is not None else _none_at_all(found)
    aliases = {f"argument_{index}": parameter.name for index, parameter in enumerate(named)}
    defaults = _declared_defaults(named)
    reserved = found.context_parameter

    def check(args: Mapping[str, Json]) -> dict[str, Any]:
        if reserved is not None and reserved in args:
            raise _refused(found, [f"`{reserved}` is given by the engine, not by the document"])
        try:
            checked = model.model_validate(dict(args))
            extra = checked.__pydantic_extra__ or {}
            if others is not None:
                extra = others.validate_python(extra)
        except ValidationError as error:
            raise _refused(found, _complaints(error, named)) from None
        given = {
            aliases[field]: getattr(checked, field) for field in aliases if field in checked.model_fields_set
        }
        return {**defaults, **given, **extra}

    return check


def _model(named: list[inspect.Parameter], hints: Mapping[str, Any], *, extra: bool) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for index, parameter in enumerate(named):
        hint = hints.get(parameter.name, Any)
        required = parameter.default is inspect.Parameter.empty
        if isinstance(parameter.default, FieldInfo):
            hint = Annotated[hint, parameter.default]
            required = parameter.default.is_required()
        # Own field names, so that a parameter may be called `json`, `copy` or `_x`, which models cannot.
        fields[f"argument_{index}"] = (
            hint,
            Field(alias=parameter.name) if required else Field(default=None, alias=parameter.name),
        )
    config = ConfigDict(extra="allow" if extra else "forbid", protected_namespaces=())
    return create_model("Arguments", __config__=config, **fields)


def _others(hint: Any) -> "TypeAdapter[dict[str, Any]] | None":  # noqa: ANN401 - a type that only run time knows
    """For the hint of `**rest`; None when anything goes."""
    return None if hint is None or hint is Any else TypeAdapter(dict[str, hint])


def _declared_defaults(named: list[inspect.Parameter]) -> dict[str, Any]:
    """`x: int = Field(default=5)`: Python itself would pass the Field."""
    return {
        parameter.name: parameter.default.get_default(call_default_factory=True, validated_data={})
        for parameter in named
        if isinstance(parameter.default, FieldInfo) and not parameter.default.is_required()
    }


def _none_at_all(found: Function) -> Check:
    def check(args: Mapping[str, Json]) -> dict[str, Any]:
        if args:
            raise _refused(found, [f"there is no argument `{name}`; it takes none" for name in args])
        return {}

    return check


def _complaints(error: ValidationError, named: list[inspect.Parameter]) -> list[str]:
    takes = ", ".join(parameter.name for parameter in named) or "none"
    found: list[str] = []
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        name, *way = each["loc"] or ("",)
        place = f"{name}{''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in way)}"
        if each["type"] == "missing" and not way:
            found.append(f"the argument `{name}` is missing")
        elif each["type"] == "extra_forbidden" and not way:
            found.append(f"there is no argument `{name}`; it takes {takes}")
        else:
            found.append(f"argument `{place}`: {each['msg']}")
    return found


def _refused(found: Function, complaints: list[str]) -> NodeError:
    shown = complaints[:10] + ([f"and {len(complaints) - 10} more"] if len(complaints) > 10 else [])
    return NodeError(ErrorClass.VALIDATION_ERROR, f"function {found.name!r}: {'; '.join(shown)}")

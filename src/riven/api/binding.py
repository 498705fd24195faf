"""How endpoints are served: authenticate, check the address, the caller's role, the query, the headers, the body; call.

FastAPI reads the signatures of endpoints for OpenAPI. `Operation` reads the same signatures to serve them: in that
order, with errors in the words of the rest of riven, and in a seventh of the time that FastAPI's own way takes. What a
signature may have:

    workflow_id: Annotated[UUID, Path(alias="workflowId")]      a bad one is 404: there is nothing at such an address
    limit: Annotated[int, Query(ge=1, le=200)] = 50             a bad or unknown one is 422; a list repeats
    key: Annotated[str | None, Header(alias="Idempotency-Key")] = None
    body: Annotated[NewWorkspace, Body()]                       a pydantic model
    scope: Annotated[Scope, Role.VIEWER, Depends(viewer)]       `viewer` has such parameters too, and runs before the body;
                                                                the role is what it asks for, told by the description
    request: ApiRequest
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from fastapi import params
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from riven.api.problems import ProblemError, problem_response
from riven.api.requests import BODY_LIMIT, DOCUMENT_LIMIT, ApiRequest, check_length
from riven.core.errors import Problem, RivenError
from riven.documents.places import dotted
from riven.documents.wording import Fault, faults
from riven.tenancy.errors import UnauthenticatedError
from riven.tenancy.principals import Principal, Role

_BEARER: Final = b"bearer "


class Operation(APIRoute):
    """An endpoint under `/api/v1`; the subclasses differ in what they let in."""

    public = False
    body_limit = BODY_LIMIT

    def __init__(self, path: str, endpoint: Callable[..., Awaitable[Response]], **options: Any) -> None:  # noqa: ANN401
        if options.get("operation_id") is None:
            group = (options.get("tags") or ["page"])[0]
            options["operation_id"] = f"{group}_{endpoint.__name__}"
        super().__init__(path, endpoint, **options)
        self._bound = _Bound(endpoint)
        self.role = self._bound.role
        """What the caller must be at least; None: anybody whom the API knows, or with `public` everybody."""
        self.app = self._serve

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = ApiRequest(scope, receive, scope["riven"], self.body_limit)
        try:
            response = await self._answer(request)
        except RivenError as error:
            response = problem_response(error, scope["path"])
        await response(scope, receive, send)

    async def _answer(self, request: ApiRequest) -> Response:
        if not self.public:
            request.principal = await identify(request)
            request.services.limiter.admit(request.principal.id)
        response: Response = await self._bound.call(request, self._check)
        return response

    def _check(self, request: ApiRequest) -> None:
        """What is wrong with a request whose sender may ask for this at all."""
        check_length(request.scope, self.body_limit)
        if request.scope["query_string"]:
            self._bound.check_names(request)


class DocumentOperation(Operation):
    """Takes a workflow document: a text of up to 4 MiB, which the endpoint reads by itself."""

    body_limit = DOCUMENT_LIMIT


class PublicOperation(Operation):
    """Needs no credential."""

    public = True


async def identify(request: ApiRequest) -> Principal:
    """Who asks, as it is known now. Raises a 401."""
    return await request.services.authenticator.authenticate(_token(request.scope))


def _token(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"authorization":
            if value[:7].lower() != _BEARER:
                raise UnauthenticatedError(
                    "the header must be `Authorization: Bearer` and an API key or a token"
                )
            return str(value[7:].strip(), "latin-1")
    raise UnauthenticatedError("send `Authorization: Bearer` with an API key (`rvn_...`) or a token")


class _Bound:
    """A function that is called with what its signature asks of a request."""

    def __init__(self, call: Callable[..., Any]) -> None:
        hints = get_type_hints(call, include_extras=True)
        self._call = call
        self._awaited = inspect.iscoroutinefunction(call)
        self._request: str | None = None
        self._path = _Group("Path")
        self._query = _Group("Query")
        self._header = _Group("Header")
        self._nested: list[tuple[str, _Bound]] = []
        self._body: tuple[str, type[BaseModel], bool] | None = None
        self.role: Role | None = None
        for parameter in inspect.signature(call).parameters.values():
            self._take(parameter, hints[parameter.name])
        self.names: frozenset[str] = frozenset(self._query.names).union(
            *(each.names for _, each in self._nested)
        )
        """Of all parameters of the query, those of dependencies included."""

    def _take(self, parameter: inspect.Parameter, hint: Any) -> None:  # noqa: ANN401  # a type as it is written
        if hint is ApiRequest:
            self._request = parameter.name
            return
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{self._call!r}: {parameter.name} is not Annotated with where it comes from")
        source = hint.__metadata__[-1]
        self.role = next((each for each in hint.__metadata__ if isinstance(each, Role)), self.role)
        match source:
            case params.Depends() if source.dependency is not None:
                self._nested.append((parameter.name, _Bound(source.dependency)))
            case params.Path():
                self._path.add(parameter, hint, source)
            case params.Query():
                self._query.add(parameter, hint, source)
            case params.Header():
                self._header.add(parameter, hint, source)
            case params.Body():
                models = [
                    each for each in (get_args(hint)[0], *get_args(get_args(hint)[0])) if _is_model(each)
                ]
                optional = parameter.default is not inspect.Parameter.empty
                self._body = (parameter.name, models[0], optional)
            case _:
                raise TypeError(
                    f"{self._call!r}: {parameter.name} comes from {source!r}, which is not served"
                )

    def check_names(self, request: ApiRequest) -> None:
        known = self.names
        unknown = [name for name in request.query_params if name not in known]
        if not unknown:
            return
        fields: dict[str, Any] = dict.fromkeys(sorted(known), (object, None))
        model = create_model("Query", __config__=ConfigDict(extra="forbid"), **fields)
        given: dict[str, object] = dict.fromkeys(unknown, "")
        try:
            model.model_validate(given)
        except ValidationError as error:
            raise refusal(
                faults(error, model, given), "the query has parameters that do not exist"
            ) from error

    async def call(self, request: ApiRequest, allowed: Callable[[ApiRequest], None] | None = None) -> Any:  # noqa: ANN401
        """Answers what the function answers. `allowed` is called once the dependencies, roles among them, have passed."""
        values: dict[str, Any] = {}
        if self._path.names:
            values |= self._path.read(request.path_params)
        for name, nested in self._nested:
            values[name] = await nested.call(request)
        if allowed is not None:
            allowed(request)
        if self._query.names:
            values |= self._query.read(self._query.pick_query(request))
        if self._header.names:
            values |= self._header.read(self._header.pick_headers(request))
        if self._body is not None:
            values |= await self._read_body(request)
        if self._request is not None:
            values[self._request] = request
        answer = self._call(**values)
        return await answer if self._awaited else answer

    async def _read_body(self, request: ApiRequest) -> Mapping[str, Any]:
        assert self._body is not None  # noqa: S101  # the caller has looked
        name, model, optional = self._body
        if optional and not await request.body():
            return {}
        return {name: parse_body(model, await request.json())}


def parse_body(model: type[BaseModel], value: Any) -> Any:  # noqa: ANN401  # JSON in, an instance of the model out
    """Raises a 422 with all that is wrong."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refusal(faults(error, model, value), "the body is not what is wanted here") from error


def refusal(found: list[Fault], summary: str) -> ProblemError:
    problems = [
        Problem(path=dotted(each.location), code=str(each.code), message=each.message) for each in found
    ]
    first = f": {problems[0].message}" if problems else ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ProblemError("invalid_request", f"{summary}{first}{more}", problems=problems)


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    """In the signature."""
    many: bool
    """It repeats."""


class _Group:
    """The parameters of one place, checked together."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.names: dict[str, _Parameter] = {}
        """By their names outside."""
        self._fields: dict[str, Any] = {}
        self._required = False
        self._model: type[BaseModel] | None = None

    def add(self, parameter: inspect.Parameter, hint: Any, source: FieldInfo) -> None:  # noqa: ANN401
        outside = source.alias or parameter.name
        empty = parameter.default is inspect.Parameter.empty
        self._required = self._required or empty
        kind = get_args(hint)[0]
        many = get_origin(kind) is list or any(get_origin(each) is list for each in get_args(kind))
        self.names[outside] = _Parameter(parameter.name, many)
        info = FieldInfo.from_annotation(hint)
        info.alias = info.validation_alias = outside
        info.default = ... if empty else parameter.default
        self._fields[parameter.name] = (kind, info)

    def read(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values by their names in the signature; what is not given has the signature's default."""
        if not given and not self._required:
            return {}
        if self._model is None:
            self._model = create_model(self._place, **self._fields)
        try:
            checked = self._model.model_validate(given)
        except ValidationError as error:
            found = faults(error, self._model, dict(given))
            if self._place == "Path":
                raise ProblemError("not_found", f"{found[0].message}: nothing has such an id") from error
            raise refusal(found, "the request is not what is wanted here") from error
        return {name: getattr(checked, name) for name in checked.model_fields_set}

    def pick_query(self, request: ApiRequest) -> Mapping[str, Any]:
        if not request.scope["query_string"]:
            return {}
        query = request.query_params
        return {
            name: query.getlist(name) if parameter.many else query[name]
            for name, parameter in self.names.items()
            if name in query
        }

    def pick_headers(self, request: ApiRequest) -> Mapping[str, Any]:
        wanted = {name.lower().encode("latin-1"): name for name in self.names}
        return {
            wanted[name]: value.decode("latin-1")
            for name, value in request.scope["headers"]
            if name in wanted
        }


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)

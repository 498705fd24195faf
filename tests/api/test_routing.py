import pytest
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from tests.api.harness import assert_problem, serving

from riven.api.binding import Operation
from riven.api.routing import RouteTable


async def answer() -> Response:
    return Response()


def operation(path: str, *methods: str) -> Operation:
    return Operation(path, answer, methods=list(methods))


LIST = operation("/things", "GET")
MAKE = operation("/things", "POST")
ONE = operation("/things/{id}", "GET", "DELETE")
FIRST = operation("/things/first", "GET")
INNER = operation("/things/{thing}/inner/{inner}", "GET")
OTHER = operation("/things/{name}", "PATCH")
SECOND = operation("/things", "GET")
TABLE = RouteTable([LIST, MAKE, ONE, FIRST, INNER, OTHER, SECOND, Route("/plain", answer)])


@pytest.mark.parametrize(
    ("method", "path", "expected", "values"),
    [
        ("GET", "/things", LIST, {}),
        ("POST", "/things", MAKE, {}),
        ("GET", "/things/7", ONE, {"id": "7"}),
        ("PATCH", "/things/7", OTHER, {"name": "7"}),
        ("GET", "/things/first", FIRST, {}),
        ("GET", "/things/first/inner/x", INNER, {"thing": "first", "inner": "x"}),
        ("GET", "/things/a b/inner/each[3].send", INNER, {"thing": "a b", "inner": "each[3].send"}),
        ("GET", "/things/{id}", ONE, {"id": "{id}"}),
    ],
)
def test_an_address_and_a_method_mean_an_operation(
    method: str, path: str, expected: Operation, values: dict[str, str]
) -> None:
    assert TABLE.find(method, path) == (expected, values)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/thing",
        "/things/",
        "//things",
        "/things//inner/x",
        "/things/7/inner",
        "/things/7/inner/",
        "/plain",
    ],
)
def test_other_addresses_mean_nothing(path: str) -> None:
    assert TABLE.find("GET", path) is None


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/things", "GET, POST"), ("/things/7", "DELETE, GET, PATCH"), ("/things/first", "GET")],
)
def test_another_method_is_told_those_that_there_are(path: str, allowed: str) -> None:
    with pytest.raises(HTTPException) as refused:
        TABLE.find("PUT", path)
    assert refused.value.status_code == 405
    assert refused.value.headers == {"Allow": allowed}


async def test_allow_lists_what_is_described(database_url: str) -> None:
    async with serving(database_url) as api:
        for path, methods in api.app.openapi()["paths"].items():
            answered = await api.request("OPTIONS", path, root=True)
            assert_problem(answered, 405, "method_not_allowed")
            assert set(answered.headers["allow"].split(", ")) == {each.upper() for each in methods}


def test_a_slash_that_is_written_as_a_code_divides_nothing() -> None:
    found = TABLE.find("PATCH", "/things/a/b", b"/things/a%2fb")
    assert found is not None
    assert (found[0], dict(found[1])) == (OTHER, {"name": "a/b"})

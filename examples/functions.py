"""Functions that the examples call: `riven run FILE --functions examples/functions.py`."""

import asyncio

from riven.authoring import FunctionContext, function


@function(name="examples.unreliable")
def unreliable(failures: int, context: FunctionContext) -> str:
    """Fails that many times, then answers."""
    if context.attempt <= failures:
        raise ConnectionError(f"the partner did not answer (attempt {context.attempt})")
    return "booked"


@function(name="examples.answer")
async def answer(name: str, after: float) -> str:
    """Its name, after a while."""
    await asyncio.sleep(after)
    return name


@function(name="examples.weather")
def weather(city: str) -> str:
    known = {"Oslo": "-3 degrees, snow", "Lima": "22 degrees, clouds"}
    if city not in known:
        raise LookupError(f"{city} is on no map")
    return known[city]


@function(name="examples.export_status")
def export_status(turn: int, turns: int) -> dict[str, object]:
    """An export that is ready after so many looks."""
    ready = turn + 1 >= turns
    return {"ready": ready, "file": "export.csv" if ready else None}

"""The functions that come with riven."""

import asyncio
from typing import Annotated, Any

from pydantic import Field

from riven.nodes.function import function


@function(name="riven.echo")
async def echo(**args: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever it is given
    """Its arguments."""
    return args


@function(name="riven.sleep")
async def sleep(seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]) -> None:
    """Nothing, after a while."""
    await asyncio.sleep(seconds)

"""An intake on a workspace with a published workflow, and short ways to ask it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from tests.catalog.kit import Shop, opened

from riven.intake.gather import Intake
from riven.intake.idempotency import IdempotencyKey, make_key
from riven.intake.wish import Accepted, NewExecution, Wish

REFUND = """\
name: refund
input:
  type: object
  required: [amount]
  properties:
    amount: {type: number}
    currency: {type: string, default: EUR}
  additionalProperties: false
nodes:
  tell: {type: log, with: {message: hello}}
"""


def new(amount: Any = 1, **more: Any) -> NewExecution:  # noqa: ANN401
    return NewExecution(**{"workflow_name": "refund", "input": {"amount": amount}, **more})


@dataclass(slots=True)
class Counter:
    """A shop with an intake."""

    shop: Shop
    intake: Intake
    announced: list[set[UUID]] = field(default_factory=list)

    def wish(self, *starts: NewExecution, key: str | None = None, body: Any = None, **more: Any) -> Wish:  # noqa: ANN401
        made = None if key is None else self.key(key, body)
        return Wish(starts=[(self.shop.scope, start) for start in starts or (new(),)], key=made, **more)

    def key(self, key: str, body: Any = None) -> IdempotencyKey:  # noqa: ANN401
        return make_key(self.shop.workspace_id, key, "start", body)

    async def start(self, *starts: NewExecution, **more: Any) -> tuple[Accepted, ...]:  # noqa: ANN401
        return await self.intake.accept(self.wish(*starts, **more))


@asynccontextmanager
async def serving(
    database_url: str, *, queued: int | None = None, tier: str = "ENTERPRISE"
) -> AsyncIterator[Counter]:
    async with opened(database_url, queued=queued, tier=tier) as shop:
        await shop.publish("refund", REFUND)
        announced: list[set[UUID]] = []
        intake = Intake(shop.database, lambda workspaces: announced.append(set(workspaces)))
        yield Counter(shop, intake, announced)
        await intake.close()

"""Control calls on an installation, as the API makes them, and nodes that end when a test says so."""

import asyncio
from uuid import UUID

from tests.engines.embedded.workers import Installation

from riven.db.identity import new_id
from riven.intake.control import Controls
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.wake import Announcer
from riven.tenancy.policies import Scope, scope_for
from riven.tenancy.principals import Principal, Role


def operator(workspace_id: UUID, role: Role = Role.OPERATOR) -> Scope:
    principal = Principal(kind="key", id="k1", name="a test", workspace_id=workspace_id, role=role)
    return scope_for(principal, workspace_id, role)


class Steering:
    """`Controls` of an installation, for its workspace."""

    def __init__(self, here: Installation) -> None:
        self._announcer = Announcer(here.database, new_id())
        self._controls = Controls(here.database, self._announcer.announce)
        self._scope = operator(here.workspace_id)

    async def _done(self, answer):
        await self._announcer.close()
        return answer

    async def cancel(self, execution_id: UUID):
        return await self._done(await self._controls.cancel(self._scope, execution_id))

    async def pause(self, execution_id: UUID):
        return await self._done(await self._controls.pause(self._scope, execution_id))

    async def resume(self, execution_id: UUID):
        return await self._done(await self._controls.resume(self._scope, execution_id))

    async def retry(self, execution_id: UUID):
        return await self._done(await self._controls.retry(self._scope, execution_id))

    async def signal(self, execution_id: UUID, name: str, payload=None):
        return await self._done(await self._controls.signal(self._scope, execution_id, name, payload))

    async def decide(self, execution_id: UUID, path: str, decision: str, **more):
        return await self._done(
            await self._controls.decide(self._scope, execution_id, path, decision, **more)
        )


class Stage:
    """The functions `test.do` and `test.hold`: what was called, what fails how often, what waits for the test."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failing: set[str] = set()
        self.gate = asyncio.Event()

        @function(name="test.do")
        async def do(name: str) -> str:
            self.calls.append(name)
            if name in self.failing:
                raise RuntimeError(f"{name} fails")
            return name

        @function(name="test.hold")
        async def hold(name: str) -> str:
            self.calls.append(name)
            await self.gate.wait()
            return name

        self.functions = Functions(do, hold)

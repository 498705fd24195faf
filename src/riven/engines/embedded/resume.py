"""Take up a run where its journal ends: the coordinator hears every event again, and nothing of it is done again.

Recovery, resumption after a wait and a pause are this one path. What is left over are the commands that were not
answered: attempts that a crash interrupted are repeated under their number, timers go on to the times they had.
"""

from collections.abc import Sequence

from riven.core.messages import Command, ExecutionStarted
from riven.driver.loop import Decider
from riven.effects.context import RunContext
from riven.effects.history import Taken
from riven.engines.following import Following


def replay(
    run: RunContext, coordinator: Decider, started: ExecutionStarted, taken: Sequence[Taken]
) -> list[Command]:
    """Bring coordinator and values to where the journal ends; answers what is to be done now, in order."""
    following = Following(run, coordinator)
    following.start(started)
    for entry in taken:
        following.take(entry.event, entry.ended, entry.message)
    return following.outstanding()

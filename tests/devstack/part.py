"""A part to be supervised: `python -m tests.devstack.part DIRECTORY WHAT`

Writes `begun-PID` into the directory, then does what it is told to. `works` says that it does its work and lives until
it is asked to end or its standard input breaks off, and then writes `ended`.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType


def end(number: int, frame: FrameType | None) -> None:
    del number, frame
    (directory / "ended").touch()
    sys.exit(0)


directory, what = Path(sys.argv[1]), sys.argv[2]
signal.signal(signal.SIGTERM, signal.SIG_IGN if what == "deaf" else end)
(directory / f"begun-{os.getpid()}").touch()
match what:
    case "fails":
        sys.stderr.write("something before\nERROR: it lacks an arm\n")
        sys.exit(3)
    case "silent":
        sys.exit(4)
    case "works" | "deaf":
        os.write(0, b"\n")
        while os.read(0, 1) or what == "deaf":
            time.sleep(0.01)
        end(0, None)
    case "mute":
        while os.read(0, 1):
            pass
        end(0, None)

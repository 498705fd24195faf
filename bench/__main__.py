"""riven and its peers on this machine, in one run: `make bench`.

Each peer is measured by the same loader in a process of its own, one after the other.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from bench.product import ROOT, data_directory


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="shorter, and less exact")
    parser.add_argument("--only", default="", help="workloads, by comma: W1,W4")
    parser.add_argument(
        "--out", type=Path, default=data_directory() / "figures.jsonl", help="file for figures"
    )
    arguments = parser.parse_args()
    arguments.out.unlink(missing_ok=True)
    size = "quick" if arguments.quick else "full"
    command = [sys.executable, "-m", "bench.measure", "riven", "--out", str(arguments.out), "--size", size]
    return subprocess.run([*command, "--only", arguments.only], cwd=ROOT, check=False).returncode  # noqa: S603 - our own


if __name__ == "__main__":
    sys.exit(main())

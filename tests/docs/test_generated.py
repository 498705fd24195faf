"""Generated pages say what the code says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_up_to_date() -> None:
    check = subprocess.run(
        [sys.executable, "tools/docs.py", "--check"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout + check.stderr

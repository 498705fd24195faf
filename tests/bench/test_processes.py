"""CPU and memory of real processes."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from bench.processes import PeakMemory, Usage, pss_mebibytes, tree

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")

GRANDCHILD = """
import sys, time
held = bytearray(64 * 2**20)
end = time.process_time() + 0.2
while time.process_time() < end: pass
print("burnt", flush=True)
sys.stdin.read()
"""
CHILD = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {GRANDCHILD!r}])
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield process


def until_burnt(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "burnt\n"


def test_what_a_grandchild_uses_belongs_to_the_tree(child: subprocess.Popen[str]) -> None:
    usage = Usage({"child": [child.pid]})
    until_burnt(child)
    assert usage.milliseconds()["child"] >= 190
    assert len(tree([child.pid])) == 2
    assert pss_mebibytes([child.pid]) > 64


def test_what_lies_below_another_part_is_that_one_s(child: subprocess.Popen[str]) -> None:
    until_burnt(child)
    below = [pid for pid in tree([child.pid]) if pid != child.pid]
    assert tree([child.pid], below) == [child.pid]
    usage = Usage({"child": [child.pid], "grandchild": below})
    assert set(usage.milliseconds()) == {"child", "grandchild"}
    assert max(usage.milliseconds().values()) < 190


def test_the_peak_is_seen_while_it_lasts(child: subprocess.Popen[str]) -> None:
    until_burnt(child)
    with PeakMemory([child.pid]) as peak:
        pass
    assert peak.mebibytes > 64


def test_the_dead_use_nothing(child: subprocess.Popen[str]) -> None:
    until_burnt(child)
    child.communicate()
    assert pss_mebibytes([child.pid]) == 0

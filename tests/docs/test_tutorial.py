"""The tutorial works: every document in it is written down, every command is run, every answer is compared.

A block of code whose first line is a comment with a file's name is that file. In a block `console`, lines after `$ `
are commands and the lines below one are its answer; `$ echo $?` asks for its exit code. Times, ids and dates differ
from run to run and are compared by their kind.
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorial").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"), "<time>"),
    (re.compile(r" *\b\d+(\.\d+)? ?(µs|ms|s|min)\b"), " <duration>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    answer: str


def steps(console: str) -> list[Step]:
    parts = re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]
    return [Step(*part.partition("\n")[::2]) for part in parts]


def comparable(answer: str) -> str:
    for pattern, kind in VARYING:
        answer = pattern.sub(kind, answer)
    return answer.strip()


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a person would see in a terminal, without its colours: both streams, in order."""
    settings = f"export COLUMNS=100 PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    return subprocess.run(
        ["bash", "-c", f"{settings}; {command}"],
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def test_there_is_a_tutorial() -> None:
    assert TUTORIALS


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_every_command_answers_as_the_tutorial_says(page: Path, tmp_path: Path) -> None:
    code, compared = 0, 0
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "sh":
            continue  # sets up what the tests have
        if language != "console":
            name = re.match(r"# ([\w.-]+)\n", text)
            assert name, f"a block does not say which file it is: {text[:80]}"
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
            continue
        for step in steps(text):
            if step.command == "echo $?":
                assert step.answer.strip() == str(code)
                continue
            ran = run(step.command, tmp_path)
            code = ran.returncode
            assert comparable(ran.stdout) == comparable(step.answer), step.command
            compared += 1
    assert compared > 5

"""Pages that are followed work: every document in them is written down, every command is run, every answer is compared.

Those are the tutorials, and whichever how-to pages show what commands answer.

A block of code whose first line is a comment with a file's name is that file. In a block `console`, lines after `$ `
are commands and the lines below one are its answer; `$ echo $?` asks for its exit code. Times, ids and dates differ
from run to run and are compared by their kind. Where a block `sh` begins with `riven dev`, that goes on beside the rest;
other blocks `sh` are for servers that the tests have not.
"""

import contextlib
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.main.developing import Dev

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    *sorted((DOCS / "tutorial").glob("*.md")),
    *(page for page in sorted((DOCS / "how-to").glob("*.md")) if "```console" in page.read_text("utf-8")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"), "<time>"),
    (re.compile(r" *\b\d+(\.\d+)? ?(µs|ms|s|min)\b"), " <duration>"),
    (re.compile(r"(?<=\S) {2,}(?=\S)"), "  "),  # columns are as wide as what varies
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


def run(command: str, folder: Path, url: str | None) -> subprocess.CompletedProcess[str]:
    """What a person would see in a terminal, without its colours: both streams, in order."""
    programs = shlex.quote(str(Path(sys.executable).parent))
    settings = f"export COLUMNS=100 XDG_DATA_HOME={shlex.quote(str(folder))} PATH={programs}:$PATH"
    if url is not None:
        settings += f" RIVEN_URL={url}"
    return subprocess.run(
        ["bash", "-c", f"{settings}; {command}"],
        cwd=folder,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


def test_there_are_pages_to_follow() -> None:
    assert len(PAGES) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_answers_as_the_page_says(page: Path, tmp_path: Path) -> None:
    with contextlib.ExitStack() as beside:
        follow(page, tmp_path, beside)


def follow(page: Path, folder: Path, beside: contextlib.ExitStack) -> None:
    code, compared, url = 0, 0, None
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "sh":
            program, *arguments = shlex.split(text, comments=True)
            if [program, *arguments[:1]] == ["riven", "dev"]:
                dev = Dev(folder / "riven", *arguments[1:], folder=folder)
                url = str(beside.enter_context(dev).ready().state["url"])
            continue
        if language != "console":
            name = re.match(r"# ([\w.-]+)\n", text)
            assert name, f"a block does not say which file it is: {text[:80]}"
            (folder / name[1]).write_text(text, encoding="utf-8")
            continue
        for step in steps(text):
            if step.command == "echo $?":
                assert step.answer.strip() == str(code)
                continue
            ran = run(step.command, folder, url)
            code = ran.returncode
            assert comparable(ran.stdout) == comparable(step.answer), step.command
            compared += 1
    assert compared > 3

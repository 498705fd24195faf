"""Writes the generated parts of the documentation; with --check only says which of them are out of date.

A generated page is a whole file; a generated section stands between `<!-- generated: name -->` and
`<!-- /generated -->` in a page that is otherwise written by hand.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "riven"


def module_map() -> str:
    """Every package with its rule, every module with the first sentence of its docstring."""
    lines = ["| module | holds |", "|---|---|"]
    for package in sorted(path.parent for path in SOURCE.rglob("__init__.py")):
        name = package.relative_to(SOURCE).as_posix()
        if name != ".":
            lines.append(f"| **`{name}/`** | *{summary(package / '__init__.py')}* |")
        modules = sorted(path for path in package.glob("*.py") if path.name != "__init__.py")
        lines += [f"| `{path.relative_to(SOURCE).as_posix()}` | {summary(path)} |" for path in modules]
    return "\n".join(lines)


def summary(module: Path) -> str:
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


SECTIONS = {"ARCHITECTURE.md": {"modules": module_map}}
PAGES = {}


def generated() -> Iterator[tuple[Path, str]]:
    for name, write in PAGES.items():
        yield ROOT / name, write()
    for name, sections in SECTIONS.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        for section, write in sections.items():
            text = replace_section(text, section, write())
        yield path, text


def replace_section(text: str, name: str, content: str) -> str:
    opening, closing = f"<!-- generated: {name} -->", "<!-- /generated -->"
    pattern = re.compile(f"{re.escape(opening)}.*?{re.escape(closing)}", re.DOTALL)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"a page lacks its one section {opening}")
    return pattern.sub(lambda _: f"{opening}\n{content}\n{closing}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail if something is out of date"
    )
    check = parser.parse_args().check
    stale = [
        (path, text) for path, text in generated() if not path.exists() or path.read_text("utf-8") != text
    ]
    for path, text in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if check and stale:
        sys.exit("run `make docs` and commit what it writes")


if __name__ == "__main__":
    main()

"""Puts a run into the documentation: figures as JSON, tables into the page, and the picture.

`python -m bench.record figures.jsonl` does it anew from a file.
"""

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bench.figures import read_figures
from bench.picture import picture
from bench.product import ROOT
from bench.report import Results, by_part, comparison, limits, on_temporal

PAGE = ROOT / "docs" / "explanation" / "performance.md"
DATA = ROOT / "docs" / "explanation" / "performance-{name}.json"
PICTURE = ROOT / "docs" / "images" / "performance.svg"
TEMPORAL, BARE = "riven-temporal", "temporal-activity"


def tables(results: Results) -> dict[str, str]:
    """By what they are called, as text."""
    if TEMPORAL in results.peers:
        parts = by_part(results, [TEMPORAL, BARE])
        return {"temporal": f"{on_temporal(results, TEMPORAL, BARE).text()}\n\n{parts.text()}"}
    return {
        "embedded": "\n\n".join(
            table.text()
            for table in (comparison(results), by_part(results, results.peers), limits(results))
            if table.rows
        )
    }


def record(figures: Path, about: Mapping[str, str]) -> None:
    """Over what was recorded before."""
    measured = read_figures(figures)
    results = Results(measured)
    page = PAGE.read_text(encoding="utf-8")
    for name, text in tables(results).items():
        said = "; ".join(f"{key} {value}" for key, value in {**about, **results.versions}.items())
        page = replaced(page, name, f"Recorded on: {said}.\n\n```text\n{text}\n```")
        lines = ",\n".join(json.dumps(asdict(figure)) for figure in measured)
        data = f'{{"machine": {json.dumps(dict(about))},\n"figures": [\n{lines}\n]}}\n'
        Path(str(DATA).format(name=name)).write_text(data, encoding="utf-8")
        if name == "embedded":
            PICTURE.write_text(picture(results), encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


def replaced(page: str, name: str, text: str) -> str:
    """The page with what stands between `<!-- recorded: name -->` and `<!-- /recorded -->` replaced."""
    section = re.compile(rf"(<!-- recorded: {name} -->\n).*?(<!-- /recorded -->)", re.DOTALL)
    if not section.search(page):
        raise ValueError(f"the page has no place for {name}")
    return section.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figures", type=Path, help="file of a run; what it was measured on stands beside it")
    arguments = parser.parse_args()
    record(arguments.figures, json.loads(beside(arguments.figures).read_text(encoding="utf-8")))


def beside(figures: Path) -> Path:
    """Where the description of the machine is kept."""
    return figures.with_suffix(".machine.json")


if __name__ == "__main__":
    main()

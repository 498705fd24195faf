"""The histories that were recorded for this rules version: one line of JSON for each scenario, compressed."""

import json
import lzma
from collections.abc import Mapping
from pathlib import Path

from riven.wire.admission import RULES_VERSION

FILE = Path(__file__).parent / "histories" / f"rules-{RULES_VERSION}.jsonl.xz"


def read_histories() -> dict[str, str]:
    with lzma.open(FILE, "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return {each["scenario"]: json.dumps(each["history"]) for each in read}


def write_histories(histories: Mapping[str, str]) -> None:
    FILE.parent.mkdir(exist_ok=True)
    with lzma.open(FILE, "wt", encoding="utf-8", preset=9) as lines:
        for name in sorted(histories):
            lines.write(json.dumps({"scenario": name, "history": json.loads(histories[name])}) + "\n")

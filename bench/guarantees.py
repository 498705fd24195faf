"""W8 and W9: what riven promises its tenants, under load. `python -m bench.guarantees --out figures.jsonl`."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import uvloop
from bench.admission import Admission, measure_admission
from bench.fairness import Fairness, measure_fairness
from bench.figures import Recorder

FAIRNESS = {
    "full": Fairness(),
    "quick": Fairness(waiting=5_000, rounds=1),
    "tiny": Fairness(waiting=1_500, small=3, each=2, rounds=1),
}
ADMISSION = {
    "full": Admission(),
    "quick": Admission(executions=3_000),
    "tiny": Admission(executions=300, workspaces=3, kills_after=(0.05, 0.2), most_kills=3),
}


@dataclass(frozen=True, slots=True)
class Wish:
    out: Path
    size: str
    only: frozenset[str]
    admissions: int | None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="file to append figures to")
    parser.add_argument("--size", choices=FAIRNESS, default="full")
    parser.add_argument("--only", default="", help="W8 or W9")
    parser.add_argument("--admissions", type=int, help="executions of W9")
    given = parser.parse_args()
    only = frozenset(given.only.split(",")) - {""}
    uvloop.run(measure(Wish(given.out, given.size, only, given.admissions)))


async def measure(wish: Wish) -> None:
    recorder = Recorder(wish.out)
    if not wish.only or "W8" in wish.only:
        await measure_fairness(FAIRNESS[wish.size], recorder)
    if not wish.only or "W9" in wish.only:
        await measure_admission(ADMISSION[wish.size].of(wish.admissions), recorder)


if __name__ == "__main__":
    main()

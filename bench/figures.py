"""What was measured, and the arithmetic on it."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

Setting: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of one peer: the median of its rounds."""

    peer: str
    workload: str
    metric: str
    value: float
    rounds: list[float] = field(default_factory=list)
    settings: dict[str, Setting] = field(default_factory=dict)

    @classmethod
    def of(
        cls, peer: str, workload: str, metric: str, rounds: Sequence[float], settings: Mapping[str, Setting]
    ) -> "Figure":
        return cls(peer, workload, metric, statistics.median(rounds), list(rounds), dict(settings))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    if not values:
        raise ValueError("a percentile of nothing")
    ordered = sorted(values)
    rank = -int(-share * len(ordered) // 1)  # rounded up
    return ordered[min(max(rank, 1), len(ordered)) - 1]


class Recorder:
    """Appends figures to a file, one line of JSON each, so that a run that is cut off loses none; and shows them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, figure: Figure) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure)) + "\n")
        rounds = " ".join(f"{each:.4g}" for each in figure.rounds) if len(figure.rounds) > 1 else ""
        print(
            f"{figure.peer:20s} {figure.workload:3s} {figure.metric:26s} {figure.value:>10.4g}  {rounds}",
            flush=True,
        )


def read_figures(path: Path) -> list[Figure]:
    with path.open(encoding="utf-8") as file:
        return [Figure(**json.loads(line)) for line in file]

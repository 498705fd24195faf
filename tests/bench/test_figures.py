from pathlib import Path

import pytest
from bench.figures import Figure, Recorder, percentile, read_figures


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([7], 0.5, 7),
        ([3, 1, 2], 0.5, 2),
        ([4, 3, 2, 1], 0.5, 2),
        (range(1, 101), 0.5, 50),
        (range(1, 101), 0.99, 99),
        (range(1, 1_001), 0.99, 990),
        (range(1, 31), 0.99, 30),
        ([5, 6], 0.0, 5),
        ([5, 6], 1.0, 6),
    ],
)
def test_a_percentile_is_the_smallest_value_that_covers_its_share(
    values: list[float], share: float, expected: float
) -> None:
    assert percentile(list(values), share) == expected


def test_there_is_no_percentile_of_nothing() -> None:
    with pytest.raises(ValueError, match="of nothing"):
        percentile([], 0.5)


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert Figure.of("riven", "W1", "executions/s", [10.0, 90.0, 20.0], {}).value == 20.0
    assert Figure.of("riven", "W1", "executions/s", [10.0, 20.0], {}).value == 15.0


def test_recorded_figures_are_read_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.jsonl"
    figures = [
        Figure.of("riven", "W1", "executions/s", [1.5, 2.5, 4.0], {"clients": 32}),
        Figure("dbos", "W4", "p50_ms", 40.0),
    ]
    for figure in figures:
        Recorder(file).add(figure)
    assert read_figures(file) == figures
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in shown] == [
        ["riven", "W1", "executions/s", "2.5"],
        ["dbos", "W4", "p50_ms", "40"],
    ]

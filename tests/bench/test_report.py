import xml.etree.ElementTree as ET

import pytest
from bench.figures import Figure
from bench.goals import ROWS, Row
from bench.picture import picture
from bench.record import replaced, tables
from bench.report import Results, by_part, comparison, limits, on_temporal

RATE = Row("W1", "executions/s", "rate", 1_500, more_is_better=True)
LATENCY = Row("W4", "p50_ms", "latency", 4)
SVG = "{http://www.w3.org/2000/svg}"


def figures(**values: dict[tuple[str, str], float]) -> list[Figure]:
    return [
        Figure(peer.replace("_", "-"), workload, metric, value)
        for peer, measured in values.items()
        for (workload, metric), value in measured.items()
    ]


@pytest.mark.parametrize(
    ("row", "ours", "other", "times"),
    [
        (RATE, 2_000, 500, 4),
        (RATE, 250, 500, 0.5),
        (LATENCY, 5, 20, 4),
        (LATENCY, 20, 5, 0.25),
        (LATENCY, 0, 5, None),
        (RATE, 5, 0, None),
    ],
)
def test_a_ratio_says_how_many_times_better(row: Row, ours: float, other: float, times: float | None) -> None:
    assert row.times_better(ours, other) == times


@pytest.mark.parametrize(
    ("row", "value", "met"),
    [
        (RATE, 1_500, True),
        (RATE, 1_499, False),
        (LATENCY, 4, True),
        (LATENCY, 4.1, False),
        (Row("W1", "x", "without"), 1, None),
    ],
)
def test_a_goal_is_met_on_its_better_side(row: Row, value: float, *, met: bool | None) -> None:
    assert row.met(value) is met


def test_the_table_has_every_peer_beside_ours() -> None:
    measured = figures(
        riven={("W1", "executions/s"): 2_000, ("W4", "p50_ms"): 8, ("W9", "over_limit"): 0},
        restate={("W1", "executions/s"): 800, ("W4", "p50_ms"): 4},
        dbos={("W1", "executions/s"): 100},
    )
    table = comparison(Results(measured))
    assert table.head == ["", "goal", "riven", "restate", "dbos"]
    assert table.rows == [
        ["W1 noop1, executions/s", "1,500", "2,000 met", "800 (2.5x)", "100 (20x)"],
        ["W4 latency p50, ms", "4", "8 MISSED", "4 (0.5x)", ""],
        ["W9 executions over the limit", "0", "0 met", "", ""],
    ]
    lines = table.text().splitlines()
    assert lines[1].startswith("W1 noop1, executions/s")
    assert len({len(line) for line in lines[:2]}) == 1
    assert table.markdown().splitlines()[1] == "| --- | ---: | ---: | ---: | ---: |"


def test_on_temporal_ours_is_a_share_of_the_bare_sdk() -> None:
    measured = figures(
        riven_temporal={
            ("W1", "executions/s"): 27,
            ("W2", "executions/s"): 5,
            ("W4", "p50_ms"): 80,
            ("events", "noop1"): 12,
            ("events", "a node of chain10"): 7,
        },
        temporal_activity={
            ("W1", "executions/s"): 30,
            ("W2", "executions/s"): 10,
            ("W4", "p50_ms"): 88,
            ("events", "noop1"): 11,
            ("events", "a node of chain10"): 6,
        },
    )
    rows = on_temporal(Results(measured), "riven-temporal", "temporal-activity").rows
    assert rows == [
        ["W1 noop1, executions/s", "27", "30", "0.90 met"],
        ["W2 chain10, executions/s", "5", "10", "0.50 MISSED"],
        ["W4 latency p50, ms", "80", "88", "1.10 met"],
        ["history events, noop1", "12", "11", "+1"],
        ["history events, a node of chain10", "7", "6", "+1 MISSED"],
    ]
    assert list(tables(Results(measured))) == ["temporal"]


def test_versions_are_those_that_the_peers_told() -> None:
    told = Figure("dbos", "W1", "executions/s", 1.0, settings={"version": "3.4.0", "workers": 1})
    assert Results([told, Figure("postgres", "raw", "x", 1.0)]).versions == {"dbos": "3.4.0"}


def test_cpu_is_shown_by_process_and_limits_apart() -> None:
    results = Results(
        figures(
            riven={
                ("W1", "cpu_ms/execution"): 1.0,
                ("W1", "cpu_ms/execution worker"): 0.6,
                ("W7", "idle_pss_mib worker"): 35,
            },
            postgres={("raw", "insert + commit/s"): 6_263},
        )
    )
    assert results.peers == ["riven"]
    assert by_part(results, ["riven"]).rows == [["riven: worker", "0.6", "", "", "35"]]
    assert limits(results).rows == [["insert + commit/s", "6,263"]]


def test_the_picture_has_a_bar_for_each_peer_as_long_as_its_figure() -> None:
    results = Results(figures(riven={("W1", "executions/s"): 3_000}, restate={("W1", "executions/s"): 750}))
    drawn = ET.fromstring(picture(results))
    ours, other = (float(bar.get("width", "")) for bar in drawn.iter(f"{SVG}rect"))
    assert ours == pytest.approx(4 * other, rel=0.01)
    (goal,) = drawn.iter(f"{SVG}line")
    first = next(drawn.iter(f"{SVG}rect"))
    begin = float(first.get("x", ""))
    assert float(goal.get("x1", "")) - begin == pytest.approx(ours / 2, abs=0.2)
    texts = [text.text for text in drawn.iter(f"{SVG}text")]
    assert texts == ["W1 noop1, executions/s", "more is better", "riven", "3,000", "restate", "750"]


def test_a_recorded_section_is_replaced_and_nothing_else() -> None:
    page = "before\n<!-- recorded: embedded -->\nold\n\nold\n<!-- /recorded -->\nafter\n<!-- recorded: temporal -->\n<!-- /recorded -->\n"
    new = replaced(page, "embedded", r"new \1")
    assert new == page.replace("old\n\nold", r"new \1")
    with pytest.raises(ValueError, match="no place for other"):
        replaced(page, "other", "")


def test_every_figure_has_one_row() -> None:
    keys = [(row.workload, row.metric) for row in ROWS]
    assert len(keys) == len(set(keys))

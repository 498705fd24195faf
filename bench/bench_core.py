"""The speed of the core and of the command line, in one run: `make bench-core`.

Each figure is the median of repeated runs, printed beside its goal and, where there is one, beside what could not be
beaten: the same graph through graphlib and through plain counters, the bare start of Python. A goal that is missed is
said and is no error; only what fails is.

Figures move from machine to machine, and with what else the machine does: what compares is steadier than what counts,
and CPU time steadier than time.
"""

import argparse
import gc
import graphlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from riven.core.coordinator import Coordinator
from riven.core.graph import Graph
from riven.core.messages import ExecutionStarted, Finish, NodeCompleted, StartNode
from riven.documents.load import load_document
from riven.expressions.cel import compile_expression
from riven.expressions.templates import compile_template
from riven.nodes.registry import Registry

PYTHON = Path(sys.executable)
RIVEN = PYTHON.with_name("riven")
PARENTS = 3


@dataclass(frozen=True, slots=True)
class Took:
    seconds: float
    cpu_seconds: float

    def each(self, count: int, unit: float = 1.0) -> "Took":
        return Took(self.seconds / count / unit, self.cpu_seconds / count / unit)


class Stopwatch:
    def __init__(self) -> None:
        gc.collect()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def lap(self) -> Took:
        """Since the last lap, or the beginning."""
        wall, cpu = time.perf_counter(), time.process_time()
        took = Took(wall - self._wall, cpu - self._cpu)
        self._wall, self._cpu = wall, cpu
        return took


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    value: float
    unit: str
    goal: float | None = None
    """At most this much."""
    cpu: float | None = None
    """The same as CPU time: where other processes want the machine too, it is the steadier figure."""
    beside: str = ""

    def row(self) -> tuple[str, ...]:
        goal = f"{self.goal:,g} {self.unit}" if self.goal is not None else ""
        ratio = ""
        if self.goal is not None:
            ratio = f"{self.value / self.goal:.2f} {'met' if self.value <= self.goal else 'MISSED'}"
        cpu = shown(self.cpu) if self.cpu is not None else ""
        return self.name, f"{shown(self.value)} {self.unit}", cpu, goal, ratio, self.beside


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def timed(name: str, took: Took, unit: str, goal: float | None = None, beside: str = "") -> Figure:
    return Figure(name, took.seconds, unit, goal, took.cpu_seconds, beside)


def median(rounds: Sequence[Took]) -> Took:
    return Took(
        statistics.median(r.seconds for r in rounds), statistics.median(r.cpu_seconds for r in rounds)
    )


# ---- the graph --------------------------------------------------------------------------------------------------------


def layered(layers: int, width: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Layers of equal width; a node has three parents in the layer above: the one over it and its two neighbours."""
    keys = [f"n{layer}_{column}" for layer in range(layers) for column in range(width)]
    edges = [
        (f"n{layer - 1}_{parent}", f"n{layer}_{column}")
        for layer in range(1, layers)
        for column in range(width)
        for parent in sorted({(column + step) % width for step in range(PARENTS)})
    ]
    return keys, edges


def run_coordinator(graph: Graph) -> tuple[Took, Took]:
    """What it takes to build a coordinator, and to take it through the whole run, every node being answered at once."""
    watch = Stopwatch()
    coordinator = Coordinator(graph)
    built = watch.lap()
    commands = deque(coordinator.receive(ExecutionStarted(at=0)))
    started, finish = 0, None
    while commands:
        command = commands.popleft()
        if isinstance(command, StartNode):
            started += 1
            commands.extend(coordinator.receive(NodeCompleted(command.path, 0)))
        elif isinstance(command, Finish):
            finish = command
    ran = watch.lap()
    if started != len(graph.nodes) or finish is None:
        raise RuntimeError(f"{started} of {len(graph.nodes)} nodes were started, end: {finish}")
    return built, ran


def run_graphlib(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> tuple[Took, Took]:
    watch = Stopwatch()
    sorter: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter(dict.fromkeys(keys, ()))
    for source, target in edges:
        sorter.add(target, source)
    sorter.prepare()
    built = watch.lap()
    while sorter.is_active():
        for key in sorter.get_ready():
            sorter.done(key)
    return built, watch.lap()


def run_counters(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> tuple[Took, Took]:
    """The least that any scheduler has to do: count down, append at zero."""
    watch = Stopwatch()
    successors: dict[str, list[str]] = {key: [] for key in keys}
    waiting = dict.fromkeys(keys, 0)
    for source, target in edges:
        successors[source].append(target)
        waiting[target] += 1
    built = watch.lap()
    ready = deque(key for key in keys if not waiting[key])
    while ready:
        for successor in successors[ready.popleft()]:
            waiting[successor] -= 1
            if not waiting[successor]:
                ready.append(successor)
    return built, watch.lap()


def scheduling(layers: int, width: int, repeats: int) -> list[Figure]:
    keys, edges = layered(layers, width)
    graph = Graph.of(keys, edges)
    of_all = {
        "coordinator": lambda: run_coordinator(graph),
        "graphlib": lambda: run_graphlib(keys, edges),
        "plain counters": lambda: run_counters(keys, edges),
    }
    rounds = {name: [] for name in of_all}
    for _ in range(repeats):  # one of each after the other, so that what disturbs one disturbs all
        for name, run in of_all.items():
            rounds[name].append(run())
    medians = {
        name: [median(part).each(len(keys), 1e-9) for part in zip(*all_rounds, strict=True)]
        for name, all_rounds in rounds.items()
    }
    counters = medians["plain counters"][1].cpu_seconds
    shape = f"{len(keys):,} nodes, {len(edges):,} edges"
    figures = []
    for name, (build, run) in medians.items():
        goal = 2_000 if name == "coordinator" else None
        beside = f"{run.cpu_seconds / counters:.1f} x plain counters" if counters else ""
        figures.append(timed(f"{name}, {shape}", run, "ns/node", goal, beside))
        figures.append(timed("    building it", build, "ns/node"))
    return figures


# ---- documents --------------------------------------------------------------------------------------------------------


def echo_document(layers: int, width: int, *, templates: bool) -> dict[str, object]:
    """`riven.echo` nodes in layers; with templates, each hands on what its first parent gave it."""
    keys, edges = layered(layers, width)
    first_parent: dict[str, str] = {}
    for source, target in edges:
        first_parent.setdefault(target, source)
    nodes = {}
    for place, key in enumerate(keys):
        parent = first_parent.get(key)
        handed = f"{{{{ steps.{parent}.output.value }}}}" if templates and parent else place
        nodes[key] = {"type": "python", "with": {"function": "riven.echo", "args": {"value": handed}}}
    return {
        "name": "echoes",
        "nodes": nodes,
        "edges": [{"from": source, "to": target} for source, target in edges],
    }


def as_yaml(document: Mapping[str, object]) -> str:
    """As an author writes it; JSON's own scalars are YAML's too."""
    nodes, edges = document["nodes"], document["edges"]
    lines = [f"name: {document['name']}", "nodes:"]
    for key, node in nodes.items():
        lines += [
            f"  {key}:",
            f"    type: {node['type']}",
            "    with:",
            f"      function: {node['with']['function']}",
        ]
        lines += [f"      args: {{value: {json.dumps(node['with']['args']['value'])}}}"]
    lines.append("edges:")
    lines += [f"  - {{from: {edge['from']}, to: {edge['to']}}}" for edge in edges]
    return "\n".join(lines) + "\n"


def validation(document: Mapping[str, object], repeats: int) -> list[Figure]:
    registry = Registry.discover()
    size = len(document["nodes"])

    def load(text: str) -> Took:
        watch = Stopwatch()
        loaded = load_document(text, registry=registry)
        if not loaded.valid:
            raise RuntimeError(f"the document is not valid: {loaded.problems[:3]}")
        return watch.lap()

    figures = []
    for name, text in {"YAML": as_yaml(document), "JSON": json.dumps(document)}.items():
        took = median([load(text) for _ in range(repeats)])
        figures.append(
            timed(f"validate {size:,} nodes, {name}", took, "s", 1.0, f"{len(text.encode()) / 1e6:.1f} MB")
        )
    return figures


# ---- expressions ------------------------------------------------------------------------------------------------------


def expressions(evaluations: int, repeats: int) -> list[Figure]:
    roots = {
        "input": {"orderId": "A-17", "amount": 250.5},
        "vars": {"shop": "https://shop.example"},
        "steps": {"order": {"output": {"body": {"id": 17}}, "status": "COMPLETED", "outcome": "success"}},
    }
    condition = compile_expression("input.amount > 100.0 && steps.order.output.body.id != 0")
    template = compile_template(
        {"url": "{{ vars.shop }}/orders/{{ input.orderId }}", "id": "{{ steps.order.output }}"}
    )

    def a_second(evaluate: Callable[[], object]) -> tuple[float, float]:
        rounds = []
        for _ in range(repeats):
            watch = Stopwatch()
            for _ in range(evaluations):
                evaluate()
            rounds.append(watch.lap())
        took = median(rounds)
        return evaluations / took.seconds, evaluations / took.cpu_seconds

    of_both = {
        "conditions": lambda: condition.evaluate(roots),
        "templates, 3 placeholders each": lambda: template.render(roots),
    }
    figures = []
    for name, evaluate in of_both.items():
        wall, cpu = a_second(evaluate)
        figures.append(Figure(name, wall, "/s", cpu=cpu))
    return figures


# ---- the command line -------------------------------------------------------------------------------------------------


LAUNCHER = """
import json, os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
begun = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - begun
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 2**20]))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Runs one command. It stands between because a child's peak memory is never told as less than its parent's.

Modules are compiled once, as they are for whoever installs riven, also where the environment says otherwise.
"""


@dataclass(frozen=True, slots=True)
class Ran:
    took: Took
    mebibytes: float


def run_command(*command: str | Path) -> Ran:
    """One command, its output thrown away; what it complains about is shown."""
    launched = subprocess.run(  # noqa: S603 - our own commands
        [PYTHON, "-I", "-S", "-c", LAUNCHER, *command], stdout=subprocess.PIPE, check=False
    )
    if launched.returncode:
        raise RuntimeError(f"exit code {launched.returncode}: {' '.join(map(str, command))}")
    seconds, cpu_seconds, mebibytes = json.loads(launched.stdout)
    return Ran(Took(seconds, cpu_seconds), mebibytes)


def repeated(repeats: int, *command: str | Path) -> Ran:
    ran = [run_command(*command) for _ in range(repeats)]
    return Ran(median([each.took for each in ran]), statistics.median(each.mebibytes for each in ran))


def command_line(folder: Path, layers: int, width: int, repeats: int) -> list[Figure]:
    small, plain, handing_on = (folder / name for name in ("small.yaml", "echoes.yaml", "handing-on.yaml"))
    small.write_text("name: small\nnodes: {a: {type: noop}, b: {type: noop, needs: [a]}}\n", encoding="utf-8")
    plain.write_text(as_yaml(echo_document(layers, width, templates=False)), encoding="utf-8")
    handing_on.write_text(as_yaml(echo_document(layers, width, templates=True)), encoding="utf-8")
    size = layers * width
    bare = repeated(2 * repeats, PYTHON, "-c", "pass")
    run_command(RIVEN, "run", small)  # the first call after a change compiles
    start = repeated(2 * repeats, RIVEN, "validate", small)
    run = repeated(repeats, RIVEN, "run", plain, "--json")
    templates = repeated(repeats, RIVEN, "run", handing_on, "--json")
    checked = repeated(repeats, RIVEN, "validate", plain)
    return [
        timed("riven validate, a small file", start.took, "s", 0.5, f"bare Python {bare.took.seconds:.3f} s"),
        timed(f"riven validate, {size:,} nodes", checked.took, "s"),
        timed(f"riven run, {size:,} riven.echo nodes", run.took, "s", 1.5),
        Figure("    peak memory", run.mebibytes, "MiB", beside=f"bare Python {bare.mebibytes:.0f} MiB"),
        timed("    with a template in every node", templates.took, "s"),
    ]


# ---- the table --------------------------------------------------------------------------------------------------------


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        named = [
            line for line in cpuinfo.read_text(encoding="utf-8").splitlines() if line.startswith("model name")
        ]
        model = named[0].split(":", 1)[1].strip() if named else model
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; load {load}"


def show(figures: Sequence[Figure]) -> None:
    rows = [("", "median", "as CPU", "goal", "of goal", "beside"), *(figure.row() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        print("  ".join([f"{row[0]:{widths[0]}}", *cells, row[-1]]).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="how often each figure is taken (default 5)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="width of the graphs, to try it out (default 1)"
    )
    options = parser.parse_args()
    repeats, scale = options.repeats, options.scale
    gc.set_threshold(100_000, 20, 20)  # as the command `riven` does
    wide, narrow = max(PARENTS, int(1_000 * scale)), max(PARENTS, int(100 * scale))
    print(machine())
    with tempfile.TemporaryDirectory(prefix="riven-bench-") as folder:
        commands = command_line(Path(folder), 100, narrow, repeats)
    figures = [
        *scheduling(100, wide, repeats),
        *validation(echo_document(100, narrow, templates=False), repeats),
        *expressions(int(20_000 * scale) or 1, repeats),
        *commands,
    ]
    show(figures)


if __name__ == "__main__":
    main()

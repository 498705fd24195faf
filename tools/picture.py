"""Makes docs/images/run.svg: a real run as a terminal shows it, at one moment. Run it when the view has changed.

With an argument it writes there instead.
"""

import asyncio
import io
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from riven.cli.clock import SystemClock
from riven.cli.progress import Progress
from riven.cli.questions import ApprovalQuestion, Questions
from riven.cli.tree import TreeView
from riven.documents.load import load_document
from riven.engines.embedded.journal import ExecutionChange
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.function import FunctionContext, function
from riven.nodes.function_pool import FunctionPool
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry

TARGET = Path(__file__).parents[1] / "docs" / "images" / "run.svg"
WIDTH, HEIGHT = 86, 30

DOCUMENT = """
name: order
nodes:
  order: {type: python, with: {function: demo.work, args: {seconds: 0.12}}}
  stock: {type: python, needs: [order], with: {function: demo.work, args: {seconds: 0.25}}}
  large: {type: condition, needs: [order], with: {if: "840 > 500"}}
  ask: {type: approval, needs: [{node: large, outcome: "true"}], with: {title: Ship for 840?, timeout: 2h}}
  discount: {type: set, needs: [{node: large, outcome: "false"}], with: {value: 10}}
  label: {type: python, needs: [stock], with: {function: demo.flaky, args: {}}, retry: {initialInterval: 4s}}
  parcels:
    type: for_each
    needs: [stock]
    with: {items: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], concurrency: 3}
    body:
      nodes:
        pack: {type: python, with: {function: demo.work, args: {seconds: 0.4}}}
        weigh: {type: set, needs: [pack], with: {value: 1.5}}
  ship:
    type: noop
    needs: [parcels, label, {node: ask, outcome: approved}]
  tell: {type: log, needs: [{node: ship, outcome: always}], with: {message: done}}
"""

THEME = TerminalTheme(
    (24, 29, 38),
    (214, 220, 228),
    [(24, 29, 38), (240, 98, 98), (120, 205, 130), (229, 192, 100), (110, 160, 250), (200, 140, 240), (90, 200, 215), (214, 220, 228)],
)  # fmt: skip

FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
    .{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: Helvetica, Arial, sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix" xml:space="preserve">
    {matrix}
    </g>
    </g>
</svg>
"""


@function(name="demo.work")
async def work(seconds: float) -> None:
    await asyncio.sleep(seconds)


@function(name="demo.flaky")
def flaky(context: FunctionContext) -> str:
    raise ConnectionError(f"the label printer does not answer (attempt {context.attempt})")


async def frame() -> Console:
    """The screen at the moment at which the fifth parcel is being packed."""
    registry, clock, functions = Registry.discover(), SystemClock(), Functions(work, flaky)
    loaded = load_document(DOCUMENT, registry=registry, functions=functions.names())
    if loaded.graph is None:
        raise SystemExit(f"the document of the picture is not valid: {loaded.problems}")
    progress = Progress(loaded.graph)
    view = TreeView("order", progress, clock.now(), clock.now)
    screen = Console(
        record=True,
        width=WIDTH,
        height=HEIGHT,
        force_terminal=True,
        file=io.StringIO(),
        color_system="truecolor",
    )
    engine = MemoryEngine(
        registry=registry, services={Functions: functions, FunctionPool: FunctionPool()}, clock=clock
    )
    questions = Questions()
    loop = asyncio.get_running_loop()
    taken = False

    def take() -> None:
        screen.print(Text("$ riven run order.yaml"), style="bold")
        screen.print(view)
        engine.cancel()

    def changed(change: ExecutionChange) -> None:
        nonlocal taken
        if not change.path:
            return
        progress.apply(change)
        if change.waiting is not None and change.waiting.kind == "approval":
            questions.ask(ApprovalQuestion(change.path, change.waiting.config["title"]))
            view.question = questions.lines()
        if change.path == "parcels[4].pack" and not taken:
            taken = True
            loop.call_later(0.2, take)

    await engine.run(loaded, {}, listener=changed)
    return screen


def main() -> None:
    screen = asyncio.run(frame())
    picture = screen.export_svg(title="riven", theme=THEME, code_format=FORMAT, unique_id="run")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

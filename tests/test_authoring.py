import ast
from pathlib import Path

import riven
from riven import authoring
from riven.nodes.testing import check_node_type, run_node


def test_everything_that_is_offered_is_there() -> None:
    for name in authoring.__all__:
        assert getattr(authoring, name) is not None
    assert authoring.__all__ == sorted(authoring.__all__)


def test_nothing_else_is_there() -> None:
    public = {name for name in vars(authoring) if not name.startswith("_")}
    assert public == set(authoring.__all__)


def test_the_root_package_stays_empty() -> None:
    assert riven.__file__ is not None
    (docstring,) = ast.parse(Path(riven.__file__).read_text()).body
    assert isinstance(docstring, ast.Expr)


async def test_an_author_needs_no_other_import() -> None:
    class GreetConfig(authoring.Config):
        name: authoring.Text

    class Greet(authoring.NodeType[GreetConfig]):
        type = "acme.greet"
        title = "Greet"
        description = "Greets."
        config = GreetConfig

        async def run(self, config: GreetConfig, context: authoring.NodeContext) -> authoring.NodeResult:
            if context.attempt > 1:
                raise authoring.NodeError(authoring.ErrorClass.EXECUTION_ERROR, "once is enough")
            return authoring.NodeResult(f"Hello, {config.name}")

    check_node_type(Greet)
    assert (await run_node(Greet, {"name": "Ada"})).output == "Hello, Ada"

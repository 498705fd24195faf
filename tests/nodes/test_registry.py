import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import orjson
import pytest
from tests.nodes.packages import install

from riven.nodes.builtin.noop import Noop, NoopConfig
from riven.nodes.contract import NodeContext, NodeResult, NodeType
from riven.nodes.registry import BUILTIN, ENTRY_POINTS, NodeTypeError, Registry, describe

GOOD = """
from riven.authoring import Config, NodeContext, NodeResult, NodeType

class LookupConfig(Config):
    customer: str

class Lookup(NodeType[LookupConfig]):
    type = "{name}"
    title = "Look up"
    description = "Looks a customer up."
    config = LookupConfig

    async def run(self, config, context):
        return NodeResult(config.customer)
"""


class Mine(NodeType[NoopConfig]):
    type = "mine"
    title = "Mine"
    description = "Mine."
    config = NoopConfig

    async def run(self, config: NoopConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        return NodeResult()


def test_has_the_types_of_the_documentation_in_its_order() -> None:
    assert Registry().names() == (
        "http_request", "python", "set", "log", "noop", "fail", "condition", "switch", "for_each", "repeat", "call",
        "wait", "signal", "approval",
    )  # fmt: skip


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_type_answers_to_its_name(name: str) -> None:
    registry = Registry()
    found = registry.get(name)
    assert found is not None
    assert found.type == name
    assert registry.get(name) is found


@pytest.mark.parametrize("name", ["", "nope", "Python", "http_request ", "x" * 10_000, "a\0b", "../noop"])
def test_an_unknown_name_is_none(name: str) -> None:
    registry = Registry.discover()
    assert registry.get(name) is None
    assert registry.fault(name) is None


def test_types_can_be_added_and_replaced() -> None:
    class OtherNoop(Noop):
        title = "Another"

    first = Registry()
    second = first.with_types(Mine, OtherNoop())
    third = second.with_types()
    for registry in (second, third):
        assert isinstance(registry.get("mine"), Mine)
        assert isinstance(registry.get("noop"), OtherNoop)
    assert first.get("mine") is None
    assert second.names() == (*BUILTIN, "mine")


def test_what_breaks_the_contract_is_not_added() -> None:
    class Nameless(Mine):
        type = "Not a name"

    with pytest.raises(NodeTypeError, match="small letters"):
        Registry().with_types(Nameless)


def test_describes_every_type_as_json() -> None:
    described = Registry().with_types(Mine).describe()
    assert [each["type"] for each in described] == [*BUILTIN, "mine"]
    assert orjson.loads(orjson.dumps(described)) == described
    for each in described:
        jsonschema_rs.Draft202012Validator(each["configSchema"], offline=True)
        jsonschema_rs.Draft202012Validator(each["outputSchema"], offline=True)
        assert each["configSchema"]["additionalProperties"] is False
        assert {"title", "description", "icon", "category", "kind", "pure", "labels"} <= each.keys()


def test_a_field_of_every_form_has_a_description() -> None:
    for each in Registry().describe():
        for name, field in each["configSchema"]["properties"].items():
            assert field.get("description"), (each["type"], name)


def test_a_switch_says_that_its_labels_come_from_its_configuration() -> None:
    switch, noop = Registry().get("switch"), Registry().get("noop")
    assert switch is not None
    assert noop is not None
    assert (describe(switch)["labels"], describe(switch)["labelsFromConfig"]) == (["default"], True)
    assert describe(noop)["labelsFromConfig"] is False


class TestInstalled:
    def test_a_package_adds_a_type(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        entries = {"acme.lookup": "tests_nodes_a:Lookup"}
        install(
            monkeypatch,
            tmp_path,
            "acme",
            {ENTRY_POINTS: entries},
            {"tests_nodes_a": GOOD.format(name="acme.lookup")},
        )
        registry = Registry.discover()
        assert registry.get("noop") is not None
        assert "tests_nodes_a" not in sys.modules
        found = registry.get("acme.lookup")
        assert found is not None
        assert found.title == "Look up"
        assert registry.names() == (*BUILTIN, "acme.lookup")
        assert registry.with_types(Mine).get("acme.lookup") is not None
        assert registry.faults() == {}

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            ("raise OSError('no')", "cannot be loaded: OSError: no"),
            ("x = 1", "cannot be loaded: AttributeError"),
            ("import sys; sys.exit(3)", "cannot be loaded: SystemExit: 3"),
            ("import nowhere_at_all", "ModuleNotFoundError"),
            ("Lookup = 5", "is not a subclass"),
            (GOOD.format(name="acme.other"), "registered as 'acme.lookup' but calls itself 'acme.other'"),
            (GOOD.format(name="acme.lookup").replace("    title", "    tilte"), "`title` must be a text"),
            (GOOD.format(name="acme.lookup").replace("async def", "def"), "must be a coroutine"),
            (GOOD.format(name="acme.lookup").replace("customer: str", "call: __import__('typing').Callable[[], int]"), "no JSON Schema"),
        ],
    )  # fmt: skip
    def test_a_broken_one_is_a_fault_that_names_its_package_and_nothing_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
    ) -> None:
        install(
            monkeypatch,
            tmp_path,
            "acme",
            {ENTRY_POINTS: {"acme.lookup": "tests_nodes_b:Lookup"}},
            {"tests_nodes_b": source},
        )
        registry = Registry.discover()
        assert registry.get("acme.lookup") is None
        fault = registry.fault("acme.lookup")
        assert fault is not None
        assert "of the package acme" in fault
        assert words in fault
        assert registry.faults() == {"acme.lookup": fault}
        assert len(registry.describe()) == len(BUILTIN)

    def test_two_packages_cannot_share_a_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for package in ("acme", "beta"):
            module = f"tests_nodes_{package}"
            entries = {"both.ways": f"{module}:Lookup"}
            install(
                monkeypatch,
                tmp_path,
                package,
                {ENTRY_POINTS: entries},
                {module: GOOD.format(name="both.ways")},
            )
        registry = Registry.discover()
        assert registry.get("both.ways") is None
        fault = registry.fault("both.ways") or ""
        assert "package acme" in fault
        assert "package beta" in fault

    def test_a_built_in_type_cannot_be_replaced_by_installing_something(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(
            monkeypatch,
            tmp_path,
            "acme",
            {ENTRY_POINTS: {"noop": "tests_nodes_c:Lookup"}},
            {"tests_nodes_c": GOOD.format(name="noop")},
        )
        registry = Registry.discover()
        assert isinstance(registry.get("noop"), Noop)
        assert registry.names() == tuple(BUILTIN)
        assert len(registry.describe()) == len(BUILTIN)
        assert registry.faults() == {
            "noop": "tests_nodes_c:Lookup of the package acme: the type 'noop' is built in; rename it"
        }


def test_a_small_document_does_not_wait_for_what_it_does_not_use() -> None:
    program = (
        "import sys\nfrom riven.nodes.registry import Registry\nregistry = Registry.discover()\n"
        "for name in ('condition', 'log', 'python', 'http_request', 'switch', 'for_each', 'wait'): registry.get(name)\n"
        "heavy = {'httpx', 'httpcore', 'h11', 'anyio', 'idna', 'certifi', 'jsonschema_rs'}\n"
        "found = heavy & set(sys.modules)\nassert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

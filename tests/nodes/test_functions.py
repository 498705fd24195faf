import sys
from pathlib import Path

import pytest
from tests.nodes.packages import install

from riven.nodes.function import DECLARED
from riven.nodes.functions import ENTRY_POINTS, FunctionError, Functions


@pytest.fixture(autouse=True)
def leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def file(folder: Path, name: str, source: str) -> str:
    path = folder / name
    path.write_text(source)
    return str(path)


ONE = (
    "from riven.authoring import function\n\n@function(name='{name}')\ndef f(x: int) -> int:\n    return x\n"
)


def test_the_shipped_ones_are_there() -> None:
    assert Functions().names() == ("riven.echo", "riven.sleep")


def test_functions_given_by_hand_need_no_decorator() -> None:
    def mine() -> None: ...

    found = Functions(mine).get("mine")
    assert found is not None
    assert found.function.call is mine


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    functions = Functions()
    assert functions.load(file(tmp_path, "crm.py", ONE.format(name="crm.one"))) == ("crm.one",)
    found = functions.get("crm.one")
    assert found is not None
    assert found.function.call(7) == 7
    assert found.function.origin == "crm.py:3"


def test_the_same_file_twice_is_once(tmp_path: Path) -> None:
    functions = Functions()
    path = file(tmp_path, "crm.py", ONE.format(name="crm.twice"))
    functions.load(path)
    functions.load(f"{tmp_path}/../{tmp_path.name}/crm.py")
    assert Functions().load(path) == ("crm.twice",)


def test_a_file_imports_its_neighbours_and_their_functions_come_along(tmp_path: Path) -> None:
    file(tmp_path, "neighbour_of_tests.py", ONE.format(name="near.one"))
    path = file(tmp_path, "main.py", "import neighbour_of_tests\n" + ONE.format(name="near.two"))
    assert set(Functions().load(path)) == {"near.one", "near.two"}


def test_postponed_annotations_are_understood(tmp_path: Path) -> None:
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom riven.authoring import function\n"
        "@dataclass\nclass P:\n    x: int\n@function(name='post.poned')\ndef f(p: P) -> P:\n    return p\n"
    )
    functions = Functions()
    functions.load(file(tmp_path, "post.py", source))
    found = functions.get("post.poned")
    assert found is not None
    assert found.check({"p": {"x": "5"}})["p"].x == 5


def test_a_module_is_loaded_by_its_name_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "acme_for_tests"
    package.mkdir()
    (package / "__init__.py").write_text("from acme_for_tests import crm\n")
    (package / "crm.py").write_text(ONE.format(name="acme.crm"))
    assert Functions().load("acme_for_tests") == ("acme.crm",)
    assert Functions().load("acme_for_tests") == ("acme.crm",)
    assert Functions().load("acme_for_tests.crm") == ("acme.crm",)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1\n", "has no functions"),
        ("x = 1\nimport nowhere_at_all\n", "line 2: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def f(:\n", "line 1: SyntaxError"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        ("from riven.authoring import function\n@function\ndef f(*args): ...\n", "positional only"),
        ("from riven.authoring import function\n@function\ndef f(a: Nowhere): ...\n", "Nowhere"),
        ("from riven.authoring import function\n@function\ndef f(a: 'Nowhere'): ...\n", "Nowhere"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, source: str, words: str) -> None:
    before = len(DECLARED)
    with pytest.raises(FunctionError) as refused:
        Functions().load(file(tmp_path, "broken.py", source))
    assert "broken.py" in str(refused.value)
    assert words in str(refused.value)
    assert len(DECLARED) - before <= 1


def test_a_file_that_failed_can_be_mended(tmp_path: Path) -> None:
    functions = Functions()
    with pytest.raises(FunctionError):
        functions.load(file(tmp_path, "mended.py", ONE.format(name="mend.ed") + "1/0\n"))
    assert functions.load(file(tmp_path, "mended.py", ONE.format(name="mend.ed"))) == ("mend.ed",)


@pytest.mark.parametrize(
    "source", ["nowhere_at_all", "nowhere/at/all.py", "nowhere.py", "", ".", "./", "a b", "..x"]
)
def test_what_is_not_there_says_so(source: str) -> None:
    with pytest.raises(FunctionError):
        Functions().load(source)


def test_two_functions_of_one_name_are_refused_naming_both(tmp_path: Path) -> None:
    functions = Functions()
    functions.load(file(tmp_path, "one.py", ONE.format(name="same.name")))
    with pytest.raises(FunctionError, match=r"'same\.name': one\.py:3 and two\.py:3"):
        functions.load(file(tmp_path, "two.py", ONE.format(name="same.name")))
    with pytest.raises(FunctionError, match=r"riven\.echo"):
        functions.load(file(tmp_path, "three.py", ONE.format(name="riven.echo")))


def test_a_refused_file_adds_nothing(tmp_path: Path) -> None:
    functions = Functions()
    second = "\n@function(name='riven.sleep')\ndef g(): ...\n"
    with pytest.raises(FunctionError):
        functions.load(file(tmp_path, "half.py", ONE.format(name="half.one") + second))
    assert functions.get("half.one") is None


def test_the_nearest_name_is_found() -> None:
    assert Functions().nearest("riven.ecko") == "riven.echo"
    assert Functions().nearest("x" * 100_000) is None


class TestInstalled:
    def test_packages_bring_modules_and_single_functions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entries = {"one": "tests_pkg_a", "two": "tests_pkg_b:plain"}
        modules = {"tests_pkg_a": ONE.format(name="pkg.one"), "tests_pkg_b": "def plain(): ...\n"}
        install(monkeypatch, tmp_path, "acme", {ENTRY_POINTS: entries}, modules)
        functions = Functions.discover()
        assert functions.get("pkg.one") is not None
        assert set(functions.names()) == {"pkg.one", "plain", "riven.echo", "riven.sleep"}
        assert functions.faults() == {}

    def test_a_broken_package_is_named_and_takes_nothing_down(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        modules = {"tests_pkg_c": "raise OSError('no')\n", "tests_pkg_d": ONE.format(name="pkg.fine")}
        entries = {"bad": "tests_pkg_c", "fine": "tests_pkg_d", "worse": "tests_pkg_d:missing"}
        install(monkeypatch, tmp_path, "acme", {ENTRY_POINTS: entries}, modules)
        functions = Functions.discover()
        assert functions.get("pkg.fine") is not None
        faults = functions.faults()
        assert faults["bad"] == "tests_pkg_c of the package acme cannot be loaded: OSError: no"
        assert "package acme" in faults["worse"]

    def test_are_not_looked_through_for_the_shipped_ones(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        modules = {"tests_pkg_e": "raise OSError('it was loaded')\n"}
        install(monkeypatch, tmp_path, "acme", {ENTRY_POINTS: {"bad": "tests_pkg_e"}}, modules)
        functions = Functions.discover()
        assert functions.get("riven.echo") is not None
        assert "tests_pkg_e" not in sys.modules
        assert functions._faults == {}

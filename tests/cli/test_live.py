"""`riven run` at a terminal."""

import signal
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal

pytestmark = pytest.mark.slow

TREE = """\
name: tree
nodes:
  fast: {type: set, with: {value: 1}}
  each:
    type: for_each
    needs: [fast]
    with: {items: [1, 2, 3]}
    body:
      nodes:
        nap: {type: python, with: {function: riven.sleep, args: {seconds: 0.3}}}
  broken: {type: fail, needs: [each], with: {message: no luck}}
  never: {type: noop, needs: [broken]}
"""
ASKER = """\
name: asker
nodes:
  ask: {type: approval, with: {title: "Refund it?", description: "It is much"}}
  wait_paid: {type: signal, needs: [{node: ask, outcome: approved}], with: {name: paid}}
output: {comment: "{{ steps.?ask.?output.?comment.orValue(null) }}", paid: "{{ steps.?wait_paid.?output.orValue(null) }}"}
"""
SLEEPER = """\
name: sleeper
nodes:
  first: {type: noop}
  nap: {type: python, needs: [first], with: {function: riven.sleep, args: {seconds: 60}}, timeout: 5m}
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, text in {"tree": TREE, "asker": ASKER, "sleeper": SLEEPER}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_the_tree_is_shown_as_it_runs_and_left_as_it_ended(work: Path) -> None:
    with Terminal("run", "tree.yaml", directory=work) as terminal:
        terminal.wait_for("[0].nap", "python", "of 3 items", "running")
        assert terminal.end() == 1
        assert terminal.restored()
        end = terminal.text[terminal.text.rindex("✓ fast") :]
        assert "✓ each" in end
        assert "3 items" in end
        assert "✗ broken" in end
        assert "EXECUTION_ERROR: no luck" in end
        assert "⊘ never" in end or "- never" in end
        assert "✗ tree failed in" in end
        assert "broken: EXECUTION_ERROR: no luck" in end
        assert "\x1b[?25h" in terminal.raw.decode()  # the cursor is shown again


def test_what_it_waits_for_is_asked_while_the_tree_goes_on(work: Path) -> None:
    with Terminal("run", "asker.yaml", directory=work) as terminal:
        terminal.wait_for("ask: Refund it?", "It is much", "approved or rejected:")
        terminal.type("maybe\n")
        terminal.wait_for("type approved or rejected")
        terminal.type("approved\n")
        terminal.wait_for("comment (Enter for none)")
        terminal.type("fine\n")
        terminal.wait_for("waits for the signal 'paid'", "payload as JSON")
        terminal.type("[1, 2]\n")
        assert terminal.end() == 0
        assert terminal.restored()
        end = terminal.text[terminal.text.rindex("✓ asker completed") :]
        assert '"comment": "fine"' in end
        assert '"paid"' in end


def test_a_decision_that_its_form_refuses_is_asked_for_again(work: Path) -> None:
    (work / "form.yaml").write_text(
        "name: form\nnodes:\n  ask: {type: approval, with: {form: {type: object, required: [sum]}}}\n"
        "output: '{{ steps.ask.output.data }}'\n"
    )
    with Terminal("run", "form.yaml", "--approve", "ask=approved", directory=work) as terminal:
        terminal.wait_for("--approve ask=approved: data", "approved or rejected:")
        terminal.type("a\n\n{}\n")
        terminal.wait_for("required property")
        terminal.type('a\n\n{"sum": 5}\n')
        assert terminal.end() == 0
        assert '"sum": 5' in terminal.text


def test_answers_typed_ahead_are_answers(work: Path) -> None:
    with Terminal("run", "asker.yaml", directory=work) as terminal:
        terminal.type("rejected\nno money\n")
        assert terminal.end() == 0
        assert '"comment": "no money"' in terminal.text


def test_an_interrupt_cancels_and_says_what_had_completed(work: Path) -> None:
    with Terminal("run", "sleeper.yaml", directory=work) as terminal:
        terminal.wait_for("✓ first", "1 running")
        terminal.interrupt()
        assert terminal.end() == 1
        assert terminal.restored()
        assert "sleeper canceled in" in terminal.text
        assert "completed: first (1 of 2 nodes)" in terminal.text


def test_an_interrupt_during_a_question_leaves_the_terminal_as_it_was(work: Path) -> None:
    with Terminal("run", "asker.yaml", directory=work) as terminal:
        terminal.wait_for("approved or rejected:")
        terminal.interrupt()
        assert terminal.end() == 1
        assert terminal.restored()


def test_no_colour_when_it_is_not_wanted_and_colour_when_it_is(work: Path) -> None:
    for env, coloured in (({"NO_COLOR": "1"}, False), ({}, True)):
        with Terminal("run", "tree.yaml", directory=work, env=env) as terminal:
            assert terminal.end() == 1
            assert ("\x1b[32m" in terminal.raw.decode()) is coloured
    with Terminal("--no-color", "run", "tree.yaml", directory=work) as terminal:
        assert terminal.end() == 1
        assert "\x1b[32m" not in terminal.raw.decode()


def test_a_dumb_terminal_gets_plain_lines(work: Path) -> None:
    with Terminal("run", "tree.yaml", directory=work, env={"TERM": "dumb"}) as terminal:
        assert terminal.end() == 1
        assert "\x1b" not in terminal.raw.decode()
        assert "broken  FAILED" in terminal.text


def test_thousands_of_nodes_stay_within_the_screen(work: Path) -> None:
    nodes = "\n".join(f"  n{number}: {{type: noop}}" for number in range(3_000))
    (work / "many.yaml").write_text(f"name: many\nnodes:\n{nodes}\n")
    with Terminal("run", "many.yaml", directory=work, rows=20) as terminal:
        assert terminal.end() == 0
        assert "3,000" in terminal.text or "more" in terminal.text or "completed" in terminal.text
        assert terminal.text.count("✓ n") < 2_000


def test_a_small_terminal_without_unicode_gets_marks_it_can_show(work: Path) -> None:
    env = {"PYTHONIOENCODING": "ascii"}
    with Terminal("run", "tree.yaml", directory=work, rows=8, columns=40, env=env) as terminal:
        assert terminal.end() == 1
        assert "+ fast" in terminal.text
        assert all(char.isascii() for char in terminal.text)


def test_after_a_stop_the_question_goes_on(work: Path) -> None:
    with Terminal("run", "asker.yaml", directory=work) as terminal:
        terminal.wait_for("approved or rejected:")
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.restore()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_until(lambda: not terminal.restored())
        terminal.type("rejected\n\n")
        assert terminal.end() == 0
        assert terminal.restored()


def test_a_second_interrupt_leaves_the_terminal_as_it_was(work: Path) -> None:
    (work / "deaf.py").write_text(
        "import time\nfrom riven.authoring import function\n\n\n"
        "@function\nasync def deaf() -> None:\n    print('deaf now')\n    time.sleep(60)\n"
    )
    (work / "deaf.yaml").write_text(
        "name: deaf\nnodes:\n  ask: {type: approval}\n  nap: {type: wait, with: {for: 200ms}}\n"
        "  a: {type: python, needs: [nap], with: {function: deaf}}\n"
    )
    with Terminal("run", "deaf.yaml", "--functions", "deaf.py", directory=work) as terminal:
        terminal.wait_for("approved or rejected:", "deaf now")
        terminal.interrupt()
        terminal.wait_until(lambda: terminal.interrupt() or terminal.process.poll() is not None)
        assert terminal.end() == 1
        assert terminal.restored()
        assert terminal.raw.rfind(b"\x1b[?25h") > terminal.raw.rfind(
            b"\x1b[?25l"
        )  # the cursor is shown again

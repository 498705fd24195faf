import pytest

from riven.cli.questions import (
    Answer,
    Approval,
    ApprovalQuestion,
    LineEditor,
    Questions,
    SignalQuestion,
    SignalSent,
)
from riven.core.ids import NodePath

ASK = ApprovalQuestion(NodePath("ask"), "Refund 120?")
PAID = SignalQuestion(NodePath("pay"), "paid")


def typed(questions: Questions, text: str) -> list[Answer]:
    return [answer for _, answer in questions.feed(text.encode())]


def shown(questions: Questions) -> str:
    return "\n".join("".join(text for text, _ in line) for line in questions.lines())


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("approved", "approved"),
        ("a", "approved"),
        ("Y", "approved"),
        ("rejected", "rejected"),
        ("no", "rejected"),
    ],
)
def test_an_approval_is_decided_with_a_comment_or_none(answer: str, decision: str) -> None:
    questions = Questions()
    questions.ask(ASK)
    assert "Refund 120?" in shown(questions)
    assert typed(questions, f"{answer}\n") == []
    assert "comment" in shown(questions)
    assert typed(questions, "fine with me\r") == [Approval(NodePath("ask"), decision, "fine with me")]
    assert questions.current is None
    assert shown(questions) == ""
    questions.ask(ASK)
    assert typed(questions, f"{answer}\n\n") == [Approval(NodePath("ask"), decision, None)]


def test_another_word_is_refused_and_asked_again() -> None:
    questions = Questions()
    questions.ask(ASK)
    assert typed(questions, "maybe\n") == []
    assert "type approved or rejected" in shown(questions)
    assert typed(questions, "r\n\n") == [Approval(NodePath("ask"), "rejected")]


def test_an_approval_with_a_form_takes_data() -> None:
    questions = Questions()
    questions.ask(ApprovalQuestion(NodePath("ask"), "?", form=True))
    assert typed(questions, 'a\nok\n{"sum": 1\n') == []
    assert "no JSON" in shown(questions)
    assert typed(questions, '{"sum": 1}\n') == [Approval(NodePath("ask"), "approved", "ok", {"sum": 1})]


def test_a_signal_takes_its_payload_as_json() -> None:
    questions = Questions()
    questions.ask(PAID)
    assert "waits for the signal 'paid'" in shown(questions)
    assert typed(questions, "card\n") == []
    assert "no JSON" in shown(questions)
    assert typed(questions, '{"by": "card"}\n') == [SignalSent("paid", {"by": "card"})]
    questions.ask(PAID)
    assert typed(questions, "\n") == [SignalSent("paid", None)]


def test_questions_are_asked_one_after_the_other() -> None:
    questions = Questions()
    questions.ask(ASK)
    questions.ask(PAID)
    assert "1 more in line" in shown(questions)
    assert typed(questions, "a\n\n7\n") == [Approval(NodePath("ask"), "approved"), SignalSent("paid", 7)]


def test_a_question_whose_node_no_longer_waits_is_withdrawn_with_what_was_typed_for_it() -> None:
    questions = Questions()
    questions.ask(ASK)
    questions.ask(PAID)
    typed(questions, "approved\nhalf a com")
    questions.withdraw(NodePath("ask"))
    assert "paid" in shown(questions)
    assert "half" not in shown(questions)
    assert typed(questions, "1\n") == [SignalSent("paid", 1)]


def test_a_refused_answer_is_asked_for_again_before_the_others() -> None:
    questions = Questions()
    questions.ask(ASK)
    questions.ask(PAID)
    ((question, _),) = questions.feed(b"a\n\n")
    questions.refuse(question, "data: wrong")
    assert "Refund 120?" in shown(questions)
    assert "data: wrong" in shown(questions)
    assert typed(questions, "r\n\n1\n") == [Approval(NodePath("ask"), "rejected"), SignalSent("paid", 1)]


def test_another_question_does_not_disturb_what_is_being_typed() -> None:
    questions = Questions()
    questions.ask(ASK)
    typed(questions, "app")
    questions.ask(PAID)
    questions.withdraw(NodePath("pay"))
    typed(questions, "roved\n")
    assert "comment" in shown(questions)


def test_text_of_the_document_cannot_act_on_the_terminal() -> None:
    questions = Questions()
    questions.ask(ApprovalQuestion(NodePath("ask"), "a\x1b[2Jb", "c\rd\x07"))
    assert all(char.isprintable() or char == "\n" for char in shown(questions))


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (b"abc\x7f\x7fd\n", "ad"),
        (b"\x7f\x08x\n", "x"),
        (b"one two\x17three\n", "onethree"),
        (b"one two\x15three\n", "three"),
        (b"a\x1b[D\x1b[1;5Cb\x1bOA\n", "ab"),
        ("żółw 北京\n".encode(), "żółw 北京"),
        (b"\xff\x00a\x01\n", "a"),
    ],
)
def test_the_editor_knows_the_usual_keys(keys: bytes, line: str) -> None:
    assert LineEditor().feed(keys) == [line]
    editor = LineEditor()
    assert [finished for key in keys for finished in editor.feed(bytes([key]))] == [line]

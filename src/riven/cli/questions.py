"""What a run asks the person at the terminal: to decide approvals, to give signals. Keys in, answers out.

One question at a time, the others in line; a question whose node no longer waits is withdrawn.
"""

import codecs
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from riven.cli.arguments import CallError, parse_json
from riven.cli.lettering import clipped, printable
from riven.core.ids import NodePath
from riven.wire.document import Json

_DECISIONS = {
    "approved": "approved", "approve": "approved", "a": "approved", "yes": "approved", "y": "approved",
    "rejected": "rejected", "reject": "rejected", "r": "rejected", "no": "rejected", "n": "rejected",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    path: NodePath
    title: str
    description: str | None = None
    form: bool = False
    """Whether the decision may carry data."""


@dataclass(frozen=True, slots=True)
class SignalQuestion:
    path: NodePath
    name: str


Question: TypeAlias = ApprovalQuestion | SignalQuestion


@dataclass(frozen=True, slots=True)
class Approval:
    path: NodePath
    decision: str
    comment: str | None = None
    data: Json = None


@dataclass(frozen=True, slots=True)
class SignalSent:
    name: str
    payload: Json


Answer: TypeAlias = Approval | SignalSent

Line: TypeAlias = list[tuple[str, str]]
"""Pieces of text, each with its style."""


class _Step(Enum):
    DECISION = "approved or rejected"
    COMMENT = "comment (Enter for none)"
    DATA = "data as JSON (Enter for none)"
    PAYLOAD = "payload as JSON (Enter for null)"


@dataclass(slots=True)
class LineEditor:
    """One line of text being typed. Bytes may arrive in any pieces, also in the middle of a character."""

    text: str = ""
    _decode: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="ignore")
    )
    _escape: str = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines finished by it."""
        lines = []
        for char in self._decode.decode(data):
            if self._escape:
                self._in_escape(char)
            elif char == "\x1b":
                self._escape = char
            elif char in "\r\n":
                lines.append(self.text)
                self.text = ""
            elif char in "\x7f\b":
                self.text = self.text[:-1]
            elif char == "\x15":  # Ctrl-U
                self.text = ""
            elif char == "\x17":  # Ctrl-W
                self.text = self.text.rstrip().rpartition(" ")[0]
            elif char == "\t" or char.isprintable():
                self.text += char
        return lines

    def _in_escape(self, char: str) -> None:
        """Arrow keys and the like: there is nothing to move in, so they do nothing."""
        if self._escape == "\x1b":
            self._escape = "\x1b[" if char in "[O" else ""
        elif "@" <= char <= "~":
            self._escape = ""


class Questions:
    def __init__(self) -> None:
        self._waiting: dict[NodePath, Question] = {}
        self._editor = LineEditor()
        self._step: _Step | None = None
        self._decision = ""
        self._comment: str | None = None
        self._complaint: str | None = None

    @property
    def current(self) -> Question | None:
        return next(iter(self._waiting.values()), None)

    def ask(self, question: Question) -> None:
        self._waiting[question.path] = question
        self._begin()

    def withdraw(self, path: NodePath) -> None:
        asked = self.current
        self._waiting.pop(path, None)
        if asked is not None and asked.path == path:
            self._begin(anew=True)

    def refuse(self, question: Question, why: str) -> None:
        """The answer was not taken: ask again, before all others."""
        self._waiting = {question.path: question, **self._waiting}
        self._begin(anew=True)
        self._complaint = why

    def feed(self, data: bytes) -> list[tuple[Question, Answer]]:
        """Take in what was typed."""
        answers = []
        for line in self._editor.feed(data):
            question = self.current
            if question is None:
                continue
            answer = self._line(question, line.strip())
            if answer is not None:
                answers.append((question, answer))
                self.withdraw(question.path)
        return answers

    def lines(self) -> list[Line]:
        """The current question, and what has been typed so far."""
        question = self.current
        if question is None or self._step is None:
            return []
        shown: list[Line] = []
        match question:
            case ApprovalQuestion(path, title, description):
                shown.append([(f"  {path}: {printable(title)}", "bold magenta")])
                if description:
                    shown.append([(f"  {clipped(printable(' '.join(description.split())), 200)}", "dim")])
            case SignalQuestion(path, name):
                shown.append([(f"  {path}: waits for the signal '{printable(name)}'", "bold magenta")])
        if self._complaint is not None:
            shown.append([(f"  {self._complaint}", "red")])
        more = f"  ({len(self._waiting) - 1} more in line)" if len(self._waiting) > 1 else ""
        prompt = f"  {self._step.value}{more}: "
        shown.append([(prompt, ""), (printable(self._editor.text), "bold"), (" ", "reverse")])
        return shown

    def _begin(self, *, anew: bool = False) -> None:
        question = self.current
        if question is None:
            self._step = None
        elif anew or self._step is None:
            self._complaint, self._comment, self._editor.text = None, None, ""
            self._step = _Step.DECISION if isinstance(question, ApprovalQuestion) else _Step.PAYLOAD

    def _line(self, question: Question, line: str) -> Answer | None:
        self._complaint = None
        match question:
            case SignalQuestion():
                try:
                    return SignalSent(question.name, parse_json(line, "the payload") if line else None)
                except CallError as error:
                    self._complaint = str(error)
                    return None
            case ApprovalQuestion():
                return self._approval(question, line)

    def _approval(self, question: ApprovalQuestion, line: str) -> Answer | None:
        if self._step is _Step.DECISION:
            decision = _DECISIONS.get(line.lower())
            if decision is None:
                self._complaint = "type approved or rejected (a or r)"
            else:
                self._decision, self._step = decision, _Step.COMMENT
            return None
        if self._step is _Step.COMMENT:
            self._comment = line or None
            if question.form:
                self._step = _Step.DATA
                return None
            return Approval(question.path, self._decision, self._comment)
        try:
            data = parse_json(line, "the data") if line else None
        except CallError as error:
            self._complaint = str(error)
            return None
        return Approval(question.path, self._decision, self._comment, data)

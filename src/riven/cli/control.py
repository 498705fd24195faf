"""Between the engine and the screen: every change is shown, every wait answered, asked about, or explained."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from riven.cli.lettering import printable
from riven.cli.progress import Progress
from riven.cli.questions import Answer, Approval, ApprovalQuestion, Question, SignalQuestion, SignalSent
from riven.cli.screen import Screen
from riven.core.ids import ROOT_PATH, NodePath
from riven.core.messages import NodeStatus
from riven.engines.embedded.engine import ControlError, DecidedApprovalError, UnknownApprovalError
from riven.engines.embedded.journal import Awaited, ExecutionChange
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.decisions import Decision
from riven.wire.document import Json

_NUMBERS = re.compile(r"\[\d+\]")
_MOST_HINTS = 20


class Control:
    def __init__(
        self,
        engine: MemoryEngine,
        progress: Progress,
        decisions: Mapping[str, Decision],
        signals: Iterable[tuple[str, Json]],
    ) -> None:
        self._engine = engine
        self._progress = progress
        self._decisions = decisions
        self._kept: Counter[str] = Counter()
        self._hints = 0
        self._waiting: set[NodePath] = set()
        self.screen: Screen | None = None
        self.failure: Exception | None = None
        """What went wrong in showing; the run is then canceled."""
        for name, payload in signals:
            engine.signal(name, payload)
            self._kept[name] += 1

    def cancel(self) -> None:
        """Somebody pressed Ctrl-C."""
        self._engine.cancel()
        if self.screen is not None and self.failure is None:
            self.screen.notice("canceling; once more stops at once")

    def fail(self, error: Exception) -> None:
        """The run can no longer be shown: end it."""
        if self.failure is None:
            self.failure = error
            self._engine.cancel()

    def changed(self, change: ExecutionChange) -> None:
        """For the engine, which would go on without us, silently, if this raised."""
        if self.failure is not None or self.screen is None or change.path == ROOT_PATH:
            return
        try:
            self._changed(change, self.screen)
        except Exception as error:  # noqa: BLE001 - raised again when the run has ended
            self.fail(error)

    def answer(self, answer: Answer) -> str | None:
        """What a person at the terminal has answered; why it was refused."""
        match answer:
            case SignalSent(name, payload):
                self._engine.signal(name, payload)
                return None
            case Approval():
                return self._approve(answer)

    def _changed(self, change: ExecutionChange, screen: Screen) -> None:
        row = self._progress.apply(change)
        if row is None:
            return
        if change.path in self._waiting and row.status is not NodeStatus.WAITING:
            self._waiting.discard(change.path)
            screen.withdraw(change.path)
        screen.changed(row)
        if row.status is NodeStatus.WAITING and change.waiting is not None:
            self._awaits(change.path, change.waiting, screen)

    def _awaits(self, path: NodePath, awaited: Awaited, screen: Screen) -> None:
        question = _question(path, awaited)
        match question:
            case None:
                return
            case SignalQuestion(_, name):
                if self._kept[name] > 0:
                    self._kept[name] -= 1
                    return
            case ApprovalQuestion():
                decision = self._decisions.get(path) or self._decisions.get(_NUMBERS.sub("", path))
                if decision is not None:
                    refusal = self._approve(Approval(path, decision))
                    if refusal is None:
                        return
                    screen.notice(f"--approve {path}={decision}: {refusal}")
        self._waiting.add(path)
        if not screen.ask(question):
            self._hint(question, screen)

    def _approve(self, approval: Approval) -> str | None:
        decision: Decision = "approved" if approval.decision == "approved" else "rejected"
        try:
            self._engine.approve(approval.path, decision, comment=approval.comment, data=approval.data)
        except (UnknownApprovalError, DecidedApprovalError):
            return None  # it has ended in the meantime
        except ControlError as error:
            return printable(str(error))
        return None

    def _hint(self, question: Question, screen: Screen) -> None:
        self._hints += 1
        if self._hints > _MOST_HINTS:
            return
        match question:
            case ApprovalQuestion(path, title):
                asked = f"{path} waits for a decision ({printable(title)})"
                if question.form:
                    screen.notice(f"{asked} with data, which its form asks for: run it on a terminal")
                else:
                    screen.notice(
                        f"{asked}; give it with --approve {path}=approved or --approve {path}=rejected"
                    )
            case SignalQuestion(path, name):
                shown = printable(name)
                screen.notice(f"{path} waits for the signal '{shown}'; give it with --signal {shown}=JSON")


def _question(path: NodePath, awaited: Awaited) -> Question | None:
    if awaited.kind == "signal":
        return SignalQuestion(path, awaited.name or "")
    if awaited.kind == "approval":
        config = awaited.config or {}
        description = config.get("description")
        return ApprovalQuestion(
            path,
            str(config.get("title") or "Approval"),
            None if description is None else str(description),
            form=config.get("form") is not None,
        )
    return None

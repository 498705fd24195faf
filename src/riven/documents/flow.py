"""Of one scope: which nodes come before which, and which have surely completed when another one runs.

How it is told what has surely completed. A node's ways to end are its labels, and `failure` where a failure is handled.
For every node two things are worked out from those before it:

- *triggers*: ends of other nodes of which each alone makes this one run; or that it always runs. (A failure that nobody
  handles ends the run, or skips what follows, so it is left out of account.)
- *facts*: nodes that have completed, and ends that have happened, whenever this one runs.

An edge that is taken carries its source's facts and what its outcome says of the source. Which edges are taken when a
node runs follows from the join: all of them for `all`; for `none_failed` one at least, and with it those that run always
or that are triggered by its facts; for `any` only one. So the facts of a plain chain are the whole chain, those behind a
condition what its branches have in common, those behind a node that may be skipped less than that.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from riven.core.graph import ALWAYS, DONE, FAILURE, JoinRule, OnFailure
from riven.documents.draft import DraftEdge, DraftNode

End: TypeAlias = tuple[str, str]
"""A node, and the label by which it left, or `failure`."""

_MOST_TRIGGERS: Final = 32
_MOST_COMPARED: Final = 32
"""Edges into one node that are compared with each other; beyond, less is known, never something wrong."""


@dataclass(frozen=True, slots=True)
class FlowNode:
    """What matters of a node here."""

    key: str
    labels: tuple[str, ...]
    join: JoinRule
    at_least: int
    may_skip: bool
    """It has a `when`."""
    continues: bool

    @classmethod
    def of(cls, node: DraftNode, labels: tuple[str, ...]) -> "FlowNode":
        fields = node.fields
        join = fields.join
        return cls(
            key=node.key,
            labels=labels,
            join=JoinRule.NONE_FAILED if join is None else join.rule,
            at_least=0 if join is None else join.count,
            may_skip=fields.when is not None and fields.when is not True,
            continues=bool(fields.continue_on_error),
        )


@dataclass(slots=True)
class _Known:
    facts: int
    before: int


@dataclass(slots=True)
class Flow:
    """Answers about pairs (reader, step), each of which must be among `asked`; linear in nodes and edges."""

    nodes: dict[str, FlowNode]
    edges: Collection[DraftEdge]
    asked: dict[str, set[str]]
    """For each reader, the steps that are asked about."""
    on_failure: OnFailure = OnFailure.FAIL_FAST
    at_end: frozenset[str] = frozenset()
    """The steps that are asked about for the end of the scope."""
    ordered: set[str] = field(default_factory=set)
    """Nodes that are neither on nor behind a cycle; of others nothing is known."""
    _ancestors: set[tuple[str, str]] = field(default_factory=set)
    _completed: set[tuple[str, str]] = field(default_factory=set)
    _completes: set[str] = field(default_factory=set)
    _triggers_of: dict[str, frozenset[End] | None] = field(default_factory=dict)
    """None: it always runs."""
    _bits: dict[str, int] = field(default_factory=dict)
    _end_bits: dict[End, int] = field(default_factory=dict)
    _handled: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        wanted = dict.fromkeys(key for keys in self.asked.values() for key in sorted(keys))
        self._bits = {key: 1 << number for number, key in enumerate(wanted)}
        self._handled = {edge.source for edge in self.edges if edge.outcome in (FAILURE, DONE, ALWAYS)}
        self._handled |= {node.key for node in self.nodes.values() if node.continues}
        self._work()

    def is_ancestor(self, step: str, reader: str) -> bool:
        return (reader, step) in self._ancestors

    def has_completed(self, step: str, reader: str) -> bool:
        """Whenever the reader runs."""
        return (reader, step) in self._completed

    def completes(self, step: str) -> bool:
        """Whenever the scope ends well."""
        return step in self._completes

    def _work(self) -> None:
        incoming: dict[str, list[DraftEdge]] = {key: [] for key in self.nodes}
        outgoing: dict[str, list[str]] = {key: [] for key in self.nodes}
        for edge in self.edges:
            if edge.source in self.nodes and edge.target in self.nodes and edge.source != edge.target:
                incoming[edge.target].append(edge)
                outgoing[edge.source].append(edge.target)
        waits = {key: len(edges) for key, edges in incoming.items()}
        readers = {key: len(targets) for key, targets in outgoing.items()}
        ready = [key for key, count in waits.items() if count == 0]
        known: dict[str, _Known] = {}
        while ready:
            key = ready.pop()
            self.ordered.add(key)
            known[key] = found = self._node(self.nodes[key], incoming[key], known)
            self._answer(key, found)
            for edge in incoming[key]:
                readers[edge.source] -= 1
                if readers[edge.source] == 0:
                    del known[edge.source]  # bounds the memory of wide documents
            for target in outgoing[key]:
                waits[target] -= 1
                if waits[target] == 0:
                    ready.append(target)

    def _answer(self, key: str, found: _Known) -> None:
        for step in self.asked.get(key, ()):
            bit = self._bits[step]
            if found.before & bit:
                self._ancestors.add((key, step))
            if found.facts & bit:
                self._completed.add((key, step))
        if key in self.at_end and self._triggers_of[key] is None and key not in self._handled:
            self._completes.add(key)

    def _node(self, node: FlowNode, edges: list[DraftEdge], known: dict[str, _Known]) -> _Known:
        before = 0
        for edge in edges:
            before |= known[edge.source].before | self._bits.get(edge.source, 0)
        triggers = [self._triggers(edge) for edge in edges]
        facts = [self._facts(edge, known) for edge in edges]
        self._triggers_of[node.key] = frozenset() if node.may_skip else self._runs(node, triggers)
        return _Known(self._when_it_runs(node, triggers, facts), before)

    # ---- triggers -----------------------------------------------------------------------------------------------------

    def _ends(self, node: FlowNode) -> list[str]:
        ends = list(node.labels)
        return [*ends, FAILURE] if node.key in self._handled else ends

    def _taken_at(self, edge: DraftEdge) -> list[str]:
        """The ends of its source at which an edge is taken."""
        source = self.nodes[edge.source]
        match edge.outcome:
            case None:
                return self._ends(source) if source.continues else list(source.labels)
            case "failure":
                return [FAILURE]
            case "done" | "always":
                return self._ends(source)
            case label:
                return [label]

    def _triggers(self, edge: DraftEdge) -> frozenset[End] | None:
        if edge.outcome == ALWAYS:
            return None
        taken = self._taken_at(edge)
        if set(taken) >= set(self._ends(self.nodes[edge.source])):
            return self._triggers_of[edge.source]
        return frozenset((edge.source, end) for end in taken)

    def _runs(self, node: FlowNode, triggers: list[frozenset[End] | None]) -> frozenset[End] | None:
        if not triggers or node.join is JoinRule.ALL_DONE:
            return None
        if node.join in (JoinRule.ALL, JoinRule.AT_LEAST):
            certain = [found for found in triggers if found is not None]
            enough = node.at_least if node.join is JoinRule.AT_LEAST else len(triggers)
            if len(triggers) - len(certain) >= enough:
                return None
            return frozenset.intersection(*certain) if certain else frozenset()
        if any(found is None for found in triggers):
            return None
        return self._reduced({end for found in triggers if found is not None for end in found})

    def _reduced(self, ends: set[End]) -> frozenset[End] | None:
        """Where a node runs however another one ends, it runs whenever that one does."""
        todo = sorted({key for key, _ in ends})
        while todo and len(ends) <= _MOST_TRIGGERS:
            key = todo.pop()
            if all((key, end) in ends for end in self._ends(self.nodes[key])):
                inherited = self._triggers_of[key]
                if inherited is None:
                    return None
                todo += sorted({other for other, _ in inherited - ends})
                ends |= inherited
        return frozenset(ends) if len(ends) <= _MOST_TRIGGERS else frozenset()

    # ---- facts --------------------------------------------------------------------------------------------------------

    def _facts(self, edge: DraftEdge, known: dict[str, _Known]) -> int:
        """What is true whenever an edge is taken."""
        source = known[edge.source]
        if edge.outcome == ALWAYS and (
            self._triggers_of[edge.source] is not None or self.on_failure is OnFailure.FINISH_BRANCHES
        ):
            return 0  # the source may have been skipped
        taken = self._taken_at(edge)
        facts = source.facts
        if FAILURE not in taken and edge.outcome not in (DONE, ALWAYS):
            facts |= self._bits.get(edge.source, 0)
        if len(taken) == 1:
            facts |= self._end_bit((edge.source, taken[0]))
        return facts

    def _end_bit(self, end: End) -> int:
        return self._end_bits.setdefault(end, 1 << (len(self._bits) + len(self._end_bits)))

    def _when_it_runs(self, node: FlowNode, triggers: list[frozenset[End] | None], facts: list[int]) -> int:
        if not facts:
            return 0
        match node.join:
            case JoinRule.ALL:
                return _any_of(facts)
            case JoinRule.AT_LEAST:
                return _any_of(facts) if node.at_least >= len(facts) else _all_of(facts)
            case JoinRule.ANY:
                return _all_of(facts)
            case JoinRule.ALL_DONE:
                if self.on_failure is OnFailure.FINISH_BRANCHES:
                    return 0
                return _any_of(found for found, when in zip(facts, triggers, strict=True) if when is None)
            case JoinRule.NONE_FAILED:
                certain = _any_of(found for found, when in zip(facts, triggers, strict=True) if when is None)
                if len(facts) > _MOST_COMPARED:
                    return certain | _all_of(facts)
                return _all_of([self._with_implied(found | certain, triggers, facts) for found in facts])

    def _with_implied(self, found: int, triggers: list[frozenset[End] | None], facts: list[int]) -> int:
        """The facts of one edge and of those that are taken whenever it is."""
        left = [(when, each) for when, each in zip(triggers, facts, strict=True) if when]
        while True:
            implied = [pair for pair in left if any(found & self._end_bits.get(end, 0) for end in pair[0])]
            if not implied:
                return found
            left = [pair for pair in left if pair not in implied]
            found |= _any_of(each for _, each in implied)


def _any_of(facts: Iterable[int]) -> int:
    every = 0
    for each in facts:
        every |= each
    return every


def _all_of(facts: Iterable[int]) -> int:
    every = -1
    for each in facts:
        every &= each
    return every

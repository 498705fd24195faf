"""Fairness and limits of one claim, without a database."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from riven.queue.turns import Line, choose


def line(number, items, *, limit=5, in_use=0, weight=1, holders=0, complete=True):
    ids = [(UUID(int=number * 1_000 + place), place < holders) for place in range(items)]
    return Line(UUID(int=number), weight, limit, in_use, ids, complete)


def places(chosen):
    return [(queue_id.int // 1_000, queue_id.int % 1_000) for queue_id in chosen]


def test_turns_go_round_the_workspaces():
    chosen, _ = choose([line(1, 3), line(2, 1), line(3, 2)], room=10)
    assert places(chosen) == [(1, 0), (2, 0), (3, 0), (1, 1), (3, 1), (1, 2)]


def test_a_weight_gives_more_in_each_turn():
    chosen, _ = choose([line(1, 4, weight=2), line(2, 4)], room=6)
    assert places(chosen) == [(1, 0), (1, 1), (2, 0), (1, 2), (1, 3), (2, 1)]


def test_nobody_gets_more_than_its_free_slots():
    chosen, served = choose([line(1, 9, limit=5, in_use=3)], room=50)
    assert places(chosen) == [(1, 0), (1, 1)]
    assert served[0].at_capacity
    assert served[0].active == 5


def test_an_item_that_holds_its_slot_needs_no_free_one():
    chosen, served = choose([line(1, 3, limit=1, in_use=1, holders=2)], room=50)
    assert places(chosen) == [(1, 0), (1, 1)]
    assert served[0].active == 1
    assert served[0].at_capacity


def test_a_limit_below_what_runs_admits_nothing():
    chosen, served = choose([line(1, 3, limit=1, in_use=4)], room=50)
    assert chosen == []
    assert served[0].at_capacity


def test_hints_say_who_has_nothing_left():
    _, served = choose([line(1, 1), line(2, 0), line(3, 2, complete=False)], room=50)
    assert [(each.idle, each.at_capacity) for each in served] == [
        (True, False),
        (True, False),
        (False, False),
    ]


def test_a_used_up_room_is_no_reason_for_a_hint():
    _, served = choose([line(1, 5), line(2, 5)], room=1)
    assert not any(each.idle or each.at_capacity for each in served)


lines = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 6), st.integers(0, 6), st.integers(1, 3), st.integers(0, 3)),
    max_size=6,
)


@given(drawn=lines, room=st.integers(0, 30))
def test_any_lines_are_served_within_limits_without_gaps_and_as_far_as_possible(drawn, room):
    built = [
        line(number, items, limit=limit, in_use=in_use, weight=weight, holders=min(holders, items, in_use))
        for number, (items, limit, in_use, weight, holders) in enumerate(drawn, 1)
    ]
    chosen, served = choose(built, room)
    assert len(chosen) == len(set(chosen)) <= room
    for each, result in zip(built, served, strict=True):
        taken = [queue_id for queue_id in chosen if queue_id.int // 1_000 == each.workspace_id.int]
        assert taken == [queue_id for queue_id, _ in each.items[: len(taken)]], "best first, none passed over"
        slots = sum(1 for queue_id, holds in each.items[: len(taken)] if not holds)
        assert slots <= max(0, each.running_limit - each.in_use)
        if len(chosen) < room:  # work-conserving: what is left could not be started
            left = each.items[len(taken) :]
            assert not left or (not left[0][1] and slots == max(0, each.running_limit - each.in_use))
            assert result.idle == (not left)
            assert result.at_capacity == bool(left)

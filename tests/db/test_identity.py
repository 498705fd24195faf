import time
from uuid import RFC_4122

from riven.db.identity import new_id


def test_ids_are_uuids_of_version_7_that_tell_when_they_were_made() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000
    assert made.version == 7
    assert made.variant == RFC_4122
    assert before <= made.int >> 80 <= after


def test_ids_of_one_process_sort_in_the_order_in_which_they_were_made() -> None:
    made = [new_id() for _ in range(50_000)]
    assert made == sorted(made)
    assert len({each.int & (2**62 - 1) for each in made}) == len(made)

import uuid
from random import Random

from riven.engines.embedded.identity import new_execution_id


def test_an_id_is_a_uuid_of_version_7_that_tells_its_time():
    now = 1_795_075_200_123
    made = uuid.UUID(new_execution_id(now, Random(1)))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == now


def test_ids_sort_by_time_and_differ_within_it():
    dice = Random(1)
    ids = [new_execution_id(now, dice) for now in range(1_000, 2_000)]

    assert ids == sorted(ids)
    assert len({new_execution_id(5, dice) for _ in range(1_000)}) == 1_000

import itertools
import random

from riven.wire.places import place_step, place_steps


def test_places_sort_as_their_numbers_do():
    numbers = [0, 1, 9, 10, 11, 99, 100, 12_345, 99_999, 100_000, 10**18]
    assert sorted(map(place_step, reversed(numbers))) == [place_step(number) for number in numbers]


def test_a_container_stands_before_its_body_and_items_by_their_index():
    dice = random.Random(1)
    paths = {tuple(dice.randrange(130) for _ in range(dice.randrange(1, 5))) for _ in range(500)}
    placed = sorted(paths, key=lambda path: "".join(map(place_step, path)).encode())
    assert placed == sorted(paths)


def test_a_place_can_be_read_back():
    for path in itertools.product([0, 7, 10, 4_096], repeat=3):
        assert tuple(place_steps("".join(map(place_step, path)))) == path

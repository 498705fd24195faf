"""Whether the engine is there: asked when it is time, and less and less often while it is not."""

from riven.dispatch.reach import FIRST_PAUSE, LONGEST_PAUSE, Reach


class Asked:
    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.count = 0

    async def ask(self) -> str | None:
        self.count += 1
        return self.answers.pop(0) if self.answers else None


async def test_an_engine_that_answers_is_not_asked_again_before_its_time():
    asked = Asked()
    reach = Reach(asked.ask, every=60.0)
    assert [await reach.look() for _ in range(3)] == [True, True, True]
    assert asked.count == 1


async def test_pauses_grow_while_it_is_away_and_begin_anew_when_it_was_there(caplog):
    caplog.set_level("INFO", "riven.dispatch")
    asked = Asked(*["refused"] * 8)
    reach = Reach(asked.ask, every=60.0)
    pauses = []
    for _ in range(8):
        reach._next = 0.0  # it is time
        assert not await reach.look()
        assert not await reach.look()  # and now it is not
        pauses.append(reach.pause)
    assert pauses[0] == FIRST_PAUSE
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    assert (asked.count, reach.error) == (8, "refused")
    reach._next = 0.0
    assert await reach.look()
    assert (reach.error, reach.pause) == (None, FIRST_PAUSE)
    assert [record.message for record in caplog.records] == ["engine_away", "engine_back"]


async def test_what_a_start_has_found_out_counts_as_asked():
    asked = Asked()
    reach = Reach(asked.ask, every=60.0)
    reach.failed("no answer")
    assert not await reach.look()
    assert (asked.count, reach.error) == (0, "no answer")
    reach.worked()
    assert await reach.look()
    assert asked.count == 0


async def test_starts_that_fail_together_count_once():
    reach = Reach(Asked().ask, every=60.0)
    for _ in range(50):
        reach.failed("no answer")
    assert reach.pause == FIRST_PAUSE

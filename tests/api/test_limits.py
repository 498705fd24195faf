import pytest
from tests.api.harness import assert_problem, serving

from riven.api.limits import RateLimiter
from riven.api.problems import ProblemError


class Hands:
    at = 100.0

    def __call__(self) -> float:
        return self.at


def admitted(limiter: RateLimiter, who: str, tries: int) -> int:
    count = 0
    for _ in range(tries):
        try:
            limiter.admit(who)
        except ProblemError:
            continue
        count += 1
    return count


def test_a_burst_is_admitted_and_then_the_rate() -> None:
    hands = Hands()
    limiter = RateLimiter(10, 20, now=hands)
    assert admitted(limiter, "a", 100) == 20
    hands.at += 1
    assert admitted(limiter, "a", 100) == 10
    hands.at += 0.05
    assert admitted(limiter, "a", 100) == 0  # half a request is none, and is not lost
    hands.at += 0.06
    assert admitted(limiter, "a", 100) == 1
    hands.at += 1_000
    assert admitted(limiter, "a", 100) == 20


def test_credentials_do_not_share_their_limits() -> None:
    limiter = RateLimiter(1, 1, now=Hands())
    assert admitted(limiter, "a", 5) == 1
    assert admitted(limiter, "b", 5) == 1


def test_a_refusal_says_when_to_come_back() -> None:
    limiter = RateLimiter(0.1, 1, now=Hands())
    limiter.admit("a")
    with pytest.raises(ProblemError, match=r"more than 0\.1 requests a second") as refused:
        limiter.admit("a")
    assert refused.value.retry_after == pytest.approx(10)
    assert refused.value.kind.status == 429


def test_a_rate_of_zero_sets_no_limit() -> None:
    assert admitted(RateLimiter(0, now=Hands()), "a", 1_000) == 1_000


def test_only_so_many_credentials_are_kept_and_the_one_that_rests_longest_goes() -> None:
    limiter = RateLimiter(1, 1, now=Hands())
    for number in range(10_000):
        limiter.admit(str(number))
    assert admitted(limiter, "0", 1) == 0
    limiter.admit("one more")  # forgets "1": "0" was here again after it
    assert admitted(limiter, "1", 1) == 1
    assert admitted(limiter, "0", 1) == 0


async def test_who_asks_too_often_waits(database_url: str) -> None:
    hands = Hands()
    async with serving(database_url, limiter=RateLimiter(1, 8, now=hands)) as api:
        tenant = await api.workspace()  # five requests
        statuses = [(await api.get("/workspaces")).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert_problem(await api.get("/workspaces"), 429, "rate_limited")
        assert (await api.get("/workspaces", key=tenant.viewer)).status_code == 200
        assert (await api.get("/healthz", root=True)).status_code == 200
        hands.at += 1
        assert (await api.get("/workspaces")).status_code == 200

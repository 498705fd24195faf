from hypothesis import given
from hypothesis import strategies as st

from riven.core.graph import RetryOverride, RetryPolicy
from riven.core.retry import delay_before, effective_policy, next_attempt_at

POLICY = RetryPolicy(max_attempts=4, initial_interval=100, multiplier=3.0, max_interval=1_000, jitter=0.5)


def test_delays_grow_by_the_factor_up_to_the_longest():
    assert [delay_before(POLICY, attempt) for attempt in (1, 2, 3, 4)] == [100, 300, 900, 1_000]


def test_jitter_moves_a_delay_to_either_side():
    assert delay_before(POLICY, 1, jitter=1.0) == 150
    assert delay_before(POLICY, 1, jitter=-1.0) == 50


def test_what_the_other_side_asks_for_is_honoured_where_it_is_longer():
    assert delay_before(POLICY, 1, retry_after=5_000) == 5_000
    assert delay_before(POLICY, 1, retry_after=10) == 100


def test_there_is_no_attempt_after_the_last():
    assert next_attempt_at(POLICY, attempt=3, first_started=0, failed_at=50) == 950
    assert next_attempt_at(POLICY, attempt=4, first_started=0, failed_at=50) is None


def test_max_duration_bounds_all_attempts_together():
    policy = effective_policy(POLICY, RetryOverride(max_duration=400))
    assert next_attempt_at(policy, attempt=1, first_started=0, failed_at=299) == 399
    assert next_attempt_at(policy, attempt=1, first_started=0, failed_at=300) is None


def test_a_node_overrides_single_fields():
    policy = effective_policy(POLICY, RetryOverride(max_attempts=7))
    assert policy == RetryPolicy(7, 100, 3.0, 1_000, 0.5)
    assert effective_policy(POLICY, None) is POLICY


@given(
    attempt=st.integers(1, 10**9),
    multiplier=st.floats(1.0, 1e6),
    jitter=st.floats(-1.0, 1.0),
)
def test_no_attempt_number_makes_a_delay_that_is_negative_or_endless(attempt, multiplier, jitter):
    policy = RetryPolicy(10**9, 1_000, multiplier, 30_000, 1.0)
    assert 0 <= delay_before(policy, attempt, jitter=jitter) <= 60_000

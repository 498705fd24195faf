import socket
import ssl

import pytest

from riven.core.errors import ErrorClass
from riven.effects.classify import MAX_MESSAGE, classify, say, shortened
from riven.nodes.contract import NodeError


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error_class", "retried"),
    [
        (ErrorClass.HTTP_CLIENT_ERROR, False),
        (ErrorClass.HTTP_SERVER_ERROR, True),
        (ErrorClass.NETWORK_ERROR, True),
        (ErrorClass.TIMEOUT, True),
        (ErrorClass.EXECUTION_ERROR, True),
        (ErrorClass.VALIDATION_ERROR, False),
        (ErrorClass.TEMPLATE_ERROR, False),
        (ErrorClass.SECURITY_ERROR, False),
        (ErrorClass.CONTROL_FLOW_ERROR, False),
        (ErrorClass.INTERNAL_ERROR, False),
    ],
)
def test_the_class_says_whether_it_is_retried(error_class: ErrorClass, *, retried: bool):
    fault = classify(NodeError(error_class, "so"))

    assert (fault.error_class, fault.message, fault.retryable) == (error_class, "so", retried)


def test_whoever_raises_may_know_better_than_the_class():
    assert classify(NodeError(ErrorClass.HTTP_CLIENT_ERROR, "429", retryable=True)).retryable
    assert not classify(NodeError(ErrorClass.EXECUTION_ERROR, "final", retryable=False)).retryable


def test_the_wish_of_the_other_side_is_told_in_milliseconds():
    assert classify(NodeError(ErrorClass.HTTP_SERVER_ERROR, "503", retry_after=1.5)).retry_after == 1_500
    assert classify(NodeError(ErrorClass.HTTP_SERVER_ERROR, "503", retry_after=-3)).retry_after == 0
    assert classify(NodeError(ErrorClass.HTTP_SERVER_ERROR, "503")).retry_after is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), ErrorClass.TIMEOUT),
        (socket.gaierror(-2, "unknown"), ErrorClass.NETWORK_ERROR),
        (ConnectionResetError(), ErrorClass.NETWORK_ERROR),
        (ssl.SSLError("bad certificate"), ErrorClass.NETWORK_ERROR),
        (ValueError("x"), ErrorClass.EXECUTION_ERROR),
        (SystemExit(3), ErrorClass.EXECUTION_ERROR),
        (MemoryError(), ErrorClass.EXECUTION_ERROR),
        (RecursionError(), ErrorClass.EXECUTION_ERROR),
    ],
)
def test_foreign_errors_get_a_class(error: BaseException, expected: ErrorClass):
    fault = classify(error)

    assert fault.error_class is expected
    assert fault.retryable


def test_only_what_nobody_foresaw_is_worth_a_traceback():
    assert classify(ValueError("x")).unforeseen
    assert not classify(NodeError(ErrorClass.EXECUTION_ERROR, "x")).unforeseen

    wrapped = NodeError(ErrorClass.EXECUTION_ERROR, "x")
    wrapped.__cause__ = ValueError("x")
    assert classify(wrapped).unforeseen


def test_a_group_of_one_is_that_one():
    group = BaseExceptionGroup("g", [ExceptionGroup("h", [NodeError(ErrorClass.NETWORK_ERROR, "away")])])

    assert classify(group).error_class is ErrorClass.NETWORK_ERROR
    assert classify(group).message == "away"


def test_in_a_group_what_must_not_be_retried_decides():
    group = ExceptionGroup("g", [ValueError("a"), NodeError(ErrorClass.SECURITY_ERROR, "b")])
    fault = classify(group)

    assert (fault.error_class, fault.retryable) == (ErrorClass.SECURITY_ERROR, False)
    assert fault.message == "ValueError: a; b"


def test_an_error_without_words_still_has_a_message():
    assert say(ValueError()) == "ValueError"
    assert say(UnspeakableError()).startswith("UnspeakableError: ")


def test_a_message_has_an_end_and_can_be_stored():
    assert len(shortened("x" * 100_000)) == MAX_MESSAGE
    assert shortened("a\0b\ud800") == "a\\0b\\ud800"

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from riven.effects.redact import MASK, Redactor

SECRET = "s3cr+t/pass wörd&1"


@pytest.fixture
def redactor() -> Redactor:
    return Redactor({"token": SECRET, "unused": "other-secret"}, ["token"])


def test_a_value_is_replaced_wherever_it_stands(redactor: Redactor):
    value = {"a": [f"Bearer {SECRET}", 1, None], SECRET: {"deep": f"{SECRET}{SECRET}"}}

    assert redactor.value(value) == {"a": [f"Bearer {MASK}", 1, None], MASK: {"deep": MASK + MASK}}


@pytest.mark.parametrize(
    "travelling",
    [
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower().replace("%c3%b6", "%C3%B6").lower(),
        quote_plus(SECRET),
        SECRET.encode().hex(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_value_is_found_in_the_forms_in_which_it_travels(redactor: Redactor, travelling: str):
    hidden = redactor.text(f"x={travelling};")

    assert travelling.strip('"') not in hidden
    assert MASK in hidden


@pytest.mark.parametrize("user", ["", "a", "ab", "abc", "user"])
@pytest.mark.parametrize("after", ["", "!", "!!"])
def test_the_password_is_found_in_basic_auth_whatever_stands_around_it(user: str, after: str):
    redactor = Redactor({"password": "correct-horse"}, ["password"])
    header = base64.b64encode(f"{user}:correct-horse{after}".encode()).decode()

    hidden = redactor.text(f"Basic {header}")

    assert MASK in hidden
    readable = hidden.removeprefix("Basic ").replace(MASK, "")
    assert len(readable) <= len(header) - 14, "no more than the edges is left"


def test_a_line_of_a_long_secret_is_one_too():
    redactor = Redactor({"key": "-----BEGIN-----\nMIIEvQIBADANBg\nend"}, ["key"])

    assert redactor.text("failed at MIIEvQIBADANBg") == f"failed at {MASK}"


def test_a_longer_secret_is_not_left_over_by_a_shorter_one_inside_it():
    redactor = Redactor({"a": "hunter2", "b": "hunter2-and-more"}, ["a", "b"])

    assert redactor.text("hunter2-and-more") == MASK


def test_what_holds_no_secret_is_the_same_object(redactor: Redactor):
    value = {"a": [1, {"b": "text"}], "c": None}

    assert redactor.value(value) is value


def test_a_secret_that_nothing_reads_is_not_looked_for(redactor: Redactor):
    assert redactor.text("other-secret") == "other-secret"


def test_a_number_that_is_a_secret_is_hidden():
    redactor = Redactor({"pin": "48213"}, ["pin"])

    assert redactor.value([48213, 4821, "48213"]) == [MASK, 4821, MASK]


def test_short_values_hide_only_a_whole_text_where_they_were_used():
    redactor = Redactor({"pin": "on"}, ["pin"])
    short = redactor.only(["pin"])

    assert redactor.value(["on", "once upon"], short) == [MASK, "once upon"]
    assert redactor.value(["on", "once upon"]) == ["on", "once upon"]


def test_an_empty_secret_hides_nothing():
    redactor = Redactor({"empty": ""}, ["empty"])

    assert redactor.idle
    assert redactor.text("abc") == "abc"


def test_a_configuration_hides_what_was_made_from_secrets():
    redactor = Redactor({"token": "hunter2-long", "pin": "7"}, ["token", "pin"])
    mask = {
        "url": None,
        "headers": {"auth": frozenset({"token"}), "length": frozenset({"token"})},
        "pin": frozenset({"pin"}),
        "list": [None, frozenset({"pin"})],
    }
    resolved = {
        "url": "https://x/7",
        "headers": {"auth": "Bearer hunter2-long", "length": 12},
        "pin": "7",
        "list": ["7", "<7>"],
    }

    assert redactor.masked(resolved, mask) == {
        "url": "https://x/7",
        "headers": {"auth": f"Bearer {MASK}", "length": MASK},
        "pin": MASK,
        "list": ["7", f"<{MASK}>"],
    }


def test_a_text_whose_secret_cannot_be_seen_any_more_is_hidden_whole():
    redactor = Redactor({"token": "hunter2-long"}, ["token"])

    assert redactor.masked("GNOL-2RETNUH", frozenset({"token"})) == MASK

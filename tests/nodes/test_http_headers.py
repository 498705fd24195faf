import pytest

from riven.nodes.http_headers import complete, header_fault, repeated, without_body, without_credentials


@pytest.mark.parametrize(("name", "value"), [("X-Trace", "a b\tc"), ("Accept", "ü"), ("x", "")])
def test_ordinary_fields_may_be_sent(name: str, value: str) -> None:
    assert header_fault(name, value) is None


@pytest.mark.parametrize(
    "name", ["", "a b", "a\r\nb", "a:", "ü", "a" * 300, "host", "TE", "Content-Length", "proxy-x"]
)
def test_some_names_may_not(name: str) -> None:
    assert header_fault(name, "x") is not None


@pytest.mark.parametrize("value", ["a\rb", "a\nb", "a\0b", "\x7f", "\x1b[31m"])
def test_values_with_control_characters_may_not(value: str) -> None:
    assert header_fault("X", value) is not None


def test_a_name_is_repeated_in_whatever_letters() -> None:
    assert repeated(["Accept", "X", "ACCEPT"]) == "ACCEPT"
    assert repeated(["Accept", "X"]) is None


def test_the_authors_fields_come_before_ours() -> None:
    sent = dict(complete([("user-agent", "mine")], "a.example", None, "GET"))
    assert sent == {
        b"Host": b"a.example",
        b"Accept": b"*/*",
        b"Accept-Encoding": b"gzip, deflate",
        b"user-agent": b"mine",
    }


def test_values_are_latin_1_where_they_can_be() -> None:
    sent = dict(complete([("A", " ü "), ("B", "€")], "a", None, "GET"))
    assert (sent[b"A"], sent[b"B"]) == (b"\xfc", "€".encode())


def test_what_speaks_of_credentials_is_known_by_its_name() -> None:
    fields = [
        (name, "x")
        for name in ("Authorization", "Cookie", "X-API-Key", "x-vault-token", "X-Signature", "Accept")
    ]
    assert without_credentials(fields) == [("Accept", "x")]


def test_a_request_without_body_needs_no_fields_about_it() -> None:
    fields = [("Content-Type", "x"), ("idempotency-key", "k"), ("Accept", "x")]
    assert without_body(fields) == [("Accept", "x")]

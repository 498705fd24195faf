import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.nodes.addresses import AddressPolicy
from riven.nodes.hosts import ForbiddenUrlError, UrlError, read_host, read_url

SERVER = AddressPolicy.server()
PRIVATE_NETWORKS = [
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "100.64.0.0/10",
]


def number(value: int, base: str) -> str:
    match base:
        case "hex":
            return f"0x{value:x}"
        case "HEX":
            return f"0X{value:X}"
        case "long hex":
            return f"0x{value:020x}"
        case "octal":
            return f"0{value:o}"
        case "long octal":
            return f"{value:030o}" if value else "000"
        case _:
            return str(value)


def fullwidth(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@st.composite
def spelled_private_addresses(draw: st.DrawFn) -> tuple[ipaddress.IPv4Address, str]:
    """A private IPv4 address, and one of the many ways to write it."""
    network = ipaddress.ip_network(draw(st.sampled_from(PRIVATE_NETWORKS)))
    address = draw(st.ip_addresses(v=4, network=network))
    value = int(address)
    parts = draw(st.integers(1, 4))
    values = [(value >> (8 * (3 - index))) & 0xFF for index in range(parts - 1)]
    values.append(value & (256 ** (5 - parts) - 1))
    bases = st.sampled_from(["decimal", "hex", "HEX", "long hex", "octal", "long octal"])
    written = [number(each, draw(bases)) for each in values]
    dot = draw(st.sampled_from([".", "\u3002", "\uff0e", "\uff61"]))
    text = dot.join(written) + draw(st.sampled_from(["", "."]))
    return address, fullwidth(text) if draw(st.booleans()) else text


@given(spelled_private_addresses())
def test_every_spelling_of_a_private_address_is_that_address_and_refused(
    spelled: tuple[ipaddress.IPv4Address, str],
) -> None:
    address, text = spelled
    target = read_url(f"http://{text}:8080/x")
    assert target.host == str(address)
    assert SERVER.refusal(target.host, target.port, address) is not None


@pytest.mark.parametrize(
    "host",
    [
        "127.1", "127.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "0x7f000001", "017700000001", "127.0.0.1.",
        fullwidth("127.0.0.1"), "①②⑦.0.0.1", "127。0。0。1", "0x7F.0x0.0.1",
    ],
)  # fmt: skip
def test_loopback_in_disguise_is_loopback(host: str) -> None:
    assert read_host(host) == ipaddress.IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    "host", ["256.1.1.1", "1.2.3.4.5", "0x1ffffffff", "08.1.1.1", "4294967296", "a.1", "1..2", "127.0.0.1.."]
)
def test_what_ends_in_a_number_is_an_address_or_nothing(host: str) -> None:
    with pytest.raises(UrlError):
        read_host(host)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("Shop.Example", "shop.example"),
        ("shop.example.", "shop.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"),
        (f"{fullwidth('shop')}.example", "shop.example"),
        ("my_service", "my_service"),
        ("localhost", "localhost"),
    ],
)
def test_names_are_read_in_ascii(host: str, name: str) -> None:
    assert read_host(host) == name


@pytest.mark.parametrize(
    "url",
    [
        "", "   ", "http://", "http:///x", "http://:80/", "http://a b/", "http://a\\b/", "http://a\tb/", "http://a\nb/",
        "http://a\x00b/", "http://a:0/", "http://a:99999/", "http://a:80:80/", "http://a:x/", "http://[::1/",
        "http://[::1]evil/", "http://[nope]/", "http://[v1.x]/", "http://a..b/", "http://-a/", "http://a-/", "http://.",
        f"http://{'a' * 64}/", f"http://{'a.' * 200}a/", "http://foo[::1]/", "http://exa\u200bmple/", "http://a,b/",
        f"http://a/{'x' * 9000}", "http://xn--\u00e9/",
    ],
)  # fmt: skip
def test_what_is_no_url_says_so(url: str) -> None:
    with pytest.raises(UrlError) as refused:
        read_url(url)
    assert not isinstance(refused.value, ForbiddenUrlError)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://a/", "gopher://a/", "javascript:x", "//a/b", "a/b", "http+unix://x/",
        "http://user@a/", "http://user:password@a/", "http://a@127.0.0.1/", "http://a%40b@c/",
        "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://%31%32%37.0.0.1/", "http://a%2eb/",
    ],
)  # fmt: skip
def test_some_urls_are_forbidden_wherever_they_lead(url: str) -> None:
    with pytest.raises(ForbiddenUrlError):
        read_url(url)


def test_no_message_repeats_a_password() -> None:
    with pytest.raises(ForbiddenUrlError) as refused:
        read_url("http://ada:s3cret@a/")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a", "/"),
        ("http://a?x=1", "/?x=1"),
        ("http://a/ü b", "/%C3%BC%20b"),
        ("http://a/%2F%zz?q=ü&r=a b#fragment", "/%2F%25zz?q=%C3%BC&r=a%20b"),
        ("http://a/x?y=http://b/?z", "/x?y=http://b/?z"),
    ],
)
def test_paths_are_encoded_once(url: str, path: str) -> None:
    assert read_url(url).path == path


def test_the_query_is_not_shown() -> None:
    target = read_url("https://a.example:8443/x?token=t")
    assert target.shown == "https://a.example:8443/x?…"
    assert target.url == "https://a.example:8443/x?token=t"


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("http://a:80/", "a"),
        ("https://a:443/", "a"),
        ("https://a:80/", "a:80"),
        ("http://[::1]:81/", "[::1]:81"),
    ],
)
def test_the_host_header_leaves_out_the_usual_port(url: str, authority: str) -> None:
    assert read_url(url).authority == authority


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"http://{text}/", f"http://a/{text}"):
        try:
            target = read_url(url)
        except UrlError:
            continue
        assert target.host
        assert target.host.isascii()
        assert target.path.isascii()
        assert target.path.startswith("/")
        assert not set(target.path) & set(" \r\n\t")

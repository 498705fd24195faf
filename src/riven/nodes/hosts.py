"""One reading of a URL's host: an IP address, however it is spelt, or a DNS name in ASCII.

Whatever is decided about a host is decided about this reading, and this reading is what is connected to, so that no
second parser can see another host in the same text. Numbers are read as browsers and `inet_aton` read them: `127.1`,
`0x7f.1`, `0177.0.0.1` and `2130706433` are all 127.0.0.1.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import idna

from riven.nodes.addresses import Address

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST = 8_192


class UrlError(ValueError):
    """The text is no URL that HTTP can be spoken to."""


class ForbiddenUrlError(UrlError):
    """It is one, but of a kind that is refused whatever it points at."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. `host` is an address in canonical form or a DNS name in ASCII, small, without end dot."""

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, percent-encoded; starts with `/`."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """For messages: without the query, which may hold secrets."""
        path, question, _ = self.path.partition("?")
        return f"{self.scheme}://{self.authority}{path}{'?…' if question else ''}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def read_url(text: str) -> Target:
    """The target of a URL.

    Raises:
        ForbiddenUrlError: another scheme than http and https, a user or password in it, an address with a zone.
        UrlError: it cannot be read; the text says why.
    """
    url = text.strip(" \t\r\n")
    if not url:
        raise UrlError("the URL is empty")
    if len(url) > _LONGEST:
        raise UrlError(f"the URL is longer than {_LONGEST} characters")
    if "\\" in url or not url.isprintable():
        raise UrlError("the URL has a control character or a backslash in it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlError(f"the URL cannot be read: {error}") from None
    if parts.scheme not in _DEFAULT_PORTS:
        shown = f"{parts.scheme}:" if parts.scheme else "a URL without a scheme"
        raise ForbiddenUrlError(f"only http:// and https:// are spoken, not {shown}")
    if "@" in parts.netloc:
        raise ForbiddenUrlError("a URL may not hold a user or password; use `auth`")
    if port == 0:
        raise UrlError("0 is no port")
    host = read_host(_bare_host(parts.netloc))
    return Target(
        parts.scheme,
        str(host),
        port or _DEFAULT_PORTS[parts.scheme],
        _encoded_path(parts.path, parts.query),
    )


def read_host(text: str) -> Address | str:
    """An address in any spelling, or a DNS name in ASCII. IPv6 addresses come in brackets."""
    if text.startswith("["):
        return _ipv6(text)
    if not text:
        raise UrlError("the URL has no host")
    if "%" in text:
        raise ForbiddenUrlError("a host may not be percent-encoded")
    # As IDNA prescribes: compatibility forms first (fullwidth digits), then every kind of full stop.
    host = unicodedata.normalize("NFKC", text).lower()
    host = re.sub("[\u3002\uff0e\uff61]", ".", host).removesuffix(".")
    last = host.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        return _ipv4(host)
    return _name(host)


def _bare_host(netloc: str) -> str:
    """The authority without its port; brackets stay."""
    if not netloc.startswith("["):
        return netloc.partition(":")[0]
    inner, bracket, rest = netloc.partition("]")
    if rest and not rest.startswith(":"):
        raise UrlError("the URL has something between its address and its port")
    return inner + bracket


def _ipv6(text: str) -> ipaddress.IPv6Address:
    inner = text.removeprefix("[").removesuffix("]")
    if "%" in inner:
        raise ForbiddenUrlError("an address may not have a zone")
    try:
        return ipaddress.IPv6Address(inner)
    except ValueError:
        raise UrlError(f"{text} is no IPv6 address") from None


def _ipv4(host: str) -> ipaddress.IPv4Address:
    """What `inet_aton` reads: one to four numbers, decimal, octal or hexadecimal, the last one filling the rest."""
    parts = host.split(".")
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        raise UrlError(f"{host[:80]!r} is neither an address nor a name") from None
    *leading, last = numbers
    if len(parts) > 4 or any(number > 255 for number in leading) or last >= 256 ** (5 - len(parts)):
        raise UrlError(f"{host[:80]!r} is no IPv4 address")
    value = last
    for position, number in enumerate(leading):
        value += number << (8 * (3 - position))
    return ipaddress.IPv4Address(value)


def _number(part: str) -> int:
    if not _NUMBER.fullmatch(part) or len(part) > 64:
        raise ValueError(part)
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8) if len(part) > 1 and part.startswith("0") else int(part)


def _name(host: str) -> str:
    name = host
    if not host.isascii():
        try:
            name = idna.encode(host[:1_000], uts46=True).decode()
        except (idna.IDNAError, UnicodeError) as error:
            raise UrlError(f"{host[:80]!r} is no host name: {error}") from None
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise UrlError(f"{host[:80]!r} is no host name")
    return name


def _encoded_path(path: str, query: str) -> str:
    encoded = quote(_PERCENT.sub("%25", path), safe="/%:@!$&'()*+,;=~") or "/"
    asked = quote(_PERCENT.sub("%25", query), safe="/%:@!$&'()*+,;=~?")
    return f"{encoded}?{asked}" if asked else encoded

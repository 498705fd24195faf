"""Which network addresses HTTP nodes may reach.

An address is judged by the first range below that holds it. Addresses that carry an IPv4 address in them are a way
around every list that does not look inside: a mapped one is judged as the IPv4 address it is; a translated one (NAT64)
leaves for a gateway, so what it carries must be global whatever else is allowed here; the older tunnels are refused.
`ipaddress.is_global` alone is not enough: it calls `64:ff9b::7f00:1` and `2002:7f00:1::` global.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Self, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

SETTING = "RIVEN_HTTP_ALLOW"


class Reach(Enum):
    """Who may have business with a range."""

    OWN = "own"
    """One's own machine and networks: for a user on a laptop, not for a tenant of a server."""
    NEVER = "never"
    """No service lives there, or only one that must not be reached by accident; an operator may name the range."""
    METADATA = "metadata"
    """A cloud's metadata service, which gives away credentials; an operator must name the very address."""


@dataclass(frozen=True, slots=True)
class _Range:
    network: Network
    name: str
    reach: Reach


def _ranges(reach: Reach, *entries: tuple[str, str]) -> tuple[_Range, ...]:
    return tuple(_Range(ipaddress.ip_network(network), name, reach) for network, name in entries)


_SPECIAL = (
    *_ranges(
        Reach.METADATA,
        ("169.254.169.254/32", "a cloud metadata address"),
        ("169.254.170.2/32", "a cloud metadata address"),
        ("169.254.170.23/32", "a cloud metadata address"),
        ("100.100.100.200/32", "a cloud metadata address"),
        ("168.63.129.16/32", "a cloud metadata address"),
        ("fd00:ec2::/32", "a cloud metadata address"),
        ("fd00:42::42/128", "a cloud metadata address"),
        ("fd20:ce::254/128", "a cloud metadata address"),
    ),
    *_ranges(
        Reach.OWN,
        ("127.0.0.0/8", "a loopback address"),
        ("::1/128", "a loopback address"),
        ("10.0.0.0/8", "a private address"),
        ("172.16.0.0/12", "a private address"),
        ("192.168.0.0/16", "a private address"),
        ("100.64.0.0/10", "a carrier's private address"),
        ("fc00::/7", "a unique local address"),
    ),
    *_ranges(
        Reach.NEVER,
        ("0.0.0.0/8", "an unspecified address"),
        ("169.254.0.0/16", "a link-local address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.31.196.0/24", "a reserved address"),
        ("192.52.193.0/24", "a reserved address"),
        ("192.88.99.0/24", "a 6to4 relay address"),
        ("192.175.48.0/24", "a reserved address"),
        ("198.18.0.0/15", "a benchmarking address"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an unspecified address"),
        ("::/96", "an IPv4-compatible address"),
        ("::ffff:0:0:0/96", "an IPv4-translated address"),
        ("64:ff9b:1::/48", "a local translation (NAT64) address"),
        ("100::/64", "a discard address"),
        ("2001::/32", "a Teredo address"),
        ("2001:db8::/32", "a documentation address"),
        ("2001::/23", "a reserved address"),
        ("2002::/16", "a 6to4 address"),
        ("2620:4f:8000::/48", "a reserved address"),
        ("3fff::/20", "a documentation address"),
        ("5f00::/16", "a reserved address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    ),
)
_GLOBAL_V6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})
"""The upper half of an interface identifier that carries an IPv4 address (RFC 5214)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why an address is special; None in its place means that it is global."""

    name: str
    reach: Reach


def judge(address: Address) -> Verdict | None:
    """What kind of special address this is; None for a global one."""
    if isinstance(address, ipaddress.IPv6Address):
        return _judge_v6(address)
    return _listed(address)


def _judge_v6(address: ipaddress.IPv6Address) -> Verdict | None:
    if address.scope_id is not None:
        return Verdict("an address with a zone", Reach.NEVER)
    if address.ipv4_mapped is not None:
        return _listed(address.ipv4_mapped)
    if address in _NAT64:
        carried = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        inner = _listed(carried)
        if inner is None:
            return None
        reach = Reach.METADATA if inner.reach is Reach.METADATA else Reach.NEVER
        return Verdict(f"a translated (NAT64) address of {carried}", reach)
    special = _listed(address)
    if special is not None:
        return special
    if address not in _GLOBAL_V6:
        return Verdict("a reserved address", Reach.NEVER)
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return Verdict("a tunnel (ISATAP) address", Reach.NEVER)
    return None


def _listed(address: Address) -> Verdict | None:
    found = next((each for each in _SPECIAL if address in each.network), None)
    return None if found is None else Verdict(found.name, found.reach)


def plain(address: Address) -> Address:
    """The address to connect to: a mapped one is the IPv4 address in it."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address if mapped is None else mapped


@dataclass(frozen=True, slots=True)
class AllowRule:
    """One entry of the allow-list: a host name, with or without a port, or a network."""

    host: str | None = None
    port: int | None = None
    network: Network | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`intranet.example`, `intranet.example:8080`, `10.1.2.3:8080`, `[fd00::1]:8080`, `10.0.0.0/8`, `fd00::/8`.

        Raises:
            ValueError: it is none of these.
        """
        entry = text.strip().lower()
        if "/" in entry:
            return cls(network=ipaddress.ip_network(entry))
        host, port = _split_port(entry)
        try:
            return cls(network=ipaddress.ip_network(host.strip("[]")), port=port)
        except ValueError:
            pass
        name = host.removesuffix(".")
        if not name or not name.isascii() or any(not (c.isalnum() or c in "-_.") for c in name):
            raise ValueError(f"{text!r} is no host, host:port or network such as 10.0.0.0/8")
        return cls(host=name, port=port)

    def lifts(self, host: str, port: int, address: Address, reach: Reach) -> bool:
        """Whether this entry allows an address of that kind, reached under that name."""
        if self.port is not None and self.port != port:
            return False
        if self.network is None:
            return self.host == host and reach is Reach.OWN
        if address.version != self.network.version or address not in self.network:
            return False
        return reach is not Reach.METADATA or self.network.num_addresses == 1


def _split_port(entry: str) -> tuple[str, int | None]:
    host, colon, digits = entry.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return entry, None
    if not (digits.isascii() and digits.isdigit()) or not 0 < int(digits) < 65_536:
        raise ValueError(f"{entry!r} has no port between 1 and 65535")
    return host, int(digits)


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """Global addresses, what the allow-list names and, on one's own machine, its own networks."""

    allow: tuple[AllowRule, ...] = ()
    own_networks: bool = False

    @classmethod
    def server(cls, allow: Iterable[str] = ()) -> Self:
        """For processes that run the workflows of others. `allow`: entries as of the setting RIVEN_HTTP_ALLOW."""
        return cls(tuple(map(AllowRule.parse, allow)))

    @classmethod
    def own_machine(cls, allow: Iterable[str] = ()) -> Self:
        """For `riven run`: loopback, private, unique local and carrier addresses are the user's own to reach."""
        return cls(tuple(map(AllowRule.parse, allow)), own_networks=True)

    def refusal(self, host: str, port: int, address: Address) -> str | None:
        """Why this address, reached under the name `host`, is refused; None when it is not."""
        verdict = judge(address)
        if verdict is None or (self.own_networks and verdict.reach is Reach.OWN):
            return None
        direct = plain(address)
        if any(rule.lifts(host, port, direct, verdict.reach) for rule in self.allow):
            return None
        shown = host if host == str(address) else f"{host} ({address})"
        return f"{shown} is {verdict.name}, which HTTP nodes may not reach unless {SETTING} names it"

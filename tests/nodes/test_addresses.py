import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.nodes.addresses import AddressPolicy, AllowRule, judge

SERVER = AddressPolicy.server()
OWN = AddressPolicy.own_machine()

PRIVATE = [
    "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1",
    "::1", "fc00::1", "fd12:3456::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
]  # fmt: skip
NEVER = [
    "0.0.0.0", "0.1.2.3", "169.254.0.1", "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.1",
    "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "fe80::1", "fe80::1%1", "2606:4700::1111%1", "fec0::1", "ff02::1", "fd00:ec2::254", "fd00:ec2::23", "::127.0.0.1", "::8.8.8.8",
    "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1",
    "64:ff9b:1::7f00:1", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:808:808::1", "2001:0:4136:e378::1",
    "2001:db8::1", "2001:2::1", "2001:10::1", "3fff::1", "100::1", "5f00::1", "4000::1", "::1:0:0:1",
    "2a00:1450:4001::5efe:7f00:1", "2a00:1450:4001:0:200:5efe:a9fe:a9fe",
]  # fmt: skip
GLOBAL = [
    "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.169.0.1", "169.253.1.1", "11.0.0.1",
    "2606:4700::1111", "2a00:1450:4001:80b::200e", "64:ff9b::808:808", "::ffff:8.8.8.8",
]  # fmt: skip


def refusal(policy: AddressPolicy, address: str, host: str | None = None, port: int = 80) -> str | None:
    return policy.refusal(host or address, port, ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [*PRIVATE, *NEVER])
def test_a_server_refuses_every_special_address_and_names_the_setting(address: str) -> None:
    said = refusal(SERVER, address)
    assert said is not None
    assert "RIVEN_HTTP_ALLOW" in said


@pytest.mark.parametrize("address", GLOBAL)
def test_global_addresses_are_reached_by_all(address: str) -> None:
    assert refusal(SERVER, address) is None
    assert refusal(OWN, address) is None


@pytest.mark.parametrize("address", PRIVATE)
def test_ones_own_machine_and_networks_are_ones_own(address: str) -> None:
    assert refusal(OWN, address) is None


@pytest.mark.parametrize("address", NEVER)
def test_even_on_ones_own_machine_some_addresses_are_refused(address: str) -> None:
    assert refusal(OWN, address) is not None


@given(st.ip_addresses())
def test_what_python_calls_not_global_is_refused(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if not (mapped or address).is_global and address not in ipaddress.ip_network("64:ff9b::/96"):
        assert SERVER.refusal("h", 80, address) is not None


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:0:0", "64:ff9b::"]))
def test_an_address_inside_another_is_judged_by_what_it_is(
    address: ipaddress.IPv4Address, prefix: str
) -> None:
    outer = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) + int(address))
    assert (SERVER.refusal("h", 80, outer) is None) == (SERVER.refusal("h", 80, address) is None)


@given(st.ip_addresses(v=4))
def test_a_translated_address_leaves_the_machine_and_must_be_global(address: ipaddress.IPv4Address) -> None:
    outer = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) + int(address))
    assert (OWN.refusal("h", 80, outer) is None) == (SERVER.refusal("h", 80, address) is None)


@given(st.ip_addresses(v=4))
def test_tunnels_are_refused_whatever_they_carry(address: ipaddress.IPv4Address) -> None:
    for shift, prefix in ((80, "2002::"), (0, "2001::"), (0, "::"), (0, "::ffff:0:0:0"), (0, "64:ff9b:1::")):
        outer = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) + (int(address) << shift))
        if str(outer) != "::1":
            assert OWN.refusal("h", 80, outer) is not None, outer


class TestAllowList:
    @pytest.mark.parametrize(
        ("entry", "host", "port", "address", "allowed"),
        [
            ("10.0.0.0/8", "x", 80, "10.1.2.3", True),
            ("10.0.0.0/8", "x", 80, "::ffff:10.1.2.3", True),
            ("10.0.0.0/8", "x", 80, "192.168.1.1", False),
            ("fd00::/8", "x", 80, "fd12::1", True),
            ("10.1.2.3", "x", 9_000, "10.1.2.3", True),
            ("10.1.2.3:8080", "x", 8_080, "10.1.2.3", True),
            ("10.1.2.3:8080", "x", 80, "10.1.2.3", False),
            ("[fd00::1]:8080", "x", 8_080, "fd00::1", True),
            ("fd00::1", "x", 80, "fd00::1", True),
            ("intranet.example", "intranet.example", 80, "10.1.2.3", True),
            ("Intranet.Example.", "intranet.example", 80, "10.1.2.3", True),
            ("intranet.example:8080", "intranet.example", 8_080, "10.1.2.3", True),
            ("intranet.example:8080", "intranet.example", 80, "10.1.2.3", False),
            ("intranet.example", "other.example", 80, "10.1.2.3", False),
            ("intranet.example", "sub.intranet.example", 80, "10.1.2.3", False),
            # A name is not a licence to be led to a metadata service or a link-local neighbour.
            ("intranet.example", "intranet.example", 80, "169.254.169.254", False),
            ("intranet.example", "intranet.example", 80, "fe80::1", False),
            ("0.0.0.0/0", "x", 80, "169.254.169.254", False),
            ("169.254.0.0/16", "x", 80, "169.254.169.254", False),
            ("169.254.0.0/16", "x", 80, "169.254.7.7", True),
            ("169.254.169.254", "x", 80, "169.254.169.254", True),
            ("64:ff9b::/96", "x", 80, "64:ff9b::a00:1", True),
            ("64:ff9b::/96", "x", 80, "64:ff9b::a9fe:a9fe", False),
        ],
    )
    def test_lifts_what_it_names(
        self,
        entry: str,
        host: str,
        port: int,
        address: str,
        allowed: bool,  # noqa: FBT001 - a column of the table
    ) -> None:
        assert (refusal(AddressPolicy.server([entry]), address, host, port) is None) == allowed

    @pytest.mark.parametrize(
        "entry",
        [
            "",
            " ",
            "10.0.0.0/40",
            "10.0.0.5/8",
            "host:0",
            "host:99999",
            "host:http",
            "*.example",
            "a b",
            "münchen.example",
        ],
    )
    def test_refuses_what_it_cannot_read(self, entry: str) -> None:
        with pytest.raises(ValueError, match=r".+"):
            AllowRule.parse(entry)


def test_a_refusal_says_what_the_address_is() -> None:
    said = refusal(SERVER, "169.254.169.254", "metadata.example")
    assert said == (
        "metadata.example (169.254.169.254) is a cloud metadata address, which HTTP nodes may not reach unless "
        "RIVEN_HTTP_ALLOW names it"
    )


def test_a_global_address_is_nothing_special() -> None:
    assert judge(ipaddress.ip_address("8.8.8.8")) is None

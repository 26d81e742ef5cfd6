"""Addresses that a tenant may name; whatever else is not on the public Internet is refused."""

import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.errors import InvalidInputError, ProviderRefusedError, TransientError
from analytiq.inference.providers.addresses import (
    check_api_base,
    is_public,
    origin_of,
    resolved_addresses,
)

SERVICES_OF_CLOUDS = [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "192.80.8.124",
    "161.26.0.10",
    "166.9.1.1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::a9fe:a9fe",
    "::ffff:168.63.129.16",
    "64:ff9b::a83f:8110",
]
INSIDE = [
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",  # is what is tested
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "192.0.0.8",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "2001:db8::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "64:ff9b:1::a00:1",
    *SERVICES_OF_CLOUDS,
]


@pytest.mark.parametrize("address", INSIDE)
def test_address_of_this_machine_or_its_networks_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(address=st.ip_addresses(v=4))
def test_ipv4_address_is_judged_alike_in_every_clothing(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    translated = ipaddress.IPv6Address(int(ipaddress.IPv6Address("64:ff9b::")) | int(address))
    assert is_public(mapped) is is_public(translated) is is_public(address)


@pytest.mark.parametrize(
    "api_base",
    [
        "",
        "models.example.com",
        "ftp://models.example.com",
        "file:///etc/passwd",
        "gopher://models.example.com",
        "https://",
        "https:///v1",
        "https://user:password@models.example.com/v1",
        "https://user@models.example.com/v1",
        "https://models.example.com/v1?x=1",
        "https://models.example.com/v1#x",
        "https://models.example.com:99999/v1",
        "https://models.example.com:0/v1",
        "https://[::1/v1",
        "https://models.example.com/ v1",
        "https://models.example.com/\r\nX: y",
        "https://mödels.example.com",
        "https://models.example.com/" + "x" * 500,
    ],
)
def test_text_that_is_no_address_of_a_provider_is_refused_with_the_field(api_base: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_api_base(api_base)
    assert [item.field for item in caught.value.errors] == ["api_base"]
    assert "password@" not in caught.value.detail


@pytest.mark.parametrize(
    "api_base", ["https://models.example.com/v1", "http://10.0.0.1:8080", "https://[2606::1]:8443/v1"]
)
def test_address_of_a_server_is_taken_as_it_is(api_base: str) -> None:
    assert check_api_base(api_base) == api_base


@pytest.mark.parametrize("address", SERVICES_OF_CLOUDS)
async def test_service_of_a_cloud_is_refused_also_where_private_addresses_are_allowed(address: str) -> None:
    with pytest.raises(ProviderRefusedError) as caught:
        await resolved_addresses(address, 80, is_guarded=False)
    assert caught.value.code == "provider_address_forbidden"


async def test_private_address_passes_where_the_operator_allows_it() -> None:
    assert await resolved_addresses("127.0.0.1", 80, is_guarded=False) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Models.Example.com/v1", "https://models.example.com:443"),
        ("http://models.example.com", "http://models.example.com:80"),
        ("https://models.example.com:8443/v1", "https://models.example.com:8443"),
        ("https://models.example.com@evil.example.com/", "https://evil.example.com:443"),
    ],
)
def test_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "::1", "169.254.169.254"])
async def test_host_that_leads_inside_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(ProviderRefusedError) as caught:
        await resolved_addresses(host, 80, is_guarded=True)
    assert caught.value.code == "provider_address_forbidden"
    assert "ANALYTIQ_PROVIDERS__ALLOW_PRIVATE_ADDRESSES" in caught.value.detail


async def test_name_with_one_address_inside_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolved(*_: object, **__: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    with pytest.raises(ProviderRefusedError):
        await resolved_addresses("models.example.com", 443, is_guarded=True)


async def test_name_that_does_not_resolve_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    def unresolved(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    with pytest.raises(TransientError) as caught:
        await resolved_addresses("models.example.com", 443, is_guarded=True)
    assert caught.value.code == "provider_unknown"

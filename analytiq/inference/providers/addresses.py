"""Addresses that an organization may send its providers' calls to.

Otherwise the author of an address could make the server call hosts that only the server reaches: the machine itself,
its network, a cloud's metadata. So a name is resolved, and each of its addresses must be public;
`analytiq.inference.providers.guarded_http` repeats the check for the connection itself. The platform's own defaults
come from the operator and are not checked: a model server is often beside the platform.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from analytiq.errors import InvalidInputError, ProviderRefusedError, ProviderUnavailableError

LONGEST_ADDRESS = 500
FIELD = "api_base"
OPENAI = "openai"
"""The provider that stands for every server that speaks OpenAI's protocol."""
_TRANSLATED_TO_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64: its last four bytes are an address of the IPv4 network behind."""
_NOT_PUBLIC_EITHER = (
    # Python's releases differ in these; the last three are gateways to other networks, where no models are served.
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("100.64.0.0/10"),
    ipaddress.IPv6Network("fec0::/10"),
    ipaddress.IPv6Network("2001::/23"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
)

_SERVICES_OF_CLOUDS = (
    # Metadata, credentials and agents of a virtual machine: reachable from inside only, though some look public.
    ipaddress.IPv4Network("169.254.0.0/16"),  # most clouds, and the link-local network
    ipaddress.IPv4Network("168.63.129.16/32"),  # Azure
    ipaddress.IPv4Network("100.100.100.200/32"),  # Alibaba
    ipaddress.IPv4Network("192.0.0.192/32"),  # Oracle
    ipaddress.IPv4Network("192.80.8.124/32"),  # Equinix
    ipaddress.IPv4Network("161.26.0.0/16"),  # IBM
    ipaddress.IPv4Network("166.8.0.0/14"),  # IBM
    ipaddress.IPv6Network("fe80::/10"),  # OpenStack, and the link-local network
    ipaddress.IPv6Network("fd00:ec2::/32"),  # AWS
    ipaddress.IPv6Network("fd20:ce::/32"),  # Google
)

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_api_base(api_base: str) -> str:
    """Check that an address suits a provider: http or https, a host, and no more than a path.

    Raises:
        InvalidInputError: the address is invalid, with the reason.
    """
    if len(api_base) > LONGEST_ADDRESS or not api_base.isascii() or not api_base.isprintable() or " " in api_base:
        raise _wrong(f"an address has at most {LONGEST_ADDRESS} printable ASCII characters, without spaces")
    try:
        parts = urlsplit(api_base)
        port = parts.port
    except ValueError:
        raise _wrong("it is not an address such as https://models.example.com/v1") from None
    if parts.scheme not in ("http", "https"):
        raise _wrong("it has to begin with https:// or http://")
    if not parts.hostname or port == 0:
        raise _wrong("it names no host; it looks like https://models.example.com/v1")
    if parts.username is not None or parts.password is not None:
        raise _wrong("it holds a user or a password; the key has a field of its own")
    if parts.query or parts.fragment:
        raise _wrong("it has to end with its path, without ? and #")
    return api_base


def origin_of(url: str) -> str:
    """Return a URL's scheme, host and port as one text, for example `https://api.openai.com:443`."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}"


async def resolved_addresses(host: str, port: int, *, is_guarded: bool) -> list[str]:
    """Resolve a host name and check each of its addresses, as `require_allowed`.

    Raises:
        ProviderRefusedError: an address may not be connected to.
        ProviderUnavailableError: the name cannot be resolved now.
    """
    try:
        addresses = await look_up(host, port)
    except (OSError, UnicodeError):
        raise ProviderUnavailableError(
            f"The host {host!r} of the provider's address cannot be resolved. Check the name.", code="provider_unknown"
        ) from None
    require_allowed(host, addresses, is_guarded=is_guarded)
    return addresses


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host.

    Raises:
        OSError, UnicodeError: the name cannot be resolved now.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def require_allowed(host: str, addresses: Sequence[str], *, is_guarded: bool) -> None:
    """Refuse a host with a forbidden address.

    Args:
        host: its name, for the error.
        addresses: the resolved addresses.
        is_guarded: accept public addresses only. Otherwise all but the services of clouds, which serve no models.

    Raises:
        ProviderRefusedError: an address may not be connected to.
    """
    parsed = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    # Naming the address would reveal the network here.
    if is_guarded and not all(is_public(address) for address in parsed):
        raise ProviderRefusedError(
            f"The host {host!r} of the provider's address is not on the public Internet. Use a public address, or"
            " have the operator set ANALYTIQ_PROVIDERS__ALLOW_PRIVATE_ADDRESSES.",
            code="provider_address_forbidden",
        )
    if any(is_service_of_cloud(address) for address in parsed):
        raise ProviderRefusedError(
            f"The host {host!r} of the provider's address is a service of the cloud that this server runs in, which"
            " is never called. Use the address of a model server.",
            code="provider_address_forbidden",
        )


def is_public(address: IPAddress) -> bool:
    """Return True for an address of the Internet, also for an IPv4 address written as an IPv6 one."""
    bare = _without_translation(address)
    if is_service_of_cloud(bare) or _is_in(bare, _NOT_PUBLIC_EITHER):
        return False
    return bare.is_global and not bare.is_multicast and not bare.is_reserved


def is_service_of_cloud(address: IPAddress) -> bool:
    """Return True if an address is link-local or serves a cloud's virtual machines, for example their metadata."""
    return _is_in(_without_translation(address), _SERVICES_OF_CLOUDS)


def _is_in(address: IPAddress, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _without_translation(address: IPAddress) -> IPAddress:
    """Return the IPv4 address inside an IPv6 address, else the address."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _TRANSLATED_TO_IPV4:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _wrong(reason: str) -> InvalidInputError:
    return InvalidInputError.of_field(FIELD, reason)

"""Which addresses an organization may have its providers' calls sent to.

Whoever may name an address could otherwise make the server call what only the server can reach: the machine
itself, its network, a cloud's metadata. So a name is resolved and every address that it stands for has to be a
public one; `analytiq.providers.guarded_http` does that again for the connection itself. The platform's own
defaults are the operator's and not checked: a model server beside the platform is a good place for one.
"""

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from analytiq.errors import InvalidInputError, ProviderRefusedError, ProviderUnavailableError

LONGEST_ADDRESS = 500
FIELD = "api_base"
OPENAI = "openai"
"""The provider that stands for every server that speaks OpenAI's protocol."""

_AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_TRANSLATED_TO_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64: its last four bytes are an address of the IPv4 network behind."""
_NOT_PUBLIC_EITHER = (
    # Python's releases differ in these; the last three are ways into other networks that nobody serves models from.
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv6Network("fec0::/10"),
    ipaddress.IPv6Network("2001::/23"),
    ipaddress.IPv6Network("2002::/16"),
    ipaddress.IPv6Network("64:ff9b:1::/48"),
)

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_api_base(api_base: str) -> str:
    """The address, if it is one that a provider can have: http or https, a host, and no more than a path.

    Raises:
        InvalidInputError: it is none; says why.
    """
    if len(api_base) > LONGEST_ADDRESS or not api_base.isascii() or not api_base.isprintable() or " " in api_base:
        raise _wrong(f"an address has at most {LONGEST_ADDRESS} printable ASCII characters, without spaces")
    try:
        parts = urlsplit(api_base)
        port = parts.port
    except ValueError:
        raise _wrong("it is no address; it looks like https://models.example.com/v1") from None
    if parts.scheme not in ("http", "https"):
        raise _wrong("it has to begin with https:// or http://")
    if not parts.hostname or port == 0:
        raise _wrong("it names no host; it looks like https://models.example.com/v1")
    if parts.username is not None or parts.password is not None:
        raise _wrong("it holds a user or a password; the key has a field of its own")
    if parts.query or parts.fragment:
        raise _wrong("it has to end with its path, without ? and #")
    return api_base


def check_provider_for_api_base(litellm_provider: str, api_base: str) -> None:
    """Only calls whose connections can be checked, or that end at a known host, may go to an own address.

    Raises:
        InvalidInputError: the provider is not called at addresses of one's own.
    """
    parts = urlsplit(api_base)
    host = parts.hostname or ""
    if litellm_provider == OPENAI or (
        litellm_provider == "azure" and parts.scheme == "https" and host.endswith(_AZURE_HOSTS)
    ):
        return
    if litellm_provider == "azure":
        raise _wrong("an address of Azure is https://<resource>" + ", or …".join(_AZURE_HOSTS))
    raise _wrong(
        f"{litellm_provider!r} is called at its own address; a server that speaks OpenAI's protocol goes under the"
        f" provider {OPENAI!r}, its models by the name openai/<model>"
    )


async def public_addresses(host: str, port: int) -> list[str]:
    """The addresses that a host name stands for, each of them a public one.

    Raises:
        ProviderRefusedError: one is of this machine, of a private network, or otherwise not of the Internet.
        ProviderUnavailableError: the name cannot be resolved now.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ProviderUnavailableError(
            f"the host {host!r} of the provider's address cannot be resolved: check the name", code="provider_unknown"
        ) from None
    addresses = list(dict.fromkeys(str(item[4][0]) for item in found))
    for address in addresses:
        if not is_public(ipaddress.ip_address(address.partition("%")[0])):
            # Which one it is would tell about the network here.
            raise ProviderRefusedError(
                f"the host {host!r} of the provider's address is not on the public Internet, where calls to addresses"
                " of one's own may go: use another, or have the operator set"
                " ANALYTIQ_PROVIDERS__ALLOW_PRIVATE_ADDRESSES",
                code="provider_address_forbidden",
            )
    return addresses


def is_public(address: IPAddress) -> bool:
    """Whether it is of the Internet, also where it is an IPv4 address in the clothes of an IPv6 one."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped
        if inner is None and address in _TRANSLATED_TO_IPV4:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner is not None:
            return is_public(inner)
    if any(address.version == network.version and address in network for network in _NOT_PUBLIC_EITHER):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _wrong(reason: str) -> InvalidInputError:
    return InvalidInputError.of_field(FIELD, reason)

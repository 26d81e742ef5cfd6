"""HTTP to hosts that the author of a source names: public addresses only.

Otherwise a source could read hosts that only the server reaches: the machine itself, its network, a cloud's metadata.
Every connection is checked, so also those of redirects, and it goes to the checked address: a name may change between
a check and a second look-up. Proxies of the environment are not used, because they would resolve names themselves.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from analytiq.errors import AccessDeniedError
from analytiq.inference.providers.addresses import is_public, is_service_of_cloud
from analytiq.inference.providers.guarded_http import RequireAllowed, checking_transport
from analytiq.settings import SourceSettings

SETTING = "ANALYTIQ_SOURCES__PRIVATE_HOSTS"


class ForbiddenAddressError(AccessDeniedError):
    """The host has an address that sources may not connect to."""

    code = "address_forbidden"


def outbound_client(operator: SourceSettings, *, connections: int, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """Return a client of sources without redirects, cookies and proxies.

    Its calls raise ForbiddenAddressError for a host with an address that is not public, unless the operator names the
    host.
    """
    return checked_client(requirement(operator), connections=connections, timeout=timeout)


def checked_client(require: RequireAllowed, *, connections: int, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """Return a client without redirects, cookies and proxies, each of whose connections is checked."""
    return httpx.AsyncClient(
        transport=checking_transport(require, connections=connections),
        timeout=timeout,
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
    )


def requirement(operator: SourceSettings) -> RequireAllowed:
    """Return the check of the resolved addresses of a source's host."""
    return public_or_named(operator.private_hosts, SETTING)


def public_or_named(names: Iterable[str], setting: str) -> RequireAllowed:
    """Return a check of a host's resolved addresses: public, or the host is named by the operator in `setting`."""
    private_hosts = frozenset(host.lower().rstrip(".") for host in names)

    def require(host: str, addresses: Sequence[str]) -> None:
        parsed = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
        if any(is_service_of_cloud(address) for address in parsed):
            raise ForbiddenAddressError(f"The host {host!r} is a service of the cloud of this server: never called.")
        # Naming the address would reveal the network here.
        if host.lower().rstrip(".") not in private_hosts and not all(is_public(address) for address in parsed):
            raise ForbiddenAddressError(
                f"The host {host!r} is not on the public Internet. The operator may allow it in {setting}."
            )

    return require

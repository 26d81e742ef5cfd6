"""The part of the web that a source covers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from analytiq.ingestion.sources.systems.web.addresses import host_of, is_endless, normalized, without_parameters


@dataclass(frozen=True, slots=True)
class Scope:
    """The addresses of a source.

    Attributes:
        hosts: names of hosts, or globs such as `*.example.com`.
        dropped_parameters: the names of parameters that are removed.
        accepts: the source's patterns.
        follows: patterns of addresses that are visited for their links only.
        max_depth: most links from a start address.
    """

    hosts: tuple[str, ...]
    dropped_parameters: re.Pattern[str] | None
    accepts: Callable[[str], bool]
    follows: Callable[[str], bool]
    max_depth: int

    def cleaned(self, address: str) -> str | None:
        """Return an address in its one spelling, without dropped parameters."""
        return normalized(without_parameters(address, self.dropped_parameters))

    def has_host(self, address: str) -> bool:
        """Return True if the source covers the host; `www.` makes no difference."""
        return is_host_of(host_of(address), self.hosts)

    def covers(self, address: str) -> bool:
        """Return True if a linked address is visited."""
        return self.has_host(address) and (self.accepts(address) or self.follows(address))

    def reason_against(self, address: str, depth: int) -> str | None:
        """Return the name of the reason not to visit a linked address; None if it is visited."""
        if not self.covers(address):
            return "outside"
        if depth > self.max_depth:
            return "deep"
        return "endless" if is_endless(address) else None


def is_host_of(host: str, hosts: Sequence[str]) -> bool:
    """Return True if a host is one of these names or globs, with or without `www.`."""
    bare = host.removeprefix("www.")
    return any(fnmatchcase(host, each) or fnmatchcase(bare, each.removeprefix("www.")) for each in hosts)

"""Rules of sites: robots.txt.

The file is a stranger's. Protego compares wildcards in linear time, but stores each rule once for each robot of its
group: the names of other robots are therefore replaced by one before it reads them.
"""

import re
from dataclasses import dataclass

from protego import Protego

from analytiq.ingestion.sources.systems.web.requests import ROBOT, Answer

MOST_BYTES = 512 * 1024
"""As search engines read; what is behind is ignored."""
LONGEST_DELAY_SECONDS = 30.0
"""Longest delay between two requests that a site gets."""
MOST_SITEMAPS = 50

_AGENT = re.compile(r"\s*user[- ]?agent[\s:]+([^#]*)", re.IGNORECASE)
_OTHERS = "User-agent: another-robot"


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The rules of a site for this robot; the sitemaps as they are written."""

    parsed: Protego | None = None
    delay_seconds: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Return True if the address may be requested."""
        return self.parsed is None or self.parsed.can_fetch(address, ROBOT)


def rules_of(answer: Answer) -> SiteRules:
    """Read the content of robots.txt."""
    if answer.content is None:
        return SiteRules()
    text = answer.content.read(MOST_BYTES).decode("utf-8-sig", errors="replace")
    parsed = Protego.parse("\n".join(_own_or_other(line) for line in text.splitlines()))
    delay = parsed.crawl_delay(ROBOT) or 0.0
    rate = parsed.request_rate(ROBOT)
    if rate is not None:
        delay = max(delay, rate.seconds / rate.requests)
    sitemaps = tuple(dict.fromkeys(list(parsed.sitemaps)[: MOST_SITEMAPS * 2]))[:MOST_SITEMAPS]
    return SiteRules(parsed, min(delay, LONGEST_DELAY_SECONDS), sitemaps)


def _own_or_other(line: str) -> str:
    found = _AGENT.match(line)
    if found is None:
        return line
    name = found[1].strip().lower()
    bare = name.replace("*", "")
    return line if name == "*" or (bare and ROBOT.lower().startswith(bare)) else _OTHERS

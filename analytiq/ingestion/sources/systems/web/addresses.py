"""Web addresses in one spelling, since the spelling is the identity of a page."""

import re
from collections.abc import Sequence
from fnmatch import translate
from hashlib import blake2b
from urllib.parse import quote, unquote, urljoin, urlsplit

import idna

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import LONGEST_NAME, LONGEST_PATH, is_control, validated_path

LONGEST_ADDRESS = 2000
MOST_SEGMENTS = 30
"""Most parts of a path: links relative to the wrong folder build ever longer ones."""
MOST_REPETITIONS = 3
"""Most times that one part of a path occurs, for the same reason."""
MOST_PARAMETERS = 16
DEFAULT_PORTS = {"http": 80, "https": 443}

_STRIPPED = " \t\n\r\f\v\0"
_INNER_BREAKS = re.compile(r"[\t\n\r]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_PATH_PARAMETER = re.compile(r";([A-Za-z0-9_]+)=[^/;]*")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_KEPT_IN_PATH = "/%!$&'()*+,;=:@"
_KEPT_IN_QUERY = "/%!$&'()*+,;=:@?"


def absolute(link: str, base: str) -> str | None:
    """Resolve a link of a page and normalize it; None if it is no web address."""
    bare = _INNER_BREAKS.sub("", link.strip(_STRIPPED))
    if len(bare) > LONGEST_ADDRESS or (_SCHEME.match(bare) and not bare.lower().startswith(("http:", "https:"))):
        return None
    head, mark, query = bare.partition("?")
    try:
        return normalized(urljoin(base, head.replace("\\", "/") + mark + query))
    except ValueError:
        return None


def normalized(address: str) -> str | None:
    """Return the address in its one spelling, without a fragment; None if it is no web address.

    Lower-case scheme and host, no default port, no dot segments, one spelling of escapes.
    """
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    host = _host(parts.hostname or "")
    if scheme not in DEFAULT_PORTS or host is None or port == 0:
        return None
    if parts.username is not None or parts.password is not None:
        return None
    path = _without_dots(_escaped(parts.path, _KEPT_IN_PATH)) or "/"
    query = f"?{_escaped(parts.query, _KEPT_IN_QUERY)}" if parts.query else ""
    place = host if port is None or port == DEFAULT_PORTS[scheme] else f"{host}:{port}"
    whole = f"{scheme}://{place}{path}{query}"
    return whole if len(whole) <= LONGEST_ADDRESS else None


def parameter_pattern(names: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of parameters with these names, which may be globs, in any case."""
    return re.compile("|".join(translate(name.lower()) for name in names)) if names else None


def without_parameters(address: str, dropped: re.Pattern[str] | None) -> str:
    """Remove query and path parameters whose name matches from a normalized address."""
    head, _, query = address.partition("?")
    if dropped is None or not (query or ";" in head) or query.count("&") > MOST_PARAMETERS * 4:
        return address

    def is_dropped(name: str) -> bool:
        return dropped.match(unquote(name).lower()) is not None

    head = _PATH_PARAMETER.sub(lambda found: "" if is_dropped(found[1]) else found[0], head)
    kept = [part for part in query.split("&") if part and not is_dropped(part.partition("=")[0])]
    return f"{head}?{'&'.join(kept)}" if kept else head


def origin_of(address: str) -> str:
    """Return scheme, host and port of a normalized address, such as `https://example.com`."""
    return address[: address.index("/", address.index("://") + 3)]


def host_of(address: str) -> str:
    """Return the host of a normalized address, without its port."""
    return urlsplit(address).hostname or ""


def path_of(address: str) -> str:
    """Return path and query of a normalized address."""
    return address[len(origin_of(address)) :]


def key_of(address: str) -> str:
    """Return a short key that is equal for addresses that differ in the order of their parameters only."""
    head, _, query = address.partition("?")
    told = f"{head}?{'&'.join(sorted(query.split('&')))}" if query else head
    return blake2b(told.encode(), digest_size=8).hexdigest()


def is_endless(address: str) -> bool:
    """Return True for the addresses that broken relative links and generated parameters build without end."""
    head, _, query = path_of(address).partition("?")
    segments = [segment for segment in head.split("/") if segment]
    if len(segments) > MOST_SEGMENTS or query.count("&") >= MOST_PARAMETERS:
        return True
    return any(segments.count(segment) > MOST_REPETITIONS for segment in set(segments))


def document_name(address: str, ending: str) -> str:
    """Return the path that names a page's document: host, folders, and a file's name.

    Args:
        address: a normalized address.
        ending: the file name's ending if the address has none, such as `.html`; "": keep the address's own.
    """
    head, _, query = path_of(address).partition("?")
    segments = [_shown(segment) for segment in head.split("/")[1:]]
    name = segments.pop() or "index"
    if query:
        # The query tells pages apart, and stands before the ending, which tells the kind of file.
        stem, dot, last = name.rpartition(".")
        told = _shown(query)
        name = f"{stem}?{told}.{last}" if dot and stem and len(last) <= 5 else f"{name}?{told}"
    if ending and not name.lower().endswith(ending):
        name += ending
    host = origin_of(address).partition("://")[2]
    path = "/".join([_shown(host), *(segment for segment in segments if segment not in ("", ".", "..")), name])
    try:
        return validated_path(path)
    except InvalidInputError:
        digest = key_of(address)
        return f"{_shown(host)[: LONGEST_NAME // 2]}/{digest}{ending}"


def _shown(text: str) -> str:
    """Return the readable spelling of a part of an address, fit for a file's name."""
    readable = unquote(text, errors="replace").replace("/", "_").replace("\\", "_")
    clean = "".join("_" if is_control(character) else character for character in readable).strip()
    if len(clean) > LONGEST_PATH // 8:
        clean = f"{clean[: LONGEST_PATH // 8 - 17]}~{blake2b(clean.encode(), digest_size=8).hexdigest()}"
    return clean


def _host(host: str) -> str | None:
    host = host.rstrip(".").lower()
    if not host or len(host) > 253:  # the longest name of the DNS
        return None
    if ":" in host:
        return f"[{host}]"
    if host.isascii():
        return host if re.fullmatch(r"[a-z0-9._-]+", host) else None
    try:
        return idna.encode(host, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None


def _escaped(text: str, kept: str) -> str:
    """Escape what needs it, and unescape letters, digits and `-._~`."""

    def one_spelling(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in _UNRESERVED else found[0].upper()

    escaped = quote(text, safe=kept, errors="replace")
    return _ESCAPE.sub(one_spelling, re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", escaped))


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)

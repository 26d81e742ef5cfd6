"""Slack's markup of messages, as Markdown.

Slack escapes `&`, `<` and `>` only; everything else in angle brackets is a reference. Its `*bold*` is Markdown's
`**bold**`, and a line break is a line break.
"""

import re
from collections.abc import Callable, Mapping
from html import unescape

from analytiq.ingestion.sources.texts.wording import LONGEST_TEXT, plain

_BLOCK = re.compile(r"```(.*?)```", re.DOTALL)
_PIECE = re.compile(r"`([^`\n]+)`|<([^<>\n]{1,3000})>")
_BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+)(?<=\S)\*(?![\w*])")
_STRUCK = re.compile(r"(?<![\w~])~(?=[^\s~])([^~\n]+)(?<=\S)~(?![\w~])")
_BULLET = re.compile(r"^(\s*)[•◦▪︎]\s*", re.MULTILINE)
_QUOTE = re.compile(r"^&gt;(?:&gt;&gt;)?\s?", re.MULTILINE)
_MARK = re.compile("\ue000(\\d+)\ue001")

NameOf = Callable[[str], str]


class Mrkdwn:
    """Converts the text of messages."""

    def __init__(self, *, people: NameOf, channels: Mapping[str, str]) -> None:
        self._people = people
        self._channels = channels

    def markdown(self, text: str) -> str:
        """Return a message's text as Markdown, in linear time."""
        kept: list[str] = []

        def keep(piece: str) -> str:
            kept.append(piece)
            return f"\ue000{len(kept) - 1}\ue001"

        text = text[:LONGEST_TEXT].replace("\ue000", "").replace("\ue001", "").replace("\r\n", "\n")
        text = _BLOCK.sub(lambda found: f"\n{keep(_fenced(found[1]))}\n", text)
        text = _PIECE.sub(lambda found: keep(self._piece(found[1], found[2])), text)
        text = _shown(text)
        return _MARK.sub(lambda found: kept[int(found[1])], text).strip("\n")

    def _piece(self, code: str | None, reference: str | None) -> str:
        if code is not None:
            return f"`{unescape(code)}`"
        return self._reference(reference or "")

    def _reference(self, reference: str) -> str:
        """Return what stands in angle brackets: a person, a channel, a group, a date or a link."""
        target, _, label = reference.partition("|")
        label = unescape(label)
        if target.startswith("@"):
            return f"@{plain(label or self._people(target[1:]))}"
        if target.startswith("#"):
            return f"#{plain(self._channels.get(target[1:]) or label or target[1:])}"
        if target.startswith("!"):
            return plain(label or f"@{target[1:].partition('^')[0]}")
        address = unescape(target)
        if address.partition(":")[0].lower() not in ("http", "https", "mailto", "tel"):
            return plain(label or address)
        if not label or label == address:
            return f"<{address}>" if " " not in address else plain(address)
        return f"[{plain(label)}](<{address}>)"


def _fenced(code: str) -> str:
    """Return a block of code."""
    return f"```\n{unescape(code).strip(chr(10))}\n```"


def _shown(text: str) -> str:
    """Convert quotes, lists and styles of what is neither code nor a reference."""
    text = _QUOTE.sub("\ue002", text)
    text = plain(unescape(text))
    text = _BULLET.sub(r"\1- ", text)
    text = _BOLD.sub(r"**\1**", text)
    text = _STRUCK.sub(r"~~\1~~", text)
    lines = [f"> {line[1:]}" if line.startswith("\ue002") else line.replace("\ue002", ">") for line in text.split("\n")]
    return "\n".join(_broken(lines))


def _broken(lines: list[str]) -> list[str]:
    """End lines within a paragraph with a backslash, Markdown's line break, and quotes and lists with an empty line."""
    kept: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        kind, next_kind = _kind_of(line), _kind_of(following)
        kept.append(f"{line}\\" if kind == next_kind == "prose" else line)
        if kind in ("quote", "list") and next_kind == "prose":
            kept.append("")
    return kept


def _kind_of(line: str) -> str:
    text = line.strip()
    if not text:
        return "empty"
    if _MARK.fullmatch(text) and line.startswith("\ue000"):
        return "piece"
    return "quote" if text.startswith(">") else "list" if text.startswith("- ") else "prose"

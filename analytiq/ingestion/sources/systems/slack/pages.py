"""Documents of Slack: the messages of a day, or a thread, as Markdown."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from html import unescape

from pydantic import JsonValue

from analytiq.ingestion.sources.systems.slack.mrkdwn import Mrkdwn
from analytiq.ingestion.sources.systems.slack.wire import SlackChannel, SlackMessage
from analytiq.ingestion.sources.texts.wording import one_line, plain, segment_of

LONGEST_HEADING = 120
_TARGET = re.compile(r"\]\(<[^>]*>\)")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def title_of(message: SlackMessage, mrkdwn: Mrkdwn) -> str:
    """Return the title of a thread: the beginning of its first message, without markup."""
    markdown = _TARGET.sub("", mrkdwn.markdown(text_of(message)[:2000]))
    bare = "".join(character for character in markdown if character not in "*~`<>[]\\")
    return one_line(bare, most=LONGEST_HEADING) or "Thread"


def name_of_thread(channel: SlackChannel, message: SlackMessage, channel_names: Mapping[str, str]) -> str:
    """Return the document's name of a thread.

    People stay without name: their names are not known where threads are listed, and change.
    """

    def shown(found: re.Match[str]) -> str:
        sign, target, label = found[1], found[2], found[3]
        return label or {"@": "@…", "#": f"#{channel_names.get(target, target)}", "!": f"@{target}"}.get(sign, "")

    bare = unescape(_REFERENCE.sub(shown, text_of(message)[:2000]))
    title = segment_of("".join(character for character in bare if character not in "*~`"), otherwise="Thread")
    return f"{name_of_channel(channel)}/{message.day} {title}.md"


def name_of_day(channel: SlackChannel, day: date) -> str:
    """Return the document's name of a day."""
    return f"{name_of_channel(channel)}/{day}.md"


def name_of_channel(channel: SlackChannel) -> str:
    """Return the folder of a channel's documents."""
    return segment_of(channel.name, otherwise=channel.id)


def day_page(channel: SlackChannel, day: date, messages: Sequence[SlackMessage], mrkdwn: Mrkdwn) -> str:
    """Return the messages of a day without those of threads."""
    return _page(f"#{name_of_channel(channel)}, {day}", messages, mrkdwn)


def thread_page(messages: Sequence[SlackMessage], mrkdwn: Mrkdwn) -> str:
    """Return a thread."""
    return _page(title_of(messages[0], mrkdwn), messages, mrkdwn)


def text_of(message: SlackMessage) -> str:
    """Return the text of a message; of an app's message without text, that of its blocks."""
    return message.text or "\n\n".join(_texts_of(message.blocks))


def _page(title: str, messages: Sequence[SlackMessage], mrkdwn: Mrkdwn) -> str:
    parts = [f"# {plain(title)}"]
    for message in messages:
        parts.append(_byline(message, mrkdwn))
        parts += _body(message, mrkdwn)
    return "\n\n".join(parts) + "\n"


def _byline(message: SlackMessage, mrkdwn: Mrkdwn) -> str:
    author = message.username or (message.bot_profile.name if message.bot_profile else None)
    who = (
        plain(author) if author else mrkdwn.markdown(f"<@{message.user}>").removeprefix("@") if message.user else "App"
    )
    when = datetime.fromtimestamp(min(float(message.ts), 99_999_999_999), UTC)
    edited = ", edited" if message.edited else ""
    return f"**{one_line(who)}** ({when:%Y-%m-%d %H:%M} UTC{edited}):"


def _body(message: SlackMessage, mrkdwn: Mrkdwn) -> list[str]:
    if message.subtype == "tombstone":
        return ["(This message was deleted.)"]
    parts = [mrkdwn.markdown(text_of(message))]
    for card in message.attachments:
        title = (
            f"[{plain(one_line(card.title))}](<{card.title_link}>)" if card.title and card.title_link else card.title
        )
        lines = [card.pretext, title, card.text or (card.fallback if not card.title else None)]
        shown = [
            line if line is title and card.title_link else mrkdwn.markdown(line) for line in lines if line is not None
        ]
        parts.append("\n".join(f"> {line}" for text in shown for line in text.split("\n")))
    for file in message.files:
        name = plain(one_line(file.label))
        parts.append(f"File: [{name}](<{file.permalink}>)" if file.permalink else f"File: {name}")
    return [part for part in parts if part.strip()]


def _texts_of(blocks: JsonValue, depth: int = 0) -> list[str]:
    """Return the texts of blocks of an app's message."""
    found: list[str] = []
    if depth > 6 or not isinstance(blocks, list):
        return found
    for block in blocks[:100]:
        if not isinstance(block, dict):
            continue
        text = block.get("text")
        if isinstance(text, dict):
            text = text.get("text")
        if isinstance(text, str):
            found.append(text)
        for inner in ("fields", "elements"):
            found += _texts_of(block.get(inner), depth + 1)
    return found

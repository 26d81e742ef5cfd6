"""Conversations of a service as Markdown: an issue or a ticket with what people answered."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.sources.texts.wording import LONGEST_TEXT, one_line, plain


@dataclass(frozen=True, slots=True)
class Contribution:
    """Words of a person, as Markdown or HTML, with a heading such as the person and the time."""

    heading: str
    text: str


def conversation_page(title: str, facts: Sequence[str], text: str, answers: Sequence[Contribution]) -> str:
    """Return a conversation as Markdown.

    Args:
        title: its heading, as plain text.
        facts: sentences about it, as plain text.
        text: how it began, as Markdown.
        answers: in their order.
    """
    parts = [f"# {plain(one_line(title)) or 'Untitled'}", " ".join(plain(one_line(fact)) for fact in facts), _cut(text)]
    for answer in answers:
        parts += [f"## {plain(one_line(answer.heading))}", _cut(answer.text)]
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def checked_name(path: str) -> tuple[str, str | None]:
    """Return a path as the name of a document, with the reason if it cannot be one."""
    try:
        return validated_path(path), None
    except InvalidInputError as error:
        clean = "".join(character if character.isprintable() else "?" for character in path)
        return clean[:1024] or "?", f"Not a document's name: {error}"


def _cut(text: str) -> str:
    return text[:LONGEST_TEXT].replace("\r\n", "\n").strip("\n")

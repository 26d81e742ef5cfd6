"""The documents of the made set, by kind: catalogues, manuals, laws, FAQ, contracts, minutes, news, prices and code."""

from collections.abc import Iterator, Sequence
from itertools import count

from benchmarks.made_set.code import code_documents
from benchmarks.made_set.model import CONTEXT, MISLEADING, PLAIN, MadeDocument, MadeQuestion
from benchmarks.made_set.prices import price_lists
from benchmarks.made_set.wording import Wording

BOARDS = ("Allotment Society", "Sailing Club", "Residents' Council", "Choir Association")
Item = MadeDocument | MadeQuestion
Section = tuple[str, str]
"""A heading and its paragraph."""


def made_set() -> tuple[list[MadeDocument], list[MadeQuestion]]:
    """Return all documents and questions; the same ones in every run."""
    documents: list[MadeDocument] = []
    questions: list[MadeQuestion] = []
    kinds = (_catalogues, _manuals, _laws, _faq, _contracts, _minutes, _news, price_lists, code_documents)
    for item in (item for make in kinds for item in make()):
        if isinstance(item, MadeDocument):
            documents.append(item)
        else:
            questions.append(item)
    return documents, questions


def _subject(
    wording: Wording, kind: str, entity: str, document: str, *, padding: int = 0
) -> tuple[list[Section], list[MadeQuestion]]:
    """Return a section and a question for each topic of a subject, which no section names.

    `padding`: paragraphs without a fact in each section.
    """
    between = "</p>\n<p>" if document.endswith(".html") else "\n\n"
    sections: list[Section] = []
    questions: list[MadeQuestion] = []
    topics = list(wording.topics)
    wording.random.shuffle(topics)
    for topic in topics:
        sentence = wording.statement(topic)
        more = "".join(f"{between}{wording.filler(3, 5)}" for _ in range(padding))
        sections.append((wording.heading(topic), wording.paragraph(sentence) + more))
        text = wording.question(topic, e=entity)
        identity = f"{kind}-{entity}-{len(questions)}".replace(" ", "_")
        questions.append(MadeQuestion(identity, CONTEXT, kind, text, document, (sentence,)))
    return sections, questions


def _catalogues() -> Iterator[Item]:
    wording = Wording("catalogue")
    for number, brand in enumerate(("Sundholm", "Perrin & Sons", "Atlas Home")):
        name = f"{brand.lower().replace(' & ', '-').replace(' ', '-')}-catalogue.md"
        parts = [f"# {brand}: the catalogue", f"Everything for house and garden. {wording.filler(2, 3)}"]
        for entity in wording.entities[number * 8 : number * 8 + 8]:
            sections, questions = _subject(wording, "catalogue", entity, name)
            parts.append(f"## {entity}")
            parts += (f"### {heading}\n\n{paragraph}" for heading, paragraph in sections)
            # Each product has five facts; a sample of them is asked.
            yield from wording.random.sample(questions, 3)
        yield MadeDocument(name, "\n\n".join(parts) + "\n")


def _manuals() -> Iterator[Item]:
    wording = Wording("manual")
    for entity in wording.entities:
        name = f"manual_{entity.split()[0].lower()}.html"
        sections, questions = _subject(wording, "manual", entity, name, padding=3)
        body = "".join(f"<h2>{heading}</h2>\n<p>{paragraph}</p>\n" for heading, paragraph in sections)
        title = f"{entity}: instructions for use"
        yield MadeDocument(
            name,
            f"<!DOCTYPE html>\n<html><head><title>{title}</title></head>\n<body><main>\n<h1>{title}</h1>\n"
            f"<p>{wording.filler(2, 3)}</p>\n{body}</main></body></html>\n",
        )
        yield from questions


def _laws() -> Iterator[Item]:
    wording = Wording("law")
    for entity in wording.entities:
        name = f"{entity.lower().replace(' ', '_')}.md"
        sections, questions = _subject(wording, "law", entity, name, padding=2)
        numbers = count(1)
        parts = [f"# {entity}", f"## Part 1 General\n\n### Article {next(numbers)} Scope\n\n{wording.filler(1, 2)}"]
        parts.append("## Part 2 Procedure")
        for heading, paragraph in sections:
            parts.append(f"### Article {next(numbers)} {heading}\n\n(1) {paragraph}\n\n(2) {wording.filler(1, 2)}")
        yield MadeDocument(name, "\n\n".join(parts) + "\n")
        yield from wording.random.sample(questions, 5)


def _faq() -> Iterator[Item]:
    wording = Wording("faq")
    for number in range(2):
        name = f"questions-and-answers-{number + 1}.html"
        parts: list[str] = []
        for entity in wording.entities[number * 5 : number * 5 + 5]:
            sections, questions = _subject(wording, "faq", entity, name, padding=1)
            parts.append(f"<h2>{entity}</h2>")
            parts += (f"<h3>{heading}</h3>\n<p>{paragraph}</p>" for heading, paragraph in sections)
            yield from questions
        body = "\n".join(parts)
        yield MadeDocument(
            name,
            f"<!DOCTYPE html>\n<html><head><title>Questions and answers</title></head><body><main>\n"
            f"<h1>Questions and answers</h1>\n{body}\n</main></body></html>\n",
        )


def _contracts() -> Iterator[Item]:
    wording = Wording("contract")
    for entity in wording.entities:
        name = f"contract {entity.replace('/', '-')}.txt"
        sections, questions = _subject(wording, "contract", entity, name, padding=2)
        parts = ["SERVICE AGREEMENT", "between the customer and the supplier named in Annex 1"]
        for number, (heading, paragraph) in enumerate(sections, start=1):
            parts.append(f"{number}. {heading.upper()}\n{paragraph}")
        yield MadeDocument(name, "\n\n".join(parts) + "\n")
        yield from questions


def _minutes() -> Iterator[Item]:
    wording, products, stray = Wording("minutes"), Wording("catalogue").entities, Wording("misleading")
    asked = count()
    for board_number, board in enumerate(BOARDS):
        name = f"minutes-{board.lower().replace(' ', '-').replace(chr(39), '')}.md"
        parts = [f"# {board}: minutes"]
        for date in wording.entities[board_number % 2 :: 2]:
            parts.append(f"## Meeting of {date}")
            for topic in wording.topics:
                sentence = wording.statement(topic)
                parts.append(f"### {wording.heading(topic)}\n\n{wording.paragraph(sentence)}\n\n{wording.filler(2, 4)}")
                text = wording.question(topic, e=date, o=board)
                yield MadeQuestion(f"minutes-{next(asked)}", CONTEXT, "minutes", text, name, (sentence,))
        yield MadeDocument(name, "\n\n".join(parts) + "\n")
    yield from _sales_meetings(wording, stray, products)


def _sales_meetings(wording: Wording, stray: Wording, products: Sequence[str]) -> Iterator[Item]:
    """Yield minutes with facts about products that have a section of their own in a catalogue."""
    asked = count()
    for quarter in range(1, 5):
        name = f"sales-team-quarter-{quarter}.md"
        parts = [f"# Sales team: minutes of quarter {quarter}"]
        for entity in products[quarter % 2 :: 2][:11]:
            topic = stray.topics[next(asked) % len(stray.topics)]
            sentence = stray.statement(topic, e=entity)
            parts.append(f"## Item {len(parts)}\n\n{sentence} {wording.filler(1, 3)}")
            text = stray.question(topic, e=entity)
            yield MadeQuestion(f"misleading-{quarter}-{entity}", MISLEADING, "minutes", text, name, (sentence,))
        yield MadeDocument(name, "\n\n".join(parts) + "\n")


def _news() -> Iterator[Item]:
    wording = Wording("plain")
    facts = [(entity, topic) for entity in wording.entities for topic in wording.topics]
    wording.random.shuffle(facts)
    for number in range(4):
        name = f"newsletter-{number + 1}.md"
        parts = [f"# News from the region, issue {number + 1}"]
        for entity, topic in facts[number * 20 : number * 20 + 20]:
            sentence = wording.statement(topic, e=entity)
            parts.append(f"## {wording.random.choice(('In brief', 'Around the corner', 'People and places'))}\n")
            parts[-1] += f"\n{sentence} {wording.filler(1, 2)}"
            text = wording.question(topic, e=entity)
            yield MadeQuestion(f"news-{number}-{len(parts)}", PLAIN, "news", text, name, (sentence,))
        yield MadeDocument(name, "\n\n".join(parts) + "\n")

"""Source code: classes of one shape in Python, TypeScript and Go; methods do not name their class."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.made_set.model import CONTEXT, MadeDocument, MadeQuestion
from benchmarks.made_set.wording import Wording

FILES: Mapping[str, Sequence[str]] = {
    "delivery.py": ("parcel tracker", "courier client", "customs reporter"),
    "billing.py": ("invoice sender", "ledger importer", "tax calculator"),
    "media.ts": ("thumbnail worker", "subtitle fetcher", "stream recorder"),
    "sensors.go": ("barometer gateway", "tide gauge poller", "snow depth logger"),
}
HEADS = {"py": "from collections.abc import Callable", "go": "package sensors"}


def code_documents() -> Iterator[MadeDocument | MadeQuestion]:
    """Yield each file with a question for most methods of its classes."""
    wording = Wording("code")
    for name, entities in FILES.items():
        language = name.rpartition(".")[2]
        parts = [HEADS[language]] if language in HEADS else []
        for entity in entities:
            methods: list[str] = []
            for topic in wording.topics:
                method, line, source = _method(wording, topic, entity, language)
                methods.append(source)
                text = wording.question(topic, e=entity)
                identity = f"code-{entity}-{method}".replace(" ", "_")
                yield MadeQuestion(identity, CONTEXT, "code", text, name, (line,))
            parts.append(_class(entity, methods, language))
        yield MadeDocument(name, "\n\n\n".join(parts) + "\n")


def _method(wording: Wording, topic: Mapping[str, Any], entity: str, language: str) -> tuple[str, str, str]:
    """Return the name of the method, the line with the fact, and the source."""
    name, variable = str(wording.random.choice(topic["names"])), str(wording.random.choice(topic["variables"]))
    comment, line = str(wording.random.choice(topic["comments"])), f"{variable} = {wording.value(topic)}"
    camel = _camel(name)
    if language == "py":
        body = f'    def {name}(self, items: list[object]) -> None:\n        """{comment}"""\n        {line}\n'
        return name, line, f"{body}        for item in items:\n            self._handle(item, {variable})"
    if language == "ts":
        camel = camel[0].lower() + camel[1:]
        body = f"  /** {comment} */\n  {camel}(items: Item[]): void {{\n    const {line};\n"
        return name, line, f"{body}    for (const item of items) this.handle(item, {variable});\n  }}"
    line = line.replace(" = ", " := ")
    head = f"// {camel}: {comment}\nfunc (s *{_camel(entity)}) {camel}(items []Item) {{\n\t{line}\n"
    return name, line, f"{head}\tfor _, item := range items {{\n\t\ts.handle(item, {variable})\n\t}}\n}}"


def _class(entity: str, methods: Sequence[str], language: str) -> str:
    name, body = _camel(entity), "\n\n".join(methods)
    if language == "py":
        head = f"class {name}:\n    def __init__(self, handle: Callable[[object, int], None]) -> None:"
        return f"{head}\n        self._handle = handle\n\n{body}"
    if language == "ts":
        return f"export class {name} {{\n  constructor(private readonly handle: Handle) {{}}\n\n{body}\n}}"
    return f"type {name} struct {{\n\thandle Handle\n}}\n\n{body}"


def _camel(text: str) -> str:
    return "".join(word.capitalize() for word in text.replace("_", " ").split())

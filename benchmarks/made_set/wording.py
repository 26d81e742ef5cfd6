"""Draws facts in varied wording from wording.toml, the same ones in every run."""

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_RANGE = re.compile(r"(\d+)\.\.(\d+)(.*)")
SEED = 20_251_129


class Wording:
    """The wording of one kind of document, drawn in turn so that neighbours differ."""

    def __init__(self, kind: str) -> None:
        with (Path(__file__).parent / "wording.toml").open("rb") as file:
            row: Mapping[str, Any] = tomllib.load(file)[kind]
        self.entities: Sequence[str] = row.get("entities", ())
        self.topics: Sequence[Mapping[str, Any]] = row["topics"]
        self.random = random.Random(f"{SEED} {kind}")
        self._filler: Sequence[str] = row.get("filler", ())
        self._stated: set[str] = set()

    def statement(self, topic: Mapping[str, Any], **names: str) -> str:
        """Return a sentence with a fact; no sentence comes twice."""
        while True:
            value = self.value(topic)
            sentence = str(self.random.choice(topic["statements"])).format(v=value, **names)
            if sentence not in self._stated:
                self._stated.add(sentence)
                return sentence[0].upper() + sentence[1:]

    def value(self, topic: Mapping[str, Any]) -> str:
        """Return a value of the topic."""
        values = topic["values"]
        if isinstance(values, str):
            found = _RANGE.fullmatch(values)
            assert found is not None, values
            return f"{self.random.randint(int(found[1]), int(found[2]))}{found[3]}"
        return str(self.random.choice(values))

    def question(self, topic: Mapping[str, Any], **names: str) -> str:
        """Return a question for a fact of the topic."""
        return str(self.random.choice(topic["questions"])).format(**names)

    def heading(self, topic: Mapping[str, Any]) -> str:
        """Return a heading that fits the topic."""
        return str(self.random.choice(topic["headings"]))

    def filler(self, least: int, most: int) -> str:
        """Return some sentences without a fact."""
        count = min(self.random.randint(least, most), len(self._filler))
        return " ".join(self.random.sample(self._filler, count))

    def paragraph(self, sentence: str) -> str:
        """Return a paragraph with the sentence somewhere in it."""
        before, after = self.filler(0, 2), self.filler(1, 3)
        return " ".join(part for part in (before, sentence, after) if part)

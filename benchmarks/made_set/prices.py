"""Price lists: the same articles at several suppliers and in two years, told by the file's name alone."""

import random
from collections.abc import Iterator

from benchmarks.made_set.model import CONTEXT, MadeDocument, MadeQuestion
from benchmarks.made_set.wording import SEED

SUPPLIERS = ("Nordkap", "Rhenus Valve", "Teixeira")
YEARS = (2024, 2025)
THINGS = ("ball valve", "seat valve", "pipe clamp", "gasket set", "check valve", "hose coupling", "flange", "elbow")
SIZES = ("DN15", "DN20", "DN25", "DN32", "DN40")
QUESTIONS = (
    "What does {s} charge for the {a} in {y}?",
    "Price of the {a} at {s}, {y}",
    "How much is one {a} according to the {y} list of {s}?",
    "In {y}, what would {s} invoice us for a {a}?",
    "I need the {y} price of {s} for the {a}.",
)
ASKED = 7


def price_lists() -> Iterator[MadeDocument | MadeQuestion]:
    """Yield the lists as CSV, each with its questions."""
    draw = random.Random(f"{SEED} prices")
    names = [f"{thing} {size}" for thing in THINGS for size in SIZES]
    articles = [(name, f"{name[0].upper()}-{draw.randint(1000, 9999)}") for name in names]
    for supplier in SUPPLIERS:
        for year in YEARS:
            name = f"price list {supplier} {year}.csv"
            lines = ["Article,Description,Unit,Price EUR,Minimum order"]
            rows = [(code, article, f"{draw.randint(180, 9800) / 100:.2f}") for article, code in articles]
            draw.shuffle(rows)
            lines += (f"{code},{article},pc,{price},{draw.choice((1, 5, 10, 25))}" for code, article, price in rows)
            yield MadeDocument(name, "\n".join(lines) + "\n")
            for code, article, price in draw.sample(rows, ASKED):
                text = draw.choice(QUESTIONS).format(s=supplier, a=article, y=year)
                identity = f"prices-{supplier}-{year}-{code}".replace(" ", "_")
                yield MadeQuestion(identity, CONTEXT, "prices", text, name, (code, price))

"""Conditions in the two languages of the search server. Pure.

Both read an array as `any element`, and leave a document without the path out of every positive condition. Complements
are written with `$nor` and `mustNot`, which let it through.
"""

from typing import Any

from analytiq.storage.search.predicates import Complement, Condition, Every, OneOf, Path, Predicate, Some

Stage = dict[str, Any]

ANYTHING: Stage = {"exists": {"path": Path.ORGANIZATION_ID.value}}
"""A clause that every chunk satisfies; a `mustNot` alone would have nothing to exclude from."""


def vector_search_filter(predicate: Predicate) -> Stage:
    """Return the `filter` of `$vectorSearch`."""
    match predicate:
        case Condition(path, comparator, value):
            return {path.value: {comparator: value}}
        case OneOf(path, values):
            return {path.value: {"$in": list(values)}}
        case Every(operands):
            return {"$and": [vector_search_filter(operand) for operand in operands]}
        case Some(operands):
            return {"$or": [vector_search_filter(operand) for operand in operands]}
        case Complement(operand):
            return {"$nor": [vector_search_filter(operand)]}


def search_operator(predicate: Predicate) -> Stage:
    """Return a clause of `$search`; it adds to the score unless it stands in a `filter`."""
    match predicate:
        case Condition(path, "$eq", value):
            return {"equals": {"path": path.value, "value": value}}
        case Condition(path, comparator, value):
            return {"range": {"path": path.value, comparator.removeprefix("$"): value}}
        case OneOf(path, values):
            return {"in": {"path": path.value, "value": list(values)}}
        case Every(operands):
            return {"compound": {"filter": [search_operator(operand) for operand in operands]}}
        case Some(operands):
            clauses = [search_operator(operand) for operand in operands]
            return {"compound": {"should": clauses, "minimumShouldMatch": 1}}
        case Complement(operand):
            return {"compound": {"filter": [ANYTHING], "mustNot": [search_operator(operand)]}}

"""Descriptions of APIs (OpenAPI, Swagger): a heading and a block an operation, with path, parameters and bodies."""

from collections.abc import Iterator
from itertools import islice

from analytiq.ingestion.parsing.data_tree import Record, TooLongError, Tree, leaves_of, line_of, paragraphs_of
from analytiq.ingestion.parsing.text_builder import TextBuilder

References = dict[str, Tree]
METHODS = frozenset(("get", "put", "post", "delete", "options", "head", "patch", "trace"))
MOST_LINES = 400
"""Most lines of one operation."""
MOST_PROPERTIES = 60
"""Most properties of a schema that are repeated where an operation refers to it."""
_DESCRIBED = ("summary", "description", "operationId", "tags", "parameters", "requestBody", "responses")


def is_api(tree: Tree) -> bool:
    """Return True for a description of an API with paths."""
    return (
        isinstance(tree, Record)
        and bool({"openapi", "swagger"} & {name for name, _ in tree.pairs})
        and isinstance(_member(tree, "paths"), Record)
    )


def write_api(tree: Tree, builder: TextBuilder, most: int) -> None:
    """Write title, operations and schemas; raise TooLongError above `most` characters, since references repeat."""
    references = dict(_references(tree))
    length = 0
    info = _member(tree, "info")
    builder.heading(_text(info, "title") or "API", 1)
    for name, value in _pairs(tree):
        if name not in {"paths", "components", "definitions"}:
            for paragraph in paragraphs_of(value, (name,)):
                builder.paragraph(paragraph)
    for path, operations in _pairs(_member(tree, "paths")):
        shared = [value for name, value in _pairs(operations) if name == "parameters"]
        for method, operation in _pairs(operations):
            if method.lower() in METHODS:
                summary = _text(operation, "summary")
                builder.heading(f"{method.upper()} {path}" + (f": {summary}" if summary else ""), 2)
                words = "\n".join(islice(_operation_lines(references, operation, shared), MOST_LINES))
                length += len(words)
                if length > most:
                    raise TooLongError
                builder.paragraph(words)
    _write_schemas(tree, builder)


def _operation_lines(references: References, operation: Tree, shared: list[Tree]) -> Iterator[str]:
    for name in ("description", "operationId", "tags"):
        for path, value in leaves_of(_member(operation, name), (name,)):
            if value:
                yield line_of(path, value) if name != "description" else value
    for parameters in (*shared, _member(operation, "parameters")):
        for parameter in parameters if isinstance(parameters, list) else []:
            yield _parameter_line(_resolved(references, parameter))
    for name in ("requestBody", "responses"):
        yield from _body_lines(references, _member(operation, name), (name,))
    for name, value in _pairs(operation):
        if name not in _DESCRIBED:
            yield from (line_of(path, each) for path, each in leaves_of(value, (name,)) if each)


def _parameter_line(parameter: Tree) -> str:
    schema = _member(parameter, "schema")
    kind = _text(schema, "type") or _text(parameter, "type")
    facts = [_text(parameter, "in"), kind, "required" if _text(parameter, "required") == "true" else ""]
    told = [f"{name} {value}" for path, value in leaves_of(schema, ()) if (name := ".".join(path)) != "type" and value]
    described = "; ".join(filter(None, [_text(parameter, "description"), *told]))
    return f"Parameter {_text(parameter, 'name')} ({', '.join(filter(None, facts))}): {described}"


def _body_lines(references: References, body: Tree, path: tuple[str, ...]) -> Iterator[str]:
    for where, value in leaves_of(body, path):
        if not value:
            continue
        if where[-1:] == ("$ref",):
            yield line_of(where[:-1], value.rpartition("/")[2])
            yield from _property_lines(references.get(value, ""))
        else:
            yield line_of(where, value)


def _property_lines(schema: Tree) -> Iterator[str]:
    properties = _pairs(_member(schema, "properties"))
    for name, value in properties[:MOST_PROPERTIES]:
        facts = [text for text in (_text(value, "type"), _text(value, "description")) if text]
        yield f"{name}: {', '.join(facts)}" if facts else name


def _write_schemas(tree: Tree, builder: TextBuilder) -> None:
    for group, schemas in (*_pairs(_member(tree, "components")), ("definitions", _member(tree, "definitions"))):
        for name, schema in _pairs(schemas):
            builder.heading(name, 2)
            for paragraph in paragraphs_of(schema, (group, name)):
                builder.paragraph(paragraph)


def _references(tree: Tree) -> Iterator[tuple[str, Tree]]:
    for group, members in _pairs(_member(tree, "components")):
        yield from ((f"#/components/{group}/{name}", member) for name, member in _pairs(members))
    for group in ("definitions", "parameters", "responses"):
        yield from ((f"#/{group}/{name}", member) for name, member in _pairs(_member(tree, group)))


def _resolved(references: References, value: Tree) -> Tree:
    """Return what a reference within the file names; any other value as it is."""
    return references.get(_text(value, "$ref"), value)


def _member(tree: Tree, name: str) -> Tree:
    return next((value for each, value in _pairs(tree) if each == name), "")


def _pairs(tree: Tree) -> tuple[tuple[str, Tree], ...]:
    return tree.pairs if isinstance(tree, Record) else ()


def _text(tree: Tree, name: str) -> str:
    value = _member(tree, name)
    return value if isinstance(value, str) else ""

"""The rows that a query's result rests on, as queries of their own made from its syntax tree. Pure."""

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from analytiq.ingestion.tables.checking import AGGREGATES, TABLE, Node, nodes_of

SOURCE = "source"
"""The table behind `rows`, which also has the rows' numbers and places."""
ROW = "__row"
CITED = "__cited_row"


def row_queries(root: Node) -> list[str]:
    """Return statements, as DuckDB's JSON, that yield the numbers of the rows that a checked query rests on.

    Those of a plain selection are the rows shown; those of sums and groups pass the conditions of its WHERE. An empty
    list stands for every row: a join, or a query that does not read the table itself.
    """
    if _is_plain(root):
        return [_plain(root)]
    if root.get("type") == "SELECT_NODE" and _reads_table(root):
        return [_conditions(root)]
    found: list[str] = []
    for node in nodes_of(root):
        if node.get("type") == "JOIN" and "left" in node:
            return []
        if node.get("type") == "SELECT_NODE" and _reads_table(node):
            found.append(_conditions(node))
    return found


def reads_rows(root: Node) -> bool:
    """Return True if a query reads the table at all."""
    return any("table_name" in node and str(node["table_name"]).lower() == TABLE for node in nodes_of(root))


def conditions_alone(root: Node) -> list[str]:
    """Return the statement for the rows that pass the conditions of a plain selection, without order and limit."""
    return [_conditions(root)]


def _is_plain(root: Node) -> bool:
    if root.get("type") != "SELECT_NODE" or not _reads_table(root) or root.get("group_expressions"):
        return False
    if root.get("aggregate_handling", "STANDARD_HANDLING") != "STANDARD_HANDLING" or root.get("having"):
        return False
    if any(modifier.get("type") == "DISTINCT_MODIFIER" for modifier in root.get("modifiers", ())):
        return False
    shown = cast("list[Node]", [*root.get("select_list", ()), *root.get("modifiers", ()), root.get("qualify") or {}])
    for expression in shown:
        for node in nodes_of(expression):
            name = str(node.get("function_name", "")).lower()
            if name in AGGREGATES or node.get("class") == "WINDOW":
                return False
    return True


def _reads_table(node: Node) -> bool:
    source = cast("Node", node.get("from_table") or {})
    return source.get("type") == "BASE_TABLE" and str(source.get("table_name", "")).lower() == TABLE


def _plain(root: Node) -> str:
    """Add the rows' numbers to a selection, so that its order and limit stay."""
    node = _of_source(root)
    node["select_list"] = [*node["select_list"], _number()]
    return _statement(node)


def _conditions(node: Node) -> str:
    copy = _of_source(node)
    copy["select_list"] = [_number()]
    copy["modifiers"] = []
    copy["group_expressions"], copy["group_sets"] = [], []
    copy["aggregate_handling"] = "STANDARD_HANDLING"
    copy["having"] = copy["qualify"] = None
    return _statement(copy)


def _of_source(node: Node) -> Node:
    copy: Node = deepcopy(node)
    source = copy["from_table"]
    source["alias"] = source.get("alias") or TABLE
    source["table_name"] = SOURCE
    source["qualified_name"] = {"path": [SOURCE]}
    return copy


def _number() -> Mapping[str, Any]:
    return {
        "class": "COLUMN_REF", "type": "COLUMN_REF", "alias": CITED, "query_location": 0, "query_location_length": 0,
        "column_names": [ROW],
    }  # fmt: skip


def _statement(node: Node) -> str:
    return json.dumps({"error": False, "statements": [{"node": node, "named_param_map": []}]})

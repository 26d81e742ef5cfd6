"""The check of a query before it runs: a walk over DuckDB's own syntax tree that allows by name. Pure.

The tree is the one that DuckDB runs, so no text can mean one thing here and another there. What is not named here is
refused: the query runs in a process without rights too, and this check keeps it from wasting that process.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from analytiq.errors import InvalidInputError

Node = dict[str, Any]

TABLE = "rows"
"""The name of the one table."""
MOST_NODES = 20_000
_AGGREGATE_NAMES = (  # noqa: SIM905 -- too many for a list
    "any_value approx_count_distinct arg_max arg_min avg bool_and bool_or corr count count_if count_star "
    "covar_pop covar_samp first group_concat histogram last listagg max max_by mean median min min_by mode "
    "product quantile quantile_cont quantile_disc regr_intercept regr_r2 regr_slope stddev stddev_pop "
    "stddev_samp string_agg sum sum_no_overflow fsum favg var_pop var_samp variance"
).split()
AGGREGATES = frozenset(_AGGREGATE_NAMES)
_WINDOWS = frozenset(
    "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number".split()  # noqa: SIM905 -- many names
)
_SCALAR_NAMES = (  # noqa: SIM905 -- too many for a list
    "+ - * / % // ** ^ || ~~ ~~* !~~ !~~* ~~~ @ abs add ceil ceiling concat concat_ws contains date_add "
    "date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth "
    "dayofweek dayofyear divide ends_with exp extract floor format_date greatest ifnull ilike_escape instr "
    "isfinite isnan isodow last_day lcase least left length levenshtein like_escape ln log log10 log2 lower "
    "ltrim make_date mod month monthname multiply not_ilike_escape not_like_escape nullif pow power quarter "
    "regexp_extract regexp_full_match regexp_matches regexp_replace replace reverse right round round_even "
    "rtrim sign split_part sqrt starts_with strftime strip_accents strlen strpos strptime substr substring "
    "subtract suffix prefix trim trunc try_strptime ucase upper week weekday weekofyear year yearweek to_days "
    "to_months to_years to_weeks to_hours to_minutes to_seconds hour minute second epoch century decade "
    "jaccard damerau_levenshtein jaro_winkler_similarity bar array_extract list_value"
).split()
_SCALARS = frozenset(_SCALAR_NAMES)
FUNCTIONS = AGGREGATES | _WINDOWS | _SCALARS
_EXPRESSION_NAMES = (  # noqa: SIM905 -- too many for a list
    "BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION OPERATOR STAR SUBQUERY WINDOW TYPE"
).split()
_EXPRESSIONS = frozenset(_EXPRESSION_NAMES)
_QUERIES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE"})
_SOURCES = frozenset({"BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "SUBQUERY"})
_MOST_JOINS = 4


def checked_tree(parsed: Mapping[str, Any]) -> Node:
    """Return the query node of a serialized statement.

    Raises:
        InvalidInputError: it is no single SELECT, or uses something that is not allowed.
    """
    if parsed.get("error"):
        raise _parse_error(parsed)
    statements = parsed.get("statements", [])
    if len(statements) != 1:
        raise refused("Write one SELECT statement.")
    statement = cast("Node", statements[0])
    if statement.get("named_param_map"):
        raise refused("Parameters such as $1 or ? are not allowed: write the values.")
    root = cast("Node", statement["node"])
    names = {TABLE, *_common_tables(root)}
    joins = 0
    for node in nodes_of(root):
        joins += node.get("type") == "JOIN" and "left" in node
        _check(node, names)
    if joins > _MOST_JOINS:
        raise refused(f"At most {_MOST_JOINS} joins are allowed.")
    return root


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield all objects of a tree, without recursion: a hostile query is deep.

    Raises:
        InvalidInputError: there are more than `MOST_NODES`.
    """
    stack: list[object] = [root]
    count = 0
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            count += 1
            if count > MOST_NODES:
                raise refused("The query is too long.")
            yield cast("Node", node)
            stack += cast("Node", node).values()
        elif isinstance(node, list):
            stack += cast("list[object]", node)


def refused(reason: str) -> InvalidInputError:
    """Return the error of a query that is not allowed."""
    return InvalidInputError(reason, code="query_refused")


def _check(node: Node, names: set[str]) -> None:
    kind, of = str(node.get("type", "")), node.get("class")
    if of is not None:
        if of not in _EXPRESSIONS:
            raise refused(f"The query uses {str(of).lower().replace('_', ' ')}, which is not allowed.")
        name = node.get("function_name")
        if name is not None and (str(name).lower() not in FUNCTIONS or node.get("schema") or node.get("catalog")):
            raise refused(f"The function {str(name)[:80]!r} is not allowed.")
        if of in {"FUNCTION", "WINDOW"} and not name:
            raise refused("The query calls a function in a way that is not allowed.")
    elif kind.endswith("_NODE") and kind not in _QUERIES:
        what = "Recursion" if kind == "RECURSIVE_CTE_NODE" else f"The query's {kind.lower().replace('_', ' ')}"
        raise refused(f"{what} is not allowed.")
    _check_source(node, names)


def _check_source(node: Node, names: set[str]) -> None:
    """Check what a query reads from: the key `from_table`, or a side of a join."""
    for key in ("from_table", "left", "right"):
        source = node.get(key)
        if not isinstance(source, dict) or "class" in source or str(cast("Node", source).get("type")) in _QUERIES:
            continue
        source = cast("Node", source)
        kind = source.get("type")
        if kind not in _SOURCES:
            what = "Table functions" if kind == "TABLE_FUNCTION" else f"{str(kind).replace('_', ' ').capitalize()}"
            raise refused(f"{what} cannot be queried: the only table is {TABLE}.")
    if "table_name" in node and node.get("class") is None:
        name = str(node["table_name"]).lower()
        is_other = name not in names or node.get("schema_name") or node.get("catalog_name") or node.get("at_clause")
        if is_other or len(node.get("qualified_name", {}).get("path", [name])) != 1:
            raise refused(f"There is no table {str(node['table_name'])[:80]!r}: the only table is {TABLE}.")
    if "show_type" in node or "function" in node or "pivots" in node:
        raise refused("Only SELECT queries about the table are allowed.")


def _common_tables(root: Node) -> set[str]:
    """Return the names of common table expressions, in lower case."""
    found: set[str] = set()
    for node in nodes_of(root):
        common = cast("Node", node.get("cte_map") or {})
        found.update(str(entry["key"]).lower() for entry in cast("list[Node]", common.get("map") or []))
    if TABLE in found or "source" in found:
        raise refused(f"A common table expression must have another name than {TABLE!r} and 'source'.")
    return found


def _parse_error(parsed: Mapping[str, Any]) -> InvalidInputError:
    if parsed.get("error_type") == "not implemented":
        return refused("Only a single SELECT statement is allowed.")
    message = str(parsed.get("error_message", "")).partition("\n")[0][:500]
    if "expression depth" in message:
        return refused("The query is nested too deeply.")
    return InvalidInputError(f"The query cannot be read: {message}.", code="query_invalid")

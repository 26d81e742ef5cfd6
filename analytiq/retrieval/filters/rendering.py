"""Filters as text for people."""

from analytiq.retrieval.filters.tree import And, Comparison, Exists, Filter, In, Nor, Not, Or


def render_filter(tree: Filter) -> str:
    """Write a filter for people."""
    match tree:
        case And(operands):
            return " and ".join(f"({render_filter(operand)})" for operand in operands) or "everything"
        case Or(operands):
            return " or ".join(f"({render_filter(operand)})" for operand in operands) or "nothing"
        case Nor(operands):
            return "none of " + ", ".join(f"({render_filter(operand)})" for operand in operands)
        case Not(operand):
            return f"not ({render_filter(operand)})"
        case Exists(field, is_expected):
            return f"{field} {'exists' if is_expected else 'does not exist'}"
        case In(field, values, is_negated):
            shown = ", ".join(repr(value) for value in values[:5]) + (", …" if len(values) > 5 else "")
            return f"{field} {'not in' if is_negated else 'in'} [{shown}]"
        case Comparison(field, comparator, value):
            return f"{field} {comparator.value} {value!r}"

"""The checklist as rules: one module a point, a few lines a rule."""

from toolworthy.rules import annotations, descriptions, input_schemas, names, output_schemas, size
from toolworthy.rules.base import POINTS, Rule

RULES: dict[str, Rule] = {
    rule.id: rule
    for module in (names, descriptions, input_schemas, output_schemas, annotations, size)
    for rule in module.RULES
}

__all__ = ["POINTS", "RULES", "Rule"]

"""The one place that says yes or no, and why: a right's grammar, who provides an answer, the decision."""

from mcp_gateway.rights.acting import acting_problem, is_superuser
from mcp_gateway.rights.decide import Decision, Outcome, decide
from mcp_gateway.rights.grammar import Right, parse
from mcp_gateway.rights.granting import not_grantable
from mcp_gateway.rights.principal import ANONYMOUS, Principal
from mcp_gateway.rights.reasons import in_full

__all__ = [
    "ANONYMOUS",
    "Decision",
    "Outcome",
    "Principal",
    "Right",
    "acting_problem",
    "decide",
    "in_full",
    "is_superuser",
    "not_grantable",
    "parse",
]

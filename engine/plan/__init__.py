"""What a program may cost, from the program alone: nothing is called. Pure."""

from .caps import Binding
from .diff import Diff, diff
from .nodes import Node
from .plan import Plan, plan

__all__ = ["Binding", "Diff", "Node", "Plan", "diff", "plan"]

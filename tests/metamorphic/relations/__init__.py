"""All relations, by what they compare; importing this registers them."""
from . import faults, load, machines, one_answer, plans, same_question  # noqa: F401

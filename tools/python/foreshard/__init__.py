"""Forecasts and plans of parallel training on GPU clusters: foreshard, from Python.

    import foreshard
    result = foreshard.run("scenario.yaml")
    result.best.iteration_time_s

run, validate and show ask the program foreshard and give its JSON, whose keys docs/formats/results.md lists. docs/python.md has more.
"""
from .commands import run, show, validate
from .errors import ForeshardError, InputError, Interrupted, ProgramError, ProgramNotFoundError
from .program import find_program
from .results import CapacityEntry, Result, Run, Sensitivity, ValidationResult

__all__ = [
    "CapacityEntry",
    "ForeshardError",
    "InputError",
    "Interrupted",
    "ProgramError",
    "ProgramNotFoundError",
    "Result",
    "Run",
    "Sensitivity",
    "ValidationResult",
    "find_program",
    "run",
    "show",
    "validate",
]

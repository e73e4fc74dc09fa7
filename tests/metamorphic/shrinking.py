"""Makes a scenario small that violates a relation, so that a reader sees what matters."""
from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from program import Broken, Program, Refused, Scenario
from relation import Case, Relation, SaysNothing

_MOST_TRIES = 300


def violations(program: Program, relation: Relation, scenario: Scenario, seed: str) -> list[str]:
    """What the relation finds; nothing where it does not concern the scenario, or the program refuses it."""
    try:
        return list(relation.check(Case(program, copy.deepcopy(scenario), random.Random(seed))))
    except (SaysNothing, Refused):
        return []


def shrunk(program: Program, relation: Relation, scenario: Scenario, seed: str) -> Scenario:
    """A scenario with fewer keys and smaller numbers that violates the relation still."""
    tries = 0
    goes_on = True
    while goes_on:
        goes_on = False
        for smaller in _smaller(scenario):
            tries += 1
            if tries > _MOST_TRIES:
                return scenario
            try:
                if violations(program, relation, smaller, seed):
                    scenario, goes_on = smaller, True
                    break
            except (Broken, LookupError, RuntimeError, ValueError, ZeroDivisionError):  # the relation misses a key that was taken out
                continue
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Each with one key less, or one number halved."""
    for path in _paths(scenario):
        less = copy.deepcopy(scenario)
        del _at(less, path[:-1])[path[-1]]
        yield less
        value = _at(scenario, path)
        if isinstance(value, int) and not isinstance(value, bool) and value > 1:
            half = copy.deepcopy(scenario)
            _at(half, path[:-1])[path[-1]] = value // 2
            yield half


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Keys of maps, from the outermost; lists are left as they are, but for the only plan."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if path == ("plans",) else ()
    for key, inner in items:
        if isinstance(value, dict) and path + (key,) not in (("foreshard",), ("plans",)):
            yield path + (key,)
        yield from _paths(inner, path + (key,))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value

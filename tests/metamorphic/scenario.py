"""Scenarios as maps, and copies of them with other values."""
from __future__ import annotations

import copy
from typing import Any

from program import Scenario

REMOVED = object()  # as a value: without the key


def planner_of(scenario: Scenario) -> str:
    """The word of the first plan's planner."""
    return next(key for key in scenario["plans"][0] if key not in ("name", "framework"))


def options_of(scenario: Scenario) -> dict[str, Any]:
    return scenario["plans"][0][planner_of(scenario)]


def changed(scenario: Scenario, changes: dict[str, Any]) -> Scenario:
    """A copy with other values at dotted paths. A path of options begins with `plan.`: those of the first plan."""
    out = copy.deepcopy(scenario)
    for path, value in changes.items():
        *way, last = path.split(".")
        at = out
        if way and way[0] == "plan":
            at, way = options_of(out), way[1:]
        for key in way:
            at = at.setdefault(key, {})
        if value is REMOVED:
            at.pop(last, None)
        else:
            at[last] = copy.deepcopy(value)
    return out

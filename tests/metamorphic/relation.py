"""What a relation is: a check of answers that needs no reference, with its derivation and its tolerance.

A relation takes a Case and yields what is violated, a sentence each. Its docstring derives it, and says why its tolerance is as wide as it
is. One that says nothing of a scenario raises SaysNothing, by Case.needs.
"""
from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cluster_file import parsed
from program import Program, Refused, Run, Scenario
from scenario import REMOVED, changed, options_of, planner_of

# Sums of the same doubles in another order.
ROUNDING = 1e-9


class SaysNothing(Exception):
    """The relation does not concern this scenario."""


Violations = Iterator[str]


@dataclass(frozen=True)
class Relation:
    name: str
    check: Callable[["Case"], Violations]
    inside: bool  # of one answer, without another

    @property
    def derivation(self) -> str:
        return " ".join((self.check.__doc__ or "").split())


RELATIONS: dict[str, Relation] = {}


def inside(check: Callable[["Case"], Violations]) -> Callable[["Case"], Violations]:
    """Registers a relation between the parts of one answer."""
    RELATIONS[check.__name__] = Relation(check.__name__, check, True)
    return check


def between(check: Callable[["Case"], Violations]) -> Callable[["Case"], Violations]:
    """Registers a relation between answers."""
    RELATIONS[check.__name__] = Relation(check.__name__, check, False)
    return check


class Case:
    """A scenario, its answer, and what else is asked about it. `rng` chooses where a relation has a choice."""

    def __init__(self, program: Program, scenario: Scenario, rng: random.Random) -> None:
        self.program, self.scenario, self.rng = program, scenario, rng

    @functools.cached_property
    def run(self) -> Run:
        return self.ask({})

    @functools.cached_property
    def cluster(self) -> dict[str, Any]:
        """The cluster with all that its preset says."""
        return parsed(self.program.written_out(self.scenario["cluster"]))["cluster"]

    @property
    def planner(self) -> str:
        return planner_of(self.scenario)

    @property
    def transformer(self) -> dict[str, Any]:
        """Of other models empty."""
        return self.scenario["model"].get("transformer", {})

    def option(self, name: str, default: Any = None) -> Any:
        return options_of(self.scenario).get(name, default)

    @functools.cached_property
    def meetings(self) -> float:
        """The share of the iteration that collisions of transfers may make or save at most.

        The engine is monotonic: streams run tasks in a fixed order, so that what is quicker lets nothing end later - but where transfers of
        several groups share links. There one that ends sooner may meet another, and one that ends later may miss it, as when a slower GPU
        takes replicas out of their lockstep at a common NIC (anomalies as of list scheduling: Graham 1969). Of two transfers that share a
        link, each waits for the other during half of its time at most, so that at most half of what is exposed is at stake.
        """
        tensor = self.option("tensor", 1)
        alone = tensor in (1, self.run["gpus"]) and not any(self.option(axis, 1) > 1 for axis in ("pipeline", "context", "expert"))
        if alone and self.planner != "fsdp" and not self.option("zero") and not self.option("offload"):
            return ROUNDING
        return 0.5 * self.run["breakdown_s"]["exposed_communication"] / seconds(self.run)

    @property
    def shares_a_nic(self) -> bool:
        """Several GPUs of a node share a NIC, at which replicas meet in lockstep, or miss each other."""
        nics = sum(str(c).strip("{'").startswith("nic") for c in self.cluster["node"].get("components", []))
        return self.cluster["nodes"] > 1 and nics < self.cluster["node"]["gpus"]["count"]

    @property
    def collisions(self) -> float:
        """The share of `meetings` that a change of a part of the machine or of the work puts at stake: all, where GPUs share a NIC. Elsewhere all
        transfers would have to change from missing to meeting each other: the most that was followed to such a cause is 4 %."""
        return self.meetings if self.shares_a_nic else min(0.04, self.meetings)

    @property
    def terms(self) -> int:
        """The iterations whose ends one iteration's time is made of. Their roundings add up: with 2BW, which never drains, an iteration is the
        difference of six and five (sim/simulation.cpp)."""
        return 11 if self.option("schedule") == "2bw" else 1

    def needs(self, *conditions: Any) -> None:
        if not all(conditions):
            raise SaysNothing

    @property
    def kept_split(self) -> dict[str, Any]:
        """The change that lists the layers of each stage as they are: where anything else changes, `balanced` may choose others."""
        return {"plan.layers_per_stage": split_of(self.run["plan_summary"]) or REMOVED}

    def ask(self, changes: dict[str, Any], *options: str) -> Run:
        """The first run of the scenario with changes (scenario.changed)."""
        return answered(self.program.answer(changed(self.scenario, changes), *options)["runs"])[0]

    def ask_variants(self, variants: dict[str, dict[str, Any]], replan: bool = False) -> dict[str, Run]:
        """By name, the runs of what-ifs; without `replan`, with the plan of the base. Those that have no plan are left out."""
        what_ifs = [{"name": name, "set": values, "replan": replan} for name, values in variants.items()]
        runs = self.program.answer({**self.scenario, "what_if": what_ifs})["runs"]
        return {r["variant"]: r for r in runs if r["variant"] != "base" and r["replanned"] == replan and r["iteration_time_s"] is not None}

    def ask_plans(self, changes: list[dict[str, Any]]) -> list[Run | None]:
        """The runs of the first plan, of the same stages, with each of some changes of its options; None where it cannot be made."""
        wanted = [{**self.kept_split, **{f"plan.{k}": v for k, v in c.items()}} for c in changes]
        plans = [{**changed(self.scenario, w)["plans"][0], "name": str(i)} for i, w in enumerate(wanted)]
        runs = {r["plan"]: r for r in self.program.answer({**self.scenario, "plans": plans})["runs"]}
        return [r if r["iteration_time_s"] is not None else None for r in (runs[p["name"]] for p in plans)]


def split_of(summary: str) -> list[int]:
    """Layers of each stage, from `layers per stage 2 + 13 x 3 + 1`; empty where they are equal, which is not said."""
    said = re.search(r"layers per stage ([^,]+)", summary)
    split: list[int] = []
    for part in said[1].split(" + ") if said else []:
        times, _, n = part.rpartition(" x ")
        split += [int(n)] * int(times or 1)
    return split


def answered(runs: list[Run]) -> list[Run]:
    for r in runs:
        if r["iteration_time_s"] is None:
            raise Refused(f"{r['status']}: " + "; ".join(n["text"] for n in r["notes"])[:300])
    return runs


def seconds(run: Run) -> float:
    return run["iteration_time_s"]


def kernels(run: Run) -> float:
    """Seconds of the kernels of all devices that are simulated, without what overlapped transfers slow them."""
    return sum(run["compute_basis_s"].values())


def simulated(run: Run) -> str:
    """How many devices stand for how many: only where they are equally many are kernels() of the same devices."""
    return next((n["text"].partition(":")[0] for n in run["notes"] if n["code"] == "folded-devices"), str(run["gpus"]))


def peak(run: Run) -> float:
    return run["memory_bytes"]["peak"]


def model_flops(run: Run) -> float:
    """Of an iteration, in units of what one GPU could do in a second."""
    return run["mfu"] * run["iteration_time_s"] * run["gpus"]


def at_most(what: str, value: float, bound: float, tolerance: float) -> Violations:
    if value > bound * (1 + tolerance):
        yield f"{what}: {value:.9g} is above {bound:.9g}" + (f" by {100 * (value / bound - 1):.3g} %" if bound > 0 else "")


def at_least(what: str, value: float, bound: float, tolerance: float) -> Violations:
    if value < bound * (1 - tolerance):
        yield f"{what}: {value:.9g} is below {bound:.9g} by {100 * (1 - value / bound):.3g} %"


def equal(what: str, a: float, b: float, tolerance: float, absolute: float = 0) -> Violations:
    if abs(a - b) > max(tolerance * max(abs(a), abs(b)), absolute):
        yield f"{what}: {a:.9g} is not {b:.9g} (by {100 * abs(a - b) / max(abs(a), abs(b)):.3g} %)"


# What tells runs apart that do the same: names, words, how a search ended, speedups over a base; and what a wall clock says.
_NAMES = {"plan", "variant", "sweep", "settings", "replanned", "notes", "behind", "against_data_parallel", "objective_s", "bound_s", "stop_reason",
          "runners_up", "speedup", "speedup_interval", "best_speedup", "best_speedup_interval", "found_by"}
_CLOCKS = {"search_time_s", "simulation_time_s"}


def without_clocks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_clocks(v) for k, v in value.items() if k not in _CLOCKS}
    return [without_clocks(v) for v in value] if isinstance(value, list) else value


def same_run(what: str, a: Run, b: Run, but: tuple[str, ...] = (), tolerance: float = ROUNDING) -> Violations:
    """Every figure of two runs is equal, besides _NAMES. Yields the first that is not."""
    for key in sorted({*a, *b} - _NAMES - _CLOCKS - set(but)):
        at = _difference(a.get(key), b.get(key), tolerance, key)
        if at:
            yield f"{what}: {at}"
            return


def _difference(a: Any, b: Any, tolerance: float, path: str) -> str | None:
    if isinstance(a, dict) and isinstance(b, dict):
        inner = [(k, a.get(k), b.get(k)) for k in sorted({*a, *b})]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        inner = [(str(i), x, y) for i, (x, y) in enumerate(zip(a, b))]
    elif isinstance(a, int | float) and isinstance(b, int | float):
        # Of two equal counts of bytes each may be rounded its own way; and 1e-12 s is below the engine's precision.
        small = 1 if isinstance(a, int) and isinstance(b, int) else 1e-12
        return None if abs(a - b) <= max(tolerance * max(abs(a), abs(b)), small) else f"{path} is {a} and {b}"
    else:
        return None if a == b else f"{path} is {json.dumps(a)[:120]} and {json.dumps(b)[:120]}"
    return next((d for d in (_difference(x, y, tolerance, f"{path}.{k}") for k, x, y in inner) if d), None)

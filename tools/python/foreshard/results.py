"""Answers of the program. Annotated keys are those of docs/formats/results.md, which says what they mean; a test compares."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tables
from .records import Record, frame, row

if TYPE_CHECKING:
    import pandas


class Run(Record):
    """One plan on one variant."""

    __slots__ = ()
    plan: str
    variant: str
    sweep: str | None
    settings: dict[str, str] | None
    framework: str
    replanned: bool
    status: str
    iteration_time_s: float | None
    iteration_time_interval_s: list[float] | None
    speedup: float | None
    speedup_interval: list[float] | None
    best_speedup: float | None
    best_speedup_interval: list[float] | None
    throughput_samples_per_s: float | None
    tokens_per_s: float | None
    mfu: float | None
    mfu_causal: float | None
    gpus: int | None
    tight: bool | None
    search_time_s: float | None
    simulation_time_s: float | None
    stages: list[dict[str, float]] | None
    breakdown_s: dict[str, float] | None
    exposed_communication_s: dict[str, dict[str, float]] | None
    behind: dict[str, Any] | None
    communication_bytes: dict[str, Any] | None
    busiest_link: dict[str, Any] | None
    critical_path: list[dict[str, Any]] | None
    links: list[dict[str, Any]] | None
    compute_basis_s: dict[str, float] | None
    memory_bytes: dict[str, int] | None
    plan_summary: str | None
    found_by: str | None
    objective_s: float | None
    bound_s: float | None
    stop_reason: str | None
    runners_up: list[dict[str, Any]] | None
    rewrites: list[dict[str, Any]] | None
    against_data_parallel: dict[str, Any] | None
    notes: list[dict[str, str]]


class Sensitivity(Record):
    """What one parameter of the cluster is worth to one plan."""

    __slots__ = ()
    plan: str
    parameter: str
    elasticity: float | None
    improved: dict[str, Any]


class CapacityEntry(Record):
    """The whole training by one plan on so many nodes of one candidate."""

    __slots__ = ()
    candidate: str
    plan: str
    nodes: int
    gpus: int
    owned_nodes: int
    status: str
    iteration_time_s: float | None
    tokens_per_s: float | None
    mfu: float | None
    mfu_causal: float | None
    goodput: float | None
    time_to_train_s: float | None
    time_to_train_interval_s: list[float] | None
    speedup: float | None
    speedup_interval: list[float] | None
    gpu_hours: float | None
    cost_usd: float | None
    cost_interval_usd: list[float] | None
    energy_j: float | None
    on_frontier: bool | None
    meets_deadline: bool | None
    meets_budget: bool | None
    deadline_chance: str | None
    budget_chance: str | None
    cost_parts_usd: dict[str, float] | None
    failures: dict[str, float] | None
    plan_summary: str | None
    notes: list[dict[str, str]]


class Answer(Record):
    """What a command answers. `exit_code` 1 is an answer, too: no."""

    __slots__ = ("exit_code",)

    def __init__(self, raw: dict[str, Any], exit_code: int = 0) -> None:
        super().__init__(raw)
        self.exit_code: int = exit_code


class Result(Answer):
    """The answer of `run`."""

    __slots__ = ()
    scenario: str
    question: dict[str, Any]
    program: dict[str, str]
    seed: int
    engine: dict[str, Any]
    favourite: dict[str, Any] | None
    capacity_summary: dict[str, Any] | None
    unanswered: int | None

    @property
    def runs(self) -> list[Run]:
        """In order of variants, base first, then of plans."""
        return [Run(r) for r in self.raw["runs"]]

    @property
    def sensitivity(self) -> list[Sensitivity]:
        """Empty where the scenario does not ask for it, as `capacity`."""
        return [Sensitivity(s) for s in self.raw.get("sensitivity", [])]

    @property
    def capacity(self) -> list[CapacityEntry]:
        return [CapacityEntry(c) for c in self.raw.get("capacity", [])]

    @property
    def best(self) -> Run | None:
        """The quickest plan that fits on the base; None where none does."""
        fitting = [(r.iteration_time_s, r) for r in self.runs if r.variant == "base" and r.status == "ok" and r.iteration_time_s is not None]
        return min(fitting, key=lambda timed: timed[0], default=(None, None))[1]

    def rows(self) -> list[dict[str, Any]]:
        """A flat map for each run: keys of inner maps behind a dot, intervals as .low and .high."""
        return [row(r) for r in self.runs]

    def to_frame(self) -> pandas.DataFrame:
        """The runs, a column for each key of `rows`. Needs pandas."""
        return frame(self.runs)

    def sensitivity_frame(self) -> pandas.DataFrame:
        return frame(self.sensitivity)

    def capacity_frame(self) -> pandas.DataFrame:
        return frame(self.capacity)

    def __repr__(self) -> str:
        parts, best = [f"{len(self.raw['runs'])} runs"], self.best
        if best is not None and best.iteration_time_s is not None:
            parts.append(f"best: {best.plan}, {tables.duration(best.iteration_time_s)}")
        if self.capacity:
            parts.append(f"{len(self.capacity)} machines")
        return f"<foreshard.Result {self.scenario!r}: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        return tables.of_result(self)


class ValidationResult(Answer):
    """The answer of `validate`."""

    __slots__ = ()
    groups: list[dict[str, Any]]
    points: list[dict[str, Any]]
    notes: list[str]
    coverage: dict[str, Any] | None

    @property
    def within_limits(self) -> bool:
        """Whether all groups keep the limits that were asked for."""
        return self.exit_code == 0

    def rows(self) -> list[dict[str, Any]]:
        """A flat map for each point."""
        return [row(p) for p in self.points]

    def to_frame(self) -> pandas.DataFrame:
        """The points. Needs pandas, as groups_frame."""
        return frame(self.points)

    def groups_frame(self) -> pandas.DataFrame:
        return frame(self.groups)

    def __repr__(self) -> str:
        return f"<foreshard.ValidationResult: {len(self.points)} points in {len(self.groups)} groups>"

    def _repr_html_(self) -> str:
        return tables.of_groups(self.groups)

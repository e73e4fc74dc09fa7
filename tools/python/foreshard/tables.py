"""Tables for notebooks: HTML without colours, scripts or anything from outside, so that it reads on any background."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import CapacityEntry, Result, Run, Sensitivity

_MOST_ROWS = 200  # of a table in a notebook: frames are for more
_GIB = 2**30
_DAY = 86400.0
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))

Records = Sequence[Mapping[str, Any]]


def of_result(result: Result) -> str:
    parts, runs = [], result.runs
    if runs:
        parts.append(_table(result.scenario, _RUN_HEADER, [_run_cells(r) for r in runs[:_MOST_ROWS]], len(runs)))
    if result.sensitivity:
        entries = result.sensitivity
        parts.append(_table("sensitivity", _SENSITIVITY_HEADER, [_sensitivity_cells(s) for s in entries[:_MOST_ROWS]], len(entries)))
    if result.capacity:
        machines = result.capacity
        parts.append(_table("capacity", _CAPACITY_HEADER, [_capacity_cells(c) for c in machines[:_MOST_ROWS]], len(machines)))
    if result.unanswered:
        parts.append(f"<p>{result.unanswered} questions were left by an interruption.</p>")
    return f"<div>{''.join(parts)}</div>"


def of_groups(groups: Records) -> str:
    rows = [
        [g["subject"], g["group"], str(g["points"]), *(_percent(g.get("time", {}).get(k)) for k in ("mean_error", "median_error", "bias")),
         _percent(g.get("coverage"))]
        for g in groups[:_MOST_ROWS]
    ]
    return _table("validation", ["subject", "group", "points", "mean error", "median error", "bias", "coverage"], rows, len(groups), 2)


def duration(seconds: float) -> str:
    """Four digits and a unit: 412.7 ms."""
    scale, unit = next(((s, u) for s, u in _UNITS if seconds >= s), _UNITS[-1])
    return f"{seconds / scale:.4g} {unit}"


_RUN_HEADER = ["variant", "plan", "", "GPUs", "time", "90 %", "tokens/s", "vs base", "MFU", "comm.", "bubble", "imbal.", "host", "memory", "status"]


def _run_cells(run: Run) -> list[str]:
    name = run.variant + ("" if run.variant == "base" or run.replanned else " (same plan)")
    cells = [name, run.plan, run.plan_summary or "", str(run.gpus or "")]
    time, parts, memory, interval = run.iteration_time_s, run.breakdown_s, run.memory_bytes, run.iteration_time_interval_s
    if not time or parts is None or memory is None or interval is None:
        return [*cells, *[""] * 10, run.status]
    return [
        *cells,
        duration(time),
        _ends(interval, time),
        f"{run.tokens_per_s:,.0f}",
        _speedup(run.speedup, run.speedup_interval),
        _percent(run.mfu_causal),
        _percent(parts["exposed_communication"] / time),
        _percent(parts["bubble"] / time),
        _percent(parts["imbalance"] / time),
        _percent(parts["idle"] / time),
        f"{memory['peak'] / _GIB:.1f} of {memory['capacity'] / _GIB:.1f} GiB",
        "tight" if run.tight else run.status,
    ]


_SENSITIVITY_HEADER = ["plan", "parameter", "elasticity", "change", "speed-up"]


def _sensitivity_cells(entry: Sensitivity) -> list[str]:
    improved, elasticity = entry.improved or {}, entry.elasticity
    return [
        entry.plan,
        entry.parameter,
        "" if elasticity is None else f"{elasticity:.3f}",
        str(improved.get("change", "")),
        _speedup(improved.get("speedup"), improved.get("speedup_interval"), 3),
    ]


_CAPACITY_HEADER = ["candidate", "plan", "", "nodes", "GPUs", "days", "90 %", "cost", "90 %", "goodput", "deadline", "frontier", "status"]


def _capacity_cells(entry: CapacityEntry) -> list[str]:
    days, cost = entry.time_to_train_s, entry.cost_usd
    return [
        entry.candidate,
        entry.plan,
        entry.plan_summary or "",
        str(entry.nodes),
        str(entry.gpus),
        "" if days is None else f"{days / _DAY:.1f}",
        _span(entry.time_to_train_interval_s, _DAY, ".1f"),
        "" if cost is None else f"{cost:,.0f} USD",
        _span(entry.cost_interval_usd, 1, ",.0f"),
        _percent(entry.goodput),
        entry.deadline_chance or "",
        "yes" if entry.on_frontier else "",
        entry.status,
    ]


def _span(interval: Sequence[float] | None, scale: float, form: str) -> str:
    return "" if interval is None else " to ".join(format(bound / scale, form) for bound in interval)


def _ends(interval: Sequence[float], middle: float) -> str:
    """-7 +8: in per cent of the middle."""
    return " ".join(f"{(bound / middle - 1):+.0%}".replace("%", "") for bound in interval)


def _speedup(ratio: float | None, interval: Sequence[float] | None, digits: int = 2) -> str:
    if ratio is None:
        return ""
    exact = interval is None or interval[0] == interval[1]
    return f"{ratio:.{digits}f}x" if exact else f"{ratio:.{digits}f}x {_ends(interval, ratio)}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], count: int, texts: int = 3) -> str:
    """`texts`: so many columns are text and stand at the left, the others are figures."""
    def cell(tag: str, column: int, text: str) -> str:
        side = "left" if column < texts else "right"
        return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'

    def line(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(tag, i, text) for i, text in enumerate(cells))}</tr>"

    more = f"<p>and {count - len(rows)} more: frames have all of them</p>" if count > len(rows) else ""
    head = f'<caption style="text-align: left; color: inherit">{escape(caption)}</caption><thead>{line("th", header)}</thead>'
    return f"<table>{head}<tbody>{''.join(line('td', r) for r in rows)}</tbody></table>{more}"

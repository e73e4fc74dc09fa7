"""Relations between the parts of one answer."""
from __future__ import annotations

from relation import ROUNDING, Case, Violations, at_least, at_most, equal, inside, peak, seconds

# Counts of bytes are printed as whole ones, so that a sum of n parts is off by n / 2 and the whole's own half byte.
_A_BYTE = 1.0
_SHARES = {"compute", "exposed_communication", "bubble", "imbalance", "idle"}


def _least(case: Case) -> float:
    """Seconds of a part: 0, but for the engine's precision, 1e-12 s a gap; and a millionth of the time where the pipeline stays full (2BW), as the
    iteration is there the difference of five and of six, in which transfers do not meet alike."""
    return -1e-6 * seconds(case.run) if case.option("schedule") == "2bw" else -1e-9


@inside
def shares_make_the_time(case: Case) -> Violations:
    """At each moment of the iteration the critical device does one thing of the breakdown, so that the shares add up to the time, and none
    is below 0. Tolerance: rounding of sums; below 0 as _least says."""
    shares = case.run["breakdown_s"]
    yield from equal("shares of the breakdown", sum(shares.values()), seconds(case.run), ROUNDING)
    yield from (f"{k} is {v:.3g} s" for k, v in shares.items() if v < _least(case))
    yield from (f"an unknown share {k}" for k in sorted(set(shares) - _SHARES))


@inside
def exposed_communication_has_parts(case: Case) -> Violations:
    """The first transfer under way covers a stretch of a gap, and has one kind of collective and one type of link: both lists of parts add
    up to the exposed communication. Tolerance: rounding of sums."""
    whole = case.run["breakdown_s"]["exposed_communication"]
    parts = case.run.get("exposed_communication_s")
    if parts is None:
        yield from at_most("exposed communication without parts", whole, 1e-9, 0)
        return
    for by in ("by_collective", "by_link"):
        yield from equal(f"exposed communication {by}", sum(parts[by].values()), whole, ROUNDING, 1e-12)


@inside
def the_critical_path_is_the_time(case: Case) -> Violations:
    """The path goes backwards from the end, each task to the one that it waited for last, without a gap and without an overlap. Tolerance:
    rounding of sums."""
    path = case.run["critical_path"]
    yield from equal("critical path", sum(p["time_s"] for p in path), seconds(case.run), ROUNDING)
    yield from (f"{p['name']} takes {p['time_s']:.3g} s" for p in path if p["time_s"] < -1e-12)


@inside
def each_stage_fills_the_time(case: Case) -> Violations:
    """All stages of a pipeline begin and end with the iteration, so that the parts of each add up to its time; and the breakdown is their
    mean. Tolerance: rounding of sums."""
    stages = case.run.get("stages", [])
    case.needs(stages)
    for s in stages:
        parts = {k: s[f"{k}_s"] for k in sorted(_SHARES) if f"{k}_s" in s}
        yield from equal(f"stage {s['stage']}", sum(parts.values()), seconds(case.run), ROUNDING)
        yield from (f"stage {s['stage']}: {k} is {v:.3g} s" for k, v in parts.items() if v < _least(case))
    for part, mean in case.run["breakdown_s"].items():
        if abs(mean - sum(s[f"{part}_s"] for s in stages) / len(stages)) > ROUNDING * seconds(case.run):
            yield f"{part} is {mean:.9g} s in the breakdown, which is not the mean of the stages"


@inside
def memory_is_its_parts(case: Case) -> Violations:
    """The peak is one moment of one device, and each byte is there for one reason. A plan fits if its peak does, and is tight with under 3 %
    to spare. Tolerance: half a byte for each part."""
    m = case.run["memory_bytes"]
    parts = [m[k] for k in ("weights", "gradients", "optimizer", "activations", "workspace")]
    yield from equal("parts of the memory", sum(parts), peak(case.run), 0, len(parts) * _A_BYTE)
    yield from (f"{k} is {v} B" for k, v in m.items() if v < 0)
    if (case.run["status"] == "out_of_memory") != (m["peak"] > m["capacity"]):
        yield f"{case.run['status']} with a peak of {m['peak']} in {m['capacity']}"
    if case.run.get("tight", False) != (0.97 * m["capacity"] < m["peak"] <= m["capacity"]):
        yield f"tight is {case.run.get('tight')} with a peak of {m['peak']} in {m['capacity']}"


@inside
def bytes_have_one_kind_and_some_links(case: Case) -> Violations:
    """A flow is of one collective, so that kinds add up to the total, and counts at most once for each type of link that it crosses. A link
    carries what its flows want, and what protocols add. Tolerance: half a byte for each count."""
    c = case.run["communication_bytes"]
    kinds = c["by_collective"].values()
    yield from equal("bytes by collective", sum(kinds), c["total"], 0, len(kinds) + _A_BYTE)
    for kind, value in c["by_link"].items():
        yield from at_most(f"bytes over {kind}", value, c["total"] + _A_BYTE, 0)
    for link in case.run.get("links", []):
        yield from equal(f"bytes of {link['type']}", link["bytes"], c["by_link"].get(link["type"], 0), 0, _A_BYTE)
        yield from at_least(f"carried by {link['type']}", link["carried_bytes"] + _A_BYTE, link["bytes"], 0)


@inside
def links_carry_what_fits(case: Case) -> Violations:
    """A link moves its bandwidth times the iteration at most, the mean of a type is below its busiest, and the mean over time is the mean.
    Tolerance: carried bytes are whole, and points of the curve have five digits."""
    for link in case.run.get("links", []):
        full = link["bandwidth_bytes_per_s"] * seconds(case.run)
        yield from equal(f"{link['type']} busy, by its bytes", link["busy"], link["carried_bytes"] / full, ROUNDING, 1 / full)
        yield from at_most(f"{link['name']} busy", link["busiest"], 1, ROUNDING)
        yield from at_most(f"{link['type']} busy in the mean", link["busy"], link["busiest"], ROUNDING)
        curve = link["over_time"]
        yield from at_most(f"{link['type']} at its busiest moment", max(curve), 1, ROUNDING)
        yield from equal(f"{link['type']} over time, in the mean", sum(curve) / len(curve), link["busy"], 0, 1e-5)


@inside
def the_busiest_link_is_in_the_list(case: Case) -> Violations:
    """It is the busiest of the busiest of each type, which come in this order. Tolerance: rounding; equal links may be named either way."""
    links = case.run.get("links", [])
    case.needs(links)
    yield from equal("busiest link", case.run["busiest_link"]["busy"], max(x["busiest"] for x in links), ROUNDING)
    if any(a["busiest"] < b["busiest"] for a, b in zip(links, links[1:])):
        yield "types of links are out of order"


@inside
def rates_follow_from_the_time(case: Case) -> Violations:
    """Samples in a second are the batch over the time, tokens the length times as many. Tolerance: rounding."""
    batch = case.scenario["training"]["global_batch"]
    yield from equal("samples/s", case.run["throughput_samples_per_s"], batch / seconds(case.run), ROUNDING)
    if case.transformer:
        yield from equal("tokens/s", case.run["tokens_per_s"], batch * case.transformer["sequence_length"] / seconds(case.run), ROUNDING)


@inside
def useful_work_fits_into_the_peak(case: Case) -> Violations:
    """GPUs do no more than their peak. Attention counted without its masked part is the least of the figures; whole squares may exceed what
    kernels do. Tolerance: rounding."""
    least = min(v for k, v in case.run.items() if k.startswith("mfu"))
    yield from at_most("model FLOPs over the peak", least, 1, ROUNDING)
    if least <= 0:
        yield f"model FLOPs over the peak are {least}"


@inside
def the_interval_holds_the_time(case: Case) -> Violations:
    """It is a range of factors on the time, from below 1 to above. Tolerance: none."""
    low, high = case.run["iteration_time_interval_s"]
    if not 0 < low < seconds(case.run) < high:
        yield f"{seconds(case.run):.6g} s is outside of {low:.6g} to {high:.6g}"

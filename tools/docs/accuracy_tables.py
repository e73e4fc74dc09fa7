#!/usr/bin/env python3
"""Puts tables of a `foreshard validate --json` result between the accuracy markers of a Markdown file (docs/accuracy.md).

tools/docs/accuracy_tables.py RESULT.json FILE.md

Standard library only."""
import json
import math
import statistics
import sys

BEGIN, END = "<!-- accuracy: begin -->\n", "<!-- accuracy: end -->"
NOTHING = "-"
DECADES = ("below 10 kB", "to 100 kB", "to 1 MB", "to 10 MB", "to 100 MB", "to 1 GB", "above")


def percent(share, digits=1):
    return NOTHING if share is None else f"{100 * share:.{digits}f} %"


def signed_percent(share):
    return f"{100 * share:+.1f} %"


def tau(value):
    return NOTHING if value is None else f"{value:.3f}"


def with_unit_once(columns, rows):
    """A column of percentages has their unit in its heading."""
    columns, rows = list(columns), [list(row) for row in rows]
    for c in range(1, len(columns)):
        if all(row[c] == NOTHING or row[c].endswith(" %") for row in rows):
            columns[c] += ", %"
            for row in rows:
                row[c] = row[c].removesuffix(" %")
    return columns, rows


def table(heading, columns, rows):
    """Names on the left, figures on the right; columns that no row fills are left out."""
    filled = [c for c in range(len(columns)) if c == 0 or any(row[c] != NOTHING for row in rows)]
    columns, rows = with_unit_once([columns[c] for c in filled], [[row[c] for c in filled] for row in rows])
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1), *rows]
    rule = "|" + "|".join(lines[1]) + "|"
    return f"### {heading}\n\n" + "".join((rule if line is lines[1] else "| " + " | ".join(line) + " |") + "\n" for line in lines)


def sources(result):
    return [[r["name"], str(r["points"]), percent(r["mean_error"]), percent(r["inside"], 0), percent(r["width"], 0)]
            for r in result.get("left_out", ()) if r["by"] == "source"]


def unseen(result):
    """Means over points of what was left out, by what."""
    rows = []
    for by, name in {"source": "the source", "machine": "the machine", "family": "the family of models"}.items():
        left = [r for r in result.get("left_out", ()) if r["by"] == by]
        points = sum(r["points"] for r in left)
        if points:
            inside, width, score = (sum(r[key] * r["points"] for r in left) / points for key in ("inside", "width", "interval_score"))
            rows.append([name, percent(inside), percent(width, 0), f"{score:.3f}"])
    return rows


def pairs(result):
    return [[p["kind"], str(p["pairs"]), str(p["sources"]), percent(p.get("inside")), percent(p.get("width"), 0)] for p in result.get("left_out_pairs", ())]


def beside_formula(groups):
    rows = []
    for g in groups:
        if "formula" in g:
            rows.append([g["group"], str(g["points"]), percent(g["time"]["mean_error"]), percent(g["formula"].get("group_left_out")),
                         tau(g.get("choices", {}).get("kendall_tau")), signed_percent(g["time"]["bias"])])
    return rows


def formula_sentence(groups):
    compared = [(g["time"]["mean_error"], g["formula"]["group_left_out"]) for g in groups if "time" in g and "group_left_out" in g.get("formula", {})]
    if not compared:
        return ""
    closer = sum(forecast < formula for forecast, formula in compared)
    ours, formulas = (percent(statistics.median(each)) for each in zip(*compared))
    return (f"\nForecasts are closer than the formula in {closer} of {len(compared)} groups; the median over groups of their mean errors is {ours}, "
            f"the formula's {formulas}.\n")


def figures(groups, subject):
    """Of kernels, and of iterations where no formula is known beside them."""
    rows = []
    for g in groups:
        if g["subject"] != subject:
            continue
        time = g.get("time")
        points = f"{g['points']} ({g['failed']} failed)" if g["failed"] else str(g["points"])
        rows.append([g["group"], points, *([percent(time["mean_error"]), percent(time["median_error"]), signed_percent(time["bias"])] if time else [NOTHING] * 3),
                     tau(time["kendall_tau"] if time and time["points"] > 1 else None), *(percent(g.get(key), 0) for key in
                     ("coverage", "coverage_unseen_group", "interval_width")), *(percent(g[key]["mean_error"] if key in g else None)
                     for key in ("peak_memory", "reserved_memory"))])
    columns = ["group", "points", "mean error", "median", "bias", "tau", "inside", "unseen group", "width", "peak memory", "reserved"]
    if subject == "iteration":
        kept = [c for c, column in enumerate(columns) if column not in ("median", "tau")]
        columns, rows = [columns[c] for c in kept], [[row[c] for c in kept] for row in rows]
    return columns, rows


def collectives(points):
    """Mean errors by machine and by the decade of the bytes: the first holds all below 10 kB, the last all from 1 GB on."""
    errors = {}
    for p in points:
        if p["subject"] == "collective" and "failure" not in p:
            decade = min(max(int(math.log10(p["bytes"])) - 3, 0), len(DECADES) - 1)
            errors.setdefault(p["machine"], [[] for _ in DECADES])[decade].append(abs(p["error"]))
    return [[machine, str(sum(map(len, decades))), *(percent(sum(d) / len(d)) if d else NOTHING for d in decades)] for machine, decades in sorted(errors.items())]


def memory(groups):
    def error(g, key):
        return percent(g[key]["mean_error"] if key in g else None)

    return [[g["group"], str(g["points"]), error(g, "peak_memory"), error(g, "reserved_memory")] for g in groups if "peak_memory" in g or "reserved_memory" in g]


def steps(points):
    """Mean errors of the kernels of training steps: of each kind, of a step, and of its kinds, whose differences do not cancel. One row per kind, one column per table."""
    errors, files = {}, []
    for p in points:
        if p["subject"] not in ("step", "step kernel") or "failure" in p:
            continue
        file = p["where"].split(":")[0].split("/")[-2]
        files += [file] if file not in files else []
        errors.setdefault((p["group"] if p["subject"] == "step kernel" else "whole step", file), []).append(abs(p["error"]))
        if p["subject"] == "step":
            errors.setdefault(("differences of its kinds", file), []).append(p["differences_by_kind_s"] / p["measured_s"])
    kinds = sorted({kind for kind, _ in errors} - {"whole step", "differences of its kinds"}) + ["whole step", "differences of its kinds"]
    rows = [[kind, *(f"{percent(statistics.mean(errors[kind, f]))} ({len(errors[kind, f])})" if (kind, f) in errors else NOTHING for f in files)]
            for kind in kinds if any((kind, f) in errors for f in files)]
    return ["kernels", *files], rows


def tables(result):
    groups = result["groups"]
    compared = beside_formula(groups)
    made = []

    def add(heading, columns, rows, below=""):
        if rows:
            made.append(table(heading, columns, rows) + below)

    add("Sources that made no interval", ["source, left out", "points", "mean error", "inside", "width"], sources(result))
    add("Intervals of points that did not make them", ["intervals made without", "inside", "width", "score"], unseen(result))
    add("Comparisons, of sources that did not make them", ["pairs that differ in", "pairs", "sources", "inside", "width"], pairs(result))
    add("Iterations, beside a closed formula", ["group", "points", "forecast", "formula, group left out", "tau of plans", "bias"], compared, formula_sentence(groups))
    if not compared:
        add("Iterations", *figures(groups, "iteration"))
    add("Kernels", *figures(groups, "kernel"))
    add("Collectives: mean errors by their bytes", ["machine", "collectives", *DECADES], collectives(result["points"]))
    add("Kernels of whole steps: mean errors, and of how many steps", *steps(result["points"]))
    add("Memory", ["group", "points", "peak memory", "reserved"], memory(groups))
    return "\n".join(made)


def with_tables(document, text):
    """The document with the text between the markers replaced. Markers that come twice, or in the other order, would make it a guess what to replace."""
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        raise ValueError(f"has no place for the tables: write the lines {BEGIN.strip()} and {END} into it, once each")
    return document[:document.index(BEGIN) + len(BEGIN)] + text + document[document.index(END):]


def main(result_file, document_file):
    with open(result_file, encoding="utf-8") as f:
        result = json.load(f)
    with open(document_file, encoding="utf-8") as f:
        document = f.read()
    try:
        document = with_tables(document, tables(result))
    except ValueError as e:
        sys.exit(f"{document_file}: {e}")
    with open(document_file, "w", encoding="utf-8") as f:
        f.write(document)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

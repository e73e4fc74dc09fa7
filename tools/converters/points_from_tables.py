#!/usr/bin/env python3
"""Converts public end-to-end tables to points tables for `foreshard validate` (docs/formats/measurements.md, "Points").

tools/converters/points_from_tables.py DATA_DIR OUT_DIR

DATA_DIR is a folder that holds e2e/*.csv with the columns that the converters in tools/converters/tables read; tables that are not there are
skipped. One file per group is written. What a table leaves open and what is assumed for it is said at each converter; rows that cannot
be said are left out and counted, with the reason. A row of tables in shared columns whose system, model, framework or word is not known is refused: all else is written, and the
script fails. Standard library only."""
import sys

from tables import bridge, fsdp, golden, megatron_lm, multinode, neusight, nvidia, points, shared_columns, simumax

CONVERTERS = (megatron_lm.vtrain, megatron_lm.korthikanti, megatron_lm.korthikanti_memory, megatron_lm.sc21, megatron_lm.megatron_2020, megatron_lm.bloom, megatron_lm.nemo_launcher, fsdp.mpt,
              simumax.simumax, bridge.bridge, multinode.multinode, nvidia.nemo2024, nvidia.moezoo, nvidia.mlperf, nvidia.mlperf_lora, golden.golden,
              neusight.neusight, shared_columns.shared_columns)

# Tables that are left out whole.
LEFT_OUT = {
    "bigscience_v100_jeanzay.csv": "its authors say that times are right within 40 %",
    "github_issue_single_points.csv": "plans are not given",
    "megatron_seqsel_fig7_activation_memory_pct.csv": "shares of memory, which are tests (tests/closed_forms/activations_test.cpp)",
    "simumax_a100_pcie_digitized.csv": "TFLOP/s were read off a plot",
}


def main(data, out):
    tables = points.Tables(data)
    groups = {}
    for convert in CONVERTERS:
        for p in convert(tables):
            groups.setdefault(p["group"], []).append(p)
    tables.leave_out_unread(LEFT_OUT)
    points.write(out, groups)
    for group, rows in sorted(groups.items()):
        print(f"{group}: {len(rows)} points")
    for (group, why), count in sorted(tables.left_out.items()):
        print(f"{group}: {count} rows left out: {why}")
    if tables.refused:
        sys.exit("\n".join(tables.refused))
    if not groups:
        sys.exit(f"{data}: no table that this script knows lies in its folder e2e")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])

#!/usr/bin/env python3
"""Converts public tables of kernels and of collectives to measurements for `foreshard calibrate` and `validate` (docs/formats/measurements.md).

tools/converters/measurements_from_tables.py OUT_DIR TABLE.csv...

A table is known by its columns, and becomes a file of the same name in OUT_DIR; one that is not known is named and skipped. What a table
leaves open and what is assumed for it is said in tables/kernels.py and tables/collectives.py. Rows that cannot be said are left out and
counted, with the reason. Standard library only."""
import csv
import os
import sys

from tables import collectives, kernels

KNOWN = kernels.KNOWN + collectives.KNOWN


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def convert(rows):
    """(columns, measurements, rows left out by reason) of a table; None: no converter knows its columns."""
    for wanted, columns, converter in KNOWN:
        if rows and wanted <= rows[0].keys():
            left_out = {}
            made = converter(rows, left_out)
            return columns, made, left_out
    return None


def write(path, columns, made):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(columns)
        table.writerows(made)


def main(out, files):
    for path in files:
        name = os.path.basename(path)
        converted = convert(read(path))
        if converted is None:
            print(f"{name}: no converter knows these columns")
            continue
        columns, made, left_out = converted
        write(os.path.join(out, name), columns, made)
        print(f"{name}: {len(made)} measurements")
        for why, count in sorted(left_out.items()):
            print(f"{name}: {count} rows left out: {why}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])

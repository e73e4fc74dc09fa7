#!/usr/bin/env python3
"""merge.py KERNELS.json ITERATIONS.json|- OPERATIONS.json|- SMI.csv|- DRIVER OUT.json: joins the parts of a measurement into one file; a
parallel.json beside ITERATIONS.json, too."""

import json
import os
import sys

import arithmetic


def main(arguments):
    if len(arguments) != 6:
        print(__doc__, file=sys.stderr)
        return 2
    kernels, iterations, operations, smi, driver, out = arguments
    try:
        with open(kernels, encoding="utf-8") as f:
            measured = json.load(f)
        script, operated = read_part(iterations), read_part(operations)
        parallel = read_part(os.path.join(os.path.dirname(iterations), "parallel.json"))
        if script and parallel:
            script = dict(script, parallel=parallel["parallel"], left_out=script["left_out"] + parallel["left_out"])
        clocks = {}
        if smi != "-" and os.path.exists(smi):
            with open(smi, encoding="utf-8", errors="replace") as f:
                clocks = arithmetic.read_smi(f.read())
        result = arithmetic.merge(measured, script, operated, clocks, driver)
    except (OSError, ValueError, KeyError) as e:
        print(f"merge.py: {e}", file=sys.stderr)
        return 2
    with open(out + ".part", "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join(f"  {json.dumps(k)}: {lines(v)}" for k, v in result.items()) + "\n}\n")
    os.replace(out + ".part", out)
    return 0


def read_part(file):
    """What a script wrote, or None."""
    if file == "-" or not os.path.exists(file):
        return None
    with open(file, encoding="utf-8") as f:
        return json.load(f)


def lines(value):
    """A list one item a line, anything else in one."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, allow_nan=False)
    return "[\n    " + ",\n    ".join(json.dumps(v, allow_nan=False) for v in value) + "\n  ]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

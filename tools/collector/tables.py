#!/usr/bin/env python3
"""tables.py COLLECT.json DEVICE FOLDER [CLUSTER]: writes FOLDER/kernels.csv, FOLDER/misaligned.csv, and FOLDER/collectives.csv where collectives were
measured and CLUSTER, a preset, is named: tables for `foreshard calibrate` and `validate` (docs/formats/measurements.md). DEVICE: a device profile's name.
misaligned.csv has products on tensor cores whose rows of channels are no multiple of 16 bytes: they run other kernels, and no fit tells both.

A row is the median of the times of equal work. Of PyTorch's operations those that are one kernel have rows; eager parts and variants are for people."""

import csv
import json
import os
import statistics
import sys

KERNEL = ("device", "precision", "kind", "batch", "m", "n", "k", "flops", "bytes", "seconds")
COLLECTIVE = ("cluster", "nodes", "gpus", "kind", "bytes", "seconds")
ALIGNED = {"tf32": 4, "bf16": 8, "fp16": 8, "fp8": 16}  # numbers in 16 bytes
ONE_KERNEL = ("fused", "plain", "cudnn", "compiled")


def medians(rows):
    """Each key once, in order, with the median of its seconds."""
    times = {}
    for *key, seconds in rows:
        times.setdefault(tuple(key), []).append(seconds)
    return [(*key, statistics.median(seconds)) for key, seconds in sorted(times.items())]


def is_misaligned(kernel):
    """Of m, n and k those that are no samples or positions count: all but m, and of a gradient of weights all but k."""
    if kernel["kind"] not in ("matmul", "convolution"):
        return False
    channels = ("m", "n") if kernel.get("operation", "").endswith("weight_gradient") else ("n", "k")
    return any(kernel[c] % ALIGNED.get(kernel["precision"], 1) for c in channels)


def kernel_rows(collected, device, misaligned=False):
    operations = [o for o in collected.get("operations", []) if o["how"] in ONE_KERNEL]
    # Attention without FLOPs is of unknown work.
    timed = [k for k in collected.get("kernels", []) + operations
             if k["seconds"] is not None and (k["flops"] > 0 or "attention" not in k["kind"]) and is_misaligned(k) == misaligned]
    return medians([(device, *(k[c] for c in KERNEL[1:])) for k in timed])


def collective_rows(collected, cluster):
    return medians([(cluster, 1, c["gpus"], c["collective"], c["bytes"], c["seconds"]) for c in collected.get("collectives", []) if c["seconds"]])


def write(file, columns, rows):
    with open(file, "w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    print(f"{file}: {len(rows)} rows", file=sys.stderr)


def main(arguments):
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    file, device, folder = arguments[:3]
    try:
        with open(file, encoding="utf-8") as f:
            collected = json.load(f)
        if collected.get("foreshard_collect") != 1:
            raise ValueError(f"{file} is no collector's file of version 1")
        os.makedirs(folder, exist_ok=True)
        write(os.path.join(folder, "kernels.csv"), KERNEL, kernel_rows(collected, device))
        write(os.path.join(folder, "misaligned.csv"), KERNEL, kernel_rows(collected, device, misaligned=True))
        if len(arguments) == 4:
            write(os.path.join(folder, "collectives.csv"), COLLECTIVE, collective_rows(collected, arguments[3]))
    except (OSError, ValueError, KeyError) as e:
        print(f"tables.py: {e}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Times training iterations of whole models on one GPU with PyTorch, and writes Kineto traces.

iterations.py --out iterations.json [--traces FOLDER] [--budget SECONDS] [--cases PATTERN] [--dry-run]

--cases: those alone in whose name (--dry-run prints them) the regular expression is found. Nothing is downloaded: the models are models.py's,
the data random. What it writes is joined to the collector's file by merge.py."""

import argparse
import gc
import gzip
import json
import os
import re
import sys
import time
import traceback

import arithmetic

WARM_UP = 3
TRACED_STEPS = 3


def set_precision(torch, precision):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


def make_step(torch, module, optimizer, inputs, precision):
    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = module(*inputs)
        loss.backward()
        optimizer.step()

    return step


def timed(torch, run, count):
    """Device seconds of each of `count` runs, events around each, no waiting in between."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:])]


def trace(torch, step, folder, name, entry):
    """Writes a trace of some steps, and into the entry its name and the kernels of one step."""
    with_gpu = torch.cuda.is_available()
    activities = [torch.profiler.ProfilerActivity.CPU, *([torch.profiler.ProfilerActivity.CUDA] if with_gpu else [])]
    with torch.profiler.profile(activities=activities, record_shapes=True, profile_memory=True) as profiler:
        for i in range(TRACED_STEPS):
            with torch.profiler.record_function(f"ProfilerStep#{i}"):
                step()
        if with_gpu:
            torch.cuda.synchronize()
    entry["trace"] = name + ".json.gz"
    path = os.path.join(folder, entry["trace"])
    profiler.export_chrome_trace(path)
    if not with_gpu:
        return
    with gzip.open(path, "rt", encoding="utf-8") as f:
        entry["kernels"] = arithmetic.kernel_totals(json.load(f)["traceEvents"], TRACED_STEPS)


def host_seconds(torch, step):
    """What the host takes to queue a step while the device waits for it alone; the device's time where it queues no further ahead."""
    samples = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.monotonic()
        step()
        samples.append(time.monotonic() - start)
    torch.cuda.synchronize()
    return arithmetic.summarise(samples)[0]


def measure_decoder(torch, models, options, share_s, traces):
    """The entry of one decoder (README.md, `iterations`), with the kernels of a step."""
    torch.manual_seed(0)
    module, inputs_of = models.build_decoder(options["shape"], options, "cuda")
    module.train()
    count = models.parameters_of(module)
    if options["sharded"]:
        models.shard(module)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-5, fused=True)
    inputs = inputs_of(options["batch"])

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not options["sharded"]):
            loss = module(*inputs)
        loss.backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    first = timed(torch, step, 2)[1]
    seconds, spread, kept = arithmetic.summarise(timed(torch, step, arithmetic.repeats_within(first, share_s)))
    entry = {
        "model": options["shape"], "transformer": arithmetic.transformer_of(options), "layers": options["layers"], "batch": options["batch"],
        "precision": options["precision"], "seconds": seconds, "spread": spread, "repeats": kept, "host_seconds": host_seconds(torch, step),
        "peak_bytes": torch.cuda.max_memory_allocated(), "reserved_bytes": torch.cuda.max_memory_reserved(), "attention": options["attention"],
        "optimizer": "adam", "parameters": count, "compiled": options["compiled"], "recompute": options["recompute"], "sharded": options["sharded"], "trace": "",
    }
    if traces:
        trace(torch, step, traces, arithmetic.decoder_name(options), entry)
    return entry


def measure_decoders(torch, models, cases, until, traces, result, save):
    for i, options in enumerate(cases):
        left_s = until - time.monotonic()
        if left_s <= 0:
            result["left_out"].append(f"decoders: {i} of {len(cases)} cases, then the time budget ended")
            return
        print(f"decoder {i + 1} of {len(cases)}: {arithmetic.decoder_name(options)}", file=sys.stderr)
        try:
            result["decoders"].append(measure_decoder(torch, models, options, min(4.0, left_s), traces))
        except Exception as e:  # one that fails leaves the others
            traceback.print_exc()
            result["left_out"].append(f"decoder {arithmetic.decoder_name(options)}: {str(e).splitlines()[0] if str(e) else type(e).__name__}")
        save()
        release(torch)


def measure_iteration(torch, models, case, share_s, traces):
    """The entry of one case (README.md, `iterations`)."""
    name, batch, precision, attention = case
    set_precision(torch, precision)
    torch.manual_seed(0)
    module, inputs_of = models.build(name, attention, "cuda")
    module.train()
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-5)
    step = make_step(torch, module, optimizer, inputs_of(batch), precision)
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    first = timed(torch, step, 2)[1]
    seconds, spread, kept = arithmetic.summarise(timed(torch, step, arithmetic.repeats_within(first, share_s)))
    entry = {
        "model": name, "batch": batch, "precision": precision, "seconds": seconds, "spread": spread, "repeats": kept,
        "peak_bytes": torch.cuda.max_memory_allocated(), "reserved_bytes": torch.cuda.max_memory_reserved(),
        "attention": attention, "optimizer": "adam", "parameters": models.parameters_of(module), "trace": "",
    }
    if traces and arithmetic.wants_trace(case):
        trace(torch, step, traces, arithmetic.iteration_name(case), entry)
    return entry


def release(torch):
    gc.collect()
    torch.cuda.empty_cache()


def measure_iterations(torch, models, cases, until, traces, result, save):
    for i, case in enumerate(cases):
        left_s = until - time.monotonic()
        if left_s <= 0:
            result["left_out"].append(f"iterations: {i} of {len(cases)} cases, then the time budget ended")
            return
        print(f"iteration {i + 1} of {len(cases)}: {arithmetic.iteration_name(case)}", file=sys.stderr)
        try:
            result["iterations"].append(measure_iteration(torch, models, case, arithmetic.share_of(left_s, len(cases) - i), traces))
        except torch.cuda.OutOfMemoryError:
            result["left_out"].append(f"iteration of {case[0]} {case[2]} batch {case[1]}: does not fit into the memory")
        except RuntimeError as e:
            result["left_out"].append(f"iteration of {case[0]} {case[2]} batch {case[1]}: {str(e).splitlines()[0]}")
        save()
        release(torch)


def dry_run(budget_s, decoders, iterations):
    print(f"dry run: nothing is measured; {budget_s:.0f} s for")
    for name in [*map(arithmetic.decoder_name, decoders), *map(arithmetic.iteration_name, iterations)]:
        print("  " + name)


def write(path, result):
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="iterations.json")
    parser.add_argument("--traces", default="")
    parser.add_argument("--budget", type=float, default=240)
    parser.add_argument("--cases", type=re.compile, default="")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    decoders = [d for d in arithmetic.DECODERS if options.cases.search(arithmetic.decoder_name(d))]
    iterations = [c for c in arithmetic.iteration_cases() if options.cases.search(arithmetic.iteration_name(c))]
    if options.dry_run:
        dry_run(options.budget, decoders, iterations)
        return 0
    start = time.monotonic()
    result = {"environment": {}, "iterations": [], "decoders": [], "left_out": []}
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
        import models
    except ImportError as e:
        result["left_out"].append(f"iterations: {e}")
        write(options.out, result)
        return 1
    result["device_name"] = torch.cuda.get_device_name()
    result["environment"] = {"torch": torch.__version__, "torch_cuda": str(torch.version.cuda), "torch_cudnn": str(torch.backends.cudnn.version())}
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)

    def save():
        write(options.out, result)

    measure_decoders(torch, models, decoders, start + (0.6 if iterations else 1.0) * options.budget, options.traces, result, save)
    measure_iterations(torch, models, iterations, start + options.budget, options.traces, result, save)
    save()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Times what PyTorch itself runs on one GPU: norms, activations, rotations, losses, optimizers, permutations, grouped and low-precision
products, fused attention of two libraries; and rates of products over seconds, with clocks and power.

operations.py --out operations.json [--budget SECONDS] [--dry-run]

Each call's kernels are timed by CUPTI (torch.profiler), apart: their number, names and device seconds. What it writes is joined to the
collector's file by merge.py."""

import argparse
import gc
import json
import os
import sys
import threading
import time

import arithmetic
import operation_cases

CALLS = 8
COLD_BYTES = 256e6  # operands that together are this long are not found in L2 again


def release(torch):
    gc.collect()
    torch.cuda.empty_cache()


def kernels_of(torch, run, calls=CALLS):
    """[(name, start, device seconds)] of `calls` calls, in the order of their starts."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for i in range(calls):
            run(i)
        torch.cuda.synchronize()
    device = torch.autograd.DeviceType.CUDA
    events = [(e.name, e.time_range.start * 1e-6, e.time_range.elapsed_us() * 1e-6) for e in profiler.events() if e.device_type == device]
    return sorted(events, key=lambda e: e[1])


def time_operation(torch, run, calls=CALLS):
    """{"seconds", "spread", "repeats", "span_seconds", "kernels": [[name, of one call, seconds of one call]]} of one call: its kernels' seconds
    together, and from the start of its first to the end of its last."""
    for i in range(3):
        run(i)
    torch.cuda.synchronize()
    events = kernels_of(torch, run, calls)
    if not events or len(events) % calls:
        raise RuntimeError(f"{len(events)} kernels in {calls} calls")
    each = len(events) // calls
    seconds, spread, kept = arithmetic.summarise([sum(e[2] for e in events[i * each:(i + 1) * each]) for i in range(calls)])
    spans = [max(e[1] + e[2] for e in one) - one[0][1] for one in (events[i * each:(i + 1) * each] for i in range(calls))]
    names = {}
    for name, _, s in events:
        count, total = names.get(name, (0, 0.0))
        names[name] = (count + 1, total + s)
    kernels = [[name[:120], count / calls, total / calls] for name, (count, total) in sorted(names.items(), key=lambda n: -n[1][1])]
    return {"seconds": seconds, "spread": spread, "repeats": kept, "span_seconds": arithmetic.summarise(spans)[0], "kernels": kernels}


def sets_for(nbytes):
    return max(1, min(8, int(COLD_BYTES / max(1.0, nbytes)) + 1))


def measure_operation(torch, case, result):
    """One entry forward, and one backward where the case has a backward pass."""
    build = operation_cases.BUILDERS[case["build"]]
    sets = [build(torch, case) for _ in range(sets_for(case["bytes"]))]
    with torch.no_grad() if not case["backward"] else torch.enable_grad():
        forward = lambda i: sets[i % len(sets)][0]()
        entry = {k: v for k, v in case.items() if k not in ("build", "backward", "backward_bytes", "backward_flops")}
        result["operations"].append(dict(entry, **{"pass": "forward"}, **time_operation(torch, forward)))
        if not case["backward"]:
            return
        made = [(run(), inputs) for run, inputs in sets]
        gradients = [torch.randn_like(y) for y, _ in made]

        def backward(i):
            y, inputs = made[i % len(made)]
            torch.autograd.grad(y, inputs, gradients[i % len(made)], retain_graph=True)

        entry["bytes"], entry["flops"] = case["backward_bytes"], case["backward_flops"]
        if entry["kind"] == "attention":
            entry["kind"] = "attention_gradient"
        result["operations"].append(dict(entry, **{"pass": "backward"}, **time_operation(torch, backward)))


def measure_operations(torch, until, result):
    cases = operation_cases.cases()
    for i, case in enumerate(cases):
        if time.monotonic() >= until:
            result["left_out"].append(f"operations: {i} of {len(cases)} cases, then the time budget ended")
            return
        try:
            measure_operation(torch, case, result)
        except Exception as e:  # one case that fails leaves the others
            result["left_out"].append(f"operation {case['operation']} {case['how']} {case['shape']}: {str(e).splitlines()[0] if str(e) else type(e).__name__}")
        if i % 10 == 0:
            release(torch)


class Meter:
    """Clock and power of the GPU every few milliseconds."""

    def __init__(self):
        self.rows, self.running = [], True
        try:
            import pynvml

            pynvml.nvmlInit()
            self.nvml, self.handle = pynvml, pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception:
            self.nvml = None

    def __enter__(self):
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()

    def read(self):
        while self.running and self.nvml is not None:
            try:
                self.rows.append((time.monotonic(), self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM) * 1e6,
                                  self.nvml.nvmlDeviceGetPowerUsage(self.handle) * 1e-3))
            except Exception:
                return
            time.sleep(0.02)


def measure_sustained(torch, seconds_each, result):
    """Rates over time of one operation in a row, from a GPU that was idle: one entry per case with the seconds of a call in each window."""
    for case in operation_cases.sustained_cases():
        try:
            run = operation_cases.BUILDERS[case["build"]](torch, case)[0]
            with torch.no_grad():
                for _ in range(3):
                    run()
                torch.cuda.synchronize()
                before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                before.record()
                run()
                after.record()
                torch.cuda.synchronize()
                one_s = before.elapsed_time(after) * 1e-3
                time.sleep(1.0)
                calls = max(1, int(0.05 / one_s))
                windows = int(seconds_each / (calls * one_s)) + 1
                events = [torch.cuda.Event(enable_timing=True) for _ in range(windows + 1)]
                with Meter() as meter:
                    start = time.monotonic()
                    events[0].record()
                    for n, event in enumerate(events[1:]):
                        for _ in range(calls):
                            run()
                        event.record()
                        if n > 1:
                            events[n - 1].synchronize()
                    torch.cuda.synchronize()
            times = [a.elapsed_time(b) * 1e-3 / calls for a, b in zip(events, events[1:])]
            entry = {k: v for k, v in case.items() if k not in ("build", "backward", "backward_bytes", "backward_flops")}
            readings = [[round(t - start, 3), clock, power] for t, clock, power in meter.rows]
            result["sustained"].append(dict(entry, one_seconds=one_s, calls=calls, seconds=times, readings=readings[::2]))
        except Exception as e:
            result["left_out"].append(f"sustained {case['operation']} {case['how']}: {str(e).splitlines()[0] if str(e) else type(e).__name__}")
        release(torch)


def write(path, result):
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(result, f)
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="operations.json")
    parser.add_argument("--budget", type=float, default=120)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    if options.dry_run:
        for c in operation_cases.cases():
            print(f"{c['operation']:<28} {c['how']:<10} {c['precision']:<5} {c['shape']}")
        print(f"dry run: nothing is measured; {len(operation_cases.cases())} operations, {len(operation_cases.sustained_cases())} rates over time")
        return 0
    start = time.monotonic()
    result = {"environment": {}, "operations": [], "sustained": [], "left_out": []}
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
    except ImportError as e:
        result["left_out"].append(f"PyTorch's operations: {e}")
        write(options.out, result)
        return 1
    result["device_name"] = torch.cuda.get_device_name()
    result["environment"] = {"torch": torch.__version__, "torch_cuda": str(torch.version.cuda), "torch_cudnn": str(torch.backends.cudnn.version())}
    torch.manual_seed(0)
    measure_sustained(torch, max(0.5, 0.015 * options.budget), result)
    write(options.out, result)
    measure_operations(torch, start + options.budget, result)
    write(options.out, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())

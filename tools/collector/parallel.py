#!/usr/bin/env python3
"""Times training iterations of decoders on all GPUs of this machine with PyTorch: sharded (FSDP2), tensor-parallel and pipelined (splits.py).

torchrun --standalone --nproc-per-node N parallel.py --out parallel.json [--traces FOLDER] [--budget SECONDS] [--cases PATTERN] [--tiny]
parallel.py --dry-run [--gpus N]

Each rank writes a Kineto trace of its own. --tiny: small models, by gloo on the CPU where there is no GPU. merge.py joins the file to the
collector's."""

import argparse
import contextlib
import os
import re
import sys
import time
import traceback

import arithmetic
import iterations


def barrier_and_wait(torch, device):
    torch.distributed.barrier()
    if device == "cuda":
        torch.cuda.synchronize()


def seconds_of(torch, device, run, count):
    """Seconds of each of `count` runs, from when all ranks are there until this one is done."""
    samples = []
    for _ in range(count):
        barrier_and_wait(torch, device)
        start = time.monotonic()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        samples.append(time.monotonic() - start)
    return samples


def of_all(torch, value):
    """The value of each rank."""
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def step_of(torch, module, case, inputs, device):
    """A function that trains one step of the cut module. inputs: those of a micro-batch for each micro-batch."""
    import splits

    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-5, **({"fused": True} if device == "cuda" else {}))
    pipeline = None
    if case["way"] == "pipelined":
        tokens = inputs[0][0]
        pipeline = splits.Pipeline(module, len(inputs), (*tokens.shape, case["transformer"]["hidden"]), device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        autocast = device == "cuda" and case["way"] != "sharded"
        with torch.autocast("cuda", dtype=torch.bfloat16) if autocast else contextlib.nullcontext():
            if pipeline:
                pipeline.run(inputs)
            else:
                loss = module(*inputs[0])
        if not pipeline:
            loss.backward()
        optimizer.step()

    return step


def build(torch, case, device):
    """(the part of this rank, inputs of a micro-batch for each of them)"""
    import models
    import splits

    torch.manual_seed(0)  # the same weights and data on all ranks, which then keep their parts
    with torch.device(device) if device == "cuda" else contextlib.nullcontext():
        module = models.Decoder(case["transformer"], "flash", False)
    module.train()
    if case["way"] == "sharded":
        models.shard(module)
        torch.manual_seed(1 + torch.distributed.get_rank())  # a batch of its own
    elif case["way"] == "tensor":
        splits.split_tensors(module)
    else:
        splits.keep_stage(module)
    c = case["transformer"]
    data = [tuple(torch.randint(c["vocabulary"], (case["batch"], c["sequence"]), device=device) for _ in range(2)) for _ in range(case["micro_batches"])]
    return module, data


def measure(torch, case, share_s, traces, device):
    """The entry of a case (README.md, `parallel`): the slowest rank counts, and of memory the fullest."""
    module, data = build(torch, case, device)
    step = step_of(torch, module, case, data, device)
    for _ in range(iterations.WARM_UP):
        step()
    first = max(of_all(torch, seconds_of(torch, device, step, 1)[0]))
    samples = of_all(torch, seconds_of(torch, device, step, arithmetic.repeats_within(first, share_s)))
    seconds, spread, kept = arithmetic.summarise([max(s) for s in zip(*samples)])
    peak = max(of_all(torch, torch.cuda.max_memory_allocated() if device == "cuda" else 0))
    entry = {
        "model": case["shape"], "transformer": case["transformer"], "way": case["way"], "gpus": case["gpus"], "batch": case["batch"],
        "micro_batches": case["micro_batches"], "precision": "bf16", "seconds": seconds, "spread": spread, "repeats": kept, "peak_bytes": peak,
        "optimizer": "adam", "attention": "flash", "traces": [],
    }
    if traces:
        name = arithmetic.parallel_name(case)
        entry["traces"] = [f"{name}-rank{r}.json.gz" for r in range(case["gpus"])]
        iterations.trace(torch, step, traces, f"{name}-rank{torch.distributed.get_rank()}", {})
    return entry


def measure_all(torch, cases, budget_s, traces, device, out):
    start, rank = time.monotonic(), torch.distributed.get_rank()
    result = {"parallel": [], "left_out": []}
    for i, case in enumerate(cases):
        left_s = min(of_all(torch, start + budget_s - time.monotonic()))  # the same decision everywhere
        if left_s <= 0:
            result["left_out"].append(f"parallel: {i} of {len(cases)} cases, then the time budget ended")
            break
        if rank == 0:
            print(f"parallel {i + 1} of {len(cases)}: {arithmetic.parallel_name(case)}", file=sys.stderr)
        # Where a rank fails alone, the others wait for it in vain: the backend's timeout ends them, and what was measured stays.
        result["parallel"].append(measure(torch, case, min(4.0, left_s / (len(cases) - i)), traces, device))
        if rank == 0:
            iterations.write(out, result)
        iterations.release(torch)
    if rank == 0:
        iterations.write(out, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="parallel.json")
    parser.add_argument("--traces", default="")
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--cases", type=re.compile, default="")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--gpus", type=int, default=int(os.environ.get("WORLD_SIZE", 2)))
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    cases = [c for c in arithmetic.parallel_cases(options.gpus, options.tiny) if options.cases.search(arithmetic.parallel_name(c))]
    if options.dry_run:
        for case in cases:
            print(arithmetic.parallel_name(case))
        return 0
    try:
        import torch
        import torch.distributed as dist

        if not options.tiny and torch.cuda.device_count() < options.gpus:
            raise ImportError(f"PyTorch sees {torch.cuda.device_count()} GPUs")
    except ImportError as e:
        if os.environ.get("RANK", "0") == "0":
            iterations.write(options.out, {"parallel": [], "left_out": [f"parallel: {e}"]})
        return 1
    device = "cuda" if torch.cuda.device_count() >= options.gpus else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    if options.traces:
        os.makedirs(options.traces, exist_ok=True)
    try:
        measure_all(torch, cases, options.budget, options.traces, device, options.out)
    except Exception:
        traceback.print_exc()
        return 1  # torchrun ends the other ranks
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())

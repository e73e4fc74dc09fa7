"""Relations between answers for plans of one model on one machine."""
from __future__ import annotations

import json

from relation import ROUNDING, Case, Violations, answered, at_least, at_most, between, equal, kernels, model_flops, peak, seconds, simulated, split_of
from scenario import REMOVED, changed


@between
def the_same_work(case: Case) -> Violations:
    """A plan decides where the model's FLOPs are done, not how many there are: MFU x time x GPUs is that of data parallelism. Tolerance:
    rounding."""
    case.needs(case.planner != "data-parallel")
    plain = case.ask({"plans": [{"data-parallel": {}}], "training.global_batch": case.run["gpus"]})
    samples = case.scenario["training"]["global_batch"] / case.run["gpus"]
    yield from equal("model FLOPs", model_flops(case.run), samples * model_flops(plain), ROUNDING)


@between
def sharding_more_holds_less(case: Case) -> Violations:
    """Each stage of ZeRO shares out what the one before keeps whole. Stage 2 makes the gradients of a block whole before it reduces them, and
    stage 3 gathers the weights of two, the one that is computed and the next. With one replica nothing is shared out, but by tensor ranks
    that hold the same weight: latent attention's projections to its ranks are whole on each, and norms of cut sequences. Tolerance: these blocks;
    `generic`, as buffers of a framework may take more than is saved (DeepSpeed's buckets)."""
    case.needs(case.planner == "megatron")
    pipeline = case.option("pipeline", 1)
    stages = (0, 1, 2, 3) if pipeline == 1 else (0, 1)
    generic = Case(case.program, changed(case.scenario, {"training.framework": "generic"}), case.rng)
    runs = generic.ask_plans([{"zero": z, "overlap": REMOVED, "offload": REMOVED} for z in stages])
    case.needs(*runs)
    m, t = runs[0]["memory_bytes"], case.transformer
    weights = max(m["weights"] / max(1, t["layers"] // pipeline), t["vocab"] * t["hidden"] * 4)
    gradients = weights * max(1, m["gradients"] / m["weights"])
    replicas = case.run["gpus"] // (case.option("tensor", 1) * case.option("context", 1) * pipeline)
    for z, less, more in zip(stages, runs, runs[1:]):
        holds_alike = case.option("tensor", 1) > 1 and ("kv_rank" in t or case.option("sequence_parallel"))
        if replicas == 1 and not holds_alike and case.option("context", 1) == 1 and case.option("schedule") != "dualpipe":  # two copies
            yield from equal(f"peak of ZeRO {z + 1} to {z} with one replica", peak(more), peak(less), 0, 1)
        else:
            yield from at_most(f"peak of ZeRO {z + 1} to {z}", peak(more), peak(less) + (0, gradients, 2 * weights)[z], 0)


@between
def recomputing_holds_less(case: Case) -> Violations:
    """What is computed again is not kept, and costs its forward kernels once more. During one block's backward pass its activations are there in
    any case; where passes are merged, beside those of another pass, of which the largest block counts. Tolerance: rounding; of memory the output
    of what is computed again, at most a micro-batch's activation: a checkpoint holds it during the backward pass (torch.utils.checkpoint)."""
    case.needs(case.planner == "megatron", case.option("schedule") != "dualpipe")
    kinds = ["none", "selective", "full", {"modules": ["norm"]}, {"modules": ["attention"]}, {"modules": ["mlp"]}, {"blocks": 1}]
    base, *others = case.ask_plans([{"recompute": k, "offload": REMOVED} for k in kinds])
    case.needs(base)
    t = case.transformer
    output = 4 * case.option("micro_batch", 1) * t["sequence_length"] * t["hidden"] if t else 0
    for kind, run in zip(kinds[1:], others):
        if run:
            yield from at_most(f"peak of recompute {kind}", peak(run), peak(base) + output, ROUNDING)
            if simulated(run) == simulated(base):
                yield from at_least(f"kernels of recompute {kind}", kernels(run), kernels(base), ROUNDING)


@between
def offloading_holds_less(case: Case) -> Violations:
    """What lies in the hosts' memory does not lie in the GPUs'. Tolerance: rounding."""
    case.needs(case.planner == "megatron", case.option("schedule", "1f1b") in ("1f1b", "gpipe"))
    base, *others = case.ask_plans([{"offload": REMOVED}, {"offload": {"activations": True}}, {"offload": {"optimizer": True}}])
    case.needs(base)
    for kind, run in zip(("activations", "optimizer"), others):
        if run:
            yield from at_most(f"peak with {kind} offloaded", peak(run), peak(base), ROUNDING)


@between
def one_forward_one_backward_keeps_less(case: Case) -> Violations:
    """A stage of 1F1B has as many micro-batches under way as stages follow, GPipe all of them. Tolerance: rounding."""
    case.needs(case.option("pipeline", 1) > 1, case.option("chunks", 1) == 1)
    fill, alternate = case.ask_plans([{"schedule": "gpipe", "overlap": REMOVED}, {"schedule": "1f1b", "overlap": REMOVED}])
    case.needs(fill, alternate)
    yield from at_most("peak of 1f1b", peak(alternate), peak(fill), ROUNDING)


@between
def overlap_moves_the_same_bytes(case: Case) -> Violations:
    """Gradients are reduced in buckets or at once, and no other bytes where no switch reduces, which pays for large ones alone. While kernels run
    they cost nothing where these are not slowed, but each bucket has its latency. Tolerance: bytes of flows are whole, at least some thousands
    each; of the time 2 % for the latencies of buckets that are full, and those of one that need not be: a step to each replica and back, each
    over two links of every type at most."""
    case.needs(case.planner in ("megatron", "data-parallel"), case.option("zero", 0) <= 1)
    after, meanwhile = case.ask_plans([{"overlap": {"gradients": g}} for g in (False, True)])
    case.needs(after, meanwhile)
    if "node" in case.scenario["cluster"]:
        yield from equal("bytes with gradients overlapped", *(r["communication_bytes"]["total"] for r in (meanwhile, after)), 1e-6)
    if "file" in case.cluster["node"]["gpus"]:
        latencies = 2e-6 * sum(float(link["latency"].removesuffix(" us")) for link in case.cluster["links"].values())
        steps = 2 * case.run["gpus"] // (case.option("tensor", 1) * case.option("pipeline", 1) * case.option("context", 1))
        yield from at_most("time with gradients overlapped", seconds(meanwhile), seconds(after) + steps * latencies, 0.02)


@between
def sharded_updates_move_the_same_bytes(case: Case) -> Violations:
    """An all-reduce is a reduce-scatter and an all-gather: ZeRO 1 and 2 move the bytes of plain replicas where weights are as wide as gradients
    and no switch reduces. Tolerance: shards are padded to whole elements for each rank and bucket."""
    case.needs(case.planner == "megatron", "node" in case.scenario["cluster"], case.option("pipeline", 1) == 1, "lora" not in case.scenario["model"])
    one_batch = case.run["gpus"] // (case.option("tensor", 1) * case.option("context", 1)) * case.option("micro_batch", 1)
    alike = {"training.fp32_gradients": False, "training.clip_gradients": False, "training.global_batch": one_batch, "training.optimizer": "adam"}
    runs = [case.ask({**alike, "plan.zero": z, "plan.overlap": REMOVED, "plan.offload": REMOVED}) for z in (0, 1, 2)]
    totals = [r["communication_bytes"]["total"] for r in runs]
    yield from equal("bytes of ZeRO 1 to plain replicas", totals[1], totals[0], 1e-4)
    yield from equal("bytes of ZeRO 2 to 1", totals[2], totals[1], 1e-4)


@between
def more_tensor_ranks_hold_less(case: Case) -> Violations:
    """Twice the tensor ranks hold half of each cut weight and activation, and the same of the others, norms and their gradients. Tolerance:
    rounding; sizes are padded to whole shards, of the vocabulary by up to 128 rows a rank (Megatron-LM)."""
    t = case.transformer
    case.needs(t, "mamba_heads" not in t)
    tensor = case.rng.choice([1, 2, 4])
    case.needs(t.get("kv_heads", t["heads"]) % (2 * tensor) == 0, case.run["gpus"] % (2 * tensor) == 0)
    plans = [{"megatron": {"tensor": n, "micro_batch": 1, "sequence_parallel": n > 1}} for n in (tensor, 2 * tensor)]
    once, twice = (case.ask({"training.global_batch": case.run["gpus"], "plans": [p]}) for p in plans)
    yield from at_most(f"peak of {2 * tensor} tensor ranks to {tensor}", peak(twice), peak(once), ROUNDING)


@between
def no_layer_elsewhere_is_better(case: Case) -> Violations:
    """`balanced` makes the slowest stage as quick as can be. With many micro-batches that stage is the iteration, so that no split with one layer
    on another stage beats it, nor equal stages. Tolerance: 2 %, which the ramp and messages of one split may have over another's of equal
    maxima; and Case.collisions, which the estimate that chooses does not see."""
    stages, layers = case.option("pipeline", 1), case.transformer.get("layers", 0)
    case.needs(case.planner == "megatron", stages > 1, "pattern" not in case.transformer)
    once = {"plan.schedule": "1f1b", "plan.chunks": REMOVED, "training.global_batch": 8 * case.scenario["training"]["global_batch"]}
    many = Case(case.program, changed(case.scenario, {**once, "plan.layers_per_stage": "balanced"}), case.rng)
    split = split_of(many.run["plan_summary"]) or [layers // stages] * stages
    moved = [[n - (s == a) + (s == b) for s, n in enumerate(split)] for a in range(stages) for b in range(stages) if a != b]
    moved = [m for m in moved if min(m) >= 0 and all(m[1:-1])]
    others = case.rng.sample(moved, min(len(moved), 10))
    if layers % stages == 0 and [layers // stages] * stages not in others:
        others.append([layers // stages] * stages)
    for other, run in zip(others, many.ask_plans([{"layers_per_stage": o} for o in others])):
        if run:
            yield from at_least(f"layers {other}, to balanced {split}", seconds(run), seconds(many.run), 0.02 + many.collisions)


@between
def the_trace_reaches_the_peak(case: Case) -> Violations:
    """Memory over time is that of the fullest device, among others, and its highest point the peak that the answer names. Tolerance: samples are
    whole bytes."""
    file = case.program.new_folder() / "trace.json"
    run = case.ask({}, "--trace", str(file))
    events = json.loads(file.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    most = max((e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "memory"), default=0)
    yield from equal("highest point of the memory", most, peak(run), 0, 8)


@between
def choosing_is_no_worse(case: Case) -> Violations:
    """What `fsdp` chooses is the quickest of what it may choose that fits, so that no choice by hand is quicker. Tolerance: it estimates most
    choices before it simulates the best."""
    case.needs(case.planner == "fsdp", case.run["status"] == "ok")
    chosen = answered(case.program.answer(changed(case.scenario, {"plan.micro_batch": REMOVED, "plan.recompute": REMOVED}))["runs"])[0]
    yield from at_most("time of what is chosen", seconds(chosen), seconds(case.run), 0.02)


@between
def searching_is_no_worse(case: Case) -> Violations:
    """`megatron: search` takes the best of a grid, so that no plan of the grid that fits is quicker. Not in the grid: stale weights (2bw), and
    choices of the framework that are tried on its best plan alone. Tolerance: rounding."""
    case.needs(case.planner == "megatron", case.run["status"] == "ok", case.run["gpus"] <= 16)  # larger ones take as long as all others
    case.needs(case.option("schedule", "1f1b") in ("1f1b", "interleaved"), case.option("recompute", "none") in ("none", "selective", "full"))
    case.needs(not any(case.option(k) for k in ("offload", "cuda_graphs", "dispatch", "overlap", "expert_tensor")))
    (run,) = answered(case.program.answer({**case.scenario, "plans": [{"megatron": "search"}]})["runs"])
    yield from at_most("time of what is found", seconds(run), seconds(case.run), ROUNDING)

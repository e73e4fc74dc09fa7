"""Relations between answers for more and for less to do."""
from __future__ import annotations

from typing import Any

from cluster_file import share_a_switch
from relation import ROUNDING, Case, Violations, at_least, at_most, between, equal, kernels, model_flops, peak, seconds, simulated, split_of
from scenario import REMOVED, changed


def _fixed(case: Case) -> dict[str, Any]:
    """Choices that a load is not to change: layers of stages, and how schedules of chunks warm up where memory is short."""
    return case.kept_split | ({"plan.warm_up": "full"} if case.option("schedule") in ("interleaved", "flexible") else {})


@between
def longer_sequences(case: Case) -> Violations:
    """A sequence twice as long has all that one of its halves has. Tolerance: of the time Case.collisions, of memory rounding."""
    case.needs(case.transformer)
    longer = case.ask({**_fixed(case), "model.transformer.sequence_length": 2 * case.transformer["sequence_length"]})
    yield from at_least("peak of twice the sequence", peak(longer), peak(case.run), ROUNDING)
    yield from at_least("time of twice the sequence", seconds(longer), seconds(case.run), case.collisions)


@between
def bigger_micro_batches(case: Case) -> Violations:
    """A micro-batch of twice the samples has all that one has, and takes at most as long as two of them - but for Megatron's fused softmax, which
    wants whole fours of samples x heads. Tolerance: of the time Case.collisions, of memory rounding."""
    samples = case.option("micro_batch")
    case.needs(samples, case.transformer.get("attention") != "unfused")
    twice = case.ask({**_fixed(case), "plan.micro_batch": 2 * samples, "training.global_batch": 2 * case.scenario["training"]["global_batch"]})
    yield from at_least("peak of twice the micro-batch", peak(twice), peak(case.run), ROUNDING)
    yield from at_least("time of twice the micro-batch", seconds(twice), seconds(case.run), case.collisions)
    yield from at_most("time of twice the micro-batch", seconds(twice), 2 * seconds(case.run), case.collisions)


@between
def no_step_in_tokens(case: Case) -> Violations:
    """The work of a micro-batch is in proportion to its samples, and there are fixed parts besides: with b' samples for b, kernels and iteration
    take longer, and at most b' / b as long. Samples of 16 tokens make small steps. Tolerance: 2 % for the tiles of a product's last round,
    and of the time Case.collisions."""
    case.needs(case.transformer, case.transformer.get("attention") != "unfused", "pattern" not in case.transformer)
    replicas = case.planner == "data-parallel"
    batch = case.run["gpus"] if replicas else case.scenario["training"]["global_batch"] // case.option("micro_batch")
    start = case.rng.choice([16, 32, 64, 128])
    samples = sorted({round(start * 1.06**i) for i in range(13)})
    short = {"model.transformer.sequence_length": 16 * case.option("tensor", 1) * case.option("context", 1), "cluster.node.gpus.memory": "20 TB"}
    first = {"training.global_batch": samples[0] * batch} | ({} if replicas else {"plan.micro_batch": samples[0]})
    variants = {str(b): {"training.global_batch": b * batch} | ({} if replicas else {"plans.p.micro_batch": b}) for b in samples}
    few = Case(case.program, changed(case.scenario, {**_fixed(case), **short, **first}), case.rng)
    runs = few.ask_variants(variants, replan=True)
    for less, more in zip(samples, samples[1:]):
        a, b = runs[str(less)], runs[str(more)]
        figures = [("time", seconds, few.collisions)] + [("kernels", kernels, ROUNDING)] * (simulated(a) == simulated(b))
        for what, figure, slack in figures:
            yield from at_most(f"{what} of {more} samples to {less}", figure(b), figure(a) * more / less, 0.02 + slack)
            yield from at_least(f"{what} of {more} samples to {less}", figure(b), figure(a), slack)


@between
def micro_batches_add_a_period(case: Case) -> Violations:
    """A pipeline that is full repeats itself: from then on equal numbers of micro-batches add equal times. Tolerance: 0.5 % of a step, by which a
    period of several micro-batches may begin elsewhere; Case.meetings where GPUs share a NIC, at which replicas may drift for some thirty
    micro-batches before they meet in another order."""
    case.needs(case.planner == "megatron")
    batch = case.scenario["training"]["global_batch"]
    times = [seconds(case.ask({**_fixed(case), "training.global_batch": n * batch})) for n in (6, 9, 12)]
    yield from equal(f"another {3 * batch} samples", times[1] - times[0], times[2] - times[1],
                     max(0.005, case.meetings if case.shares_a_nic else 0))


@between
def batches_together(case: Case) -> Violations:
    """Two batches as one take longer than one, and no longer than one after the other, which would do - but where each gradient but the first is
    added by a kernel of its own (PyTorch's AccumulateGrad): Megatron-Core's products add them. Tolerance: Case.collisions."""
    case.needs(case.planner != "data-parallel")
    fused = Case(case.program, changed(case.scenario, {"training.framework": "megatron-core"}), case.rng)
    for batch in (case, fused):
        both = batch.ask({**_fixed(batch), "training.global_batch": 2 * case.scenario["training"]["global_batch"]})
        yield from at_least("two batches", seconds(both), seconds(batch.run), batch.collisions)
    yield from at_most("two batches", seconds(both), 2 * seconds(fused.run), fused.collisions)


@between
def twice_the_replicas(case: Case) -> Violations:
    """Replicas that share nothing out compute and hold the same, however many they are, and have more to synchronise - over no more wires, if
    all GPUs share a switch: wired to each other, groups of more have more. Tolerance: of memory half a byte; of kernels, of twice as
    many GPUs the slowest is slower (docs/decisions/0021), by 0.46 x 0.048 at most, the step of a normal's quantile from 2 to 4 times the largest
    `sustained_spread`; of the time Case.collisions, and of what is exposed 1 / n, as a switch that reduces has n + 1 parts of n of each GPU's
    bytes (sim/collectives/in_switch.cpp)."""
    batch, optimizer = (case.scenario["training"][k] for k in ("global_batch", "optimizer"))
    case.needs(not case.option("zero"), case.planner != "fsdp", case.option("expert", 1) == 1, optimizer != "muon")  # which shares matrices out
    nodes, network = case.cluster["nodes"], case.cluster.get("network", {"type": "switch", "link": "infiniband"})
    case.needs(network["type"] != "torus")
    cluster = {**case.cluster, "nodes": 2 * nodes, "network": network}
    twice = case.ask({**_fixed(case), "cluster": cluster, "training.global_batch": 2 * batch})
    if simulated(twice).rpartition(" as ")[2] == simulated(case.run).rpartition(" as ")[2]:
        yield from at_least("kernels of twice the replicas", kernels(twice), kernels(case.run), ROUNDING)
        yield from at_most("kernels of twice the replicas", kernels(twice), kernels(case.run), 0.023)
    yield from equal("peak of twice the replicas", peak(twice), peak(case.run), 0, 1)
    if share_a_switch(case.cluster):
        saved = case.run["breakdown_s"]["exposed_communication"] / case.run["gpus"]
        yield from at_least("time of twice the replicas", seconds(twice), seconds(case.run) - saved, case.collisions)


@between
def bigger_models(case: Case) -> Violations:
    """More layers, all on the stage that has most, a wider MLP or expert, or more words leave no kernel out. Tolerance: of the time
    Case.collisions, else rounding."""
    t = case.transformer
    case.needs(t)
    grown = {"vocab": 2 * t["vocab"]}
    if "experts" in t:
        grown["expert_ffn"] = 2 * t["expert_ffn"]
    elif "pattern" not in t:
        grown["ffn"] = 8 * t["hidden"]
    if "pattern" not in t:
        grown["layers"] = 2 * t["layers"]
    for key, value in grown.items():
        stages = split_of(case.run["plan_summary"])
        if key == "layers" and stages:
            stages[stages.index(max(stages))] += t["layers"]
        bigger = case.ask({**_fixed(case), "plan.layers_per_stage": stages or REMOVED, f"model.transformer.{key}": value})
        yield from at_least(f"time with {key} {value}", seconds(bigger), seconds(case.run), case.collisions)
        yield from at_least(f"peak with {key} {value}", peak(bigger), peak(case.run), ROUNDING)
        yield from at_least(f"model FLOPs with {key} {value}", model_flops(bigger), model_flops(case.run), ROUNDING)


@between
def lighter_attention(case: Case) -> Violations:
    """A window leaves keys out; heads that share keys and values leave products and bytes out. Tolerance: of the time Case.collisions, else
    rounding."""
    t = case.transformer
    case.needs(t, "kv_rank" not in t, "pattern" not in t)
    heads, lighter = t.get("kv_heads", t["heads"]), {}
    if "window" not in t and case.option("context", 1) == 1:
        lighter["window"] = t["sequence_length"] // 4
    if case.option("context_kind") != "ulysses" and heads % (2 * case.option("tensor", 1)) == 0:
        lighter["kv_heads"] = heads // 2
    for key, value in lighter.items():
        run = case.ask({**_fixed(case), f"model.transformer.{key}": value})
        yield from at_most(f"time with {key} {value}", seconds(run), seconds(case.run), case.collisions)
        yield from at_most(f"peak with {key} {value}", peak(run), peak(case.run), ROUNDING)


@between
def padding_is_no_work(case: Case) -> Violations:
    """Its top-k experts work on a token however full they are, and however many places they keep: model FLOPs (MFU x time) and, of imbalance, the
    bytes that are exchanged stay, and the time does not shrink. Tolerance: of FLOPs rounding; of bytes, places are whole numbers; of the time
    Case.collisions."""
    t = case.transformer
    case.needs("experts" in t)
    fuller = [dict(zip(("expert_imbalance", "capacity_factor"), pair)) for pair in ((1, 1), (1.5, 1), (3, 1), (1, 1.5))]
    even, *others = [case.ask(_fixed(case) | {f"model.transformer.{k}": v for k, v in keys.items()}) for keys in fuller]
    places = t["top_k"] * t["sequence_length"] / t["experts"]
    for keys, run in zip(fuller[1:], others):
        yield from equal(f"model FLOPs with {keys}", model_flops(run), model_flops(even), ROUNDING)
        yield from at_least(f"time with {keys}", seconds(run), seconds(even), case.collisions)
        if keys["capacity_factor"] == 1:
            exchanged = (r["communication_bytes"]["by_collective"].get("all_to_all", 0) for r in (run, even))
            yield from equal(f"exchanged bytes with {keys}", *exchanged, 1 / places)
    yield from at_least("time with an imbalance of 3 to 1.5", seconds(others[1]), seconds(others[0]), case.collisions)

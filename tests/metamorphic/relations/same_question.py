"""Relations between answers to one question that is asked in different words."""
from __future__ import annotations

import json
from typing import Any

from cluster_file import gpus_of
from relation import Case, Violations, answered, between, equal, same_run, seconds, without_clocks
from scenario import REMOVED, changed


@between
def asked_again(case: Case) -> Violations:
    """The same scenario and seed give the same bytes, but for clocks, on one worker and on two. Tolerance: none."""
    faster = {"name": "w", "set": {"cluster.node.gpus.compute_speed": 2}}
    question = {**case.scenario, "plans": [*case.scenario["plans"], "data-parallel"], "what_if": [faster]}
    first, *others = (json.dumps(without_clocks(case.program.answer(question, *o))) for o in ((), (), ("--jobs", "2")))
    for name, other in zip(("again", "on two workers"), others):
        if other != first:
            at = next((i for i, (a, b) in enumerate(zip(first, other)) if a != b), min(len(first), len(other)))
            yield f"{name}: …{first[max(0, at - 60) : at + 40]}… became …{other[max(0, at - 60) : at + 40]}…"


@between
def names_and_order(case: Case) -> Violations:
    """Names are for people, and each plan is answered by itself. Tolerance: rounding."""
    other = changed(case.scenario, {"name": "another", "cluster.name": "another"})
    other["plans"] = ["data-parallel", {**other["plans"][0], "name": "last"}]
    runs = {r["plan"]: r for r in case.program.answer(other)["runs"]}
    yield from same_run("renamed, behind another plan", case.run, answered([runs["last"]])[0])


@between
def the_question_of_the_answer(case: Case) -> Violations:
    """An answer holds its question with all that decides it filled in, which can be asked as it is. Tolerance: rounding."""
    question = case.program.answer(case.scenario)["question"]
    yield from same_run("the filled-in question", case.run, answered(case.program.answer(question)["runs"])[0])


@between
def the_cluster_written_out(case: Case) -> Violations:
    """A preset stands for a cluster file. Tolerance: rounding."""
    yield from same_run("the cluster written out", case.run, case.ask({"cluster": case.cluster}))


@between
def two_types_of_equal_nodes(case: Case) -> Violations:
    """Node types with the same node are one type. Tolerance: rounding, in another order where devices fold to more classes."""
    cluster = dict(case.cluster)
    node, nodes = cluster.pop("node"), cluster.pop("nodes")
    case.needs(nodes > 1, "domain" not in node)  # a domain is of nodes of one type
    cluster["node_types"] = [{**node, "count": 1}, {**node, "count": nodes - 1}]
    yield from same_run("two types of nodes", case.run, case.ask({"cluster": cluster}))


@between
def a_saved_plan(case: Case) -> Violations:
    """A plan file holds all that the plan decides. Tolerance: rounding."""
    folder = case.program.new_folder()
    case.ask({}, "--save-plans", str(folder))
    (file,) = folder.iterdir()
    saved = case.program.answer({**case.scenario, "plans": [{"file": str(file), "name": "p"}]})
    yield from same_run("the saved plan", case.run, answered(saved["runs"])[0])


@between
def a_what_if_or_the_file(case: Case) -> Violations:
    """A value that a what-if sets is that value in the file. Tolerance: rounding."""
    link = case.rng.choice(sorted(case.cluster["links"]))
    path, value = case.rng.choice([
        (f"cluster.links.{link}.bandwidth", "7 GB/s"), (f"cluster.links.{link}.latency", "5 us"), ("cluster.node.gpus.compute_speed", 1.5),
        ("cluster.node.gpus.memory", "90 GB"), ("training.clip_gradients", True), ("training.optimizer", "momentum"),
        ("training.framework", "pytorch"), ("model.transformer.sequence_length", 2048), ("model.dropout", 0.2)])
    case.needs(case.transformer or not path.startswith("model."))
    in_file = {path: value} if not path.startswith("cluster.") else {"cluster": changed({"cluster": case.cluster}, {path: value})["cluster"]}
    runs = case.program.answer({**case.scenario, "what_if": [{"name": "w", "set": {path: value}}]})["runs"]
    made_anew = answered([r for r in runs if r["variant"] == "w"][-1:])[0]
    yield from same_run(f"{path}: {value}", case.ask(in_file), made_anew)


@between
def a_sweep_or_its_points(case: Case) -> Violations:
    """A sweep is a what-if for each combination of its values. Tolerance: rounding."""
    path, values = f"cluster.links.{case.rng.choice(sorted(case.cluster['links']))}.bandwidth", ["2x", "0.5x"]
    points = case.ask_variants({v: {path: v} for v in values})
    swept = case.program.answer({**case.scenario, "what_if": [{"name": "s", "sweep": {path: values}, "replan": False}]})["runs"]
    for point, run in zip(points.values(), [r for r in swept if r["variant"] != "base"], strict=True):
        yield from same_run(f"{path} of {point['variant']}", point, run)


@between
def almost_equal_gpus(case: Case) -> Violations:
    """A GPU that is slower by a part in ten million folds apart from its equals and takes that much longer; and a plan that is made for it is as
    good. Tolerance: single flows end 7e-8 apart from folded ones, which move in step (docs/decisions/0004), of each of Case.terms; of a plan
    made anew 2 %, as in no_layer_elsewhere_is_better, since stages of equal cost may change places."""
    gpu = {"node": case.rng.randrange(case.cluster["nodes"]), "gpu": case.rng.choice(gpus_of(case.cluster)), "slowdown": 1 + 1e-7}
    for replan, tolerance in ((False, 1e-6 * case.terms), (True, 0.02)):
        for run in case.ask_variants({"slower": {"cluster.faults": [gpu]}}, replan).values():
            yield from equal(f"with {gpu}{', planned anew' if replan else ''}", seconds(run), seconds(case.run), tolerance)


@between
def degrees_of_one(case: Case) -> Violations:
    """Megatron's grid without degrees is data parallelism. Tolerance: rounding."""
    ones = {"tensor": 1, "pipeline": 1, "context": 1, "zero": 0, "recompute": "none"}
    kinds: list[dict[str, Any]] = [{"data-parallel": {}}, {"megatron": {}}, {"megatron": ones}]
    runs = answered(case.program.answer({**case.scenario, "plans": [{**k, "name": str(i)} for i, k in enumerate(kinds)]})["runs"])
    for run in runs[1:]:
        yield from same_run(f"{kinds[int(run['plan'])]}", runs[0], run, but=("plan_summary",))


@between
def sharding_by_either_name(case: Case) -> Violations:
    """`fsdp` of one stage of sharding is `megatron` with as much of ZeRO. Tolerance: rounding."""
    case.needs(case.transformer)
    stage, rest = case.rng.choice([1, 2, 3]), {"micro_batch": 2, "recompute": "none"}
    batch = {"training.global_batch": case.run["gpus"] * 2}  # one micro-batch: they differ in when gradients of several are reduced
    plans = {"fsdp": {"stage": f"zero{stage}", **rest}}, {"megatron": {"zero": stage, **rest}}
    of_fsdp, of_megatron = (case.ask({**batch, "plans": [p]}) for p in plans)
    yield from same_run(f"ZeRO {stage}", of_fsdp, of_megatron, but=("plan_summary",))


@between
def bonded_wires(case: Case) -> Violations:
    """Two bonded wires of half the bandwidth are one. Tolerance: rounding; without a network profile, whose efficiencies are of a link."""
    case.needs("node" in case.scenario["cluster"])
    number, unit = case.scenario["cluster"]["links"]["nvlink"]["bandwidth"].split()
    cluster = changed(case.scenario, {"cluster.links.nvlink.bandwidth": f"{float(number) / 2} {unit}"})["cluster"]
    for wire in cluster["node"]["wires"]:
        if wire["link"] == "nvlink":
            wire["count"] = 2
    yield from same_run("two wires each", case.run, case.ask({"cluster": cluster}))


@between
def equal_stages_listed(case: Case) -> Violations:
    """Layers that divide are shared out evenly. Tolerance: rounding."""
    case.needs(case.planner == "megatron", "pattern" not in case.transformer)
    stages = case.option("pipeline", 1) * case.option("chunks", 1) * (2 if case.option("schedule") == "dualpipe" else 1)
    case.needs(stages > 1, case.transformer["layers"] % stages == 0)
    yield from same_run("listed layers", case.run, case.ask({"plan.layers_per_stage": [case.transformer["layers"] // stages] * stages}))


@between
def groups_of_as_many_as_stages(case: Case) -> Violations:
    """`flexible` in groups of as many micro-batches as stages is `interleaved`, but where there are no more: there `interleaved` runs all forward
    passes first, as in Megatron-LM. Tolerance: rounding."""
    stages = case.option("pipeline", 1)
    case.needs(stages > 1, "pattern" not in case.transformer, case.transformer.get("layers", 0) >= 2 * stages)
    chunks = {"plan.chunks": 2, "plan.offload": REMOVED, "training.global_batch": 2 * case.scenario["training"]["global_batch"]}
    interleaved = case.ask({**chunks, "plan.schedule": "interleaved"})
    flexible = case.ask({**chunks, "plan.schedule": "flexible", "plan.micro_batch_group": stages})
    yield from same_run("flexible", interleaved, flexible, but=("plan_summary",))

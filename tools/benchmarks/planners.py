#!/usr/bin/env python3
"""Evaluations of planners on the simulator: the tables of docs/planners.md, as Markdown.

    tools/benchmarks/planners.py alpa-ladder|alpa-published|alpa-intra|alpa-inter|alpa-resharding [GPUS...]
    tools/benchmarks/planners.py uniap|uniap-ablation|side-by-side

FORESHARD: the program (build/foreshard); BUDGET: of each search (50 s).
Alpa (Zheng et al., OSDI'22): section 8.1 (weak scaling), the plans that its artifact ships, sections 8.2, 8.3 and 8.5 (ablations).
UniAP (Lin et al., CVPR'25): its models on clusters like its own, beside other planners, and without one or the other kind of parallelism.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

FORESHARD = os.environ.get("FORESHARD", "build/foreshard")
BUDGET = os.environ.get("BUDGET", "50 s")
# Table 4 of the paper: by GPUs. Global batches and precisions are those of section 8.1.
LADDER = {1: "gpt3-350m", 2: "gpt3-760m", 4: "gpt3-1.3b", 8: "gpt3-2.6b", 16: "gpt3-6.7b", 32: "gpt3-15b", 64: "gpt3-39b"}
WIDE = {1: "wide-resnet-250m", 2: "wide-resnet-500m", 4: "wide-resnet-1b", 8: "wide-resnet-2b", 16: "wide-resnet-4b", 32: "wide-resnet-6.8b"}
MOE = {1: "moe-380m", 2: "moe-690m", 4: "moe-1.3b", 8: "moe-2.4b", 16: "moe-10b", 32: "moe-27b", 64: "moe-70b"}
# The plans of alpa-projects/alpa at b8078a9 (benchmark/alpa/suite_auto_*.py): micro-batches, GPUs of each stage, and of the layers that
# operators are clustered into those of each stage. How operators are cut is left to Alpa's integer programme there, but for what PUBLISHED says.
PUBLISHED_STAGES = {
    "gpt3-760m": (128, [1, 1], [3, 3]), "gpt3-1.3b": (128, [2, 2], [3, 3]), "gpt3-2.6b": (128, [2, 2, 4], [2, 2, 4]),
    "gpt3-6.7b": (64, [8, 8], [4, 4]), "gpt3-15b": (128, [8] * 4, [4] * 4), "gpt3-39b": (1024, [4] * 16, [1] * 16),
    "moe-690m": (32, [2], [8]), "moe-1.3b": (32, [2, 2], [4, 4]), "moe-2.4b": (32, [4, 4], [4, 4]), "moe-10b": (16, [8, 8], [4, 4]),
    "moe-27b": (128, [4] * 8, [1] * 8), "moe-70b": (64, [8] * 8, [1] * 8),
    "wide-resnet-250m": (24, [1], [16]), "wide-resnet-500m": (24, [2], [16]), "wide-resnet-1b": (24, [4], [16]),
    "wide-resnet-2b": (24, [4, 4], [8, 8]), "wide-resnet-4b": (32, [4, 4, 8], [5, 4, 7]), "wide-resnet-6.8b": (32, [8] * 4, [5, 4, 4, 3])}
# Those for GPT as nearly as the grid says them: stages, the tensor degree of a stage's logical mesh, micro-batches; recomputation, and ZeRO 2,
# its "prefer reduce-scatter". Its stages of 2, 2 and 4 GPUs for the 2.6B model are four of 2 here.
PUBLISHED = {2: (2, 1, 128), 4: (2, 1, 128), 8: (4, 1, 128), 16: (2, 4, 64), 32: (4, 4, 128), 64: (16, 4, 1024)}
INTRA = ["ilp", "data", "zero-2", "zero-3", "largest-dimension"]
# Models and global batches of UniAP's experiments, on presets like its machines: two nodes of four TITAN Xp, and a node of eight A100 on PCIe.
# tf32: the throughput that the paper reports for Llama-7B is beyond what these GPUs do in fp32 without tensor cores.
UNIAP = [("bert-huge", "titan-xp-4", 2, 16, "fp32"), ("t5-large", "titan-xp-4", 2, 8, "fp32"), ("vit-huge", "titan-xp-4", 2, 64, "fp32"),
         ("swin-huge", "titan-xp-4", 2, 32, "fp32"), ("llama-7b", "pcie-a100", 1, 8, "tf32"), ("llama-13b", "pcie-a100", 1, 4, "tf32")]
EVERY = ["data-parallel", {"megatron": "search"}, {"fsdp": {"stage": "search"}}, "unity", "alpa", "uniap", "galvatron", "flexflow", "taso+flexflow",
         "pp-dp", "inter-op", "intra-op", "auto"]
INTER = {"none": {}, "dp": {"clustering": "dp"}, "equal operator": {"clustering": "equal-operator"},
         "equal layer": {"clustering": "equal-layer"}}
BETWEEN = ["signal", "send-recv", "local-all-gather"]
# What the local all-gather gains over send and receive in the paper, where its text says so (section 8.5).
PAPER_RESHARDING = {"wide-resnet-6.8b": "2.0"}


def part_of_node(gpus):
    """The first GPUs of the preset's node, with the wires between them and the rest of the node."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "topology", "presets", "aws-p3.16xlarge.yaml")
    with open(path) as f:
        found = re.findall(r"- \{between: \[(\w+), (\w+)\], link: (\w+)(?:, count: (\d+))?\}", f.read())
    gone = {f"gpu{g}" for g in range(gpus, 8)}
    wires = [{"between": [a, b], "link": link, "count": int(count or 1)} for a, b, link, count in found if not {a, b} & gone]
    return {"gpus": {"count": gpus}, "wires": wires}


def p3(gpus):
    cluster = {"preset": "aws-p3.16xlarge", "nodes": max(1, gpus // 8)}
    if gpus < 8:
        cluster["node"] = part_of_node(gpus)
    return cluster


def answer(model, gpus, plans, save_in=None):
    batch, precision = (1536, "fp32") if model.startswith("wide") else (1024, "fp16")
    return answer_on(p3(gpus), model, plans, batch, precision, save_in)


def answer_on(cluster, model, plans, batch, precision, save_in=None):
    """The runs. The plans go into the folder `save_in` as NAME.plan.yaml."""
    scenario = {"foreshard": 1, "model": {"builtin": model}, "cluster": cluster,
                "training": {"global_batch": batch, "precision": precision, "optimizer": "adam"}, "plans": plans}
    with tempfile.TemporaryDirectory() as folder:
        question, result = os.path.join(folder, "q.yaml"), os.path.join(folder, "r.json")
        with open(question, "w") as f:
            json.dump(scenario, f)  # JSON is YAML
        save = ["--save-plans", save_in] if save_in else []
        done = subprocess.run([FORESHARD, "run", question, "--json", result, *save], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not os.path.exists(result):
            sys.exit(done.stderr)
        with open(result) as f:
            return json.load(f)["runs"]


def cell(run):
    return f"{run['iteration_time_s']:.4g}" if run["status"] == "ok" else "does not fit"


def searched(run):
    return f"{run['search_time_s']:.1f} s" if "search_time_s" in run else "-"


def alpa(**options):
    return {"alpa": {"budget": BUDGET, **options}}


def plan_of_authors(gpus):
    stages, tensor, micro_batches = PUBLISHED[gpus]
    samples = 1024 // micro_batches * tensor * stages // gpus
    return {"megatron": {"pipeline": stages, "tensor": tensor, "micro_batch": samples, "recompute": "full", "zero": 2}}


def ladder(gpus):
    print("| model | GPUs | iteration, s | plan | search |\n|---|---:|---:|---|---:|")
    for n in gpus:
        r = answer(LADDER[n], n, [alpa()])[0]
        print(f"| {LADDER[n]} | {n} | {cell(r)} | {r.get('plan_summary', '-')} | {searched(r)} |", flush=True)


def moe_of_authors(model):
    """Every operator by samples, or the experts shared by the GPUs of a stage: logical meshes are (n, 1), and the rest was the programme's choice."""
    micro_batches, gpus, _ = PUBLISHED_STAGES[model]
    grid = {"pipeline": len(gpus), "micro_batch": 1024 // micro_batches // gpus[0], "recompute": "full", "zero": 2}
    return [{"megatron": {**grid, "expert": expert}, "name": f"expert {expert}"} for expert in (1, gpus[0])]


def stages_of_authors(model):
    """Their stages; inside them, `alpa` chooses how operators are cut, and whether layers are recomputed and updates shared."""
    micro_batches, gpus, layers = PUBLISHED_STAGES[model]
    return {**alpa(clustering="dp", layers=sum(layers), micro_batches=micro_batches, gpus_per_stage=gpus, layers_per_stage=layers), "name": "stages"}


def quickest(runs):
    return min(runs, key=lambda r: (r["status"] != "ok", r["iteration_time_s"]))


def published(gpus):
    print("| model | GPUs | published, s | its stages, our ways, s | alpa, s | published / alpa | search | plan |\n|---|---:|---:|---:|---:|---:|---:|---|")
    for model, n in [(models[n], n) for models in (LADDER, MOE, WIDE) for n in gpus if n in models]:
        if model not in PUBLISHED_STAGES:
            continue
        grid = [plan_of_authors(n)] if model.startswith("gpt") else moe_of_authors(model) if model.startswith("moe") else []
        *theirs, stages, ours = answer(model, n, [*grid, stages_of_authors(model), alpa()])
        best = quickest([*theirs, stages])
        ratio = f"{best['iteration_time_s'] / ours['iteration_time_s']:.2f}" if best["status"] == ours["status"] == "ok" else "-"
        print(f"| {model} | {n} | {cell(quickest(theirs)) if theirs else '-'} | {cell(stages)} | {cell(ours)} | {ratio} | {searched(ours)} | "
              f"{ours['plan_summary']} |", flush=True)


def intra(gpus):
    print("| model | GPUs | " + " | ".join(INTRA) + " |\n|---|---:|" + "---:|" * len(INTRA))
    for n in gpus:
        if n <= 8:
            runs = answer(LADDER[n], n, [{**alpa(stages=1, intra_op=way), "name": way} for way in INTRA])
            print(f"| {LADDER[n]} | {n} | " + " | ".join(cell(r) for r in runs) + " |", flush=True)


def inter(gpus):
    print("| model | GPUs | " + " | ".join(INTER) + " |\n|---|---:|" + "---:|" * len(INTER))
    for model, n in [(models[n], n) for models in (LADDER, WIDE) for n in gpus if n in models]:
        runs = answer(model, n, [{**alpa(**options), "name": name} for name, options in INTER.items()])
        print(f"| {model} | {n} | " + " | ".join(f"{cell(r)} ({searched(r)})" for r in runs) + " |", flush=True)


def with_tensors_going(plan_file, kind):
    """A copy of the saved plan in which tensors go between stages in that way."""
    with open(plan_file) as f:
        text, found = re.subn(r"^  gpus: .*$", rf"\g<0>\n  between_stages: {kind}", f.read(), count=1, flags=re.MULTILINE)
    assert found == 1, plan_file
    copy = plan_file.replace(".plan.yaml", f".{kind}.plan.yaml")
    with open(copy, "w") as f:
        f.write(text)
    return copy


def resharding(gpus):
    print("| model | GPUs | plan | " + ", s | ".join(BETWEEN) + ", s | send-recv / local-all-gather | paper |\n|---|---:|---|---:|---:|---:|---:|---:|")
    rows = [(WIDE[n], n, "alpa", alpa()) for n in gpus if n in WIDE]
    for n in gpus:
        rows += [(LADDER[n], n, "alpa", alpa()), (LADDER[n], n, "published", plan_of_authors(n))] if n in PUBLISHED else []
    for model, n, name, plan in rows:
        if n <= 8:
            continue  # in one machine
        with tempfile.TemporaryDirectory() as folder:
            answer(model, n, [{**plan, "name": "best"}], save_in=folder)
            best = os.path.join(folder, "best.plan.yaml")
            runs = answer(model, n, [{"file": with_tensors_going(best, kind), "name": kind} for kind in BETWEEN])
        ratio = f"{runs[1]['iteration_time_s'] / runs[2]['iteration_time_s']:.2f}" if runs[0]["status"] == "ok" else "-"
        paper = PAPER_RESHARDING.get(model, "")
        print(f"| {model} | {n} | {name} | " + " | ".join(map(cell, runs)) + f" | {ratio} | {paper} |", flush=True)


def throughput(run):
    return f"{run['throughput_samples_per_s']:.3g}" if run["status"] == "ok" else "does not fit"


def uniap():
    plans = ["uniap", "galvatron", alpa(), {"megatron": "search"}, {"fsdp": {"stage": "search"}}, "data-parallel"]
    print("| model | preset | uniap | search | above its bound | galvatron | alpa | search | megatron: search | fsdp | data-parallel | plan of uniap |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for model, preset, nodes, batch, precision in UNIAP:
        runs = answer_on({"preset": preset, "nodes": nodes}, model, plans, batch, precision)
        u, a = runs[0], runs[2]
        gap = f"{u['objective_s'] / u['bound_s'] - 1:.1%}" if u.get("bound_s") else "-"
        print(f"| {model} | {preset} | {throughput(u)} | {searched(u)} | {gap} | {throughput(runs[1])} | {throughput(a)} | {searched(a)} | "
              + " | ".join(throughput(r) for r in runs[3:]) + f" | {u['plan_summary']} |", flush=True)


def uniap_ablation():
    print("| model | preset | both | intra-layer alone | inter-layer alone |\n|---|---|---:|---:|---:|")
    for model, preset, nodes, batch, precision in UNIAP:
        plans = ["uniap", {"uniap": {"stages": 1}, "name": "intra"}, {"uniap": {"stages": 8}, "name": "inter"}]
        runs = answer_on({"preset": preset, "nodes": nodes}, model, plans, batch, precision)
        print(f"| {model} | {preset} | " + " | ".join(throughput(r) for r in runs) + " |", flush=True)


def side_by_side():
    print("| planner | iteration, s | samples/s | memory, GiB | search | plan |\n|---|---:|---:|---:|---:|---|")
    for r in answer_on(p3(8), "gpt3-1.3b", EVERY, 64, "fp16"):
        print(f"| {r['plan']} | {r['iteration_time_s']:.4g} | {r['throughput_samples_per_s']:.3g} | {r['memory_bytes']['peak'] / 2**30:.1f} | {searched(r)} | "
              f"{r['plan_summary']}{'' if r['status'] == 'ok' else ' (does not fit)'} |", flush=True)


def main():
    of_ladder = {"alpa-ladder": ladder, "alpa-published": published, "alpa-intra": intra, "alpa-inter": inter, "alpa-resharding": resharding}
    others = {"uniap": uniap, "uniap-ablation": uniap_ablation, "side-by-side": side_by_side}
    if len(sys.argv) < 2 or sys.argv[1] not in of_ladder | others:
        sys.exit(__doc__)
    if sys.argv[1] in others:
        others[sys.argv[1]]()
    else:
        of_ladder[sys.argv[1]]([int(n) for n in sys.argv[2:]] or list(LADDER))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The figures of planners' papers, on the simulator: the tables of docs/planners.md, as Markdown.

    tools/benchmarks/figures.py FIGURE [--program build/foreshard] [--quick]

Columns: the paper's number, as its text states it; ours where planners search their papers' spaces (`space: paper`); ours where they search all. A
star marks ours where it differs from the paper's number by more than 15 %. Below the table: every simulated iteration behind it, with its plan and
why its search ended. Where a figure's bars are not in the text, "-" or words stand for them. --quick: the smallest sizes.

Sources: Unger et al., "Unity", OSDI'22; Zheng et al., "Alpa", OSDI'22, and the plans of alpa-projects/alpa at b8078a9; an overview of Lin et al.,
"UniAP", CVPR'25 (deep-paper.org/en/paper/2307.16375); the abstract of Miao et al., "Galvatron", VLDB'23 (arXiv 2211.13878).
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

SUMMIT = {  # Unity, section 6.1: samples per GPU, optimizer
    "resnext-50": (64, "sgd"), "inception-v3": (64, "sgd"), "bert-large": (4, "adam"), "dlrm": (1024, "sgd"),
    "xdl": (1024, "sgd"), "candle-uno": (256, "sgd"), "mlp": (256, "sgd")}
# Alpa, tables 6 to 8, by GPUs; 760m and wide-resnet-500m are of its artifact.
GPT = {2: "gpt3-760m", 4: "gpt3-1.3b", 8: "gpt3-2.6b", 16: "gpt3-6.7b", 32: "gpt3-15b", 64: "gpt3-39b"}
MOE = {4: "moe-1.3b", 8: "moe-2.4b", 16: "moe-10b", 32: "moe-27b", 64: "moe-70b"}
WIDE = {1: "wide-resnet-250m", 4: "wide-resnet-1b", 8: "wide-resnet-2b", 16: "wide-resnet-4b", 32: "wide-resnet-6.8b"}
# Alpa's artifact, benchmark/alpa/suite_auto_*.py: micro-batches, GPUs of each stage, and of the layers that operators are clustered into those of
# each stage. How operators are cut is left to Alpa's integer program there.
STAGES = {
    "gpt3-760m": (128, [1, 1], [3, 3]), "gpt3-1.3b": (128, [2, 2], [3, 3]), "gpt3-2.6b": (128, [2, 2, 4], [2, 2, 4]),
    "gpt3-6.7b": (64, [8, 8], [4, 4]), "gpt3-15b": (128, [8] * 4, [4] * 4), "gpt3-39b": (1024, [4] * 16, [1] * 16),
    "moe-1.3b": (32, [2, 2], [4, 4]), "moe-2.4b": (32, [4, 4], [4, 4]), "moe-10b": (16, [8, 8], [4, 4]),
    "moe-27b": (128, [4] * 8, [1] * 8), "moe-70b": (64, [8] * 8, [1] * 8),
    "wide-resnet-250m": (24, [1], [16]), "wide-resnet-1b": (24, [4], [16]), "wide-resnet-2b": (24, [4, 4], [8, 8]),
    "wide-resnet-4b": (32, [4, 4, 8], [5, 4, 7]), "wide-resnet-6.8b": (32, [8] * 4, [5, 4, 4, 3])}
# Models, clusters like its own and global batches of UniAP. tf32: 4.63 samples/s is beyond what these GPUs do in fp32 without tensor cores.
UNIAP = {"bert-huge": ("titan-xp-4", 2, 16, "fp32"), "t5-large": ("titan-xp-4", 2, 8, "fp32"), "vit-huge": ("titan-xp-4", 2, 64, "fp32"),
         "swin-huge": ("titan-xp-4", 2, 32, "fp32"), "llama-7b": ("pcie-a100", 1, 8, "tf32"), "llama-13b": ("pcie-a100", 1, 4, "tf32")}
SPACES = ("paper", "all")
FIGURES = {}
program, evidence = "build/foreshard", []


def figure(name, head="case"):
    def add(rows):
        FIGURES[name] = (head, rows)
        return rows
    return add


def ask(label, model, cluster, training, plans, save_in=None):
    """The runs by name of the plans, and the CPU seconds of the program that made them. What it found goes into the evidence."""
    scenario = {"foreshard": 1, "model": model if isinstance(model, dict) else {"builtin": model}, "cluster": cluster, "training": training,
                "plans": [{**(plan if isinstance(plan, dict) else {plan: {}}), "name": name} for name, plan in plans.items()]}
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "q.yaml"), os.path.join(folder, "r.json")
        with open(path, "w") as f:
            json.dump(scenario, f)  # JSON is YAML
        save = ["--save-plans", save_in] if save_in else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([program, "run", path, "--quiet", "--jobs", "1", "--json", out, *save], check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        if not os.path.exists(out):
            sys.exit(f"{label}: {done.stderr}")
        with open(out) as f:
            runs = {r["plan"]: r for r in json.load(f)["runs"]}
    for name, r in runs.items():
        time = f"{r['iteration_time_s'] * 1e3:.4g} ms" if fits(r) else "does not fit"
        evidence.append(f"- {label}, {name}: {time}; {r.get('plan_summary', '')} ({r.get('stop_reason', 'not searched')})")
    return runs, seconds


def fits(run):
    return run["status"] == "ok"


def stop_reason(runs):
    return next(iter(runs.values())).get("stop_reason", "")


def best(runs):
    return min((r["iteration_time_s"] for r in runs if fits(r)), default=None)


def ratio(slower, faster):
    """The time of one over that of the other: how many times as quick the other is."""
    a, b = best(slower if isinstance(slower, list) else [slower]), best([faster])
    return f"{a / b:.2f}" if a and b else "does not fit" if b else "ours does not fit"


def starred(paper, ours):
    """`paper` begins with its number, or is words; `ours` may hold one number for each case, and the paper's is of the best of them."""
    stated, found = re.match(r"(?:up to )?([\d.]+)", paper), [float(x) for x in re.findall(r"\d+\.\d+", ours)]
    return ours + (" *" if stated and found and abs(max(found) / float(stated[1]) - 1) > 0.15 else "")


def with_space(kind, space, **options):
    return {kind: {**options, **({"space": space} if space == "paper" else {})}}


def search(space, **options):
    return {"megatron": {"search": True, **options, **({"space": space} if space == "paper" else {})}}


# Unity

def on_summit(model, gpus, plans):
    samples, optimizer = SUMMIT[model]
    return ask(f"{model}, {gpus} GPUs", model, {"preset": "summit", "nodes": gpus // 6},
               {"batch_per_gpu": samples, "precision": "fp32", "optimizer": optimizer}, plans)


@figure("unity-13", "ResNeXt-50: CPU seconds of a search, and times as many without what shortens it")
def unity_splits(quick):
    """Figure 13 draws the splits of a graph; table 2 has what they save. Ours ends by its budget at the latest."""
    for gpus, paper in {6: ("57", "4.3", "38.5"), **({} if quick else {24: ("180", "above 20", "above 20")})}.items():
        ways = {"all": {}, "no split": {"segment": 0}, "no split, no cache": {"segment": 0, "cache": False}}
        seconds, ended = {}, {}
        for space in SPACES:
            for name, options in ways.items():
                runs, seconds[name, space] = on_summit("resnext-50", gpus, {f"unity, {space}, {name}": with_space("unity", space, **options)})
                ended[name, space] = {"complete": ""}.get(stop_reason(runs), " (by its budget)")
        for name, stated in zip(ways, paper):
            yield f"{gpus} GPUs, {name}", stated, *(
                f"{seconds[name, s] / (1 if name == 'all' else seconds['all', s]):.1f}{ended[name, s]}" for s in SPACES)


@figure("unity-14", "time of the best existing planner over that of `unity`")
def unity_models(quick):
    """Section 6.2. Existing: data parallelism, TASO + FlexFlow; experts' plans for DLRM and CANDLE-Uno; Megatron-LM for BERT-Large."""
    paper = {"resnext-50": "1.0", "inception-v3": "1.3", "bert-large": "1.0 (on par with Megatron-LM)", "dlrm": "up to 3.6", "xdl": "1.9",
             "candle-uno": "up to 1.6", "mlp": "2.0"}
    sizes = (24,) if quick else (24, 192)
    for model, stated in paper.items():
        cells = {space: [] for space in SPACES}
        for gpus in sizes:
            plans = {"data-parallel": "data-parallel", "taso+flexflow": "taso+flexflow", **{f"unity, {s}": with_space("unity", s) for s in SPACES}}
            if model in ("dlrm", "candle-uno"):
                plans["expert-dlrm"] = "expert-dlrm"
            if model == "bert-large":
                plans |= {f"megatron, {s}": search(s) for s in SPACES}
            runs, _ = on_summit(model, gpus, plans)
            for space in SPACES:
                others = [r for name, r in runs.items() if not name.startswith("unity") and name.split(", ")[-1] in (space, name)]
                cells[space].append(ratio(others, runs[f"unity, {space}"]))
        yield f"{model}, {' / '.join(map(str, sizes))} GPUs", stated, *(" / ".join(cells[s]) for s in SPACES)


@figure("unity-15a", "BERT-Large: speedup over samples and features")
def unity_dimensions(quick):
    """Section 6.3, which does not say on how many GPUs. Pipelines with 2BW are not in `space: paper`: both columns have them, without our grid."""
    gpus = 6 if quick else 24
    cuts = {"+ reduction": ("1.0", {"heads": False}), "+ heads": ("up to 1.2", {})}
    plans = {}
    for space in SPACES:
        alone = {} if space == "paper" else {"grid": False, "steps": 0, "pipelines": False}
        plans[f"samples, features, {space}"] = with_space("unity", space, **alone, cut={"reduction": False, "heads": False})
        plans |= {f"{name}, {space}": with_space("unity", space, **alone, **({"cut": cut} if cut else {})) for name, (_, cut) in cuts.items()}
    runs, _ = on_summit("bert-large", gpus, plans)
    base = {s: runs[f"samples, features, {s}"] for s in SPACES}
    for name, (stated, _) in cuts.items():
        yield f"{name}, {gpus} GPUs", stated, *(ratio(base[s], runs[f"{name}, {s}"]) for s in SPACES)
    pipelines, _ = on_summit("bert-large", gpus, {"+ pipelines": {"unity": {"grid": False, "steps": 0, "schedule": "2bw"}}})
    yield f"+ pipelines, {gpus} GPUs", "1.4", *(ratio(base[s], pipelines["+ pipelines"]) for s in SPACES)


@figure("unity-15b", "time of rewrites for one GPU first over that of joint search")
def unity_joint(quick):
    """Section 6.4: up to 1.4 on 96 GPUs, over all models."""
    gpus, models, cells = (24 if quick else 96), (("xdl", "mlp") if quick else ("xdl", "dlrm", "mlp", "candle-uno")), {s: [] for s in SPACES}
    for model in models:
        plans = {f"{way}, {s}": with_space("unity", s, joint=way == "joint") for s in SPACES for way in ("joint", "sequential")}
        runs, _ = on_summit(model, gpus, plans)
        for s in SPACES:
            cells[s].append(ratio(runs[f"sequential, {s}"], runs[f"joint, {s}"]))
    yield f"{' / '.join(models)}, {gpus} GPUs", "up to 1.4", *(" / ".join(cells[s]) for s in SPACES)


@figure("unity-16", "time without rewrites over that of the best plan with some")
def unity_rewrites(quick):
    """Section 6.4: (a) a linear layer and its relu stay apart (MLP); (b) no concat (DLRM, XDL); (c) no bag. The text has no number of each."""
    gpus = 24 if quick else 96
    for model, letter in {"mlp": "a", "xdl": "b, c"}.items() if quick else {"mlp": "a", "dlrm": "b, c", "xdl": "b, c"}.items():
        plans = {f"{way}, {s}": with_space("unity", s, algebra=way == "with") for s in SPACES for way in ("with", "without")}
        runs, _ = on_summit(model, gpus, plans)
        cells = []
        for s in SPACES:
            run = runs[f"with, {s}"]
            others = [(r["iteration_time_s"], r["plan"]) for r in run.get("runners_up", []) if "iteration_time_s" in r]
            found = [(run["iteration_time_s"], run["plan_summary"]), *others]
            rewritten = min((f for f in found if "rewrite" in f[1]), default=None)
            if rewritten:
                evidence.append(f"- {model}, {gpus} GPUs, best rewritten, {s}: {rewritten[0] * 1e3:.4g} ms; {rewritten[1]}")
            cells.append(f"{runs[f'without, {s}']['iteration_time_s'] / rewritten[0]:.2f}" if rewritten else "none near the best")
        yield f"({letter}) {model}, {gpus} GPUs", "-", *cells


# Alpa

def p3(gpus):
    """p3.16xlarge; below 8 GPUs the first of one node, with the wires between them and the rest of the node."""
    cluster = {"preset": "aws-p3.16xlarge", "nodes": max(1, gpus // 8)}
    if gpus < 8:
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "topology", "presets", "aws-p3.16xlarge.yaml")) as f:
            found = re.findall(r"- \{between: \[(\w+), (\w+)\], link: (\w+)(?:, count: (\d+))?\}", f.read())
        gone = {f"gpu{g}" for g in range(gpus, 8)}
        wires = [{"between": [a, b], "link": link, "count": int(count or 1)} for a, b, link, count in found if not {a, b} & gone]
        cluster["node"] = {"gpus": {"count": gpus}, "wires": wires}
    return cluster


def on_p3(model, gpus, plans, batch=None, save_in=None):
    name = model if isinstance(model, str) else "transformer"
    usual, precision = (1536, "fp32") if name.startswith("wide") else (1024, "fp16")
    return ask(f"{name}, {gpus} GPUs", model, p3(gpus), {"global_batch": batch or usual, "precision": precision, "optimizer": "adam"}, plans, save_in)


def both(*kinds):
    return {f"{kind}, {s}": with_space(kind, s) for kind in kinds for s in SPACES}


@figure("alpa-7a", "GPT: time of the other over that of `alpa`")
def alpa_gpt(quick):
    """Section 8.1. Megatron-LM v2: three degrees by grid search, no sharded updates."""
    for gpus in (8,) if quick else (8, 32):
        runs, _ = on_p3(GPT[gpus], gpus, {**both("alpa", "inter-op"), "intra-op": "intra-op", **{f"megatron, {s}": search(s) for s in SPACES}})
        stated = {"megatron": "a little above 1.0", "inter-op": "near 1.0", "intra-op": "poor above 16 GPUs"}
        for other, words in stated.items():
            yield f"{GPT[gpus]}, {gpus} GPUs, {other}", words, *(
                ratio(runs.get(f"{other}, {s}", runs.get(other)), runs[f"alpa, {s}"]) for s in SPACES)


@figure("alpa-7b", "MoE: time of the other over that of `alpa`")
def alpa_moe(quick):
    """Section 8.1. DeepSpeed as grid-searched there: experts shared by the GPUs, ZeRO 2, tensor degrees, no pipeline; in `all`, whatever Megatron's grid has since."""
    for gpus in (16,) if quick else (16, 32):
        model = MOE[gpus]
        expert = min(gpus, 16)  # the most that divides experts and GPUs
        grid = {"expert": expert, "zero": 2, "dispatch": "nccl", "overlap": {"experts": False}}
        by_hand = {f"deepspeed, tensor {t}, {b} samples, recompute {kind}": {"megatron": {**grid, "tensor": t, "micro_batch": b, "recompute": kind}}
                   for t in (1, 2, 4, 8) for b in (1, 2, 4, 8) for kind in ("none", "full")}
        others = {"deepspeed, all": search("all", pipeline=1), "inter-op": with_space("inter-op", "paper")}
        runs, _ = on_p3(model, gpus, {**both("alpa"), **by_hand, **others})
        paper = ratio([runs[name] for name in by_hand], runs["alpa, paper"])
        yield f"{model}, {gpus} GPUs, DeepSpeed", {16: "3.5", 32: "9.7"}.get(gpus, "-"), paper, ratio(runs["deepspeed, all"], runs["alpa, all"])
        yield f"{model}, {gpus} GPUs, inter-op", "does not fit" if gpus > 16 else "-", *(ratio(runs["inter-op"], runs[f"alpa, {s}"]) for s in SPACES)


@figure("alpa-7c", "Wide-ResNet")
def alpa_wide(quick):
    """Section 8.1: 80 % of linear scaling on 32 GPUs, where PP-DP and inter-op do not fit."""
    gpus = 4 if quick else 32
    one, _ = on_p3(WIDE[1], 1, both("alpa"))
    runs, _ = on_p3(WIDE[gpus], gpus, both("alpa", "pp-dp", "inter-op") | {"intra-op": "intra-op"})
    scaled = [f"{runs[f'alpa, {s}']['mfu'] / one[f'alpa, {s}']['mfu']:.2f}" for s in SPACES]
    yield f"FLOP/s a GPU, {gpus} GPUs over one", "0.80" if gpus == 32 else "-", *scaled
    for other in ("pp-dp", "inter-op", "intra-op"):
        stated = "-" if gpus < 32 else "does not fit" if other != "intra-op" else "cannot scale"
        yield f"{gpus} GPUs, time of {other} over `alpa`", stated, *(
            ratio(runs.get(f"{other}, {s}", runs.get(other)), runs[f"alpa, {s}"]) for s in SPACES)


@figure("alpa-8", "8 GPUs, one stage, one micro-batch: time over that of the solver")
def alpa_intra(quick):
    """Section 8.2: larger hidden sizes, fewer layers and smaller batches than elsewhere, which the text does not give; these are ours."""
    layers, hidden = (4, 4096) if quick else (6, 5120)
    model = {"transformer": {"layers": layers, "hidden": hidden, "heads": 32, "ffn": 4 * hidden, "vocab": 51200, "sequence_length": 1024,
                             "causal": True}}
    ways = {"data": "does not fit", "zero-2": "above 1", "zero-3": "above 1", "largest-dimension": "above 1"}
    plans = {f"{way}, {s}": with_space("alpa", s, stages=1, micro_batches=1, intra_op=way) for s in SPACES for way in ("ilp", *ways)}
    runs, _ = on_p3(model, 8, plans, batch=8)
    for way, stated in ways.items():
        yield way, stated, *(ratio(runs[f"{way}, {s}"], runs[f"ilp, {s}"]) for s in SPACES)


@figure("alpa-9", "time of the other clustering over that of `alpa`")
def alpa_inter(quick):
    """Section 8.3."""
    for model, gpus in ((WIDE[4], 4),) if quick else ((WIDE[32], 32), (GPT[16], 16)):
        others = {"equal-operator": "2.6" if gpus == 32 else "above 1", "equal-layer": "1.6" if gpus == 32 else "1.0"}
        published = {"transfers": False, "submeshes": "power-of-two"}
        plans = both("alpa")
        for way in others:
            plans |= {f"{way}, paper": {"alpa": {"clustering": way, **published}}, f"{way}, all": {"alpa": {"clustering": way}}}
        runs, _ = on_p3(model, gpus, plans)
        for way, stated in others.items():
            yield f"{model}, {gpus} GPUs, {way}", stated, *(ratio(runs[f"{way}, {s}"], runs[f"alpa, {s}"]) for s in SPACES)


@figure("alpa-10", "GPT: seconds of a search (ours: CPU seconds)")
def alpa_search_time(quick):
    """Section 8.4 and table 5. Ours ends at the latest by its budget."""
    for gpus in (2, 4) if quick else (4, 16, 64):
        cells = []
        for space in SPACES:
            runs, seconds = on_p3(GPT[gpus], gpus, {f"alpa, {space}": with_space("alpa", space)})
            cells.append(f"{seconds:.1f} ({stop_reason(runs).replace('_', ' ')})")
        yield f"{GPT[gpus]}, {gpus} GPUs", "2393" if gpus == 64 else "linear in GPUs", *cells


def with_tensors_going(plan_file, kind):
    """A copy of the saved plan in which tensors go between stages in that way."""
    with open(plan_file) as f:
        text, found = re.subn(r"^  gpus: .*$", rf"\g<0>\n  between_stages: {kind}", f.read(), count=1, flags=re.MULTILINE)
    assert found == 1, plan_file
    copy = plan_file.replace(".plan.yaml", f".{kind}.plan.yaml")
    with open(copy, "w") as f:
        f.write(text)
    return copy


def stages_of_authors(model, **options):
    """Their stages; inside them, `alpa` chooses how operators are cut, and whether layers are recomputed and updates shared."""
    micro_batches, gpus, layers = STAGES[model]
    return {"alpa": {"layers": sum(layers), "micro_batches": micro_batches, "gpus_per_stage": gpus, "layers_per_stage": layers, **options}}


@figure("alpa-11", "time of send and receive over that of the local all-gather")
def alpa_resharding(quick):
    """Section 8.5, on the stages of Alpa's artifact; a signal is the bound."""
    gpus = 16 if quick else 32
    cells = []
    for options in ({"space": "paper"}, {"clustering": "dp"}):
        with tempfile.TemporaryDirectory() as folder:
            on_p3(WIDE[gpus], gpus, {"stages": stages_of_authors(WIDE[gpus], **options)}, save_in=folder)
            saved = os.path.join(folder, "stages.plan.yaml")
            kinds = ("signal", "send-recv", "local-all-gather")
            runs, _ = on_p3(WIDE[gpus], gpus, {kind: {"file": with_tensors_going(saved, kind)} for kind in kinds})
        cells.append(ratio(runs["send-recv"], runs["local-all-gather"]))
    yield f"{WIDE[gpus]}, {gpus} GPUs", "2.0" if gpus == 32 else "-", *cells


@figure("alpa-plans", "seconds of an iteration")
def alpa_plans(quick):
    """Not a figure: the stages that Alpa's artifact ships, against those that `alpa` finds."""
    for model, gpus in [(models[n], n) for models in (GPT, MOE, WIDE) for n in ((4,) if quick else (8, 16)) if n in models]:
        runs, _ = on_p3(model, gpus, {"stages": stages_of_authors(model, clustering="dp"), **both("alpa")})
        cells = [f"{r['iteration_time_s']:.4g}" if fits(r) else "does not fit" for r in runs.values()]
        yield f"{model}, {gpus} GPUs", f"{cells[0]} (simulated)", *cells[1:]


# UniAP and Galvatron

def on_its_cluster(model, plans, nodes=None):
    preset, usual, batch, precision = UNIAP[model]
    nodes = nodes or usual
    return ask(f"{model}, {nodes} x {preset}", model, {"preset": preset, "nodes": nodes},
               {"global_batch": batch * nodes // usual, "precision": precision, "optimizer": "adam"}, plans)


def throughput(run):
    return f"{run['throughput_samples_per_s']:.3g}" if fits(run) else "does not fit"


@figure("uniap-table", "samples/s of `uniap`; minutes of its search (ours: CPU)")
def uniap_table(quick):
    """Tables 1 and 2, of which the overview has one throughput and one search."""
    for model in ("bert-huge", "llama-7b") if quick else UNIAP:
        cells, seconds = [], []
        for space in SPACES:
            runs, s = on_its_cluster(model, {f"uniap, {space}": with_space("uniap", space)})
            cells.append(throughput(runs[f"uniap, {space}"]))
            seconds.append(f"{s / 60:.2f}")
        yield model, "4.63" if model == "llama-7b" else "-", *cells
        if model == "bert-huge":
            yield "bert-huge, search", "0.37", *seconds
    if not quick:
        evidence.append("opponents:")
        for model in UNIAP:
            on_its_cluster(model, {"megatron, all": search("all"), "uniap, all, GPipe": {"uniap": {"schedule": "gpipe"}}})


@figure("uniap-5", "BERT-Huge: throughput over that of one node")
def uniap_scaling(quick):
    """Figure 5a: near linear. The overview names neither model nor batches; these have 8 samples a node."""
    runs = {n: on_its_cluster("bert-huge", both("uniap"), n)[0] for n in ((1, 2) if quick else (1, 2, 4))}
    for n in list(runs)[1:]:
        yield f"{n} nodes", f"{n} (linear)", *(
            f"{runs[n][f'uniap, {s}']['throughput_samples_per_s'] / runs[1][f'uniap, {s}']['throughput_samples_per_s']:.2f}" for s in SPACES)


@figure("uniap-6", "throughput without one kind of parallelism over that of both")
def uniap_ablation(quick):
    """Figure 6: significantly lower, or no plan that fits."""
    for model in ("bert-huge",) if quick else UNIAP:
        ways = {"both": {}, "intra-layer alone": {"stages": 1}, "inter-layer alone": {"stages": 8}}
        runs, _ = on_its_cluster(model, {f"{way}, {s}": with_space("uniap", s, **o) for s in SPACES for way, o in ways.items()})
        for way in list(ways)[1:]:
            yield f"{model}, {way}", "below 1, or does not fit", *(ratio(runs[f"both, {s}"], runs[f"{way}, {s}"]) for s in SPACES)


@figure("uniap-9", "BERT-Huge on two nodes")
def uniap_case(quick):
    """Figure 9."""
    two = {f"two stages, {s}": with_space("uniap", s, stages=2) for s in SPACES}
    runs, _ = on_its_cluster("bert-huge", both("uniap") | two)
    yield "plan", "a stage on each node; tensor parallel inside; FSDP for some layers", *(runs[f"uniap, {s}"]["plan_summary"] for s in SPACES)
    yield "time of two stages over it", "1.0", *(ratio(runs[f"two stages, {s}"], runs[f"uniap, {s}"]) for s in SPACES)


@figure("galvatron", "throughput of the other over that of `galvatron`")
def galvatron(quick):
    """UniAP's overview has Galvatron's Llama-7B, 1.22 samples/s; Galvatron's abstract says that it is always ahead of limited parallelism."""
    for model in ("llama-7b",) if quick else UNIAP:
        plans = {**both("galvatron", "uniap"), "data-parallel": "data-parallel", "ZeRO 3": {"fsdp": {"stage": "zero3"}},
                 "tensor alone": search("paper", data=1, pipeline=1),
                 "stages alone": search("paper", data=1, tensor=1, chunks=1)}
        runs, _ = on_its_cluster(model, plans)
        limited = best(runs[name] for name in ("data-parallel", "ZeRO 3", "tensor alone", "stages alone"))
        yield f"{model}, samples/s of `galvatron`", "1.22" if model == "llama-7b" else "-", *(throughput(runs[f"galvatron, {s}"]) for s in SPACES)
        yield f"{model}, uniap", "3.80" if model == "llama-7b" else "-", *(ratio(runs[f"galvatron, {s}"], runs[f"uniap, {s}"]) for s in SPACES)
        if limited:
            yield f"{model}, one kind of parallelism alone", "below 1", *(
                f"{runs[f'galvatron, {s}']['iteration_time_s'] / limited:.2f}" if fits(runs[f"galvatron, {s}"]) else "does not fit" for s in SPACES)


@figure("planners", "GPT-3 1.3B on eight V100: seconds of an iteration (CPU seconds of the search)")
def planners(quick):
    """Every planner on one question: global batch 64, fp16, Adam."""
    every = ["data-parallel", "fsdp", "megatron", "unity", "alpa", "intra-op", "inter-op", "pp-dp", "uniap", "galvatron", "flexflow",
             "taso+flexflow", "auto"]
    for kind in every[:3] if quick else every:
        cells = []
        for space in SPACES:
            plan = search(space) if kind == "megatron" else {"fsdp": {"stage": "search"}} if kind == "fsdp" else with_space(kind, space)
            if space == "paper" and kind in ("data-parallel", "fsdp", "auto"):
                cells.append("-")
                continue
            runs, seconds = on_p3("gpt3-1.3b", 8, {f"{kind}, {space}": plan}, batch=64)
            run = next(iter(runs.values()))
            cells.append((f"{run['iteration_time_s']:.4g}" if fits(run) else "does not fit") + f" ({seconds:.1f})")
        yield kind, "-", *cells


def main():
    global program
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=FIGURES)
    parser.add_argument("--program", default=program)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    program = args.program
    head, rows = FIGURES[args.figure]
    print(f"{rows.__doc__}\n")
    print(f"| {head} | paper | ours, `paper` | ours, `all` |\n|---|---|---|---|")
    try:
        for case, paper, *ours in rows(args.quick):
            print(f"| {case} | {paper} | " + " | ".join(starred(paper, o) for o in ours) + " |", flush=True)
    finally:
        print("\n" + "\n".join(evidence))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Unity's evaluation (OSDI'22, section 6) on the simulator: the tables of docs/unity.md, as Markdown.

    tools/benchmarks/unity.py [models|ablations|dimensions] [NODES...]     FORESHARD: the program (build/foreshard)
"""
import json
import os
import subprocess
import sys
import tempfile

FORESHARD = os.environ.get("FORESHARD", "build/foreshard")
MODELS = {  # samples per GPU, optimizer: section 6.1 of the paper
    "resnext-50": (64, "sgd"), "inception-v3": (64, "sgd"), "bert-large": (4, "adam"), "dlrm": (1024, "sgd"),
    "xdl": (1024, "sgd"), "candle-uno": (256, "sgd"), "mlp": (256, "sgd"),
}
PLANS = ["data-parallel", "expert-dlrm", {"megatron": "search"}, "flexflow", "taso+flexflow", "unity"]
ABLATIONS = {
    "all": {}, "no split": {"segment": 0}, "no cache": {"cache": False}, "no algebra": {"algebra": False}, "not joint": {"joint": False},
    "one loop cut": {"loops": 1}, "not side by side": {"side_by_side": False}, "no walks": {"steps": 0}, "no grid": {"grid": False},
    "no pipelines": {"pipelines": False},
}
ALONE = {"grid": False, "steps": 0, "pipelines": False}
DIMENSIONS = {  # Figure 15a of the paper: one dimension after another
    "samples, features": {**ALONE, "cut": {"reduction": False, "heads": False}}, "+ reduction": {**ALONE, "cut": {"heads": False}},
    "+ heads": ALONE, "+ 1F1B": {"grid": False, "steps": 0}, "+ 2BW": {"grid": False, "steps": 0, "schedule": "2bw"},
}


def answer(model, nodes, plans):
    batch, optimizer = MODELS[model]
    scenario = {"foreshard": 1, "model": {"builtin": model}, "cluster": {"preset": "summit", "nodes": nodes},
                "training": {"batch_per_gpu": batch, "precision": "fp32", "optimizer": optimizer}, "plans": plans}
    with tempfile.TemporaryDirectory() as folder:
        question, result = os.path.join(folder, "q.yaml"), os.path.join(folder, "r.json")
        with open(question, "w") as f:
            json.dump(scenario, f)  # JSON is YAML
        subprocess.run([FORESHARD, "run", question, "--json", result], check=False, stdout=subprocess.DEVNULL)
        with open(result) as f:
            return json.load(f)["runs"]


def cell(run):
    return f"{run['iteration_time_s'] * 1e3:.4g}" if run["status"] == "ok" else "does not fit"


def models(nodes):
    print("| model | GPUs | data-parallel | expert-dlrm | megatron: search | flexflow | taso+flexflow | unity | best other / unity | search |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for model in MODELS:
        for n in nodes:
            runs = answer(model, n, PLANS)
            others = [r["iteration_time_s"] for r in runs[:-1] if r["status"] == "ok"]
            unity = runs[-1]
            gain = f"{min(others) / unity['iteration_time_s']:.2f}" if others else "-"
            print(f"| {model} | {6 * n} | {' | '.join(cell(r) for r in runs)} | {gain} | {unity['search_time_s']:.1f} s |", flush=True)


def ablations(nodes, table=ABLATIONS):
    print("| model | GPUs | " + " | ".join(table) + " |")
    print("|---|---:|" + "---:|" * len(table))
    for model in MODELS:
        for n in nodes:
            runs = answer(model, n, [{"unity": options, "name": name} if options else {"unity": {}, "name": name} for name, options in table.items()])
            print(f"| {model} | {6 * n} | " + " | ".join(f"{cell(r)} ms, {r['search_time_s']:.1f} s" for r in runs) + " |", flush=True)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "models"
    nodes = [int(n) for n in sys.argv[2:]] or [1, 4, 16, 32]
    {"models": models, "ablations": ablations, "dimensions": lambda n: ablations(n, DIMENSIONS)}[what](nodes)


if __name__ == "__main__":
    main()

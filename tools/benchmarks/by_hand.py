#!/usr/bin/env python3
"""Whether a plan drawn at random beats a planner in whose space it lies.

    tools/benchmarks/by_hand.py [--exe build/foreshard] [--plans 9] [--seed 1] [--pairs NAME,...] [--planners KIND,...]
                               [--limit SECONDS] [--recipes FILE]

For each pair of a model and a cluster it runs plans that `megatron:` can express, drawn at random from degrees that divide the GPUs, and the
planners. Prints the best drawn plan that leaves the memory margin, and each planner's time over it, among the plans of the planner's space:
`megatron: search`, `unity` and `auto` search all of them; `alpa` and `uniap` those without chunks, context, experts' or sequence parallelism,
of which as many again are drawn where one of these planners runs.
A pair that takes longer than the limit has no times. With a file of recipes (shared/data/measured/e2e/megatron_bridge_recipes.csv) the pairs are its
mixtures of experts in bf16 at their scales, and the plans NVIDIA's.
Exit code 1: some planner is beaten by more than a tie (1 %, of which a search takes the plainest).
"""
import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

TIE = 1.01
CORE = {"precision": "bf16", "optimizer": "adam", "framework": "megatron-core"}
PLAIN = {"precision": "fp16", "optimizer": "adam"}


def model(name, length=None):
    return {"builtin": name, **({"sequence_length": length} if length else {})}


def cluster(preset, nodes):
    return {"preset": preset, "nodes": nodes}


# The number of GPUs stands in the name.
PAIRS = {
    "llama3-8b/8 H100": (model("llama3-8b", 8192), cluster("dgx-h100", 1), dict(CORE, global_batch=64)),
    "llama3-8b/32 H100": (model("llama3-8b", 8192), cluster("dgx-h100", 4), dict(CORE, global_batch=128)),
    "llama3-8b/16 A100": (model("llama3-8b", 4096), cluster("dgx-a100-80gb", 2), dict(CORE, global_batch=128)),
    "llama3-70b/64 H100": (model("llama3-70b", 8192), cluster("dgx-h100", 8), dict(CORE, global_batch=128)),
    "llama3-70b/128 H100": (model("llama3-70b", 8192), cluster("dgx-h100", 16), dict(CORE, global_batch=256)),
    "llama3-70b/64 MI300X": (model("llama3-70b", 8192), cluster("mi300x-node", 8), dict(CORE, global_batch=128)),
    "llama3-70b/64 B200": (model("llama3-70b", 8192), cluster("dgx-b200", 8), dict(CORE, global_batch=128)),
    "mixtral-8x7b/64 H100": (model("mixtral-8x7b"), cluster("dgx-h100", 8), dict(CORE, global_batch=256)),
    "gpt-oss-120b/64 H100": (model("gpt-oss-120b", 4096), cluster("dgx-h100", 8), dict(CORE, global_batch=512)),
    "qwen3-235b/256 H100": (model("qwen3-235b-a22b", 4096), cluster("dgx-h100", 32), dict(CORE, global_batch=2048)),
    "gpt3-1.3b/8 V100": (model("gpt3-1.3b"), cluster("aws-p3.16xlarge", 1), dict(PLAIN, global_batch=64)),
    "gpt3-2.6b/32 V100": (model("gpt3-2.6b"), cluster("aws-p3.16xlarge", 4), dict(PLAIN, global_batch=256)),
    "gpt3-6.7b/16 L40S": (model("gpt3-6.7b"), cluster("pcie-l40s-4", 4), dict(CORE, global_batch=128)),
    "gpt3-6.7b/64 A100": (model("gpt3-6.7b"), cluster("dgx-a100-40gb", 8), dict(CORE, global_batch=256)),
    "gpt3-350m/8 V100": (model("gpt3-350m"), cluster("aws-p3.16xlarge", 1), dict(PLAIN, global_batch=256)),
    "gpt3-39b/64 V100": (model("gpt3-39b"), cluster("aws-p3.16xlarge", 8), dict(PLAIN, global_batch=1024)),
    "bert-large/24 V100": (model("bert-large"), cluster("summit", 4), dict(PLAIN, global_batch=384)),
    "bert-large/8 TITAN Xp": (model("bert-large"), cluster("titan-xp-4", 2), {"precision": "fp32", "optimizer": "adam", "global_batch": 64}),
    "bert-huge/8 TITAN Xp": (model("bert-huge"), cluster("titan-xp-4", 2), {"precision": "fp32", "optimizer": "adam", "global_batch": 16}),
    "t5-large/8 TITAN Xp": (model("t5-large"), cluster("titan-xp-4", 2), {"precision": "fp32", "optimizer": "adam", "global_batch": 8}),
    "vit-huge/8 A100": (model("vit-huge"), cluster("pcie-a100", 1), {"precision": "tf32", "optimizer": "adam", "global_batch": 128}),
    "llama-7b/8 A100": (model("llama-7b"), cluster("pcie-a100", 1), {"precision": "bf16", "optimizer": "adam", "global_batch": 32}),
    "llama-13b/16 A100": (model("llama-13b"), cluster("dgx-a100-40gb", 2), dict(CORE, global_batch=64)),
    "llama3-405b/512 H100": (model("llama3-405b", 8192), cluster("dgx-h100", 64), dict(CORE, global_batch=256)),
}
PLANNERS = {"megatron": {"megatron": "search"}, "unity": "unity", "auto": "auto", "alpa": "alpa", "uniap": "uniap"}
NARROW = {"alpa", "uniap"}

# Of recipes: models, and clusters with GPUs of a node; parts that are computed again.
EXPERTS = {"qwen3_235b_a22b": "qwen3-235b-a22b", "kimi_k2": "kimi-k2", "deepseek_v3": "deepseek-v3", "gpt_oss_120b": "gpt-oss-120b"}
SYSTEMS = {"H100": ("dgx-h100", 8), "B200": ("dgx-b200", 8), "B300": ("dgx-b300", 8), "GB200": ("gb200-nvl72", 4), "GB300": ("gb300-nvl72", 4)}
MODULES = {"mla_up_proj": "mla_up", "moe_act": "activation", "layernorm": "norm", "mlp": "mlp"}


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def drawn(chance, gpus, batch, has_experts, narrow=False):
    """Options of a plan whose degrees divide the GPUs and the batch; narrow: without what is_narrow() forbids."""
    while True:
        tensor = chance.choice([d for d in divisors(gpus) if d <= 8])
        pipeline = chance.choice([d for d in divisors(gpus // tensor) if d <= 16])
        context = 1 if narrow else chance.choice([1, 1, 1, 2])
        if gpus % (tensor * pipeline * context):
            continue
        data = gpus // (tensor * pipeline * context)
        micro_batch = chance.choice([1, 1, 2, 4])
        if batch % (data * micro_batch):
            continue
        o = {"tensor": tensor, "pipeline": pipeline, "context": context, "micro_batch": micro_batch, "zero": chance.choice([0, 1, 1, 2, 3] if pipeline == 1 else [0, 1])}
        if tensor > 1 and not narrow:
            o["sequence_parallel"] = chance.choice([True, True, False])
        if pipeline > 1 and not narrow:
            o["chunks"] = chance.choice([1, 1, 2, 4])
            if o["chunks"] > 1:
                o["schedule"] = "interleaved"
        o["recompute"] = chance.choice(["none", "none", "selective", "full"])
        if has_experts and not narrow:
            o["expert"] = chance.choice([d for d in (1, 2, 4, 8, 16, 32) if data * context * tensor % d == 0])
        return o


def recipe(row):
    """Options of NVIDIA's plan."""
    o = {"tensor": int(row["tp"]), "pipeline": int(row["pp"]), "context": int(row["cp"]), "expert": int(row["ep"]), "expert_tensor": int(row["etp"] or 1),
         "micro_batch": int(row["mbs"]), "zero": 1, "sequence_parallel": int(row["tp"]) > 1, "dispatch": row["moe_dispatcher"].replace("alltoall", "nccl")}
    if int(row["vp"] or 1) > 1:
        o.update(chunks=int(row["vp"]), schedule="interleaved")
    if row["recompute_granularity"] == "selective":
        o["recompute"] = {"modules": [MODULES[m] for m in row["recompute_modules"].split()]}
    if row["ep_a2a_overlap"] == "1":
        o["overlap"] = {"experts": True}
    return o


def recipes_of(path):
    """By the name of a pair: the pair and its plans."""
    found = {}
    with open(path) as f:
        for row in csv.DictReader(line for line in f if not line.startswith("#")):
            if row["model"] not in EXPERTS or row["precision"] != "BF16" or not row["gbs"]:
                continue
            preset, of_node = SYSTEMS[row["system"]]
            pair = (model(EXPERTS[row["model"]], int(row["seq_len"])), cluster(preset, int(row["n_gpus"]) // of_node), dict(CORE, global_batch=int(row["gbs"])))
            plans = found.setdefault(f"{EXPERTS[row['model']]}/{row['n_gpus']} {row['system']}, batch {row['gbs']}", (pair, []))[1]
            if recipe(row) not in plans:
                plans.append(recipe(row))
    return found


def is_narrow(o):
    return o.get("chunks", 1) == 1 and o["context"] == 1 and o.get("expert", 1) == 1 and not o.get("sequence_parallel")


def answers(exe, pair, plans, folder, limit):
    what, where, training = pair
    path, out = os.path.join(folder, "s.yaml"), os.path.join(folder, "r.json")
    with open(path, "w") as f:
        json.dump({"foreshard": 1, "model": what, "cluster": where, "training": training, "plans": plans}, f)
    p = subprocess.run([exe, "run", path, "--quiet", "--json", out], capture_output=True, text=True, timeout=limit)
    if p.returncode not in (0, 1, 4):
        sys.exit(f"{pair}: {p.stderr.strip()}")
    with open(out) as f:
        return {r["plan"]: r for r in json.load(f)["runs"]}


def has_room(run):
    return run["status"] == "ok" and run["memory_bytes"]["peak"] <= 0.97 * run["memory_bytes"]["capacity"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exe", default="build/foreshard")
    parser.add_argument("--plans", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--planners", default=",".join(PLANNERS))
    parser.add_argument("--limit", type=float)
    parser.add_argument("--recipes", help="in place of random plans")
    args = parser.parse_args()
    kinds = args.planners.split(",")
    print("| pair | plans drawn | with room | best, s | " + " | ".join(kinds) + " |")
    print("|---|---:|---:|---:|" + "---:|" * len(kinds))
    beaten, count = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        recipes = recipes_of(args.recipes) if args.recipes else {}
        names = list(recipes) or args.pairs.split(",")
        for name in names:
            if recipes:
                pair, plans = recipes[name]
                hand = {f"recipe {i}": o for i, o in enumerate(plans)}
            else:
                pair = PAIRS[name]
                chance = random.Random(f"{args.seed} {name}")
                has_experts = any(word in name for word in ("mixtral", "gpt-oss", "qwen3"))
                asked = (chance, int(name.split("/")[1].split()[0]), pair[2]["global_batch"], has_experts)
                hand = {f"hand {i}": drawn(*asked) for i in range(args.plans)}
                if NARROW.intersection(kinds):
                    hand |= {f"narrow {i}": drawn(*asked, narrow=True) for i in range(args.plans)}
            plans = [{"megatron": o, "name": n} for n, o in hand.items()]
            plans += [{**(PLANNERS[k] if isinstance(PLANNERS[k], dict) else {k: {}}), "name": k} for k in kinds]
            try:
                runs = answers(args.exe, pair, plans, folder, args.limit)
            except subprocess.TimeoutExpired:
                print(f"| {name} | longer than {args.limit:g} s |", flush=True)
                continue
            times = {n: runs[n]["iteration_time_s"] for n in hand if has_room(runs[n])}
            count += len(hand)
            row = []
            for kind in kinds:
                rivals = [t for n, t in times.items() if kind not in NARROW or is_narrow(hand[n])]
                found = runs[kind]["iteration_time_s"] if runs[kind]["status"] == "ok" else None
                is_beaten = bool(rivals) and (found is None or found > TIE * min(rivals))
                beaten += is_beaten
                ratio = f"{found / min(rivals):.3f}" if found and rivals else "-" if found else "none"
                row.append(ratio + (" !" if is_beaten else ""))
            best = f"{min(times.values()):.4g}" if times else "-"
            print(f"| {name} | {len(hand)} | {len(times)} | {best} | " + " | ".join(row) + " |", flush=True)
    print(f"{count} plans on {len(names)} pairs; planners beaten by more than {100 * (TIE - 1):.0f} %: {beaten}")
    return 1 if beaten else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How long one question about a large cluster takes to answer, for each kind of machine, schedule and policy that a scenario can name.

    python3 tools/benchmarks/breadth_at_scale.py 2048 [part of a case's name]...

Prints the user seconds of `foreshard run`, its peak memory and the iteration that it forecasts. FORESHARD names the program (build/foreshard),
LIMIT the seconds after which a case is given up (120), KEEP a folder where the scenarios are left.
"""
import json, os, resource, subprocess, sys, tempfile

DENSE = {"builtin": "llama3-70b", "sequence_length": 8192}
EXPERTS = {"transformer": {"layers": 64, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 12288, "expert_ffn": 1536, "gated": True, "rope": True, "rms_norm": True, "biases": False, "vocab": 128000,
                           "sequence_length": 4096, "experts": 256, "top_k": 8, "dropout": 0, "tied_embeddings": False}}
GRID = {"tensor": 8, "pipeline": 16, "sequence_parallel": True, "zero": 1, "micro_batch": 1}
SPREAD = {"pipeline": 16, "expert": 64, "zero": 1, "micro_batch": 1}
DEEPSEEK = {"pipeline": 16, "expert": 64, "schedule": "dualpipe", "zero": 1, "micro_batch": 1, "dispatch": "deepep", "moments": "bf16", "activation_inputs": "fp8", "recompute": {"modules": ["norm", "mla_up"]}}


def near_cube(n):
    """Three factors of n, as equal as they come."""
    best = None
    for a in range(1, round(n ** (1 / 3)) + 1):
        if n % a == 0:
            for b in range(a, round((n // a) ** 0.5) + 1):
                if n // a % b == 0:
                    best = [n // a // b, b, a]
    return best


def cases(gpus):
    """Name, model, cluster, plan, training of each case."""
    nodes = gpus // 8
    h100 = {"preset": "dgx-h100", "nodes": nodes}
    batch = 2 * gpus
    slow = [{"node": 0, "gpu": "gpu3", "slowdown": 1.3}]
    lost = [{"node": 1, "nic": "nic2"}]
    tree = {"type": "fat-tree", "link": "infiniband"}
    networks = {
        "rails": None,
        "fat tree 4:1": dict(tree, oversubscription=4),
        "three tiers": dict(tree, nodes_per_leaf=8, leaves_per_pod=4, oversubscription=2, pod_oversubscription=2),
        "torus": {"type": "torus", "link": "infiniband", "dimensions": near_cube(nodes)},
        "dragonfly": {"type": "dragonfly", "link": "infiniband", "nodes_per_router": 4, "routers_per_group": 8},
    }
    faults = {"slow GPU": slow, "slow node": [{"node": 2, "slowdown": 1.2}], "lost NIC": lost, "slow GPU, lost NIC": slow + lost, "half a NIC": [{"node": 1, "nic": "nic2", "left": 0.5}]}
    for kind, model, plan in (("", DENSE, GRID), ("experts, ", EXPERTS, SPREAD)):
        for name, network in networks.items():
            yield kind + name, model, dict(h100, **({"network": network} if network else {})), {"megatron": plan}, {"global_batch": batch}
        for name, fault in faults.items():
            yield kind + name, model, dict(h100, faults=fault), {"megatron": plan}, {"global_batch": batch}
    for preset, per_node in (("gb200-nvl72", 4), ("gb300-nvl72", 4), ("dgx-b300", 8), ("h20-node", 8), ("mi300x-node", 8), ("mi325x-node", 8), ("mi250x-frontier", 8), ("dgx-a100-80gb", 8)):
        yield preset, DENSE, {"preset": preset, "nodes": gpus // per_node}, {"megatron": GRID}, {"global_batch": batch}
    # Six GPUs a node, 24 a replica. Stages of whole nodes want a multiple of 12 nodes; four more cut every other stage's last node.
    whole = gpus // 72 * 12
    for name, summit in (("summit", whole), ("summit, stages that cut nodes", whole + 4)):
        yield name, DENSE, {"preset": "summit", "nodes": summit}, {"megatron": dict(GRID, tensor=2, pipeline=12)}, {"global_batch": summit // 4 * 16, "precision": "fp16"}
    yield "gb200 in segments of 16", DENSE, {"preset": "gb200-nvl72", "nodes": gpus // 4, "node.domain.segment": 16}, {"megatron": GRID}, {"global_batch": batch}
    for name, more in (("interleaved", {"schedule": "interleaved", "chunks": 5}), ("flexible", {"schedule": "flexible", "chunks": 5, "micro_batch_group": 24}), ("breadth-first", {"schedule": "breadth-first", "chunks": 5}),
                       ("gpipe", {"schedule": "gpipe"}), ("zb-h1", {"schedule": "zb-h1"}), ("dualpipe", {"schedule": "dualpipe"}), ("2bw", {"schedule": "2bw"}), ("stages balanced", {"layers_per_stage": "balanced"}),
                       ("context ring", {"context": 4}), ("context gather", {"context": 4, "context_kind": "gather"}), ("context ulysses", {"context": 2, "context_kind": "ulysses", "tensor": 4}),
                       ("context ring over all-to-all", {"context": 8, "context_all_to_all": 2, "tensor": 4}), ("tensor 4", {"tensor": 4}), ("tensor 2, context 2", {"tensor": 2, "context": 2}),
                       ("recompute full", {"recompute": "full"}), ("recompute blocks", {"recompute": {"blocks": 2}}), ("offload", {"offload": {"activations": True, "optimizer": True}}), ("CUDA graphs", {"cuda_graphs": True}),
                       ("bf16 moments", {"moments": "bf16"}), ("zero 2", {"zero": 2, "pipeline": 1}), ("zero 3", {"zero": 3, "pipeline": 1}), ("zero 1 in groups", {"shard": 4}),
                       ("overlap tensor", {"overlap": {"tensor": True}}), ("overlap parameters", {"overlap": {"parameters": True}})):
        yield name, DENSE, h100, {"megatron": dict(GRID, **more)}, {"global_batch": batch}
    yield "clipped", DENSE, h100, {"megatron": GRID}, {"global_batch": batch, "clip_gradients": True}
    yield "data-parallel", {"builtin": "llama3-8b"}, h100, "data-parallel", {"global_batch": batch}
    for name, more in (("zero3", {}), ("in nodes", {"shard": 8}), ("tensor 8", {"tensor": 8}), ("context 4", {"context": 4}), ("once per iteration", {"synchronise": "iteration", "stage": "zero2"}), ("weights kept", {"reshard_after_forward": False})):
        yield "fsdp " + name, {"builtin": "llama3-8b"}, h100, {"fsdp": dict({"micro_batch": 1}, **more)}, {"global_batch": batch, "framework": "pytorch"}
    for name, more in (("deepep", {"dispatch": "deepep"}), ("hybridep", {"dispatch": "hybridep"}), ("folded into tensor", {"tensor": 8, "expert_tensor": 1, "sequence_parallel": True}), ("expert tensor 2", {"tensor": 2, "expert_tensor": 2, "sequence_parallel": True}),
                       ("overlapped", {"overlap": {"experts": True}}), ("dualpipe", {"schedule": "dualpipe"}), ("interleaved", {"schedule": "interleaved", "chunks": 4}), ("context", {"context": 4})):
        yield "experts " + name, EXPERTS, h100, {"megatron": dict(SPREAD, **more)}, {"global_batch": batch}
    yield "experts, imbalance", dict(EXPERTS, expert_imbalance=1.3), h100, {"megatron": SPREAD}, {"global_batch": batch}
    yield "experts on gb200", EXPERTS, {"preset": "gb200-nvl72", "nodes": gpus // 4, "node.domain.segment": 16}, {"megatron": SPREAD}, {"global_batch": batch}
    yield "deepseek-v3", {"builtin": "deepseek-v3", "sequence_length": 4096}, {"preset": "h800-node", "nodes": nodes}, {"megatron": DEEPSEEK}, {"global_batch": 15360 * max(1, gpus // 2048), "precision": "fp8", "framework": "generic"}
    yield "deepseek-v3, tensor 2, context 2", {"builtin": "deepseek-v3", "sequence_length": 4096}, {"preset": "h800-node", "nodes": nodes}, {"megatron": dict(DEEPSEEK, tensor=2, context=2, sequence_parallel=True)}, {"global_batch": 15360 * max(1, gpus // 2048), "precision": "fp8", "framework": "generic"}
    yield "qwen3-235b", {"builtin": "qwen3-235b-a22b", "sequence_length": 4096}, h100, {"megatron": dict(SPREAD, pipeline=8, expert=32, tensor=2, sequence_parallel=True)}, {"global_batch": batch}
    yield "gpt-oss-120b", {"builtin": "gpt-oss-120b", "sequence_length": 4096}, h100, {"megatron": dict(SPREAD, pipeline=4, expert=32)}, {"global_batch": batch}
    yield "llama3-405b at 131,072", {"builtin": "llama3-405b", "sequence_length": 131072}, h100, {"megatron": dict(GRID, context=16, schedule="interleaved", chunks=4)}, {"global_batch": max(16, gpus // 128)}


def answer(program, path, limit):
    """User seconds, peak bytes and the result of one scenario; the result is None where there is none, with why."""
    out = path + ".json"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        p = subprocess.run(["/usr/bin/env", "time", "-f", "%M", program, "run", path, "--quiet", "--json", out], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return limit, 0, None, "given up"
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    lines = p.stderr.strip().splitlines()
    if not os.path.exists(out):
        return seconds, 0, None, " ".join(lines[:1])
    return seconds, 1024 * int(lines[-1]), json.load(open(out)), ""


def main():
    gpus, wanted = int(sys.argv[1]), sys.argv[2:]
    program, limit = os.environ.get("FORESHARD", "build/foreshard"), float(os.environ.get("LIMIT", 120))
    folder = os.environ.get("KEEP") or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    for i, (name, model, cluster, plan, training) in enumerate(cases(gpus)):
        if wanted and not any(w in name for w in wanted):
            continue
        path = os.path.join(folder, f"{i:02d}-{name.replace(' ', '-').replace(',', '').replace(':', '-')}.yaml")
        scenario = {"foreshard": 1, "model": model, "cluster": cluster, "plans": [plan], "training": dict({"precision": "bf16", "optimizer": "adam", "framework": "megatron"}, **training)}
        with open(path, "w") as f:
            json.dump(scenario, f)
        seconds, peak, result, why = answer(program, path, limit)
        told = why if result is None else f"{result['runs'][0]['iteration_time_s']:10.4g} s  {result['runs'][0]['status']}"
        print(f"{name:32s} {seconds:7.2f} s {peak / 2**20:6.0f} MiB  {told}", flush=True)


main()

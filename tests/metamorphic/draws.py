"""Draws scenarios: small models on small machines, with most options of models, clusters, plans and trainings somewhere among them."""
from __future__ import annotations

import math
import pathlib
import random
from typing import Any, NamedTuple

from program import Scenario

IDEAL_DEVICE = str(pathlib.Path(__file__).resolve().parent / "ideal_device.yaml")


class Machine(NamedTuple):
    gpus: int  # of a node
    precisions: tuple[str, ...]


_VOLTA, _AMPERE, _HOPPER = ("fp16", "fp32"), ("bf16", "bf16", "tf32"), ("bf16", "bf16", "fp8")
_BLACKWELL = (*_HOPPER, "mxfp8")
_PRESETS = {
    **dict.fromkeys(("aws-p3.16xlarge", "dgx-1v", "pcie-v100"), Machine(8, _VOLTA)), "dgx-2": Machine(16, _VOLTA), "summit": Machine(6, _VOLTA),
    **dict.fromkeys(("aws-p4de.24xlarge", "dgx-a100-40gb", "dgx-a100-80gb", "pcie-a100"), Machine(8, _AMPERE)),
    **dict.fromkeys(("aws-p5.48xlarge", "dgx-h100", "dgx-h200", "h20-node", "h800-node"), Machine(8, _HOPPER)),
    "dgx-b200": Machine(8, _BLACKWELL), "gb200-nvl72": Machine(4, _BLACKWELL), "gb300-nvl72": Machine(4, ("bf16",)),
    **dict.fromkeys(("dgx-b300", "mi250x-frontier", "mi300x-node", "mi325x-node"), Machine(8, ("bf16",))),
    "titan-xp-4": Machine(4, ("fp32",)), "pcie-l40s-4": Machine(4, ("bf16",)),
}


def draw(rng: random.Random) -> Scenario:
    cluster, gpus, precision = _draw_cluster(rng)
    draw_rest = _draw_other_graph if rng.random() < 0.06 else _draw_transformer_and_plan
    model, plan, batch = draw_rest(rng, gpus)
    training: dict[str, Any] = {"global_batch": batch, "precision": precision,
                                "optimizer": rng.choice(["adam", "adam", "sgd", "momentum", "muon"]),
                                "framework": rng.choice(["generic", "generic", "megatron", "megatron-core", "deepspeed", "pytorch"])}
    _maybe(rng, 0.2, training, clip_gradients=True)
    if precision in ("bf16", "fp16"):
        _maybe(rng, 0.2, training, fp32_gradients=rng.random() < 0.5)
    return {"foreshard": 1, "name": "drawn", "model": model, "cluster": cluster, "training": training, "plans": [{**plan, "name": "p"}]}


def _maybe(rng: random.Random, chance: float, into: dict[str, Any], **values: Any) -> None:
    if rng.random() < chance:
        into.update(values)


# -- clusters
def _draw_cluster(rng: random.Random) -> tuple[dict[str, Any], int, str]:
    """The cluster, its GPUs and a precision that they have."""
    if rng.random() < 0.3:
        cluster = _draw_own_cluster(rng)
        return cluster, cluster["nodes"] * cluster["node"]["gpus"]["count"], "bf16"
    preset = rng.choice(sorted(_PRESETS))
    nodes = rng.choice([1, 1, 2, 4])
    return {"preset": preset, "nodes": nodes}, nodes * _PRESETS[preset].gpus, rng.choice(_PRESETS[preset].precisions)


def _draw_own_cluster(rng: random.Random) -> dict[str, Any]:
    """GPUs on one switch and NICs in equal parts, without a network profile: closed forms of latency and bandwidth."""
    gpus, nics, nodes = *rng.choice([(2, 1), (2, 4), (4, 1), (4, 4), (8, 2), (8, 8)]), rng.choice([1, 2, 4])
    device = {"file": IDEAL_DEVICE} if rng.random() < 0.6 else {"type": rng.choice(["a100-sxm-80gb", "h100-sxm-80gb", "b200-sxm-180gb"])}
    near = {g: range(g * nics // gpus, max(g * nics // gpus + 1, (g + 1) * nics // gpus)) for g in range(gpus)}
    wires = [{"between": [f"gpu{g}", "switch0"], "link": "nvlink"} for g in range(gpus)]
    wires += [{"between": [f"gpu{g}", f"nic{n}"], "link": "pcie"} for g in range(gpus) for n in near[g]]
    cluster = {
        "name": "own", "nodes": nodes,
        "links": {"nvlink": {"bandwidth": f"{rng.choice([60, 150, 450])} GB/s", "latency": "1 us"},
                  "pcie": {"bandwidth": "32 GB/s", "latency": "1 us"},
                  "infiniband": {"bandwidth": f"{rng.choice([3, 12.5, 25])} GB/s", "latency": f"{rng.choice([2, 10])} us"}},
        "node": {"gpus": {**device, "count": gpus}, "components": ["switch0", *(f"nic{n}" for n in range(nics))], "wires": wires},
    }
    if nodes > 1:
        tree = {"type": "fat-tree", "nodes_per_leaf": 1, "oversubscription": 2}
        kinds = [{"type": "switch"}, {"type": "switch"}, tree, {"type": "torus", "dimensions": [nodes]}]
        cluster["network"] = {"link": "infiniband", **rng.choice(kinds + [{"type": "rail"}] * (nics > 1))}
    return cluster


# -- models
def _draw_other_graph(rng: random.Random, gpus: int) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Convolutions, embedding tables and dense layers, which data parallelism and its sharded kin train."""
    model = {"builtin": rng.choice(["mlp", "candle-uno", "dlrm", "xdl", "inception-v3-proxy", "resnext-50-proxy", "bert-proxy"])}
    sharded = {"stage": rng.choice(["zero1", "zero2", "zero3"]), "micro_batch": 8, "recompute": "none"}
    return model, rng.choice([{"data-parallel": {}}, {"data-parallel": {}}, {"fsdp": sharded}]), gpus * 8


def _draw_transformer(rng: random.Random) -> dict[str, Any]:
    heads = rng.choice([8, 8, 16, 32])
    t: dict[str, Any] = {"layers": rng.choice([2, 3, 4, 4, 6, 8, 12]), "hidden": heads * rng.choice([64, 128]), "heads": heads,
                         "vocab": rng.choice([2048, 32000, 50257, 128000]), "sequence_length": rng.choice([512, 1024, 2048, 4096, 8192])}
    _maybe(rng, 0.5, t, dropout=rng.choice([0, 0.1]))
    _maybe(rng, 0.5, t, gated=True, rms_norm=True, rope=True, biases=False, tied_embeddings=False)
    kind = rng.choices(["dense", "experts", "latent", "hybrid"], [60, 28, 6, 6])[0]
    if kind == "experts":
        t.update(experts=rng.choice([8, 16, 32]), top_k=rng.choice([1, 2, 4]), expert_ffn=rng.choice([512, 1024]))
        _maybe(rng, 0.3, t, shared_experts=1)
        _maybe(rng, 0.2, t, expert_every=2)
        _maybe(rng, 0.2, t, expert_imbalance=rng.choice([1.25, 2]))
    elif kind == "latent":
        t.update(kv_rank=256, query_rank=rng.choice([0, 512]), rope_dim=32, value_dim=64, head_dim=64, rope=True)
    elif kind == "hybrid":
        t.update(pattern="M" + "".join(rng.choice("M*-") for _ in range(t["layers"] - 1)), mamba_heads=2 * heads, mamba_groups=8)
    if kind in ("dense", "experts"):
        _maybe(rng, 0.4, t, kv_heads=rng.choice([2, 4, 8]))
        _maybe(rng, 0.15, t, attention="unfused")
        _maybe(rng, 0.15, t, window=rng.choice([256, 1024]), global_every=rng.choice([0, 2]))
        _maybe(rng, 0.1, t, parallel_residual=True)
        _maybe(rng, 0.1, t, mtp_layers=1)
    return t


# -- plans
def _draw_transformer_and_plan(rng: random.Random, gpus: int) -> tuple[dict[str, Any], dict[str, Any], int]:
    t = _draw_transformer(rng)
    model: dict[str, Any] = {"transformer": t}
    if t.keys().isdisjoint(("experts", "kv_rank", "pattern", "mtp_layers")):
        _maybe(rng, 0.06, model, lora={"rank": 16})
    kind = rng.choices(["data-parallel", "fsdp", "megatron"], [12, 18, 70])[0]
    if kind == "data-parallel":
        return model, {"data-parallel": {}}, gpus * rng.choice([1, 2, 4])
    if kind == "fsdp":
        options = _draw_fsdp(rng, gpus)
        return model, {"fsdp": options}, gpus * options["micro_batch"] * rng.choice([1, 1, 2, 4])
    options, replicas = _draw_megatron(rng, t, gpus)
    stages = options["pipeline"]
    unit = 2 * stages if options.get("schedule") == "dualpipe" else stages  # of micro-batches, which interleaved schedules want whole
    return model, {"megatron": options}, replicas * options["micro_batch"] * unit * rng.choice([1, 1, 2, 3])


def _draw_fsdp(rng: random.Random, gpus: int) -> dict[str, Any]:
    o: dict[str, Any] = {"stage": rng.choice(["zero1", "zero2", "zero3", "zero3"]), "micro_batch": rng.choice([1, 1, 2]),
                         "recompute": rng.choice(["none", "none", "full"])}
    _maybe(rng, 0.3, o, shard=rng.choice([d for d in range(1, gpus + 1) if gpus % d == 0]))
    _maybe(rng, 0.2, o, synchronise="iteration")
    if o["stage"] == "zero3":
        _maybe(rng, 0.3, o, prefetch=rng.choice([0, 1, 2]))
        _maybe(rng, 0.2, o, reshard_after_forward=False)
    return o


def _share_out(rng: random.Random, gpus: int, most: dict[str, Any]) -> dict[str, int]:
    """Degrees of some axes: each prime factor of the GPUs goes to an axis that may have it, or to the replicas."""
    degrees, left = dict.fromkeys(most, 1), gpus
    for factor in (2, 3):
        while left % factor == 0:
            left //= factor
            axis = rng.choice([*most, "data"])
            if axis != "data" and most[axis](degrees[axis] * factor):
                degrees[axis] *= factor
    return degrees


def _draw_megatron(rng: random.Random, t: dict[str, Any], gpus: int) -> tuple[dict[str, Any], int]:
    """Options, and the number of replicas."""
    heads = t.get("kv_heads", t["heads"])
    groups = t.get("mamba_groups", heads)
    most = {"tensor": lambda d: d <= 8 and heads % d == 0 and groups % d == 0, "pipeline": lambda d: d <= t["layers"]}
    if rng.random() < 0.3 and "pattern" not in t:
        most["context"] = lambda d: d <= 4 and t["sequence_length"] % (2 * d) == 0
    o: dict[str, Any] = {**_share_out(rng, gpus, most), "micro_batch": rng.choice([1, 1, 2])}
    replicas = gpus // math.prod(o[axis] for axis in most)
    if o.get("context", 1) > 1:
        o["context_kind"] = rng.choice(["ring", "gather", "ulysses"])
    if o["tensor"] > 1:
        _maybe(rng, 0.6, o, sequence_parallel=True)
    if "experts" in t:
        _spread_experts(rng, t, o, replicas * o.get("context", 1))
    if o["pipeline"] > 1:
        _schedule(rng, t, o)
    o["zero"] = rng.choice([0, 0, 1, 1, 2, 3] if o["pipeline"] == 1 else [0, 1, 1])
    _maybe(rng, 0.5, o, recompute=rng.choice(["selective", "full", {"modules": ["norm"]}, {"modules": ["attention"]}, {"blocks": 1}]))
    if o.get("schedule", "1f1b") in ("1f1b", "gpipe"):
        _maybe(rng, 0.1, o, offload=rng.choice([{"activations": True}, {"optimizer": True}]))
    _maybe(rng, 0.1, o, cuda_graphs=True)
    _maybe(rng, 0.2, o, overlap={"gradients": o["zero"] > 1 or rng.random() < 0.5})
    return o, replicas


def _spread_experts(rng: random.Random, t: dict[str, Any], o: dict[str, Any], ranks: int) -> None:
    o["expert"] = rng.choice([d for d in range(1, ranks + 1) if ranks % d == 0 and t["experts"] % d == 0])
    if o["expert"] > 1:
        _maybe(rng, 0.4, o, dispatch=rng.choice(["deepep", "hybridep", "allgather"]))
    if o.get("sequence_parallel"):
        _maybe(rng, 0.3, o, expert_tensor=1)


def _schedule(rng: random.Random, t: dict[str, Any], o: dict[str, Any]) -> None:
    kind = rng.choice(["gpipe", "1f1b", "1f1b", "interleaved", "flexible", "breadth-first", "zb-h1", "dualpipe", "2bw"])
    if kind in ("interleaved", "flexible", "breadth-first"):
        chunks = [c for c in (2, 3, 4) if o["pipeline"] * c <= t["layers"]]
        if not chunks:
            return
        o["chunks"] = rng.choice(chunks)
    o["schedule"] = kind

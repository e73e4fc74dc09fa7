"""Plans of Megatron-Core as points: what all tables of NeMo, Megatron-Bridge, the MoE ModelZoo and MLPerf have in common. Each of them
runs with sequence parallelism beside tensor parallelism and with the distributed optimizer (ZeRO 1); FP8 of 2024 and early 2025
scales with delay."""
import re

from .models import columns_of
from .points import Unsaid

# Megatron-Core's names of parts that are recomputed -> ours.
MODULES = {"layernorm": "norm", "norm": "norm", "moe_act": "activation", "act": "activation", "mlp": "mlp", "moe": "moe", "core_attn": "attention",
           "mla_up_proj": "mla_up", "shared_experts": "shared"}
PRECISIONS = {"BF16": "bf16", "FP16": "fp16", "FP8": "fp8", "MXFP8": "mxfp8", "NVFP4": "nvfp4"}


def precision_of(word):
    if word.upper() not in PRECISIONS:
        raise Unsaid("nobody describes this precision")
    return PRECISIONS[word.upper()]


def stage_lengths(layout):
    """Layers of each virtual stage of a layout: t is a layer, m a module of multi-token prediction, | ends a chunk; `(t|)*3` and `t*3`
    repeat."""
    expanded = re.sub(r"\(([^)]*)\)\*(\d+)", lambda m: m.group(1) * int(m.group(2)), layout)
    expanded = re.sub(r"(\w)\*(\d+)", lambda m: m.group(1) * int(m.group(2)), expanded)
    return [len(re.findall(r"[tm]", chunk)) for chunk in expanded.split("|")]


def layers_per_stage(layers, stages, layout=""):
    """Layers of each virtual stage where they are not equal; None: equal, or nobody says. Where layers and two more divide, the
    embedding and the loss count as one each (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split)."""
    if layout:
        lengths = stage_lengths(layout)
        if len(lengths) != stages or sum(lengths) != layers:
            raise Unsaid("the layout of stages is not that of the plan")
        return None if len(set(lengths)) == 1 else lengths
    if stages == 1 or layers % stages == 0 or (layers + 2) % stages:
        return None
    each = (layers + 2) // stages
    return [each - 1] + [each] * (stages - 2) + [each - 1]


def recompute_modules(names):
    unknown = [n for n in names if n not in MODULES]
    if unknown:
        raise Unsaid("parts of layers are recomputed that have no name here")
    return sorted({MODULES[n] for n in names})


# Megatron-LM's loss without fused kernels (profiles/frameworks/megatron.yaml has the sources).
UNFUSED_LOSS = {f"training.framework.loss.{k}": v for k, v in (("forward_kernels", 6), ("forward_bytes", "38 B"), ("backward_kernels", 2), ("backward_bytes", "14 B"))}


def weights_in(precision, chip):
    """What weights are kept in that are gathered in low precision. Hopper's products need a transposed copy of fp8, which is cached."""
    return "fp8_transposed" if precision == "fp8" and chip.startswith("h") else precision


def flops_of_token(shape, seq):
    """FLOPs that Megatron-Core counts for a token of an iteration, to make seconds of its TFLOP/s: products of layers and head forward and
    backward, attention without what a causal mask throws away (Megatron-LM, megatron/training/training.py, num_floating_point_operations; the ModelZoo's
    rows with both figures agree within what they are rounded to). Recomputation, embedding and router do not count."""
    if any(k in shape for k in ("pattern", "kv_rank", "window", "mtp_layers")) or "experts" not in shape or not shape.get("gated"):
        raise Unsaid("FLOPs of this model are counted in several ways")
    queries, keys = shape["heads"] * shape["head_dim"], shape["kv_heads"] * shape["head_dim"]
    layer = shape["hidden"] * (2 * queries + 2 * keys + 3 * shape["top_k"] * shape["ffn"]) + queries * seq
    return 6 * (shape["layers"] * layer + shape["hidden"] * shape["vocab"])


def grid(shape, *, n_gpus, tp, pp, vp=1, cp=1, ep=1, etp=None, micro_batch, global_batch, seq, layout="", **values):
    """The columns of a plan. Values of `values` are columns and settings beside it."""
    if n_gpus % (tp * pp * cp):
        raise Unsaid("the degrees do not divide the GPUs")
    dp = n_gpus // (tp * pp * cp)
    if global_batch % (micro_batch * dp):
        raise Unsaid("the batch does not divide")
    batches = global_batch // (micro_batch * dp)
    p = columns_of(shape)
    p.update(seq=seq, n_gpus=n_gpus, tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, chunks=vp, micro_batch=micro_batch, global_batch=global_batch,
             sequence_parallel=int(tp > 1), sharding="zero1", framework="megatron-core")
    lengths = layers_per_stage(int(shape["layers"]) + int(shape.get("mtp_layers") or 0), pp * vp, layout)
    if lengths:
        p["plan.layers_per_stage"] = lengths
    if vp > 1 and batches % pp:
        p["plan.schedule"] = "flexible"
    if ep > 1 and etp and etp != tp:
        p["plan.expert_tensor"] = etp
    p.update(values)
    return p


def merged(*parts):
    """One map of a point's values; of a setting that two parts make, the maps are merged."""
    p = {}
    for part in parts:
        for k, v in part.items():
            p[k] = {**p[k], **v} if isinstance(p.get(k), dict) and isinstance(v, dict) else v
    return p

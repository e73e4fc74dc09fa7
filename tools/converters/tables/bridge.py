"""Megatron-Bridge's performance tables, each row with the recipe that it ran (nemo_megatron_bridge_perf.csv,
megatron_bridge_recipes.csv).

What a recipe says and a point does not, because the product has no such key: off-loading of parts of a layer, the FP8
output projection, deferred weight gradients, the SMs of exchanges, fixed buffers of experts, and NVLS, which is off (no forecast of
these rows depends on it). LoRA's adapters are on linear_qkv, of rank 16. SFT rows count attention over whole packed sequences."""
import re

from .machines import machine
from .megatron_core import grid, merged, precision_of, recompute_modules, weights_in
from .models import model
from .points import Unsaid, number, point, seconds_of

RECIPES = {"BF16": ("none",), "FP8": ("tensorwise", "delayed", "blockwise"), "MXFP8": ("mxfp8",), "NVFP4": ("nvfp4",)}
FP8_RECIPES = {"tensorwise": "current", "delayed": "delayed", "blockwise": "blockwise"}
TASKS = {"pretrain": "pre-training", "sft": "sft", "lora": "lora"}
# Columns of the recipe that must be those of the row where they are not empty: name in the recipes, name in the table, what empty cells of
# the table mean.
SAME = [("n_gpus", "n_gpus", ""), ("gbs", "global_batch", ""), ("mbs", "micro_batch", ""), ("tp", "tp", "1"), ("pp", "pp", "1"), ("cp", "cp", "1"),
        ("vp", "vp", "1"), ("ep", "ep", "1")]


def letters(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def is_recipe_of(recipe, r):
    if letters(recipe["model"]) != letters(r["model"]) or r["system"].rpartition("-")[2] != recipe["system"]:
        return False
    if not r["task"].lower().startswith(TASKS[recipe["task"]]):
        return False
    if recipe["fp8_recipe"] not in RECIPES.get(r["precision"], ()):
        return False
    return all(not recipe[a] or number(recipe[a], 1) == number(r[b] or empty, 1) for a, b, empty in SAME)


# What speaks against a recipe, the worst first: it is of another container, a side recipe (dev, large_scale, ...), of another kind of
# sharding, of another FP8 recipe than the table's "FP8", which is per-tensor.
def doubts(recipe, r):
    return (r["release"].partition(" ")[0] not in recipe["containers"].split(), recipe["variant"] not in ("", "-", "v1", "v2"),
            (recipe["megatron_fsdp"] == "1") != (number(r["fsdp"]) > 0), recipe["fp8_recipe"] == "blockwise")


def recipe_of(recipes, r):
    fitting = [x for x in recipes if is_recipe_of(x, r)]
    if not fitting:
        raise Unsaid("no recipe has this plan")
    return min(fitting, key=lambda x: doubts(x, r))


def recomputed(recipe):
    if recipe["recompute_granularity"] == "full":
        return {"recompute": "full", "plan.recompute": {"blocks": number(recipe["recompute_num_layers"])} if recipe["recompute_num_layers"] else None}
    if recipe["recompute_granularity"] == "selective":
        # A recipe that says selective and no modules has cleared their list, so that nothing is recomputed.
        return {"plan.recompute": {"modules": recompute_modules(recipe["recompute_modules"].split())} if recipe["recompute_modules"] else None}
    return {}


def precision(recipe, r, chip, hybrid):
    """What is multiplied and kept in low precision."""
    p = {"precision": precision_of(r["precision"]), "fp8_recipe": FP8_RECIPES.get(recipe["fp8_recipe"])}
    if p["precision"] == "bf16":
        return p
    first, _, last = recipe["first_last_bf16"].partition("+")
    # Providers of hybrids keep modules of prediction in bf16 (keep_mtp_spec_in_bf16 of Megatron-Bridge's Nemotron recipes).
    in_bf16 = {"first": number(first), "last": number(last or first), "mtp": hybrid and bool(number(recipe["mtp_layers"]))}
    p["training.bf16_layers"] = {k: v for k, v in in_bf16.items() if v} or None
    p["training.fp8_attention"] = True if recipe["fp8_attention"] == "1" and p["precision"] in ("fp8", "mxfp8") else None
    p["plan.weights"] = weights_in(p["precision"], chip) if recipe["low_prec_param_gather"] == "1" else "bf16"
    return p


def optimizer(recipe, n_gpus, tp, pp):
    if recipe["optimizer"] not in ("adam", "dist_muon"):
        raise Unsaid("the optimizer has no name here")
    p = {"training.framework.fp32_gradient_copy": False if recipe["precision_aware_opt"] == "1" else None,
         "plan.moments": "bf16" if recipe["exp_avg_dtype"] == "bfloat16" else None}
    if recipe["megatron_fsdp"] == "1":
        p["sharding"] = "zero3"
        instances = number(recipe["num_dist_opt_instances"], 1)
        if instances > 1:
            p["plan.shard"] = n_gpus // (tp * pp * instances)
    elif recipe["optimizer"] == "dist_muon":  # whole matrices are shared out, in place of the buffer (Megatron-LM, layer_wise_optimizer.py)
        p["optimizer"] = "muon"
    elif recipe["distributed_optimizer"] != "1":
        p["sharding"] = "none"
    return p


def overlaps(recipe, ep):
    """What departs from the framework's profile. Megatron-FSDP overlaps both in any case."""
    p = {"training.framework.overlap_tensor": True if recipe["tp_comm_overlap"] == "1" else None}
    if recipe["megatron_fsdp"] != "1":
        p["training.framework.overlap_gradients"] = False if recipe["overlap_grad_reduce"] == "0" else None
        p["training.framework.overlap_parameters"] = False if recipe["overlap_param_gather"] == "0" else None
    if ep > 1:
        p["plan.dispatch"] = recipe["moe_dispatcher"] if recipe["moe_dispatcher"] in ("deepep", "hybridep") else None
        p["plan.overlap"] = {"experts": True} if recipe["ep_a2a_overlap"] == "1" else None
    return p


# Megatron-Core's words for what a graph holds -> a plan's.
SCOPES = {"attn": "attention", "mlp": "mlp", "moe_router": "router", "mamba": "mamba"}


def host(recipe):
    whole = recipe["cuda_graph_impl"] == "full_iteration" or (recipe["cuda_graph_impl"] == "local" and recipe["cuda_graph_scope"] == "full_iteration")
    scopes = recipe["cuda_graph_scope"].split() if recipe["cuda_graph_impl"] in ("transformer_engine", "local") else []
    if recipe["cuda_graph_impl"] == "transformer_engine" and not scopes:  # whole layers, but for what waits for experts (Megatron-LM, cuda_graph_modules)
        scopes = list(SCOPES)
    parts = {SCOPES[s]: True for s in scopes if s in SCOPES}
    return {"plan.cuda_graphs": True if whole else None, "plan.graphed": parts or None, "plan.offload": {"activations": True} if number(recipe["cpu_offload_layers"]) else None,
            "plan.offload_blocks": number(recipe["cpu_offload_layers"]) or None,
            **{"training.framework." + key: False if recipe["grad_accum_fusion"] == "0" else None for key in ("fused_gradient_accumulation", "memory.gradient_placeholders")}}


def experts(recipe, shape):
    """Bytes per element of experts' outputs that experts with biases move besides their products (megatron-core.yaml, expert_bias): their biases and the clamps
    of their activations. Transformer Engine's op fuser has both within the products. Kernels of what is broadcast, cut from a wider tensor or of several types
    are strided: 4 B for each element that they write, whatever they read (docs/decisions/0024-frameworks-say-how-kernels-run.md).

    TEGroupedMLP._apply_bias (Megatron-LM, megatron/core/transformer/moe/experts.py), forward: bias times weight (strided), the sum (6), a copy that joins the
    experts (4). Backward, for the bias and the weight each a product (strided) and its sum (2), and the copy that joins the experts' gradients (4). DeepEP and
    HybridEP hand out routing weights in fp32 (token_dispatcher.py): the sum is of two types (strided), its copy and its cast 8 and 6; backward the cast of the
    gradient (strided), that of the sum's (6), and 4 for each sum.

    Per element of the gated input, which is twice as wide, forward its halves are clamped (strided) and copied side by side (4). Backward each bound is
    compared and each half masked (strided: 5 in both halves), the bounds of one half joined (3), and both halves joined (4) (PyTorch's clamp_backward).
    Activations that are recomputed are clamped again.

    YaRN scales what it rotates (mscale 0.1 ln 32 + 1), which is not fused (megatron/core/models/common/embeddings/rope_utils.py, apply_rotary_pos_emb). Per
    rotated element: times cosine (4), half of it negated (2), halves swapped (4), times sine (4), the sum (6) and a copy (4); backward both products (8), half
    negated (2), halves joined (4), their sum (6), and for the cut into a rotated and an empty part two fills (4), a copy (4) and a sum (6)."""
    if not shape.get("expert_biases"):
        return {}
    in_fp32 = recipe["moe_dispatcher"] in ("deepep", "hybridep")
    clamp, clamp_strided = 8, 2
    forward, forward_strided = (14, 2) if in_fp32 else (10, 1)
    backward, backward_strided = (18, 3) if in_fp32 else (8, 2)
    forward, forward_strided = forward + clamp, forward_strided + clamp_strided
    backward, backward_strided = backward + 3 + 8, backward_strided + 5
    if "moe_act" in recipe["recompute_modules"].split():
        backward, backward_strided = backward + clamp, backward_strided + clamp_strided
    fused = recipe["te_op_fuser_grouped_mlp"] == "1"
    if fused:
        forward = backward = forward_strided = backward_strided = 0
    return {"training.framework.host_waits_for_activations": False if fused else None,
            "training.framework.unfused_experts": False if fused else None,
            "training.framework.expert_bias": {"forward_bytes": f"{forward} B", "backward_bytes": f"{backward} B",
                                               "forward_strided_bytes": f"{4 * forward_strided} B", "backward_strided_bytes": f"{4 * backward_strided} B"},
            "training.framework.rotation": {"forward_bytes": "24 B", "backward_bytes": "34 B"}}


def bridge(tables):
    recipes = tables.rows("megatron_bridge_recipes.csv")

    def one(k, r):
        shape = model(r["model"])
        recipe = recipe_of(recipes, r)
        n, tp, pp, cp, ep = (number(r[c], 1) for c in ("n_gpus", "tp", "pp", "cp", "ep"))
        where, chip = machine(r["system"], n)
        if "mtp_layers" in shape or recipe["mtp_layers"]:
            shape["mtp_layers"] = number(recipe["mtp_layers"])
        batch, seq = number(r["global_batch"]), number(r["seq_len"])
        adapters = {"model.lora": {"rank": 16, "on": ["qkv"]}} if recipe["task"] == "lora" else {}
        kind = "lora" if adapters else "hybrid" if shape.get("pattern") else "moe" if shape.get("experts") else "dense"
        p = grid(shape, n_gpus=n, tp=tp, pp=pp, vp=number(r["vp"], 1), cp=cp, ep=ep, etp=number(recipe["etp"], 1) if shape.get("experts") else None,
                 micro_batch=number(r["micro_batch"], 1), global_batch=batch, seq=seq, layout=recipe["pp_layout"])
        return point(**merged(p, where, recomputed(recipe), precision(recipe, r, chip, "pattern" in shape), optimizer(recipe, n, tp, pp), overlaps(recipe, ep), host(recipe), experts(recipe, shape), adapters,
                              {"id": f"bridge-{k}", "group": f"bridge-{chip}-{kind}-{precision_of(r['precision'])}",
                               "measured_s": seconds_of(r, batch * seq, n), "source": r["source"]}))

    yield from tables.convert("nemo_megatron_bridge_perf.csv", "bridge", one)

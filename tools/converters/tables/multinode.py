"""Published runs of 8 to thousands of GPUs (published_multinode.csv): NVIDIA's DGX Cloud benchmarks, FSDP of PyTorch and JAX, reports.

What a row leaves open: NeMo's rows have no word on tensor overlap (its recipes of dense models overlap it; what launch scripts add: dgxc.py, modelzoo.py)
nor on the FP8 recipe (delayed scaling, NeMo's default of early 2025). What XLA compiles cannot be said: rows of PyTorch and JAX run under the profiles
`pytorch` and `generic`. Rows whose figures are recalled and not read in a source are left out, and so are runs with tokens that went
where the router sent them."""
import re

from .attention import FLASH_2
from .bridge import SCOPES
from .dgxc import launched
from .machines import machine
from .megatron_core import grid, merged, precision_of
from .models import model
from .modelzoo import EXPERT_TENSOR, is_zoo, settings, with_tokens
from .points import Unsaid, number, point, seconds_of

FRAMEWORKS = [("megatron-lm", "megatron"), ("megatron", "megatron-core"), ("torch", "pytorch"), ("meta internal", "pytorch")]


def framework_of(r):
    return next((ours for word, ours in FRAMEWORKS if word in r["framework"].lower()), "generic")


def fp8_recipe(r, precision):
    if precision != "fp8":
        return None
    text = r["framework"].lower()
    if "blockwise" in text or is_zoo(r):  # the ModelZoo's scripts: --fp8-recipe blockwise
        return "blockwise"
    # torchao's float8 scales by what it finds, unless told otherwise (Float8LinearConfig, ScalingType.DYNAMIC, one scale for a tensor).
    return "current" if "tensorwise" in text or framework_of(r) == "pytorch" else "delayed"


# torchtitan's tables give the samples of each replica, which are as many micro-batches as there are stages (pipeline_parallel_microbatches, its default).
def samples_of_replica(notes):
    each = re.search(r"local batch (\d+) per dp rank", notes)
    return int(each.group(1)) if each else 0


# Words of the notes on how experts get their tokens, and on what graphs launch.
def experts(r, notes):
    if "natural routing" in notes:
        raise Unsaid("tokens go where the router sends them, which is not given")
    dispatch = next((d for d in ("deepep", "hybridep") if d in notes), None)
    graphs = re.search(r"te graphs ([\w+]+)", notes)
    parts = {SCOPES[s]: True for s in graphs.group(1).split("+") if s in SCOPES} if graphs else None
    return {"plan.dispatch": dispatch, "plan.overlap": {"experts": True} if "ep overlap on" in notes else None, "plan.graphed": parts}


# FSDP of PyTorch and JAX: weights are freed between the passes, but not where there is a pipeline. Shards of fewer ranks than there are:
# hybrid sharding. Ranks of context parallelism hold shards, too.
def sharded(r, n, tp, pp, cp):
    shard, holders = cp * number(r["fsdp_shard"], 0), n // (tp * pp)
    p = {"sharding": "zero2" if pp > 1 else "zero3", "plan.shard": shard if 0 < shard < holders else None}
    if cp > 1:  # torch.distributed.tensor.experimental gathers keys and values once, unless told to pass them on (set_rotate_method)
        p["plan.context_kind"] = "gather"
    if "async tp" in r["framework"].lower():
        p["training.framework.overlap_tensor"] = True
    return p


# Megatron's "selective" recomputes the scores of attention. torchtitan's "selective op" keeps every second product of a layer: of Llama's
# seven those that are recomputed have two fifths of the FLOPs, as the MLPs of half of the layers have. Elsewhere "selective" is a share of
# the layers that is not given.
def recomputed(r, framework, layers):
    word, _, kind = r["recompute"].partition(" ")
    if framework == "pytorch" and word == "selective":
        if not kind.startswith("op"):
            raise Unsaid("which layers are recomputed is not given")
        return {"plan.recompute": {"modules": ["activation", "mlp", "norm"], "blocks": layers // 2}}
    if word not in ("", "none", "selective", "full"):
        raise Unsaid("what is recomputed has no name here")
    return {"recompute": word or "none"}


# FSDP2, which torchtitan runs on, copies what it gathered to each weight's own tensor (split_with_sizes_copy: 2 bytes read and written), and
# gradients to what it reduces (chunk_cat), in fp32 unless told otherwise (torchtitan, mixed_precision_reduce), as slowly as a cast to fp32.
# torch.compile makes one kernel of a gated unit. All rows are of PyTorch 2.2 or later, whose attention is FlashAttention-2 (profiles/frameworks/
# pytorch.yaml has that of 2023).
def torch_units(r):
    words = r["framework"].lower()
    more = dict(FLASH_2)
    if "compile" in words:
        more["training.framework.compiled"] = True
    if "titan" in r["source_key"] + words or "fsdp2" in words:
        more["model.repeated_keys"] = True  # repeat_kv (torchtitan, models/llama/model.py)
        more.update({"training.framework.unit_copies": {"gathered_bytes": "4 B", "reduced_bytes": "0 B", "reduced_strided_bytes": "4.5 B"}, "training.fp32_gradients": True})
    return more


def multinode(tables):
    def one(k, r):
        shape = model(r["model"])
        if "recalled" in r["tag"] and not r["tag"].startswith("sourced"):
            raise Unsaid("the figures are recalled, not read in their source")
        n, tp, pp, cp, ep = (number(r[c], 1) for c in ("n_gpus", "tp", "pp", "cp", "ep"))
        where, chip = machine(r["system"], n)
        seq, notes = number(r["seq_len"]), r["notes"].lower()
        each = samples_of_replica(notes)
        batch = number(r["global_batch"]) or each * (n // (tp * pp * cp))
        if not batch or not seq:
            raise Unsaid("the batch is not given")
        if r["layers"]:
            shape["layers"] = number(r["layers"])
        measured = seconds_of(with_tokens(r, shape, seq) if is_zoo(r) else r, batch * seq, n)
        framework, precision = framework_of(r), precision_of(r["precision"])
        p = grid(shape, n_gpus=n, tp=tp, pp=pp, vp=number(r["vp"], 1), cp=cp, ep=ep, etp=number(r["etp"]) or (EXPERT_TENSOR if is_zoo(r) else None),
                 micro_batch=number(r["micro_batch"], max(1, each // pp)), global_batch=batch, seq=seq, framework=framework)
        more = experts(r, notes) if ep > 1 else {}
        if framework in ("pytorch", "generic"):
            more.update({**sharded(r, n, tp, pp, cp), **(torch_units(r) if framework == "pytorch" else {})})
        elif framework == "megatron-core":
            more["training.framework.overlap_tensor"] = True if tp > 1 and not shape.get("experts") else None
        if "dualpipe" in r["framework"].lower():
            more.update({"sharding": "zero1", "plan.schedule": "dualpipe"})
        more = merged(more, settings(r, chip, precision) if is_zoo(r) else launched(r["source"], r["model"], chip, precision))
        key = r["source_key"].replace("_", "-")
        return point(**merged(p, where, recomputed(r, framework, shape["layers"]), more, {
            "precision": precision, "fp8_recipe": fp8_recipe(r, precision), "id": f"multinode-{k}", "group": f"multinode-{key}-{chip}-{precision}",
            "measured_s": measured, "source": r["source"]}))

    yield from tables.convert("published_multinode.csv", "multinode", one)

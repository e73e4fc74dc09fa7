"""What the scripts of the MoE ModelZoo ask for beside the plan of its rows in published_multinode.csv (yanring/Megatron-MoE-ModelZoo: sbatch_benchmarking.sh,
model_configs/benchmarking/Qwen3-235B-A22B.yaml, best_practice/qwen3/run_h100_235b.sh, run_gb200_235b.sh and run_gb300_235b.sh)."""
from .megatron_core import flops_of_token, recompute_modules, weights_in
from .points import Unsaid, number

# Plans of the scripts: chip, degrees of tensor, pipeline, context and expert parallelism, tokens of a sequence.
SCRIPTS = [("h100", 2, 8, 1, 32, 4096), ("gb200", 1, 8, 1, 8, 4096), ("gb200", 1, 4, 1, 64, 4096), ("gb300", 1, 4, 1, 32, 4096), ("gb300", 4, 4, 4, 32, 131072)]
EXPERT_TENSOR = 1  # --expert-tensor-parallel-size
# Scripts that recompute name these parts. That of 128 k tokens on a rack does, where the row says nothing.
RECOMPUTED = recompute_modules(["moe_act", "layernorm"])


def is_zoo(r):
    return r["source_key"] == "modelzoo"


def settings(r, chip, precision):
    """Of a row that the ModelZoo's scripts ran."""
    tp = number(r["tp"], 1)
    plan = tuple(number(r[c], 1) for c in ("tp", "pp", "cp", "ep", "seq_len"))
    chips = [s[0] for s in SCRIPTS if s[1:] == plan]
    if chips and chip not in chips:
        raise Unsaid("the row and the script of its plan name different machines")
    recomputes = r["recompute"] == "selective" or (not r["recompute"] and tp > 1)
    p = {"plan.recompute": {"modules": RECOMPUTED} if recomputes else None, "recompute": "none"}
    if precision == "bf16":  # --tp-comm-overlap
        p["training.framework.overlap_tensor"] = True if tp > 1 else None
    else:  # --fp8-param-gather, --use-precision-aware-optimizer, --exp-avg-dtype bf16
        p.update({"plan.weights": weights_in(precision, chip), "plan.moments": "bf16", "training.framework.fp32_gradient_copy": False})
    return p


def with_tokens(r, shape, seq):
    """The row with tokens/s where it has TFLOP/s, which are Megatron-Core's own."""
    if r["tokens_per_s_per_gpu"] or r["step_time_s"] or not r["model_tflops_per_gpu"]:
        return r
    return {**r, "tokens_per_s_per_gpu": float(r["model_tflops_per_gpu"]) * 1e12 / flops_of_token(shape, seq)}

"""SimuMax's measurements of Megatron on one node of B200 (simumax_b200_real.csv, simumax_model_shapes.json): bf16, micro-batches of 1;
"cef" is the fused cross-entropy. Proxies of fewer layers than the model begin with one dense layer where the model begins with
several: with more, the published peaks of memory cannot be reached (a layer of experts of DeepSeek-V3 is twenty times as large as a
dense one), and the source says so (docs/b200/b200_release_v1.2_summary.json, notes)."""
from .megatron_core import layers_per_stage
from .models import LLAMA, columns_of
from .points import GIB, Unsaid, number, point


# It is Megatron-LM of 2026 with Transformer Engine 2.11 and the fused loss (docs/b200/b200_real_repro_guide.md), told by
# simu_tools/megatron_scripts/scripts/run_pretrain_llama3.sh and run_pretrain_deepseekv2.sh to keep gradients in fp32, to overlap nothing with them, and to pad
# experts to equal numbers of tokens.
TOLD = {"training.framework.fp32_gradients": True, "training.framework.overlap_gradients": False, "training.framework.overlap_parameters": False,
        "training.framework.host_waits_for_tokens": False, "training.clip_gradients": True}


def shape_of(s, layers):
    shape = dict(LLAMA, layers=layers, hidden=s["hidden_size"], heads=s["head_num"], kv_heads=s["kv_head_num"], head_dim=s["head_size"],
                 ffn=s["intermediate_size"], gated=int(s["use_swiglu"]), vocab=s["vocab_size"])
    if s.get("attention_type") == "mla":
        shape.update(head_dim=s["qk_head_dim"], kv_rank=s["kv_lora_rank"], query_rank=s["q_lora_rank"] or 0, rope_dim=s["qk_pos_emb_head_dim"],
                     value_dim=s["v_head_dim"])
    if s.get("expert_num"):
        dense = s.get("dense_layers", 0)
        shape.update(experts=s["expert_num"], top_k=s["topk"], expert_ffn=s.get("moe_ffn_hidden_size", s["intermediate_size"]),
                     shared_ffn=s.get("moe_shared_expert_intermediate_size", 0), dense_layers=min(dense, 1) if layers < s["layer_num"] else dense)
    return shape


def simumax(tables):
    shapes = tables.json("simumax_model_shapes.json")

    def one(k, r):
        s = shapes.get(r["model"]) or shapes.get(r["model"] + "_padding_128")
        if s is None:
            raise Unsaid("nobody describes this model")
        n, tp, cp, pp, ep, layers = (number(r[c], 1) for c in ("n_gpus", "tp", "cp", "pp", "ep", "layers"))
        dp = n // (tp * cp * pp)
        return point(id=r["case"], group="simumax-b200-moe" if s.get("expert_num") else "simumax-b200", cluster="dgx-b200", nodes=max(1, n // 8),
                     n_gpus=n, **columns_of(shape_of(s, layers)),
                     seq=r["seq_len_default_4096"], tp=tp, pp=pp, dp=dp, cp=cp, ep=ep, micro_batch=1, global_batch=int(r["micro_batch_count"]) * dp,
                     sequence_parallel=int(tp > 1), sharding="zero1" if tp * cp * pp * ep > 1 else "none", precision="bf16", framework="megatron-core",
                     measured_s=float(r["measured_iter_ms"]) / 1e3, measured_peak_bytes=round(float(r["measured_peak_alloc_GiB"]) * GIB), source=r["source"],
                     **TOLD, **{"plan.layers_per_stage": layers_per_stage(layers, pp)})

    yield from tables.convert("simumax_b200_real.csv", "simumax", one)

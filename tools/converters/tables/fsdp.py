"""PyTorch's FSDP."""
from .points import Unsaid, point


def mpt(tables):
    """llm-foundry: FSDP in bf16, and in fp8 by Transformer Engine with delayed scaling (amp_fp8 of Composer, composer/core/precision.py), flash attention;
    offloading rows are left out. The loss is flash-attn's, one kernel that keeps the
    half-precision logits and writes their gradient beside them (loss_fn: fused_crossentropy, MPT's default).

    Rows of mixed precision DEFAULT are of the script that ran H100 and A100 alike (scripts/train/benchmarking/sweep.sh), whose image is PyTorch
    2.1.0: its checkpoints stop early, and Composer's DEFAULT of then reduces gradients in fp32 (get_mixed_precision), for which a cast
    reads 2 bytes and writes 4 besides the 4 of the copy. Rows of PURE are of the script before it (submit_benchmarks.py), with gradients
    reduced in bf16. It names an image of PyTorch 1.13.1, whose checkpoints would run whole blocks again; the six rows of it that recompute and
    do not fill the memory are forecast within 3 % as if they stopped early, and 8 to 11 % too long as if they did not, so they run as the others."""
    loss = {"training.framework.memory.loss_kept": "2 B", "training.framework.memory.loss_temporaries": "2 B"}
    software = {"DEFAULT": {"training.fp32_gradients": True, "training.framework.unit_copies.reduced_bytes": "10 B"},
                "PURE": {}}
    shapes = {r["model"].replace("mpt-", ""): r for r in tables.rows("llm_foundry_mpt_model_shapes.csv")}
    clusters = {"a100_80gb": "dgx-a100-80gb", "a100_40gb": "dgx-a100-40gb", "h100_80gb": "dgx-h100"}

    def one(k, r):
        group = "mpt-fsdp-" + r["GPU"] + ("-fp8" if r["Precision"] == "amp_fp8" else "")
        shape = shapes.get(r["Model"].lower().replace("mpt-", ""))
        if r["Activation CPUOffload"] == "True" or shape is None or r["GPU"] not in clusters or r["MP Mode"] not in software:
            raise Unsaid("offloading, or a model or mixed precision that is not known")
        low = {"precision": "fp8", "fp8_recipe": "delayed"} if r["Precision"] == "amp_fp8" else {"precision": "bf16"}
        n, seq, tokens = int(r["# GPUs"]), int(r["SeqLen (T)"]), float(r["GlobalBatchSize (T)"])
        return point(id=f"mpt-{k}", group=group, cluster=clusters[r["GPU"]], nodes=max(1, n // 8), n_gpus=n, layers=shape["n_layers"], hidden=shape["d_model"],
                    heads=shape["n_heads"], ffn=4 * int(shape["d_model"]), seq=seq, vocab=shape["vocab"], attention="flash", tp=1, pp=1, dp=n,
                    micro_batch=r["MicroBatchSize"], global_batch=round(tokens / seq), recompute="full" if r["Activation Checkpointing"] == "True" else "none",
                    sharding={"FULL_SHARD": "zero3", "SHARD_GRAD_OP": "zero2"}[r["Sharding Strategy"]], framework="pytorch", **low,
                    measured_s=tokens / float(r["Throughput (T/s)"]), source=r["source"], **loss, **software[r["MP Mode"]])

    yield from tables.convert("llm_foundry_mpt_throughput.csv", "mpt-fsdp", one)

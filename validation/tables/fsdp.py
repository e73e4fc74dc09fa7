"""PyTorch's FSDP."""
from .points import point


def mpt(tables):
    """llm-foundry: FSDP in bf16, flash attention; fp8 and offloading rows are left out. The loss is flash-attn's, one kernel that keeps the
    half-precision logits and writes their gradient beside them (loss_fn: fused_crossentropy, MPT's default).

    The scripts' image (scripts/train/benchmarking/sweep.sh) is PyTorch 2.1.0 for H100: its checkpoints stop early. Composer's mixed precision
    DEFAULT of then reduces gradients in fp32 (get_mixed_precision): besides the 4 bytes of the copy 2 are read and 4 written by the cast.
    A100's tables are those of PyTorch 1.13.1 (the image by default; the README still plans to renew them), whose checkpoints run whole
    blocks again; PURE reduces in bf16, as Composer's DEFAULT did then."""
    loss = {"training.framework.memory.loss_kept": "2 B", "training.framework.memory.loss_passing": "2 B"}
    # MPT's attention is Triton's FlashAttention of 2023, which uses nothing that Hopper added: shares of peak fitted to these rows (profiles/
    # frameworks/pytorch.yaml). FlashAttention-2's paper (arXiv 2307.08691, section 1) puts the first version at 30 to 50 % forward and 25 to
    # 35 % backward on A100.
    shares = {"a100": (0.42, 0.29), "h100": (0.21, 0.17)}
    software = {True: {"training.fp32_gradients": True, "training.framework.unit_copies.reduced_bytes": "10 B"},
                False: {"training.framework.stops_recomputation_early": False}}
    shapes = {r["model"].replace("mpt-", ""): r for r in tables.rows("llm_foundry_mpt_model_shapes.csv")}
    clusters = {"a100_80gb": "dgx-a100-80gb", "a100_40gb": "dgx-a100-40gb", "h100_80gb": "dgx-h100"}
    for k, r in enumerate(tables.rows("llm_foundry_mpt_throughput.csv")):
        group = "mpt-fsdp-" + r["GPU"]
        shape = shapes.get(r["Model"].lower().replace("mpt-", ""))
        if r["Precision"] == "amp_fp8" or r["Activation CPUOffload"] == "True" or shape is None or r["GPU"] not in clusters:
            tables.leave_out(group, "fp8, offloading, or an unknown model")
            continue
        chip = r["GPU"].split("_")[0]
        attention = {"training.framework.attention": {chip: shares[chip][0]}, "training.framework.attention_gradient": {chip: shares[chip][1]}}
        n, seq, tokens = int(r["# GPUs"]), int(r["SeqLen (T)"]), float(r["GlobalBatchSize (T)"])
        yield point(id=f"mpt-{k}", group=group, cluster=clusters[r["GPU"]], nodes=max(1, n // 8), n_gpus=n, layers=shape["n_layers"], hidden=shape["d_model"],
                    heads=shape["n_heads"], ffn=4 * int(shape["d_model"]), seq=seq, vocab=shape["vocab"], attention="flash", tp=1, pp=1, dp=n,
                    micro_batch=r["MicroBatchSize"], global_batch=round(tokens / seq), recompute="full" if r["Activation Checkpointing"] == "True" else "none",
                    sharding={"FULL_SHARD": "zero3", "SHARD_GRAD_OP": "zero2"}[r["Sharding Strategy"]], precision="bf16", framework="pytorch",
                    measured_s=tokens / float(r["Throughput (T/s)"]), source=r["source"], **loss, **attention, **software[chip == "h100"])

"""Megatron-LM and its forks on A100 and V100, 2020 to 2023."""
from .points import GIB, number, point


def a100(**values):
    """Defaults of these tables: A100, unfused attention, everything recomputed, half precision."""
    base = {"cluster": "dgx-a100-80gb", "recompute": "full", "precision": "fp16", "attention": "unfused"}
    base.update(values)
    base.setdefault("nodes", max(1, int(base["n_gpus"]) // 8))
    return point(**base)


def gpt(r, **values):
    """A GPT with an MLP of four times its width."""
    return a100(layers=r["layers"], hidden=r["hidden"], heads=r["heads"], ffn=4 * int(r["hidden"]), source=r.get("source", ""), **values)


def vtrain(tables):
    """Megatron-DeepSpeed on A100: full recomputation, 1F1B without interleaving, half precision (its profiler's)."""
    for group, name in (("vtrain-single-node", "vtrain_a100_single_node.csv"), ("vtrain-multi-node", "vtrain_a100_multi_node.csv")):
        for k, r in enumerate(tables.rows(name)):
            yield gpt(r, id=f"{group}-{k}", group=group, n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab_cfg"], tp=r["tp"], pp=r["pp"], dp=r["dp"],
                      micro_batch=r["micro_batch"], global_batch=r["global_batch"], framework="deepspeed", measured_s=float(r["iter_time_ms"]) / 1e3)


def korthikanti(tables):
    """arXiv 2205.05198, Table 5."""
    for r in tables.rows("megatron_seqsel_table5_iteration_time.csv"):
        selective = r["variant"] == "seqsel"
        yield gpt(r, id=f"t5-{r['model']}-{r['variant']}", group="korthikanti-t5", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=51200, tp=r["tp"], pp=r["pp"],
                  dp=r["dp"], chunks=r["pp_interleave_chunks"], micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                  recompute="selective" if selective else "full", sequence_parallel=int(selective), framework="megatron", measured_s=r["iter_time_s"])


# Table 3 of the same paper: hidden size, layers, heads; tensor 8, pipeline, chunks; replicas of one, samples of a micro-batch and of a batch.
ACTIVATION_PAPER = {"megatron-22B": (6144, 48, 64, 1, 1, 4, 4), "gpt3-175B": (12288, 96, 96, 8, 3, 1, 64), "turing-530B": (20480, 105, 128, 35, 3, 1, 280),
                    "megatron-1T": (25600, 128, 160, 64, 1, 1, 512)}


def korthikanti_memory(tables):
    """arXiv 2205.05198, Figure 1: what parameters, optimizer states and activations take, which its authors computed. Memory alone, with and
    without selective recomputation and sequence parallelism. Without them it is more than a GPU has."""
    for r in tables.rows("megatron_seqsel_fig1_memory_GiB.csv"):
        hidden, layers, heads, pp, chunks, micro, batch = ACTIVATION_PAPER[r["model"]]
        both = r["variant"] == "seqsel"
        yield a100(id=f"fig1-{r['model']}-{r['variant']}", group="korthikanti-fig1", n_gpus=8 * pp, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden,
                   seq=2048, vocab=51200, tp=8, pp=pp, dp=1, chunks=chunks, micro_batch=micro, global_batch=batch, recompute="selective" if both else "none",
                   sequence_parallel=int(both), framework="megatron", source=r["source"], **{"training.fp32_gradients": True},
                   measured_peak_bytes=round((float(r["param_and_optimizer_GiB"]) + float(r["activation_GiB"])) * GIB))


def sc21(tables):
    """arXiv 2104.04473, Tables 1 and 2. Table 2 gives the product of tensor and pipeline degree; tensor is 8 as everywhere in that
    paper."""
    for r in tables.rows("megatron_sc21_table1.csv"):
        yield gpt(r, id="sc21-t1-" + r["case"], group="megatron-sc21-t1", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab"], tp=r["tp"], pp=r["pp"],
                  dp=r["dp"], chunks=r["model_chunks_per_stage"], micro_batch=r["micro_batch"], global_batch=r["global_batch"], framework="megatron",
                  measured_s=r["derived_iter_time_s"])
    for k, r in enumerate(tables.rows("megatron_sc21_table2_ptd_vs_zero3.csv")):
        zero = r["scheme"] == "ZeRO-3"
        yield gpt(r, id=f"sc21-t2-{k}", group="sc21-t2-zero3" if zero else "sc21-t2-ptd", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab"],
                  tp=r["tp_assumed"], pp=r["pp_assumed"], dp=r["dp"], micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                  sharding="zero3" if zero else "none", framework="deepspeed" if zero else "megatron", measured_s=r["derived_iter_time_s"])


def megatron_2020(tables):
    """Megatron-LM's tables of 2020 (sequence 1024, vocabulary 51200). Micro-batch and recomputation are not in the table: the whole
    batch of a replica at once, recomputed in full, as the scripts of that commit have it."""
    clusters = {"DGX-2 V100": ("dgx-2", 16, "v100"), "DGX-A100": ("dgx-a100-40gb", 8, "a100")}
    for k, r in enumerate(tables.rows("megatron_2020_dgx2_dgxa100_tp_scaling.csv")):
        cluster, per_node, device = clusters[r["system"]]
        n = int(r["n_gpus"])
        yield gpt(r, id=f"m2020-{device}-{r['case']}-{n}", group=f"megatron-2020-{device}", cluster=cluster, nodes=max(1, n // per_node), n_gpus=n, seq=1024,
                  vocab=51200, tp=r["tp"], pp=1, dp=r["dp"], micro_batch=int(r["global_batch"]) // int(r["dp"]), global_batch=r["global_batch"],
                  framework="megatron", measured_s=float(r["iter_time_ms"]) / 1e3)


CONTEXT_GIB = 1  # of CUDA and NCCL, which allocators do not count (device.reserved of the profile)


def bloom(tables):
    """Megatron-DeepSpeed on JeanZay's A100 nodes, four 100 Gb/s adapters each: forecast on a DGX with eight of 200 Gb/s, since the rate
    is not in the source; an iteration takes minutes, and little of it is network. Sequence 2048. Vocabulary 250880: what the sizes
    given leave beside 12 x layers x hidden^2 (181B, 196B and 177B give 240,000 to 250,000), and BLOOM's.

    The optimizer is sharded (ZeRO 1) where the tables do not say: the two of one plan that do hold 37 GB with stage 1 and 72 GB without it. Up to
    the section "Rebalancing layers" (02-28) training was in fp16 and added gradients up in fp16; from then on it was in bf16, with gradients in fp32.
    Memory is rounded to GB; what it is a reading of is not said. A run that filled the GPU has 80 GB: it is taken for nvidia-smi's, in GiB, with what
    the allocator holds and the context."""
    for k, r in enumerate(tables.rows("bigscience_bloom_a100_topologies.csv")):
        if not r["sec_per_iter"] or not all(r[key].isdigit() for key in ("hidden", "layers", "heads", "tp", "pp", "dp", "n_gpus", "micro_batch", "global_batch")):
            tables.leave_out("bloom", "hidden size, layers, heads, a degree, the batch or the time is not given")
            continue
        hidden, tp, pp, dp, n, micro = int(r["hidden"]), int(r["tp"]), int(r["pp"]), int(r["dp"]), int(r["n_gpus"]), int(r["micro_batch"])
        heads = int(r["heads"])
        if tp * pp * dp != n or int(r["global_batch"]) % (micro * dp) or hidden % heads or heads % tp or int(r["layers"]) % pp:
            tables.leave_out("bloom", "degrees, batch, heads or layers do not divide")
            continue
        yield gpt(r, id=f"bloom-{k}", group="bloom", n_gpus=n, seq=2048, vocab=250880, tp=tp, pp=pp, dp=dp, micro_batch=micro,
                  global_batch=r["global_batch"], framework="deepspeed", sharding="none" if r["zero_stage"] == "0" else "zero1", measured_s=r["sec_per_iter"],
                  measured_reserved_bytes=round((number(r["mem_GB"]) - CONTEXT_GIB) * GIB) if number(r["mem_GB"]) else None,
                  **{"precision": "bf16", "training.fp32_gradients": True} if r["note_date"] >= "02-28" else {})


def nemo_launcher(tables):
    """NeMo-Megatron on DGX A100: the plan is that of the shipped recipe at every node count. Selective recomputation, here of a "block" of
    0 layers, is of all layers: "Using block activation checkpointing with granularity selective forces all layers to use checkpointing" (NeMo of 2022,
    nemo/collections/nlp/modules/common/megatron/transformer.py), and the scores of unfused attention would not fit; distributed optimizer where the notes say so. Rows that do not say what is recomputed, whose recipe batch does not
    divide, and encoder-decoders are left out."""
    for r in tables.rows("nemo_launcher_a100_scaling.csv"):
        group = "nemo-a100-" + r["model"].lower()
        if not all(number(r[key]) for key in ("n_gpus", "tp", "pp", "dp", "micro_batch", "global_batch", "seq_len", "layers", "hidden", "heads", "ffn")):
            tables.leave_out(group, "the plan is not complete")
            continue
        n, dp, tp, pp = number(r["n_gpus"]), number(r["dp"]), number(r["tp"]), number(r["pp"])
        if tp * pp * dp != n or number(r["global_batch"]) % (number(r["micro_batch"]) * dp) or not r["model"].startswith("GPT") or "recompute" not in r["notes"]:
            tables.leave_out(group, "no GPT, nothing said of recomputation, or the recipe's batch does not divide")
            continue
        yield a100(id=f"{group}-{n}", group=group, n_gpus=n, layers=r["layers"], hidden=r["hidden"], heads=r["heads"], ffn=r["ffn"], seq=r["seq_len"],
                    vocab=51200, tp=tp, pp=pp, dp=dp, chunks=number(r["vpp"]) or 1, micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                    recompute="selective" if "selective" in r["notes"] else "full",
                    sequence_parallel=int("sequence" in r["notes"]), sharding="zero1" if "distributed_fused_adam" in r["notes"] else "none",
                    precision="bf16", framework="megatron", measured_s=r["derived_iter_time_s_if_recipe_gbs"], source=r["source"])

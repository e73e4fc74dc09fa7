"""Megatron-LM and its forks on A100 and V100, 2020 to 2023."""
from .megatron_core import layers_per_stage
from .points import GIB, Unsaid, number, point


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
    """Megatron-DeepSpeed on A100: full recomputation, 1F1B without interleaving, half precision (its profiler's). The table gives the rate between nodes
    of a whole node, in Gb/s; here each of a DGX's eight adapters has an eighth of it."""
    def one(group, k, r):
        per_adapter = number(r.get("inter_node_Gbps_per_node_cfg")) / 8 / 8  # GB/s; 0: not said, the preset's
        return gpt(r, id=f"{group}-{k}", group=group, n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab_cfg"], tp=r["tp"], pp=r["pp"], dp=r["dp"],
                   micro_batch=r["micro_batch"], global_batch=r["global_batch"], framework="deepspeed", measured_s=float(r["iter_time_ms"]) / 1e3,
                   **{"cluster.links.infiniband.bandwidth": f"{per_adapter:g} GB/s"} if per_adapter and int(r["n_gpus"]) > 8 else {})

    for group, name in (("vtrain-single-node", "vtrain_a100_single_node.csv"), ("vtrain-multi-node", "vtrain_a100_multi_node.csv")):
        yield from tables.convert(name, group, lambda k, r, group=group: one(group, k, r))


def korthikanti(tables):
    """arXiv 2205.05198, Table 5."""
    def one(_, r):
        selective = r["variant"] == "seqsel"
        return gpt(r, id=f"t5-{r['model']}-{r['variant']}", group="korthikanti-t5", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=51200, tp=r["tp"], pp=r["pp"],
                   dp=r["dp"], chunks=r["pp_interleave_chunks"], micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                   recompute="selective" if selective else "full", sequence_parallel=int(selective), framework="megatron", measured_s=r["iter_time_s"])

    yield from tables.convert("megatron_seqsel_table5_iteration_time.csv", "korthikanti-t5", one)


# Table 3 of the same paper: hidden size, layers, heads; tensor 8, pipeline, chunks; replicas of one, samples of a micro-batch and of a batch.
ACTIVATION_PAPER = {"megatron-22B": (6144, 48, 64, 1, 1, 4, 4), "gpt3-175B": (12288, 96, 96, 8, 3, 1, 64), "turing-530B": (20480, 105, 128, 35, 3, 1, 280),
                    "megatron-1T": (25600, 128, 160, 64, 1, 1, 512)}


def korthikanti_memory(tables):
    """arXiv 2205.05198, Figure 1: what parameters, optimizer states and activations take, which its authors computed. Memory alone, with and
    without selective recomputation and sequence parallelism. Without them it is more than a GPU has."""
    def one(_, r):
        hidden, layers, heads, pp, chunks, micro, batch = ACTIVATION_PAPER[r["model"]]
        both = r["variant"] == "seqsel"
        return a100(id=f"fig1-{r['model']}-{r['variant']}", group="korthikanti-fig1", n_gpus=8 * pp, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden,
                   seq=2048, vocab=51200, tp=8, pp=pp, dp=1, chunks=chunks, micro_batch=micro, global_batch=batch, recompute="selective" if both else "none",
                   sequence_parallel=int(both), framework="megatron", source=r["source"], **{"training.fp32_gradients": True},
                   measured_peak_bytes=round((float(r["param_and_optimizer_GiB"]) + float(r["activation_GiB"])) * GIB))

    yield from tables.convert("megatron_seqsel_fig1_memory_GiB.csv", "korthikanti-fig1", one)


def sc21(tables):
    """arXiv 2104.04473, Tables 1 and 2. Table 2 gives the product of tensor and pipeline degree; tensor is 8 as everywhere in that
    paper."""
    def first(_, r):
        return gpt(r, id="sc21-t1-" + r["case"], group="megatron-sc21-t1", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab"], tp=r["tp"], pp=r["pp"],
                   dp=r["dp"], chunks=r["model_chunks_per_stage"], micro_batch=r["micro_batch"], global_batch=r["global_batch"], framework="megatron",
                   measured_s=r["derived_iter_time_s"])

    def second(k, r):
        zero = r["scheme"] == "ZeRO-3"
        return gpt(r, id=f"sc21-t2-{k}", group="sc21-t2-zero3" if zero else "sc21-t2-ptd", n_gpus=r["n_gpus"], seq=r["seq_len"], vocab=r["vocab"],
                   tp=r["tp_assumed"], pp=r["pp_assumed"], dp=r["dp"], micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                   sharding="zero3" if zero else "none", framework="deepspeed" if zero else "megatron", measured_s=r["derived_iter_time_s"])

    yield from tables.convert("megatron_sc21_table1.csv", "megatron-sc21-t1", first)
    yield from tables.convert("megatron_sc21_table2_ptd_vs_zero3.csv", "sc21-t2", second)


def megatron_2020(tables):
    """Megatron-LM's tables of 2020 (sequence 1024, vocabulary 51200). Micro-batch and recomputation are not in the table: the whole
    batch of a replica at once, recomputed in full, as the scripts of that commit have it."""
    clusters = {"DGX-2 V100": ("dgx-2", 16, "v100"), "DGX-A100": ("dgx-a100-40gb", 8, "a100")}

    def one(_, r):
        cluster, per_node, device = clusters[r["system"]]
        n = int(r["n_gpus"])
        return gpt(r, id=f"m2020-{device}-{r['case']}-{n}", group=f"megatron-2020-{device}", cluster=cluster, nodes=max(1, n // per_node), n_gpus=n, seq=1024,
                   vocab=51200, tp=r["tp"], pp=1, dp=r["dp"], micro_batch=int(r["global_batch"]) // int(r["dp"]), global_batch=r["global_batch"],
                   framework="megatron", measured_s=float(r["iter_time_ms"]) / 1e3)

    yield from tables.convert("megatron_2020_dgx2_dgxa100_tp_scaling.csv", "megatron-2020", one)


CONTEXT_GIB = 1  # of CUDA and NCCL, which allocators do not count (device.reserved of the profile)


# Hidden size and layers of a model of BigScience's tests, by its name, which the headings of that document have (chronicles-prequel.md of its source).
BLOOM_MODELS = {"176B": (14336, 70), "177B": (12288, 96), "178B": (13312, 82), "181B": (14336, 72), "184B": (12288, 100), "187B": (13824, 80), "195B": (12288, 106),
                "196B": (13824, 84), "203B": (13312, 94), "206B": (14336, 82)}
BLOOM_VOCABULARY = 250880


def bloom_model(r):
    """Hidden size, layers and heads: the row's, where they make the size that it is named after; else the heading's. All models before the section
    "NHEADs comparison" have 64 heads, as its first line says."""
    if r["size"] == "194B" or r["note_date"] < "02-21" and r["size"] != "187B":
        raise Unsaid("14400 numbers wide, and the layers are not given")
    said = int(r["hidden"] or 0), int(r["layers"] or 0)
    billions = float(r["size"].rstrip("B"))  # parameters, as the model's name has them
    billions_of = lambda hidden, layers: (12 * layers * hidden + BLOOM_VOCABULARY) * hidden / 1e9
    hidden, layers = said if abs(billions_of(*said) / billions - 1) < 0.01 else BLOOM_MODELS.get(r["size"], (0, 0))
    if not layers:
        raise Unsaid("hidden size or layers are not given, or do not make the model's size")
    return hidden, layers, int(r["heads"] or 64)


def bloom_stages(r, layers, pp):
    """Layers of each stage. With partition_method 'type:transformer|embedding' (all models that lack two layers of a multiple) the embedding and the head
    count as a layer each. Without it stages are filled one after the other (78 layers on 12: eleven of 7, one of 1)."""
    if layers % pp == 0:
        return None
    if (layers + 2) % pp == 0:
        return layers_per_stage(layers, pp)
    each = -(-layers // pp)
    lengths = [min(each, layers - each * k) for k in range(pp)]
    if lengths[-1] < 1:
        raise Unsaid("layers do not fill the stages")
    return lengths


def bloom(tables):
    """Megatron-DeepSpeed on JeanZay's A100 nodes: eight GPUs on NVSwitch and four Omni-Path adapters of 100 Gb/s, of which NCCL 2.10 used two without reading the
    GPUs' memory: over four nodes a ring of all GPUs came in by one and left by another, and reduced 4 GB in fp32 in 1.53 s, 5.06 GB/s, as a ring of four GPUs
    a node did by one alone (bigscience-workshop/bigscience, experiments/bandwidth, all_reduce_bench-a100-n4.txt and n4_a100_all_reduce_bench.txt). Twice that
    is what nodes have here, an eighth of it at each of a DGX's adapters. Sequence 2048. Vocabulary 250880: what the sizes given leave beside 12 x layers x hidden^2 (181B, 196B and 177B give
    240,000 to 250,000), and BLOOM's.

    The optimizer is sharded (ZeRO 1) where the tables do not say: the two of one plan that do hold 37 GB with stage 1 and 72 GB without it. Up to
    the section "Rebalancing layers" (02-28) training was in fp16 and added gradients up in fp16; from then on it was in bf16, with gradients in fp32.
    Hosts waited for each launch ("dealing with JZ hanging on the large model": without CUDA_LAUNCH_BLOCKING=1 runs on 320 GPUs always hung). Such a host hides no launch, so
    one in the backward pass takes what PyTorch's take (31 us, profiles/frameworks/pytorch.yaml), not what deepspeed's profile found left of them where hosts run ahead. One node alone, which is no
    point, ran 10 layers of 14336 numbers in 205.5 s (of 512 samples, says the heading "Max possible TFLOPs check"), 140 TFLOP/s with what is computed again; runs on
    384 GPUs reach as much and more, their pipelines' bubbles and reductions included.
    Memory is nvidia-smi's ("quickly getting the memory snapshot"), rounded to GiB, with what the allocator holds and the context. Up to 02-24 the machine's PCIe and
    NUMA settings slowed it by 1 to 5 % ("GBS Variations")."""
    def one(k, r):
        if not r["sec_per_iter"].replace(".", "").isdigit() or not all(r[key].isdigit() for key in ("tp", "pp", "dp", "n_gpus", "micro_batch", "global_batch")):
            raise Unsaid("a degree, the batch or the time is not given")
        hidden, layers, heads = bloom_model(r)
        tp, pp, dp, n, micro = (int(r[key]) for key in ("tp", "pp", "dp", "n_gpus", "micro_batch"))
        if tp * pp * dp != n or int(r["global_batch"]) % (micro * dp) or hidden % heads or heads % tp:
            raise Unsaid("degrees, batch or heads do not divide")
        return gpt({**r, "layers": layers, "hidden": hidden, "heads": heads}, id=f"bloom-{k}", group="bloom", n_gpus=n, seq=2048, vocab=BLOOM_VOCABULARY, tp=tp, pp=pp,
                   dp=dp, micro_batch=micro, global_batch=r["global_batch"], framework="deepspeed", sharding="none" if r["zero_stage"] == "0" else "zero1",
                   measured_s=r["sec_per_iter"], measured_reserved_bytes=round((number(r["mem_GB"]) - CONTEXT_GIB) * GIB) if number(r["mem_GB"]) else None,
                   **{"cluster.links.infiniband.bandwidth": "1.265 GB/s", "plan.layers_per_stage": bloom_stages(r, layers, pp),
                      **({"training.framework.blocking_launches": True, "training.framework.host.backward_kernel": "31 us"} if n >= 320 else {})},
                   **({"precision": "bf16", "training.fp32_gradients": True} if r["note_date"] >= "02-28" else {}))

    yield from tables.convert("bigscience_bloom_a100_topologies.csv", "bloom", one)


def nemo_launcher(tables):
    """NeMo-Megatron on DGX A100: the plan is that of the shipped recipe at every node count. Selective recomputation, here of a "block" of
    0 layers, is of all layers: "Using block activation checkpointing with granularity selective forces all layers to use checkpointing" (NeMo of 2022,
    nemo/collections/nlp/modules/common/megatron/transformer.py), and the scores of unfused attention would not fit; distributed optimizer where the notes say so. Rows that do not say what is recomputed, whose recipe batch does not
    divide, and encoder-decoders are left out."""
    def one(_, r):
        group = "nemo-a100-" + r["model"].lower()
        if not r["model"].startswith("GPT"):
            raise Unsaid("it is no GPT")
        if not all(number(r[key]) for key in ("n_gpus", "tp", "pp", "dp", "micro_batch", "global_batch", "seq_len", "layers", "hidden", "heads", "ffn")):
            raise Unsaid("the plan is not complete")
        n, dp, tp, pp = number(r["n_gpus"]), number(r["dp"]), number(r["tp"]), number(r["pp"])
        if tp * pp * dp != n or number(r["global_batch"]) % (number(r["micro_batch"]) * dp) or "recompute" not in r["notes"]:
            raise Unsaid("nothing is said of recomputation, or the recipe's batch does not divide")
        return a100(id=f"{group}-{n}", group=group, n_gpus=n, layers=r["layers"], hidden=r["hidden"], heads=r["heads"], ffn=r["ffn"], seq=r["seq_len"],
                    vocab=51200, tp=tp, pp=pp, dp=dp, chunks=number(r["vpp"]) or 1, micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                    recompute="selective" if "selective" in r["notes"] else "full",
                    sequence_parallel=int("sequence" in r["notes"]), sharding="zero1" if "distributed_fused_adam" in r["notes"] else "none",
                    precision="bf16", framework="megatron", measured_s=r["derived_iter_time_s_if_recipe_gbs"], source=r["source"])

    yield from tables.convert("nemo_launcher_a100_scaling.csv", "nemo-a100", one)

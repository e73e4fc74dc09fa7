#!/usr/bin/env python3
"""Converts public end-to-end tables to points tables for `foreshard validate` (docs/formats.md, "Points").

    validation/points_from_tables.py DATA_DIR OUT_DIR

DATA_DIR is a folder that holds e2e/*.csv with the columns that each function below reads; tables that are not there are skipped. One file
per group is written. What a table leaves open and what is assumed for it is said at each group; rows that are not complete are left out and
counted. Standard library only.
"""
import csv
import json
import os
import sys

COLUMNS = ["id", "group", "cluster", "nodes", "n_gpus", "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated", "rms_norm", "rope", "biases",
           "tied_embeddings", "causal", "seq", "vocab", "attention", "tp", "pp", "dp", "cp", "ep", "micro_batch", "global_batch", "chunks", "recompute",
           "sequence_parallel", "sharding", "precision", "framework", "measured_s", "measured_peak_bytes", "source"]
GIB = 1 << 30


class Tables:
    """Reads from DATA_DIR/e2e and counts what is left out."""

    def __init__(self, directory):
        self.directory = os.path.join(directory, "e2e")
        self.left_out = {}

    def rows(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return []
        with open(path, newline="", encoding="utf-8") as f:
            return list(csv.DictReader(f))

    def leave_out(self, group, why):
        key = (group, why)
        self.left_out[key] = self.left_out.get(key, 0) + 1


def point(**values):
    base = {"cluster": "dgx-a100-80gb", "chunks": 1, "recompute": "full", "sequence_parallel": 0, "sharding": "none", "precision": "fp16",
            "attention": "unfused", "cp": 1, "ep": 1}
    p = dict(base, **values)
    p.setdefault("nodes", max(1, int(p["n_gpus"]) // 8))
    return p


def gpt(r, **values):
    """A GPT with an MLP of four times its width."""
    return point(layers=r["layers"], hidden=r["hidden"], heads=r["heads"], ffn=4 * int(r["hidden"]), source=r.get("source", ""), **values)


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


def sc21(tables):
    """arXiv 2104.04473, Tables 1 and 2. Table 2 gives the product of tensor and pipeline degree; tensor is 8 as everywhere in that paper."""
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
    """Megatron-LM's tables of 2020 (sequence 1024, vocabulary 51200). Micro-batch and recomputation are not in the table: the whole batch of a replica at
    once, recomputed in full, as the scripts of that commit have it."""
    clusters = {"DGX-2 V100": ("dgx-2", 16, "v100"), "DGX-A100": ("dgx-a100-40gb", 8, "a100")}
    for k, r in enumerate(tables.rows("megatron_2020_dgx2_dgxa100_tp_scaling.csv")):
        cluster, per_node, device = clusters[r["system"]]
        n = int(r["n_gpus"])
        yield gpt(r, id=f"m2020-{device}-{r['case']}-{n}", group=f"megatron-2020-{device}", cluster=cluster, nodes=max(1, n // per_node), n_gpus=n, seq=1024,
                  vocab=51200, tp=r["tp"], pp=1, dp=r["dp"], micro_batch=int(r["global_batch"]) // int(r["dp"]), global_batch=r["global_batch"],
                  framework="megatron", measured_s=float(r["iter_time_ms"]) / 1e3)


def mpt(tables):
    """llm-foundry: FSDP in bf16, flash attention; fp8 and offloading rows are left out."""
    shapes = {r["model"].replace("mpt-", ""): r for r in tables.rows("llm_foundry_mpt_model_shapes.csv")}
    clusters = {"a100_80gb": "dgx-a100-80gb", "a100_40gb": "dgx-a100-40gb", "h100_80gb": "dgx-h100"}
    for k, r in enumerate(tables.rows("llm_foundry_mpt_throughput.csv")):
        group = "mpt-fsdp-" + r["GPU"]
        shape = shapes.get(r["Model"].lower().replace("mpt-", ""))
        if r["Precision"] == "amp_fp8" or r["Activation CPUOffload"] == "True" or shape is None or r["GPU"] not in clusters:
            tables.leave_out(group, "fp8, offloading, or an unknown model")
            continue
        n, seq, tokens = int(r["# GPUs"]), int(r["SeqLen (T)"]), float(r["GlobalBatchSize (T)"])
        yield point(id=f"mpt-{k}", group=group, cluster=clusters[r["GPU"]], n_gpus=n, layers=shape["n_layers"], hidden=shape["d_model"],
                    heads=shape["n_heads"], ffn=4 * int(shape["d_model"]), seq=seq, vocab=shape["vocab"], attention="flash", tp=1, pp=1, dp=n,
                    micro_batch=r["MicroBatchSize"], global_batch=round(tokens / seq), recompute="full" if r["Activation Checkpointing"] == "True" else "none",
                    sharding={"FULL_SHARD": "zero3", "SHARD_GRAD_OP": "zero2"}[r["Sharding Strategy"]], precision="bf16", framework="pytorch",
                    measured_s=tokens / float(r["Throughput (T/s)"]), source=r["source"])


def simumax(tables):
    """Megatron on one B200 node, bf16, micro-batch 1. Dense models only: latent attention is not expressible. "cef" is the fused cross-entropy."""
    path = os.path.join(tables.directory, "simumax_model_shapes.json")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        shapes = json.load(f)
    for r in tables.rows("simumax_b200_real.csv"):
        shape = shapes.get(r["model"]) or shapes.get(r["model"] + "_padding_128")
        if shape is None or shape.get("attention_type") == "mla" or shape.get("expert_num"):
            tables.leave_out("simumax-b200", "latent attention or experts of several widths")
            continue
        n, tp, cp, pp = int(r["n_gpus"]), int(r["tp"]), int(r["cp"]), int(r["pp"])
        dp = n // (tp * cp * pp)
        yield point(id=r["case"], group="simumax-b200", cluster="dgx-b200", n_gpus=n, layers=r["layers"], hidden=shape["hidden_size"], heads=shape["head_num"],
                    kv_heads=shape["kv_head_num"], head_dim=shape["head_size"], ffn=shape["intermediate_size"], gated=int(shape["use_swiglu"]), rms_norm=1,
                    rope=1, biases=0, tied_embeddings=0, seq=r["seq_len_default_4096"], vocab=shape["vocab_size"], attention="flash", tp=tp, pp=pp, dp=dp,
                    cp=cp, micro_batch=1, global_batch=int(r["micro_batch_count"]) * dp, recompute="none", sequence_parallel=int(tp > 1),
                    sharding="zero1" if tp * cp * pp > 1 else "none", precision="bf16", framework="megatron",
                    measured_s=float(r["measured_iter_ms"]) / 1e3, measured_peak_bytes=round(float(r["measured_peak_alloc_GiB"]) * GIB), source=r["source"])


def bloom(tables):
    """Megatron-DeepSpeed on JeanZay's A100 nodes, four 100 Gb/s adapters each: forecast on a DGX with eight of 200 Gb/s, since the rate is not
    in the source; an iteration takes minutes, and little of it is network. Sequence 2048. Vocabulary 250880: what the sizes given leave beside
    12 x layers x hidden^2 (181B, 196B and 177B give 240,000 to 250,000), and BLOOM's."""
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
                  global_batch=r["global_batch"], framework="deepspeed", sharding={"1": "zero1"}.get(r["zero_stage"], "none"), precision="bf16",
                  measured_s=r["sec_per_iter"])


def nemo_launcher(tables):
    """NeMo-Megatron on DGX A100: the plan is that of the shipped recipe at every node count. Selective recomputation of a block of 0 layers is none;
    distributed optimizer where the notes say so. Rows that do not say what is recomputed, whose recipe batch does not divide, and encoder-decoders are
    left out."""
    for r in tables.rows("nemo_launcher_a100_scaling.csv"):
        group = "nemo-a100-" + r["model"].lower()
        number = lambda key: int(r[key]) if r[key].isdigit() else 0
        if not all(number(key) for key in ("n_gpus", "tp", "pp", "dp", "micro_batch", "global_batch", "seq_len", "layers", "hidden", "heads", "ffn")):
            tables.leave_out(group, "the plan is not complete")
            continue
        n, dp, tp, pp = number("n_gpus"), number("dp"), number("tp"), number("pp")
        if tp * pp * dp != n or number("global_batch") % (number("micro_batch") * dp) or not r["model"].startswith("GPT") or "recompute" not in r["notes"]:
            tables.leave_out(group, "no GPT, nothing said of recomputation, or the recipe's batch does not divide")
            continue
        yield point(id=f"{group}-{n}", group=group, n_gpus=n, layers=r["layers"], hidden=r["hidden"], heads=r["heads"], ffn=r["ffn"], seq=r["seq_len"],
                    vocab=51200, tp=tp, pp=pp, dp=dp, chunks=number("vpp") or 1, micro_batch=r["micro_batch"], global_batch=r["global_batch"],
                    recompute="none" if "(block,0)" in r["notes"] else "selective" if "selective" in r["notes"] else "full",
                    sequence_parallel=int("sequence" in r["notes"]), sharding="zero1" if "distributed_fused_adam" in r["notes"] else "none",
                    precision="bf16", framework="megatron", measured_s=r["derived_iter_time_s_if_recipe_gbs"], source=r["source"])


GROUPS = (vtrain, korthikanti, sc21, megatron_2020, mpt, simumax, bloom, nemo_launcher)


def main(data, out):
    tables = Tables(data)
    os.makedirs(out, exist_ok=True)
    groups = {}
    for convert in GROUPS:
        for p in convert(tables):
            groups.setdefault(p["group"], []).append(p)
    for group, rows in sorted(groups.items()):
        with open(os.path.join(out, group + ".csv"), "w", newline="", encoding="utf-8") as f:
            writer = csv.DictWriter(f, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"{group}: {len(rows)} points")
    for (group, why), count in sorted(tables.left_out.items()):
        print(f"{group}: {count} rows left out: {why}")
    if not groups:
        sys.exit(f"{data}: no table that this script knows lies in its folder e2e")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])

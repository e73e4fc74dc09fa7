"""NVIDIA's tables whose plan stands in the row: NeMo of 2024 on DGX H100, the MoE ModelZoo's Qwen3, and MLPerf Training's GPT-3 and LoRA on Llama 2. FP8 is
Transformer Engine's with delayed scaling, the default of NeMo of 2024 and of MLPerf's submissions."""
import re

from .attention import FLASH_2
from .machines import machine
from .megatron_core import UNFUSED_LOSS, grid, merged, precision_of, recompute_modules
from .models import model
from .points import Unsaid, number, point, seconds_of


def fp8(precision):
    return {"precision": precision, "fp8_recipe": "delayed" if precision == "fp8" else None}


def nemo2024(tables):
    """NeMo on DGX H100, 2024 (nemo_dgx_h100_2024.csv), by its launcher's configurations of that spring and summer (NVIDIA/NeMo-Framework-Launcher, launcher_scripts/conf):
    attention is FlashAttention-2 (config.yaml, "NVTE_FUSED_ATTN: 0"), the loss is not fused (no cross_entropy_loss_fusion in training/llama/llama3_8b.yaml,
    gpt3/5b.yaml, nemotron/nemotron_8b.yaml), GPT-3 drops out (hidden_dropout and attention_dropout 0.1), tensor parallelism is overlapped (ub_tp_comm_overlap).
    Rows of fine-tuning count attention over whole packed sequences and by the profile's kernels, since the samples' lengths are not given; those with a pipeline do not say how it interleaves. LoRA's adapters are those
    that its recipes begin with (megatron_gpt_finetuning_config.yaml: attention_qkv, adapter_dim 32)."""

    def one(k, r):
        adapters = {"model.lora": {"rank": 32, "on": ["qkv"]}} if r["task"] == "LoRA" else {}
        attention = {} if r["task"] else FLASH_2
        shape = model(r["model"])
        n, tp, pp, cp, ep = (number(r[c], 1) for c in ("n_gpus", "tp", "pp", "cp", "ep"))
        if pp > 1 and not r["vp"]:
            raise Unsaid("the row does not say how the pipeline interleaves")
        where, chip = machine(r["system"], n)
        seq, batch = number(r["seq_len"] or r["packed_seq_len"]), number(r["global_batch"])
        p = grid(shape, n_gpus=n, tp=tp, pp=pp, vp=number(r["vp"], 1), cp=cp, ep=ep, micro_batch=number(r["micro_batch"], 1), global_batch=batch, seq=seq)
        precision = precision_of(r["precision"])
        return point(**merged(p, where, fp8(precision), adapters, attention, UNFUSED_LOSS, {
            "training.framework.transformer_dropout": 0.1 if r["model"].startswith("GPT") else None, "id": f"nemo2024-{k}", "group": f"nemo2024-{chip}-{precision}", "training.framework.overlap_tensor": True if tp > 1 else None,
            "measured_s": seconds_of(r, batch * seq, n), "source": r["source"]}))

    yield from tables.convert("nemo_dgx_h100_2024.csv", "nemo2024", one)


def moezoo(tables):
    """Megatron-MoE-ModelZoo's table of Qwen3 (megatron_moe_qwen3_h100.csv), experts forced to balance. `FSDP` is Megatron-FSDP, which
    shares out weights. The optimizer is the precision-aware one of its recipes."""

    def one(k, r):
        shape = model("Qwen3 " + r["Model"])
        n, tp, pp, cp, ep = (number(r[c], 1) for c in ("#GPUs", "TP", "PP", "CP", "EP"))
        where, chip = machine(r["System"], n)
        precision = precision_of(r["Precision"])
        if not r["Step time (sec)"]:
            raise Unsaid("neither seconds nor tokens/s are given, and FLOPs are counted in several ways")
        p = grid(shape, n_gpus=n, tp=tp, pp=pp, vp=number(r["VPP"], 1), cp=cp, ep=ep, etp=number(r["ETP"], 1), micro_batch=number(r["MBS"], 1),
                 global_batch=number(r["GBS"]), seq=number(r["SEQ LEN"]))
        modules = [m.strip() for m in r["recompute"].split(",") if m.strip()]
        return point(**merged(p, where, fp8(precision), {
            "id": f"moezoo-{k}", "group": f"moezoo-{chip}-{precision}", "sharding": "zero3" if r["FSDP"].lower() == "on" else "zero1",
            "recompute": "full" if modules == ["full"] else "none",
            "plan.recompute": {"modules": recompute_modules(modules)} if modules and modules != ["full"] else None,
            "plan.dispatch": r["Dispatcher"].lower() if r["Dispatcher"].lower() in ("deepep", "hybridep") else None,
            "plan.overlap": {"experts": True} if "overlap" in r["Notes"].lower() else None, "training.framework.fp32_gradient_copy": False,
            "measured_s": r["Step time (sec)"], "source": r["source"]}))

    yield from tables.convert("megatron_moe_qwen3_h100.csv", "moezoo", one)


def mlperf(tables):
    """MLPerf Training's GPT-3 175B (mlperf_gpt3_175b_iteration_time.csv): the plan is that of the submission's scripts; tensor
    parallelism is overlapped. The vocabulary is padded to 51200. Scripts of v4.0 and v4.1 keep and gather weights in fp8 (FP8_PARAMS in
    config_common.sh), fuse the loss (cross_entropy_loss_fusion in conf/custom.yaml, which v3.1 does not have) and, with micro-batches of 1,
    launch layers as graphs (LAYER_CUDA_GRAPH in config_DGXH100_1344x8x6x4x6_mbs1_cg.sh and 1452x8x6x4x6)."""

    def one(k, r):
        of_2024 = r["round"] >= "v4"
        n, tp, pp = (number(r[c], 1) for c in ("n_gpus", "tp", "pp"))
        where, chip = machine(r["gpu"], n)
        shape = {"layers": number(r["layers"]), "hidden": number(r["hidden"]), "heads": number(r["heads"]), "ffn": 4 * number(r["hidden"]), "vocab": 51200}
        p = grid(shape, n_gpus=n, tp=tp, pp=pp, vp=number(r["virtual_pp"], 1), micro_batch=number(r["micro_batch"], 1), global_batch=number(r["global_batch"]),
                 seq=number(r["seq_len"]))
        precision = "fp8" if "fp8" in r["precision"].lower() else "bf16"
        return point(**merged(p, where, fp8(precision), {
            "id": f"mlperf-{r['round']}-{n}-{k}", "group": f"mlperf-{chip}-{precision}",
            "recompute": r["recompute"] if r["recompute"] in ("full", "selective") else "none",
            "plan.weights": "fp8_transposed" if of_2024 and precision == "fp8" else None,
            "plan.graphed": {"attention": True, "mlp": True} if of_2024 and p["micro_batch"] == 1 else None, **({} if of_2024 else UNFUSED_LOSS),
            "training.framework.overlap_tensor": True if tp > 1 else None, "measured_s": r["iter_time_s"], "source": r["source"]}))

    yield from tables.convert("mlperf_gpt3_175b_iteration_time.csv", "mlperf", one)


def mlperf_lora(tables):
    """MLPerf Training's LoRA on Llama 2 70B (mlperf_training_nvidia.csv), by the scripts of v4.0 (mlcommons/training_results_v4.0, NVIDIA/benchmarks/llama2_70b_lora/
    implementations/nemo: config_common.sh, config_*.sh and conf/megatron_gpt_peft_tuning_config.yaml); those of v4.1 are not in public copies and are taken for the same.
    Packed samples of 8192 tokens, of which attention sees the whole; adapters of rank 16 on attention; weights in fp8 whose transposed copies are not kept; attention in fp8, but on L40S, and
    where a sample is split in v4.0, whose Transformer Engine 1.6 cannot (NVIDIA/TransformerEngine pull request 1114, in 1.10); the loss is not fused; tensor parallelism is overlapped but on L40S; the optimizer is not sharded. Tensor degree 4 but on GPUs of more memory, which the
    number of micro-batches says; context parallelism has the rest."""

    def one(k, r):
        if r["benchmark"] != "llama2_70b_lora":
            raise Unsaid("no plan is given")
        found = re.fullmatch(r"(\d+)xNVIDIA (?:DGX |HGX )?(.*)", r["platform"])
        if not found:
            raise Unsaid("the platform does not say how many nodes there are")
        nodes, chip = int(found.group(1)), found.group(2).lower()
        where, n = lora_machine(chip, nodes)
        batch, batches = number(r["global_batch"]), number(r["grad_accum"], 1)
        replica = n * batches // batch
        tp = min(replica, 4)
        p = grid(model("Llama 2 70b"), n_gpus=n, tp=tp, pp=1, cp=replica // tp, micro_batch=1, global_batch=batch, seq=8192)
        small = chip == "l40s"
        in_fp8 = not small and (p["cp"] == 1 or r["round"] > "v4.0")
        return point(**merged(p, where, fp8("fp8"), UNFUSED_LOSS, {
            "id": f"mlperf-lora-{r['round']}-{n}-{k}", "group": f"mlperf-lora-{chip}-fp8", "sharding": "none", "model.lora": {"rank": 16, "on": ["qkv", "out"]},
            "plan.weights": "fp8", "training.fp8_attention": True if in_fp8 else None, "training.framework.overlap_tensor": None if small else True,
            "plan.activation_inputs": "fp8" if chip == "h200" else None, "measured_s": batch / float(r["median_logged_throughput_samples_per_s"]), "source": r["source"]}))

    yield from tables.convert("mlperf_training_nvidia.csv", "mlperf-training", one)


def lora_machine(chip, nodes):
    """The columns of so many nodes of a chip, and their GPUs."""
    if chip == "l40s":
        # Four to a node on PCIe 4.0, two adapters of 400 Gb/s (NVIDIA/systems/l40s_n16_ngc24.04_nemo.json); here one, which PCIe holds to 256.
        return {"cluster": "pcie-l40s-4", "nodes": nodes, "n_gpus": 4 * nodes, "cluster.links.ethernet.bandwidth": "50 GB/s"}, 4 * nodes
    return machine(chip.upper(), 8 * nodes)[0], 8 * nodes

"""What the frameworks that tables in shared columns name are to a scenario, and what their publishers set beside a row's columns. Nothing here is fitted to those
rows: each setting is read where it says."""
import re
from typing import NamedTuple

from .attention import FLASH_2
from .megatron_core import UNFUSED_LOSS
from .systems import adapters


class Stack(NamedTuple):
    framework: str                   # one of `training.framework`
    stage: str = "none"              # what replicas share out where a row says nothing
    sharded: str = "zero1"           # and what where it says only among how many GPUs
    sequence_parallel: bool = False  # beside tensor parallelism
    attention: str = "flash"
    settings: dict = {}


NONE = dict.fromkeys(("forward_bytes", "backward_bytes", "forward_strided_bytes", "backward_strided_bytes"), "0 B")
# InternEvo is an eager program of PyTorch on the kernels of flash-attn and apex (InternLM/InternLM of autumn 2023, from which it comes: internlm/model/modeling_internlm.py, linear.py,
# multi_head_attention.py): RMS norms of apex, rotations of flash-attn and a scripted gated unit are a kernel each, as torch.compile's. Attention is FlashAttention 1.0.5
# (doc/en/install.md), whose shares of the peak on A100, 30 to 50 % forward and 25 to 35 % backward (arXiv 2307.08691, section 1), are the profile's. Logits go to fp32 (naive_amp.py,
# output_to_fp32), flash-attn's loss reads them and leaves their gradient in their place (inplace_backward): per logit 2 + 4 and 4 bytes, backward 8 and 4 + 2. The
# optimizer: reduce_bucket_size of 512 Mi elements, overlap_sync_grad and overlap_sync_param, clip_grad_norm (configs/7B_sft.py of that autumn), gradients copied to fp32
# (hybrid_zero_optim.py). Checkpoints run a block again whole (internlm/utils/checkpoint.py). Tensor parallelism is without sequence parallelism (mode "mtp").
INTERNEVO = {"training.framework.compiled": True, "training.framework.rotation": NONE, "training.framework.loss_casts": NONE, "training.framework.loss.forward_kernels": 2,
             "training.framework.loss.forward_bytes": "10 B",
             "training.framework.loss.backward_kernels": 2, "training.framework.loss.backward_bytes": "14 B", "training.framework.memory.loss_temporaries": "2 B",
             "training.framework.gradient_bucket": "1 GiB", "training.framework.overlap_gradients": True, "training.framework.overlap_parameters": True,
             "training.framework.fp32_gradient_copy": True, "training.framework.stops_recomputation_early": False, "training.clip_gradients": True}
# NeMo of spring 2024: FlashAttention-2, a loss without fused kernels (nvidia.py, nemo2024, has the sources).
NEMO_2024 = {**FLASH_2, **UNFUSED_LOSS}
# Models of Hugging Face say their own dropout, and language models of 2023 have none; the profile's 0.1 is Megatron-DeepSpeed's.
HUGGING_FACE = {"training.framework.transformer_dropout": 0}
# torchtitan's units (multinode.py, torch_units, has the sources).
TITAN = {**FLASH_2, "training.framework.unit_copies": {"gathered_bytes": "4 B", "reduced_bytes": "0 B", "reduced_strided_bytes": "4.5 B"}, "training.fp32_gradients": True}

CORE = Stack("megatron-core", "zero1", sequence_parallel=True)
STACKS = {
    "internevo": Stack("pytorch", "zero1", settings=INTERNEVO),
    "megatron-core": CORE, "nemo": CORE, "nemo2": CORE, "megatron-bridge": CORE,
    "nemo2024": CORE._replace(settings=NEMO_2024),
    "megatron": Stack("megatron"), "megatron-lm": Stack("megatron"),
    "torch": Stack("pytorch", sharded="zero3"), "pytorch": Stack("pytorch", sharded="zero3"), "hf": Stack("pytorch", sharded="zero3", settings=HUGGING_FACE),
    "fsdp": Stack("pytorch", "zero3", "zero3"), "torchtitan": Stack("pytorch", "zero3", "zero3", True, settings=TITAN),
    # Its scripts for fine-tuning begin with ZeRO 2 (QwenLM/Qwen, finetune/ds_config_zero2.json).
    "deepspeed": Stack("deepspeed", "zero2", "zero2", settings=HUGGING_FACE), "megatron-deepspeed": Stack("deepspeed"),
    # Compiled by XLA, which fuses what it can: what well-tuned frameworks share.
    "tf": Stack("generic", attention="unfused"), "tensorflow": Stack("generic", attention="unfused"),
    "jax": Stack("generic", sharded="zero3"), "maxtext": Stack("generic", "zero3", "zero3"), "generic": Stack("generic", sharded="zero3"),
}


def internevo_network(row):
    """Four adapters of 100 Gb/s in a node, RoCE (doc/en/train_performance.md, "4 * 100Gb RoCE"), priced as InfiniBand."""
    return adapters(row.cluster, 4, "12.5 GB/s") if row.nodes > 1 else {}


def deep_learning_examples(row):
    """NVIDIA's BERT. PyTorch/LanguageModeling/BERT: scripted kernels fused by NVFuser, one bucket for all gradients (run_pretraining.py, bucket_cap_mb of the whole memory). TensorFlow/
    LanguageModeling/BERT: XLA, gradients reduced by Horovod once all are added up (--allreduce_post_accumulation), in its 64 MiB. Scores of attention are stored in both."""
    if row.framework == "pytorch":
        return {"attention": "unfused", "training.framework.compiled": True, "training.framework.gradient_bucket": "all"}
    return {"attention": "unfused", "training.framework.overlap_gradients": False, "training.framework.gradient_bucket": "64 MiB"}


def mlperf_lora(row):
    """The conf/megatron_gpt_peft_tuning_config.yaml of submissions: weights are kept in fp8 and not transposed (fp8_params, disable_parameter_transpose_cache), the loss is taken to be v4.0's, which
    is not fused."""
    return {**UNFUSED_LOSS, "plan.weights": "fp8" if row.precision == "fp8" else None}


def mlperf_lora_2025(row):
    """NVIDIA's of v5.0, on Blackwell: context parallelism exchanges heads (cp_comm_type: a2a), and nothing is overlapped with gradients (overlap_grad_reduce and overlap_param_gather:
    False). Hopper's and AMD's submissions start NeMo of 2024, which has neither line."""
    return {"plan.context_kind": "ulysses" if row.cp > 1 else None, "training.framework.overlap_gradients": False, "training.framework.overlap_parameters": False}


def mlperf_lora_amd(row):
    """AMD's: the optimizer is the distributed one on several nodes alone (the same file, optim.name)."""
    return {"sharding": "none"} if row.nodes == 1 else {}


# Of which source, and on which chips -> settings of a row. All that fit count.
PUBLISHED = [
    (r"InternLM/InternEvo", r"a100|a800", internevo_network),
    (r"NVIDIA/DeepLearningExamples@\w+:(PyTorch|TensorFlow)/LanguageModeling/BERT", r".*", deep_learning_examples),
    (r"mlcommons/training_results.*lora", r".*", mlperf_lora),
    (r"mlcommons/training_results.*lora", r"mi3\w+", mlperf_lora_amd),
    (r"mlcommons/training_results_v5.*lora", r"g?b[23]00", mlperf_lora_2025),
]


def published(row):
    settings = {}
    for source, chips, of in PUBLISHED:
        if re.match(source, row.source) and re.fullmatch(chips, row.chip):
            settings.update(of(row))
    return settings

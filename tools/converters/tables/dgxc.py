"""What NVIDIA's DGX Cloud benchmarks ask for beside the plan of their tables, read in their launch scripts (NVIDIA/dgxc-benchmarking at the
release that a row names, model/launch.sh and configure.sh) and in the recipes these start (NVIDIA/NeMo scripts/performance/llm)."""
import re

from .attention import FLASH_2
from .megatron_core import UNFUSED_LOSS

# TransformerEngine has no fused backward kernel of cuDNN for heads that are wider in queries than in values on Blackwell before cuDNN 9.11
# (transformer_engine/common/fused_attn/fused_attn.cpp, nvte_get_fused_attn_backend, "9.11: d_qk = 192, d_v = 128 + Blackwell + bprop"), which
# is younger than the containers of April 2025 (FW_VERSION of launch.sh). Its script for GB200 recomputes core_attn, that for H100 mla_up_proj.
UNFUSED = {"attention": "unfused", "plan.recompute": {"modules": ["attention"]}}
# MegatronTokenDropCallback: every expert gets and pads to an equal number of tokens, which the host knows.
PADDED = {"training.framework.host_waits_for_tokens": False}
OVERLAPPED = {"training.framework.overlap_tensor": True}  # tp_comm_overlap, ub_tp_comm_overlap
# Tensor parallelism over trays overlaps nothing, although the script asks for it: what bf16 takes longer than fp8 in the rows of three models, and Nemotron-4 340B's
# row in fp8 besides, say so: by the shares of profiles/devices/gb200-186gb.yaml bf16 takes 3.5 s longer there, measured are 2.8 s. Transformer Engine spans trays since 2.2 (its pull request 1470), and whether these containers do
# is not known. NeMo's script for it got a switch afterwards (TP_COMM_OVERLAP), and some script of NeMo turns it off on 512 GB200s (its pull request 14474).
EXPOSED = {"training.framework.overlap_tensor": False}
GRAPHS = {"plan.cuda_graphs": True}                       # --cuda_graphs true
# MaxText (maxtext/configure.sh, remat_policy=save_qkv_proj) computes all of a layer again but queries, keys and values, and XLA drops what no gradient reads.
# A plan here computes those again, too: 2 % of the time.
# Its data is synthetic (dataset_type=synthetic), and all tokens of it are zeros (MaxText/input_pipeline/input_pipeline_interface.py of 2024, the containers'
# age; random ones since 2025).
MAXTEXT = {"recompute": "full", "training.framework.stops_recomputation_early": True, "training.constant_tokens": True}
# Racks of GB200 in spring 2025: what no CUDA graph launches takes 1.8 times as long as with the software of 2026. The one constant that is fitted to
# rows of this table: Llama 3 405B in FP8 asks for 0.56 and DeepSeek-V3, whose forecasts would be 42 % too short, for 0.5; Llama 4 asks for no slower
# hosts. The scripts of H100 in the same release ask for nothing. Why is not known.
YOUNG_HOSTS = {"cluster.node.gpus.host_speed": 0.55}

# Releases of early 2025 start NeMo's recipes of 2024. GPT-3 drops out and does not fuse its loss (nemo_megatron/gpt3_175b_hydra.yaml); it and Nemotron-4 340B run
# FlashAttention-2 (NVTE_FUSED_ATTN=0 in nemo_megatron/configure.sh and nemotron/configure.sh), which the 15B and Llama do not. 340B runs its attention again and keeps
# moments in bf16 (activations_checkpoint_granularity: selective, optim.dtype in nemotron/nemotron4-340b-synth.yaml). FP8 keeps weights in it (fp8_params).
GPT = {**FLASH_2, **UNFUSED_LOSS, "training.framework.transformer_dropout": 0.1}
NEMOTRON_340 = {**FLASH_2, "plan.recompute": {"modules": ["attention"]}, "plan.moments": "bf16"}
FP8_WEIGHTS = {"plan.weights": "fp8_transposed"}

# Release, model, chip -> settings, of one precision alone where it is named. The first that fits counts.
LAUNCHED = [
    (r"v25\.0[45]", r"deepseek", r"gb200|b200", {**UNFUSED, **PADDED}),
    (r"v25\.0[45]", r"deepseek", r"h100", {"plan.recompute": {"modules": ["mla_up"]}, **PADDED}),
    # grok1 starts from the configuration of Mixtral 8x7B, with its activation.
    (r"v25\.0[45]", r"grok", r"gb200|b200", {"model.activation": None, **PADDED, **OVERLAPPED, **GRAPHS}),
    (r"v25\.0[45]", r"grok", r"h100", {"model.activation": None, **PADDED, **OVERLAPPED}),
    (r"v25\.0[12]", r"grok", r"h100", {**PADDED, **OVERLAPPED}),
    (r"v25\.02", r"llama3-70b", r"h100", MAXTEXT),
    *((r"v25\.0[12]", name, r"h100", {**settings, **weights}, precision) for name, settings in ((r"gpt3", GPT), (r"nemotron4-340b", NEMOTRON_340), (r"nemotron4|llama3\.1", {}))
      for precision, weights in (("fp8", FP8_WEIGHTS), ("bf16", {}))),
    (r"v25\.0[45]", r"nemotron4-340b", r"gb200", {**GRAPHS, **EXPOSED}),
    (r"v25\.0[45]", r"nemotron", r"gb200", GRAPHS),
    (r"v25\.0[45]", r"llama4", r"h100", GRAPHS, "fp8"),
]


def launched(source, model, chip, precision):
    """The settings of a row; none where its source is another, or its script asks for nothing that the table does not say."""
    release = re.search(r"dgxc-benchmarking@(v[\d.]+)", source)
    if not release:
        return {}
    said = next((dict(settings) for r, m, c, settings, *only in LAUNCHED
                 if re.match(r, release.group(1)) and re.search(m, model, re.IGNORECASE) and re.fullmatch(c, chip) and precision in (only or [precision])), {})
    return {**said, **(YOUNG_HOSTS if re.match(r"v25\.0[45]", release.group(1)) and chip == "gb200" else {})}

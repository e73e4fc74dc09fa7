"""Megatron-LM's functional tests: the seconds and the peak of memory that its continuous integration holds each run against, with the
arguments of the run (megatron_ci_golden_iteration_time.csv). Small models, bound by the host; most in deterministic mode.

What the table leaves open, and what is taken for it from the tests' own recipes (NVIDIA/Megatron-LM tests/test_utils/recipes): GPUs are
those of two trays of a GB200 rack or of one node of eight (runs on one tray are left out); runs of `release` have more, which no row
says. A vocabulary that is not given is that of the tokenizer, GPT-2's where none is named, padded as Megatron-LM pads. The suite says
what the model is: GPT and Mixtral decoders, BERT, hybrids. Words of a case's name that stand for something no column has (latent attention,
frozen weights, Muon, ...) leave it out. Memory is that of the first GPU: the most of any where there is no pipeline, and left out where
there is one. It is also left out where the arguments leave the choice of attention to Transformer Engine and the file is of the older image
(lts) or of the older layout, which does not name the platform: rows with the same arguments have peaks of 2.5 and of 4.4 GiB there, with and
without the scores of unfused attention."""
import re

from .models import columns_of, model
from .megatron_core import UNFUSED_LOSS, layers_per_stage
from .points import Unsaid, number, point

DEGREES = ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size", "expert-model-parallel-size")
PLATFORMS = {"a100": ("dgx-a100-80gb", 8), "h100": ("dgx-h100", 8), "gb200": ("gb200-nvl72", 4)}
# Words of a case's name -> what nobody says. ("frozen" is the checkpoint that a case starts from: TEST_TYPE of its model_config.yaml.)
WORDS = [("release", "the row does not say on how many GPUs it ran"),
         ("torch_dist_muon", "each iteration compares hashes of all weights"),  # --check-weight-hash-across-dp-replicas-interval: 1
         ("mtp", "the modules of multi-token prediction are not given"),
         ("proxy", "the sizes of latent attention are not given"), ("offload", "parts of layers are off-loaded"), ("distill", "distillation cannot be said"),
         ("grpo", "the run generates text besides"), ("cudagraph", "parts of layers are in CUDA graphs")]
DESCRIBED = ("mtp", "cudagraph")  # of them, what SHAPES and OTHERS have of some cases
SUITES = {"t5": "encoder-decoders have no column", "mimo": "models of images have no columns", "multimodal-llava": "models of images have no columns"}
# Median over least time of an iteration from which on a run says more of what ran beside it than of itself: of 836 runs 38 are above, 35 of them on one tray
# of a GB200 rack, and the others reach up to 12 times the time of their twins.
UNSTEADY = 1.5
# What Megatron-LM's command line does unless told otherwise, and NVIDIA's recipes do otherwise: gradients in fp32, dropout, and the loss without fused kernels.
DEFAULTS = {"training.framework.fp32_gradients": True, "training.framework.transformer_dropout": 0.1, **UNFUSED_LOSS}
# What the tests' environment and arguments change about memory and attention (tests/functional_tests/test_cases/*/*/model_config.yaml): CUBLAS_WORKSPACE_CONFIG=:4096:8; the
# loss is Megatron-LM's, in fp32; deterministic runs have --no-gradient-accumulation-fusion, and NVTE_ALLOW_NONDETERMINISTIC_ALGO=0, with which
# Transformer Engine takes FlashAttention 2 on Blackwell, too. Layers of the `local` implementation have no library.
#
# FlashAttention 2 on B200: 354 to 362 TFLOP/s forward with heads of 128 (meta-pytorch/tritonbench PR 171), 329 to 334 backward with heads of 64 (Dao-AILab/flash-attention
# issue 1589), of a peak of 2,500 in the profile of gb200-186gb. No figure of the deterministic backward pass is known: it is taken to be as fast, which it is at most.
FLASH_2 = {"training.framework.attention.gb200": 0.144, "training.framework.attention_gradient.gb200": 0.132}


def behaviour_of(r):
    deterministic, local = is_set(r, "deterministic-mode"), r["transformer-impl"] == "local"
    behaviours = {"product_workspace": "32 MiB", "loss_kept": "4 B", "loss_temporaries": "2 B", "gradient_placeholders": False if deterministic or local else None,
              "library_workspaces": 0 if local else None, "expert_workspaces": 0 if local else None, "copied_attention_output.gb200": True if deterministic else None}
    return {**(FLASH_2 if deterministic else {}), **{"training.framework.memory." + k: v for k, v in behaviours.items()}}


# What no column has, by a word of a case's name, from its model_config.yaml. Of a model: --moe-ffn-hidden-size and its kin, --multi-latent-attention and its sizes,
# --moe-layer-freq; `chunks` and layers of stages: --pipeline-model-parallel-layout, --decoder-first- and -last-pipeline-num-layers.
LATENT = {"kv_rank": 512, "query_rank": 1536, "head_dim": 128, "rope_dim": 64, "value_dim": 128, "expert_ffn": 1024, "shared_ffn": 1024, "router": "sigmoid",
          "expert_groups": 4, "groups_per_token": 2}
ALL_TO_ALL = {"plan.dispatch": None}
NO_DROPOUT = {"training.framework.transformer_dropout": 0}
PROXY = {**ALL_TO_ALL, **NO_DROPOUT}
SHAPES = [("_mla", {"kv_rank": 64, "query_rank": 192, "head_dim": 16, "rope_dim": 8, "value_dim": 16}),
          ("ep8_resume_torch_dist_dist_", {"expert_ffn": 1024}), ("tp4_ep2_etp2_pp2_resume", {"expert_ffn": 1024, "shared_ffn": 512}),
          ("ep4_etp1_memory_speed", {**LATENT, "dense_layers": 1, "mtp_layers": 1}), ("ep4_etp1_mtp_resume_torch_dist_fp8", {**LATENT, "dense_layers": 1, "mtp_layers": 1}),
          ("ep4_etp1_resume_torch_dist_attn_cudagraph", {**LATENT, "dense_layers": 1}), ("ep4_etp1_selective_recompute", {**LATENT, "dense_layers": 3, "mtp_layers": 1}),
          ("etp2_pp2_scoped_cudagraph", {"expert_ffn": 1024, "shared_ffn": 512, "dense_layers": 4, "mtp_layers": 1, "router": "sigmoid", "rope": 1})]
STAGES = [("uneven_pipeline", [2, 4, 4, 2]), ("ep4_etp1_memory_speed", [2] * 7 + [3]), ("ep4_etp1_mtp_resume", [2] * 7 + [3]),
          ("ep4_etp1_selective_recompute", [3] + [2] * 7), ("etp2_pp2_scoped_cudagraph", [1] + [2] * 6 + [1])]
INSTANCES = [("multi_dist_optimizer_instances", 2)]  # --num-distributed-optimizer-instances
# Whatever else. Tokens go to their experts as Megatron-LM's default has it, gathered by all, unless --moe-token-dispatcher-type says alltoall.
OTHERS = [("a2a_ovlp", {**ALL_TO_ALL, "plan.overlap": {"experts": True}}), ("tp4_ep2_etp2_pp2_resume", ALL_TO_ALL), ("cp2_pp2_ep2_te_4experts2parallel_nondet", NO_DROPOUT),
          ("ep4_etp1_memory_speed", PROXY), ("ep4_etp1_mtp_resume_torch_dist_fp8", {**PROXY, "fp8_recipe": "current"}),
          ("ep4_etp1_resume_torch_dist_attn_cudagraph", {**PROXY, "fp8_recipe": "current", "plan.graphed": {"attention": True}}),
          ("ep4_etp1_selective_recompute", {**PROXY, "plan.overlap": {"experts": True}, "plan.recompute": {"modules": ["activation", "mla_up", "mlp", "norm"]}}),
          ("etp2_pp2_scoped_cudagraph", {**PROXY, "fp8_recipe": "blockwise", "training.bf16_layers": {"first": 1, "last": 1}, "plan.recompute": {"modules": ["activation"]},
                                         "plan.graphed": {"attention": True, "mlp": True, "router": True}})]


def named(table, r, otherwise=None):
    return next((value for word, value in table if word in r["test_case"]), otherwise)


# Letters of the layers of hybrids, by the beginning of a case's name (--hybrid-layer-pattern of its model_config.yaml; where stages have several chunks it is cut
# into as many pieces as there are chunks). Mamba's sizes there are Megatron-LM's defaults: heads of 64, twice the hidden width.
PATTERNS = [("hybrid_mr_mcore_te", "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-")]
# Nemotron's model_config.yaml sets what Megatron-LM leaves off.
NEMOTRON = {"training.framework.fp32_gradients": False, "training.framework.transformer_dropout": 0, "plan.dispatch": "hybridep"}


def knows_attention(r):
    return bool(r["attention-backend"]) or r["transformer-impl"] == "local" or (r["image"] == "dev" and bool(r["platform"]))


# Entries of tokenizers: GPT-2's BPE; BERT's cased word pieces with Megatron-LM's extra tokens.
TOKENIZERS = {"": 50257, "GPT2BPETokenizer": 50257, "BertWordPieceCase": 28996 + 104}


def is_set(r, column):
    return r[column] == "True"


def vocabulary(r, tp):
    """Entries after padding to a multiple of make-vocab-size-divisible-by (128) x tensor degree (Megatron-LM's
    _vocab_size_with_padding)."""
    size = number(r["vocab-size"]) or TOKENIZERS.get(r["tokenizer-type"])
    if not size:
        raise Unsaid("the tokenizer's vocabulary is not given")
    multiple = number(r["make-vocab-size-divisible-by"], 128) * tp
    return -(-size // multiple) * multiple


def gpus_of(r):
    """The chip, its preset, nodes and GPUs. Old files name the platform nowhere."""
    found = re.search(r"dgx_?(a100|h100|gb200)", r["source"])
    chip = r["platform"] or (found.group(1) if found else "")
    if chip not in PLATFORMS:
        raise Unsaid("the row does not say on what machine it ran")
    preset, per_node = PLATFORMS[chip]
    if per_node == 4 and r["test_case"].endswith("1node"):
        # 46 rows take 2 to 12 times as long as the forecasts that fit their twins on two trays: 3.9 times in the median, against 0.84.
        raise Unsaid("on one tray of a rack, where it takes several times as long as on two: not all of how it ran is given")
    n = 8
    return chip, preset, max(1, n // per_node), n


def published(r):
    """The model that a case's name begins with, where its sizes are this model's."""
    shape = model(" ".join(r["test_case"].split("_")[:3]))
    if (shape["hidden"], shape["layers"]) != (number(r["hidden-size"]), number(r["num-layers"])):
        raise Unsaid("the letters of its layers are not given")
    return shape


def model_of(r, tp):
    if r["suite"] == "nemotron":
        return published(r)
    pattern = next((letters for case, letters in PATTERNS if r["test_case"].startswith(case)), None)
    if r["suite"] == "hybrid" and not pattern:
        raise Unsaid("the letters of its layers are not given")
    hidden, layers = number(r["hidden-size"]), len(pattern) if pattern else number(r["num-layers"])
    if not hidden or not layers or not number(r["num-attention-heads"]) or not number(r["seq-length"]):
        raise Unsaid("the sizes of the model are not given")
    swiglu = is_set(r, "swiglu")
    shape = {"layers": layers, "hidden": hidden, "heads": number(r["num-attention-heads"]), "head_dim": number(r["kv-channels"]) or None,
             "kv_heads": number(r["num-query-groups"]) or None if is_set(r, "group-query-attention") else None,
             "ffn": number(r["ffn-hidden-size"]) or (hidden * 8 // 3 // 64 * 64 if swiglu else 4 * hidden), "gated": int(swiglu),
             "rms_norm": int(r["normalization"] == "RMSNorm"), "tied_embeddings": int(not is_set(r, "untie-embeddings-and-output-weights")),
             "vocab": vocabulary(r, tp)}
    if "rope" in r["test_case"]:
        shape["rope"] = 1
    if "qk_layernorm" in r["test_case"]:
        shape["qk_norm"] = "true"
    if "disable_bias_linear" in r["test_case"]:
        shape["biases"] = 0
    if number(r["num-experts"]):
        shape.update(experts=number(r["num-experts"]), top_k=number(r["moe-router-topk"], 2))
        shape["biases"] = 0  # --disable-bias-linear, in each of these cases
    shape.update(named(SHAPES, r, {}))
    if pattern:
        shape.update(pattern=pattern, mamba_heads=2 * hidden // 64)
    if r["suite"] == "bert":
        shape.update(causal=0, token_types=2, head_transform="true", pooler="true")
    return shape


def chunks_of(r, layers, pp):
    if virtual := re.search(r"_vpp(\d+)_", r["test_case"]) if r["suite"] == "hybrid" else None:
        return int(virtual.group(1))
    if number(r["num-virtual-stages-per-pipeline-rank"]):
        return number(r["num-virtual-stages-per-pipeline-rank"])
    if len(named(STAGES, r, ())) > pp:
        return len(named(STAGES, r)) // pp
    each = number(r["num-layers-per-virtual-pipeline-stage"])
    return max(1, layers // pp // each) if each and pp > 1 else 1


def figures(r):
    return r["iter_time_s_median"], r["iter_time_s_min"], r["iter_time_s_max"], r["n_samples"]


def golden(tables):
    cases = {}  # by figures: the cases that have them
    for r in tables.rows("megatron_ci_golden_iteration_time.csv"):
        cases.setdefault(figures(r), set()).add(r["test_case"])

    def one(k, r):
        if r["suite"] in SUITES:
            raise Unsaid(SUITES[r["suite"]])
        for word, why in WORDS:
            if word in r["test_case"] and not (word in DESCRIBED and named(SHAPES, r)):
                raise Unsaid(why)
        if len(cases[figures(r)]) > 1:
            raise Unsaid("its figures are another case's, to the last digit")
        if float(r["iter_time_s_median"]) > UNSTEADY * float(r["iter_time_s_min"]):
            raise Unsaid("the run was not steady: half of its iterations take over 1.5 times as long as the fastest")
        chip, preset, nodes, n = gpus_of(r)
        tp, pp, cp, ep = (number(r[c], 1) for c in DEGREES)
        shape = model_of(r, tp)
        batch, micro = number(r["global-batch-size"]), number(r["micro-batch-size"])
        if n % (tp * pp * cp):
            raise Unsaid("the degrees do not divide the GPUs")
        dp = n // (tp * pp * cp)
        if not batch or not micro or batch % (micro * dp):
            raise Unsaid("the batch does not divide, or is not given")
        chunks = chunks_of(r, shape["layers"], pp)
        local = r["transformer-impl"] == "local" or r["attention-backend"] in ("unfused", "local")
        zero3 = is_set(r, "use-megatron-fsdp") and r["data-parallel-sharding-strategy"] == "optim_grads_params"
        etp = number(r["expert-tensor-parallel-size"])
        instances = named(INSTANCES, r, 1)
        batches = batch // (micro * dp)
        p = columns_of(shape)
        p.update({
            "cluster": preset, "nodes": nodes, "n_gpus": n, "seq": number(r["seq-length"]), "tp": tp, "pp": pp, "dp": dp, "cp": cp, "ep": ep, "chunks": chunks,
            "micro_batch": micro, "global_batch": batch, "attention": "unfused" if local else "flash", "recompute": r["recompute-granularity"] or "none",
            "sequence_parallel": int(is_set(r, "sequence-parallel") and tp > 1), "framework": "megatron-core",
            "sharding": "zero3" if zero3 else "zero1" if is_set(r, "use-distributed-optimizer") or "dist_dist_muon" in r["test_case"] else "none",
            "optimizer": "muon" if "muon" in r["test_case"] else None,
            "precision": "fp8" if r["fp8-format"] else "bf16" if is_set(r, "bf16") else "fp16" if is_set(r, "fp16") else "fp32",
            **DEFAULTS, "plan.dispatch": "allgather" if ep > 1 else None, **(NEMOTRON if r["suite"] == "nemotron" else {}), "training.framework.overlap_gradients": is_set(r, "overlap-grad-reduce"),
            "training.framework.overlap_parameters": is_set(r, "overlap-param-gather"),
            "training.clip_gradients": True, **behaviour_of(r),
            "plan.expert_tensor": etp if ep > 1 and etp and etp != tp else None, "plan.schedule": "flexible" if chunks > 1 and batches % pp else None,
            "plan.layers_per_stage": named(STAGES, r) or layers_per_stage(shape["layers"], pp * chunks),
            "plan.shard": dp * cp // instances if instances > 1 else None,
            **named(OTHERS, r, {}),
            "id": f"{r['test_case']}-{r['platform']}-{r['image']}-{k}", "group": f"golden-{chip}-{r['suite']}", "measured_s": r["iter_time_s_median"],
            "measured_peak_bytes": r["max_mem_bytes_rank0"] or None if pp == 1 and knows_attention(r) else None, "source": r["source"]})
        return point(**p)

    yield from tables.convert("megatron_ci_golden_iteration_time.csv", "golden", one)

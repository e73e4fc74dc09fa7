"""What tables call models, as keys of `model.transformer` (docs/formats/model.md). One place for all sizes, each with its source; a name is
searched for the model that it has. Sizes marked TODAY are read in NVIDIA-NeMo/Megatron-Bridge's recipes (tags v0.2.0 to v0.6.0), the
rest where it says."""
import re

from .points import Unsaid

LLAMA = {"gated": 1, "rms_norm": 1, "rope": 1, "biases": 0, "tied_embeddings": 0}
NEMOTRON = {"activation": "relu2", "rope": 1, "biases": 0, "tied_embeddings": 0, "vocab": 256000}
LATENT = {"head_dim": 128, "query_rank": 1536, "kv_rank": 512, "rope_dim": 64, "value_dim": 128}


def llama(layers, hidden, heads, kv_heads, ffn, vocab, **more):
    return {**LLAMA, "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "vocab": vocab, **more}


def gpt3(layers, hidden, heads, vocab=51200):
    return {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden, "vocab": vocab}


def qwen2(layers, hidden, heads, kv_heads, ffn, vocab, **more):
    return llama(layers, hidden, heads, kv_heads, ffn, vocab, **{"qkv_biases": "true", **more})


def bert(layers, hidden, heads):
    return {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden, "vocab": 30528, "causal": 0, "positions": 512, "token_types": 2, "dropout": 0.1,
            "post_norm": "true", "embedding_norm": "true", "head_transform": "true", "pooler": "true"}


def qwen3(layers, hidden, heads, kv_heads, ffn, **more):
    return llama(layers, hidden, heads, kv_heads, ffn, 151936, head_dim=128, qk_norm="true", **more)


def nemotron(layers, hidden, heads, kv_heads, ffn):
    return dict(NEMOTRON, layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, ffn=ffn)


# Linear layers have biases, every other layer sees 128 tokens, a learned sink for each head (arXiv 2508.10925, section 2; TODAY).
def gpt_oss(layers, experts):
    return llama(layers, 2880, 64, 8, 2880, 201088, head_dim=64, experts=experts, top_k=4, expert_biases="true", sinks="true", window=128, global_every=2,
                 qkv_biases="true", out_biases="true")


# Chunks of 8192 tokens but in every fourth layer, one shared expert, top 1 (config.json of the Hugging Face Hub).
def llama4(experts, every):
    return llama(48, 5120, 40, 8, 16384, 202048, head_dim=128, qk_norm="true", experts=experts, top_k=1, expert_every=every, expert_ffn=8192,
                 shared_experts=1, router="sigmoid", window=8192, chunked="true", global_every=4)


# Mamba-2 layers between attention and experts or MLPs, a letter for each layer; no rotary positions. Sizes and patterns: NVIDIA-NeMo/Megatron-Bridge,
# src/megatron/bridge/models/nemotronh (TODAY); of Ultra: NVIDIA-NeMo/Nemotron, skills/nemotron-ultra/paper/architecture.md, its pattern from the launch scripts
# that are published. Experts of Super and Ultra see a narrower, latent token.
def hybrid(pattern, hidden, heads, kv_heads, ffn, mamba_heads, state=128, **more):
    return {"rms_norm": 1, "activation": "relu2", "positions": "none", "biases": 0, "tied_embeddings": 0, "vocab": 131072, "head_dim": 128, "pattern": pattern,
            "layers": len(pattern), "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "mamba_heads": mamba_heads, "mamba_state": state, **more}


def hybrid_experts(pattern, hidden, heads, mamba_heads, experts, top_k, expert_ffn, **more):
    return hybrid(pattern, hidden, heads, 2, expert_ffn, mamba_heads, experts=experts, top_k=top_k, expert_ffn=expert_ffn, shared_ffn=2 * expert_ffn,
                  router="sigmoid", **more)


# Two predictions further ahead by one module of attention and experts, which runs twice.
AHEAD = {"mtp_layers": 2, "mtp_pattern": '"*E"', "mtp_shared": "true"}
NANO = ("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", 2688, 32, 64, 128, 6, 1856)
SUPER = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
ULTRA = ("MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME")
# The layers of Nemotron-H: MLPs between Mamba layers, here and there attention.
H_8B = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
H_47B = "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M---MM---M-M*-M-M-M-M-M-"
H_56B = "M-M-M-M*-" + "M-M-M-M-M*-" * 9 + "M-M-M-M-M-"


# What a name must hold -> sizes. The first that fits counts.
MODELS = [
    (r"llama.?4.*maverick", llama4(128, 2)),
    (r"llama.?4.*scout", llama4(16, 1)),
    # arXiv 2407.21783, table 3 (TODAY). The vocabulary is not padded: the recipes set it by hand.
    (r"llama.?3.*405b", llama(126, 16384, 128, 8, 53248, 128256)),
    (r"llama.?3.*70b", llama(80, 8192, 64, 8, 28672, 128256)),
    (r"llama.?3.*8b", llama(32, 4096, 32, 8, 14336, 128256)),
    # arXiv 2307.09288; 34b: arXiv 2308.12950 (Code Llama, the same shape).
    (r"llama.?2.*70b", llama(80, 8192, 64, 8, 28672, 32000)),
    (r"llama.?2.*34b", llama(48, 8192, 64, 8, 22016, 32000)),
    (r"llama.?2.*13b", llama(40, 5120, 40, 40, 13824, 32000)),
    (r"llama.?2.*7b", llama(32, 4096, 32, 32, 11008, 32000)),
    # arXiv 2401.04088, table 1; 8x22b: config.json of the Hugging Face Hub.
    (r"mixtral.*8x22b", llama(56, 6144, 48, 8, 16384, 32768, experts=8, top_k=2)),
    (r"mixtral.*8x7b", llama(32, 4096, 32, 8, 14336, 32000, experts=8, top_k=2)),
    # arXiv 2412.19437, section 4.2 (TODAY). Modules of multi-token prediction are what a row says, one where it says nothing.
    (r"deepseek.?v3", llama(61, 7168, 128, 128, 18432, 129280, **LATENT, experts=256, top_k=8, expert_ffn=2048, shared_ffn=2048, dense_layers=3,
                            router="sigmoid", expert_groups=8, groups_per_token=4, mtp_layers=1)),
    (r"kimi.?k2", llama(61, 7168, 64, 64, 18432, 163840, **LATENT, experts=384, top_k=8, expert_ffn=2048, shared_ffn=2048, dense_layers=1, router="sigmoid")),
    # arXiv 2505.09388, tables 1 and 2 (TODAY).
    (r"qwen.?3.*30b", qwen3(48, 2048, 32, 4, 768, experts=128, top_k=8)),
    (r"qwen.?3.*235b", qwen3(94, 4096, 64, 4, 1536, experts=128, top_k=8)),
    (r"qwen.?3.*\b8b", qwen3(36, 4096, 32, 8, 12288)),
    (r"qwen.?3.*32b", qwen3(64, 5120, 64, 8, 25600)),
    (r"gpt.?oss.*120b", gpt_oss(36, 128)),
    (r"gpt.?oss.*20b", gpt_oss(24, 32)),
    # xai-org/grok-1: run.py; an expert's width is 8 x 6144 x 2 / 3.
    (r"grok.?1", llama(64, 6144, 48, 8, 32768, 131072, head_dim=128, experts=8, top_k=2, activation="gelu")),
    # arXiv 2402.16819 and 2406.11704, tables 1. 8b and 22b: NeMo's recipes of 2024; tokens/s and TFLOP/s of its tables agree with these
    # within 0.3 %.
    (r"nemotron.?4.*340b", nemotron(96, 18432, 96, 8, 73728)),
    (r"nemotron.?4.*15b", nemotron(32, 6144, 48, 8, 24576)),
    (r"nemotron.?3.?nano", hybrid_experts(*NANO)),
    (r"nemotron.?3.?5.?lightning", hybrid_experts(*NANO, **AHEAD)),
    (r"nemotron.?3.?super", hybrid_experts(SUPER, 4096, 32, 128, 512, 22, 2688, expert_latent=1024, **AHEAD)),
    (r"nemotron.?3.?ultra", hybrid_experts(ULTRA, 8192, 64, 256, 512, 22, 5120, expert_latent=2048, **AHEAD)),
    (r"nemotron.?h.*56b", hybrid(H_56B, 8192, 64, 8, 32768, 256, state=256)),
    (r"nemotron.?h.*47b", hybrid(H_47B, 8192, 64, 8, 30720, 256, state=256)),
    (r"nemotron.?h.*8b", hybrid(H_8B, 4096, 32, 8, 21504, 128)),
    (r"nemotron.*22b", nemotron(40, 6144, 48, 48, 24576)),
    (r"nemotron.*\b8b", nemotron(32, 4096, 32, 32, 16384)),
    # arXiv 2005.14165, table 2.1; 5b and 20b: NeMo's recipes. MegaScale's has heads of 96 and its own vocabulary (arXiv 2402.15627, table
    # 1).
    (r"gpt-175b.*128 heads", gpt3(96, 12288, 128, 64000)),
    (r"gpt.?3.*175b", gpt3(96, 12288, 96)),
    (r"gpt.?3.*20b", gpt3(44, 6144, 48)),
    (r"gpt.?3.*5b", gpt3(24, 4096, 32)),
    # Names that only tables in shared columns have (shared_columns.py). InternLM/InternEvo, configs/_base_/models: MLPs of 8/3 of the width, rounded up to 256; the 7B's attention has
    # biases (config.json of internlm/internlm-7b).
    (r"internlm.?2.*7b", llama(32, 4096, 32, 8, 14336, 92544)),
    (r"internlm.?2.*20b", llama(48, 6144, 48, 8, 16384, 92544)),
    (r"internlm.*7b", llama(32, 4096, 32, 32, 11008, 103168, qkv_biases="true", out_biases="true")),
    (r"internlm.*20b", llama(60, 5120, 40, 40, 13824, 103168)),
    # config.json of the Hugging Face Hub: Qwen (whose intermediate_size is that of both projections of a gated unit together) and Qwen1.5, Qwen2 and Qwen2.5, Qwen3.
    (r"qwen.?2.*0\.5b", qwen2(24, 896, 14, 2, 4864, 151936, tied_embeddings=1)),
    (r"qwen.?2.*1\.5b", qwen2(28, 1536, 12, 2, 8960, 151936, tied_embeddings=1)),
    (r"qwen.?2.*3b", qwen2(36, 2048, 16, 2, 11008, 151936, tied_embeddings=1)),
    (r"qwen.?2.*7b", qwen2(28, 3584, 28, 4, 18944, 152064)),
    (r"qwen.?2.*14b", qwen2(48, 5120, 40, 8, 13824, 152064)),
    (r"qwen.?2.*32b", qwen2(64, 5120, 40, 8, 27648, 152064)),
    (r"qwen.?2.*72b", qwen2(80, 8192, 64, 8, 29568, 152064)),
    (r"qwen.?3.*0\.6b", qwen3(28, 1024, 16, 8, 3072, tied_embeddings=1)),
    (r"qwen.?3.*1\.7b", qwen3(28, 2048, 16, 8, 6144, tied_embeddings=1)),
    (r"qwen.?3.*4b", qwen3(36, 2560, 32, 8, 9728, tied_embeddings=1)),
    (r"qwen.?3.*14b", qwen3(40, 5120, 40, 8, 17408)),
    (r"qwen.?(1\.5.)?1\.8b", qwen2(24, 2048, 16, 16, 5504, 151936)),
    (r"qwen.?(1\.5.)?7b", qwen2(32, 4096, 32, 32, 11008, 151936)),
    (r"qwen.?(1\.5.)?14b", qwen2(40, 5120, 40, 40, 13696, 152064)),
    (r"qwen.?(1\.5.)?72b", qwen2(80, 8192, 64, 64, 24576, 152064)),
    (r"llama.?3\.2.*1b", llama(16, 2048, 32, 8, 8192, 128256, head_dim=64, tied_embeddings=1)),
    (r"llama.?3\.2.*3b", llama(28, 3072, 24, 8, 8192, 128256, head_dim=128, tied_embeddings=1)),
    (r"mistral.*7b", llama(32, 4096, 32, 8, 14336, 32000)),
    # arXiv 2302.13971, table 2.
    (r"llama.?7b", llama(32, 4096, 32, 32, 11008, 32000)),
    (r"llama.?13b", llama(40, 5120, 40, 40, 13824, 32000)),
    (r"llama.?65b", llama(80, 8192, 64, 64, 22016, 32000)),
    # arXiv 1810.04805, section 3, with both pre-training heads; NVIDIA's examples pad the vocabulary to a multiple of 8.
    (r"bert.?large", bert(24, 1024, 16)),
    (r"bert.?base", bert(12, 768, 12)),
]


def has_size_of(pattern, name):
    """Whether the size in a name, "405b" of "Llama 3.1 405B", is the pattern's and not its end: "15b" ends in "5b"."""
    size = re.search(r"(?<![\w.])(\d+x)?\d+(\.\d+)?b\b", name.lower())
    return not size or re.search(r"(?<![\d.x])" + re.escape(size.group()), pattern.replace("\\b", "").replace("\\", "")) is not None


def model(name, exact=False):
    """The keys of a model that a table names. `exact`: a size in the name is to be this model's."""
    for pattern, shape in MODELS:
        if re.search(pattern, name, re.IGNORECASE) and (not exact or has_size_of(pattern, name)):
            return dict(shape)
    raise Unsaid("nobody describes this model")


COLUMNS = {"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "gated", "rms_norm", "rope", "biases", "tied_embeddings", "causal", "experts", "top_k",
           "vocab"}


def columns_of(shape):
    """A model's keys as a point's values: those without a column become settings."""
    return {k if k in COLUMNS else "model." + k: v for k, v in shape.items() if v is not None}

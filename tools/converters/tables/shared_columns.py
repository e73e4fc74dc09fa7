"""Tables of iterations outside one publisher's recipes, which share their columns (the data's README, "Iterations outside one publisher's recipes"). Any table of DATA_DIR/e2e
with this header is read here, whatever it is called, by general rules: systems.py has the systems, models.py the models, stacks.py the frameworks and what their publishers
set, and WORDS what a run set besides. What has no entry there is refused with the names of row and column.

What the tables leave open: where no batch is given, a replica has 16 micro-batches; low precision keeps its weights in bf16 unless a word says otherwise; LAMB is Adam with norms;
sequences are as long as the row says, whatever the samples in them."""
import re
from types import SimpleNamespace

from .attention import FLASH_2
from .megatron_core import MODULES, grid, merged, recompute_modules, weights_in
from .models import model
from .points import Unknown, Unsaid, number, point
from .stacks import STACKS, published
from .systems import adapters, system

COLUMNS = ("id", "system", "model", "framework", "precision", "fp8_recipe", "n_gpus", "tp", "pp", "cp", "vp", "ep", "shard", "micro_batch", "global_batch", "seq",
           "recompute", "words", "measure", "value", "source")
PRECISIONS = {"fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4"}
LOW = {"fp8", "mxfp8", "nvfp4"}
FP8_RECIPES = {"": None, "delayed": "delayed", "current": "current", "tensorwise": "current", "blockwise": "blockwise"}
MICRO_BATCHES = 16  # of a replica, where the batch is not given

# apex's FusedLAMB, bytes per parameter (csrc/multi_tensor_lamb.cu): the norm of all gradients (4); stage 1 reads gradient, weight and moments and writes moments and update (16 + 12); norms
# of weight and update (8); stage 2 reads both and writes the weight (8 + 4), and its half-precision copy (2).
LAMB = {"optimizer": "adam", "training.framework.adam_bytes": "54 B"}
# NVIDIA's data: at most 20 of 128 and 80 of 512 tokens are predicted (max_predictions_per_seq).
PREDICTED = 5 / 32


def masked(row):
    """A head that sees the masked tokens alone. There is no key for it: the vocabulary is as much narrower, which makes the head's products and the loss what they are, and
    the rows that the token table lacks are in the table of positions, so that as many parameters are trained."""
    vocab = row.shape["vocab"]
    seen = round(vocab * PREDICTED)
    return {"vocab": seen, "model.positions": row.shape["positions"] + vocab - seen}


def replicas(row, count):
    if int(count) != row.dp:
        raise Unsaid(f"the row says {count} replicas, and its degrees leave {row.dp}")
    return {}


def attention_in_fp8(row):
    """nvfp4 has no such key: attention is forecast in bf16, whose time fp8's takes without measurements."""
    return {"training.fp8_attention": True} if row.precision in ("fp8", "mxfp8") else {}


def weights(row):
    if row.precision not in LOW:
        raise Unsaid(f"weights in low precision beside {row.precision}")
    return {"plan.weights": weights_in(row.precision, row.chip)}


def lora(_, rank, layers):
    return {"model.lora": {"rank": int(rank), "on": layers.split(",") if layers else ["qkv"]}}


def recomputed_first(_, blocks):
    return {"recompute": "full", "plan.recompute": {"blocks": int(blocks)}}


def recomputed_parts(_, names):
    """By Megatron-Core's names or a plan's own."""
    theirs = [n for n in names.split(",") if n not in MODULES.values()]
    return {"recompute": "none", "plan.recompute": {"modules": sorted({*recompute_modules(theirs), *names.split(",")} - set(theirs))}}


def dispatched(row, how):
    """Nothing is sent to experts that each rank has whole."""
    return {"plan.dispatch": how} if row.ep > 1 else {}


def fused_operations(row):
    """Transformer Engine's op fuser: experts' products are one kernel. In dense layers it has norms and activations inside the kernels around them, which no key says."""
    return {"training.framework.unfused_experts": False} if row.shape.get("experts") else {}


def always(**settings):
    return lambda *_: {k.replace("__", "."): v for k, v in settings.items()}


NOTHING = always()
GRAPHED = {"attention": True, "mlp": True}  # LAYER_CUDA_GRAPH and MCORE_CUDA_GRAPH of MLPerf's scripts
EXPOSED = always(training__framework__overlap_gradients=False, training__framework__overlap_parameters=False, training__framework__overlap_tensor=False)

# A word, matched whole -> the columns and settings that it stands for.
WORDS = [
    (r"lora:(\d+)(?::([\w,]+))?", lora),
    (r"flash2", lambda *_: FLASH_2), (r"unfused_attention", always(attention="unfused")),
    (r"fp8_params|fp4_params", weights), (r"fp8_attention", attention_in_fp8), (r"fp8_inputs", always(plan__activation_inputs="fp8")),
    (r"cuda_graphs", always(plan__cuda_graphs=True)), (r"layer_graphs", always(plan__graphed=GRAPHED)),
    (r"(deepep|hybridep|allgather)", dispatched), (r"alltoall", NOTHING),
    (r"ep_overlap", always(plan__overlap={"experts": True})), (r"tp_overlap", always(training__framework__overlap_tensor=True)), (r"no_overlap", EXPOSED),
    (r"recompute_first_(\d+)", recomputed_first),
    (r"recompute:([\w,]+)", recomputed_parts),
    (r"lamb", lambda *_: LAMB), (r"adamw", always(optimizer="adam")), (r"(adam|sgd|muon)", lambda _, which: {"optimizer": which}), (r"mlm", masked),
    (r"bf16_moments", always(plan__moments="bf16")), (r"precision_aware", always(training__framework__fp32_gradient_copy=False)),
    (r"fp32_gradients", always(training__fp32_gradients=True)),
    (r"compiled?", always(training__framework__compiled=True)), (r"dropout", always(training__framework__transformer_dropout=0.1)),
    (r"no_dropout", always(training__framework__transformer_dropout=0)),
    (r"sp", always(sequence_parallel=1)), (r"no_sp", always(sequence_parallel=0)), (r"ulysses", always(plan__context_kind="ulysses")),
    (r"cp_gather", always(plan__context_kind="gather")), (r"etp(\d+)", lambda _, degree: {"plan.expert_tensor": int(degree)}),
    (r"(zb-h1|dualpipe|gpipe)", lambda _, schedule: {"plan.schedule": schedule}), (r"offload_(activations|optimizer)", lambda _, part: {"plan.offload": {part: True}}),
    (r"no_mtp", always(model__mtp_layers=0)), (r"nics_(\d+)", lambda row, count: adapters(row.cluster, int(count)) if row.nodes > 1 else {}),
    (r"dp(\d+)", replicas), (r"zero([0-3])|nodes_(\d+)|(ddp)", NOTHING),  # read before the others
    (r"fused_te_ops", fused_operations),
    # No key has these. Packed samples are whole sequences in any case (attention ends at multiples of the length: InternEvo, PackedDatasetWithoutCuSeqlen). RoCE: adapters and their
    # rate are the preset's.
    (r"packed_one|ethernet|roce", NOTHING),
]


def settings_of_words(row):
    parts = []
    for word in row.words:
        for pattern, of in WORDS:
            if found := re.fullmatch(pattern, word):
                parts.append(of(row, *found.groups()))
                break
        else:
            raise Unknown("words", word)
    return parts


def argument(words, pattern):
    return next((found.group(1) for word in words if (found := re.fullmatch(pattern, word))), None)


def known(r, column, names):
    word = r[column].strip().lower()
    if word not in names:
        raise Unknown(column, r[column])
    return word


def shape_of(r, words):
    """The keys of the row's model, or the builtin's name and its number of layers."""
    if re.search(r"\bm?t5\b", r["model"], re.IGNORECASE):
        if not re.fullmatch(r"t5[ -]large", r["model"], re.IGNORECASE):
            raise Unsaid("encoder-decoders have no columns, and no builtin is of this size")
        return {"builtin": "t5-large", "layers": 48}
    try:
        shape = model(r["model"], exact=True)
    except Unsaid:
        raise Unknown("model", r["model"]) from None
    if "mlm" in words and "positions" not in shape:
        raise Unsaid("its model has no head for masked tokens")
    return shape


def recompute_of(r, row):
    """`full` or Megatron's `selective`; behind a colon how many layers, or which parts of them. PyTorch's selective checkpoints have no parts that the word alone would name, but torchtitan's
    `selective:op` (multinode.py, recomputed, says what that is)."""
    word, _, what = r["recompute"].strip().lower().partition(":")
    if word not in ("", "none", "selective", "full") or (word == "full" and not re.fullmatch(r"\d*", what)):
        raise Unknown("recompute", r["recompute"])
    if word == "selective" and what == "op":
        return {"plan.recompute": {"modules": ["activation", "mlp", "norm"], "blocks": row.shape["layers"] // 2}}
    if word == "selective" and not what and row.framework == "pytorch":
        raise Unsaid("which layers are recomputed is not given")
    if not what:
        return {"recompute": word or "none"}
    return recomputed_first(None, what) if word == "full" else recomputed_parts(None, what)


def sharding(r, row):
    """What replicas share out, and among how many of the ranks of data and context: as the framework does where the row says nothing. Weights stay whole between the passes where there is a
    pipeline, but in Megatron-FSDP."""
    ranks, shard, said = row.dp * row.cp, number(r["shard"]), argument(row.words, r"zero([0-3])")
    stage = f"zero{said}" if said else "none" if "ddp" in row.words or shard == 1 else row.stack.stage
    if shard > 1 and stage == "none" and not said:
        stage = row.stack.sharded
    if stage == "zero3" and row.pp > 1 and row.framework != "megatron-core":
        stage = "zero2"
    if shard > ranks:
        raise Unsaid(f"{shard} GPUs share out the states of {ranks} replicas")
    stage = "none" if ranks == 1 or stage == "zero0" else stage
    return {"sharding": stage, "plan.shard": shard if stage != "none" and 1 < shard < ranks else None}


def weights_of(shape):
    """Weights that multiply a token: those of layers, with the experts that it goes to, and the head's."""
    if any(k in shape for k in ("builtin", "pattern", "kv_rank", "window", "mtp_layers", "dense_layers")):
        raise Unsaid("FLOPs of this model are counted in several ways")
    hidden, heads = shape["hidden"], shape["heads"]
    width = shape.get("head_dim") or hidden // heads
    attention = hidden * width * (2 * heads + 2 * (shape.get("kv_heads") or heads))
    mlp = hidden * shape["ffn"] * (3 if shape.get("gated") else 2) * (shape.get("top_k") if shape.get("experts") else 1)
    return shape["layers"] * (attention + mlp) + hidden * shape["vocab"]


def seconds(r, row):
    value, samples = float(r["value"]), row.global_batch
    rates = {"step_s": lambda: value, "tokens_s_gpu": lambda: samples * row.seq / (value * row.n_gpus), "samples_s": lambda: samples / value,
             "tflops_gpu_full_attention": lambda: samples * flops(row) / (value * 1e12 * row.n_gpus)}
    if r["measure"] not in rates:
        raise Unknown("measure", r["measure"])
    return rates[r["measure"]]()


def flops(row):
    """Of a sample: 6 for each weight and token, 12 for each pair of tokens, layer and number of a head's width."""
    width = row.shape["heads"] * (row.shape.get("head_dim") or row.shape["hidden"] // row.shape["heads"])
    return 6 * weights_of(row.shape) * row.seq + 12 * row.shape["layers"] * width * row.seq ** 2


def group_of(table, row):
    words = [w for w in table.removesuffix(".csv").split("_") if w not in (row.chip, row.precision)]
    return "-".join([*words, row.chip, row.precision])


def degrees_of(r):
    tp, pp, cp, vp, ep = (number(r[c], 1) for c in ("tp", "pp", "cp", "vp", "ep"))
    n = int(r["n_gpus"])
    if n % (tp * pp * cp):
        raise Unsaid("its degrees do not divide its GPUs")
    return SimpleNamespace(n_gpus=n, tp=tp, pp=pp, cp=cp, vp=vp, ep=ep, dp=n // (tp * pp * cp), micro_batch=number(r["micro_batch"], 1), seq=int(r["seq"]))


def read(r):
    """A row's cells as what they stand for."""
    words = r["words"].split()
    row = degrees_of(r)
    row.words, row.source, row.shape = words, r["source"], shape_of(r, words)
    row.stack = STACKS[known(r, "framework", STACKS)]
    row.framework, row.precision = row.stack.framework, known(r, "precision", PRECISIONS)
    row.where, row.chip = system(r["system"], row.n_gpus, int(argument(words, r"nodes_(\d+)") or 0))
    row.cluster, row.nodes = row.where["cluster"], row.where["nodes"]
    if not r["global_batch"] and r["measure"] == "step_s":
        raise Unsaid("seconds of a batch that is not given")
    row.global_batch = number(r["global_batch"]) or MICRO_BATCHES * row.micro_batch * row.dp
    return row


def of_framework(r, row):
    """What a framework does beside its profile where a row has several ranks of a kind, or a model of one."""
    p = {}
    if row.cp > 1 and row.framework == "pytorch":  # torch.distributed.tensor.experimental gathers keys and values once
        p["plan.context_kind"] = "gather"
    if r["framework"] == "nemo2024":  # ub_tp_comm_overlap and the dropout of GPT-3's recipes (nvidia.py, nemo2024)
        p["training.framework.overlap_tensor"] = True if row.tp > 1 else None
        p["training.framework.transformer_dropout"] = 0.1 if r["model"].startswith("GPT") else None
    return p


def named(p, row):
    """A point's model by its builtin's name, where its keys have none of their own."""
    if "builtin" not in row.shape:
        return p
    keys = {"model": row.shape["builtin"], "model.sequence_length": row.seq, "model.attention": p["attention"]}
    return {**{k: v for k, v in p.items() if k not in ("layers", "model.builtin")}, **keys}


def point_of(table, r):
    row = read(r)
    stack = row.stack
    p = grid(row.shape, n_gpus=row.n_gpus, tp=row.tp, pp=row.pp, vp=row.vp, cp=row.cp, ep=row.ep, micro_batch=row.micro_batch, global_batch=row.global_batch, seq=row.seq,
             framework=row.framework, attention=stack.attention, sequence_parallel=int(stack.sequence_parallel and row.tp > 1))
    p = merged(p, row.where, sharding(r, row), recompute_of(r, row), stack.settings, of_framework(r, row), published(row), *settings_of_words(row),
               {"precision": row.precision, "fp8_recipe": FP8_RECIPES[known(r, "fp8_recipe", FP8_RECIPES)], "id": r["id"], "group": group_of(table, row),
                "measured_s": seconds(r, row), "source": row.source})
    return point(**named(p, row))


def shared_columns(tables):
    for name in tables.with_header(COLUMNS):
        for r in tables.rows(name):
            if None in r or None in r.values():
                tables.refuse(name, r["id"], f"it has not {len(COLUMNS)} cells")
                continue
            try:
                yield point_of(name, r)
            except Unknown as why:
                tables.refuse(name, r["id"], str(why))
            except Unsaid as why:
                tables.leave_out(name, f"{r['id']}: {why}")
            except (ValueError, ArithmeticError) as why:
                tables.refuse(name, r["id"], f"a cell is not what it should be: {why}")

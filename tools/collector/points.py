#!/usr/bin/env python3
"""points.py COLLECT.json CLUSTER GROUP [--autocast]: prints the iterations of a collector's file as points (docs/formats/measurements.md, "Points"),
which `foreshard validate` holds forecasts against. CLUSTER: a preset whose GPUs were measured; GROUP: what names of groups begin with.
Iterations under autocast are left out, since no scenario can say it: with --autocast they alone are printed, as if they were half precision
throughout.

What models.py runs otherwise than the framework profile `pytorch` says stands in a point's settings."""

import csv
import json
import sys

COLUMNS = ("id", "group", "cluster", "nodes", "n_gpus", "model", "layers", "hidden", "heads", "kv_heads", "ffn", "gated", "rms_norm", "rope", "biases",
           "tied_embeddings", "seq", "vocab", "attention", "experts", "top_k", "tp", "pp", "dp", "micro_batch", "global_batch", "recompute", "sharding", "precision", "fp8_recipe", "optimizer",
           "framework", "settings", "measured_s", "measured_peak_bytes", "measured_reserved_bytes", "source")
SEQUENCE = {"bert-large": 512, "gpt3-350m": 1024}
FRAMEWORK = "training.framework."

# Bytes per score of unfused attention under autocast, as models.py writes it, without its dropout in half precision. Forward: scaling (4), to
# fp32 (6), softmax (8), dropout in fp32 where half precision was counted (4), back (6); of causal attention the mask, a copy and a fill (9).
# Backward: to fp32 (6), dropout (4 more), softmax, whose product with its output is a kernel of its own (24), back (6), scaling (4), the mask (9).
SCORES = {"bert-large": (28, 44), "gpt3-350m": (37, 53)}


HOPPER = ("h100", "h200", "h800")

# FlashAttention-2 in its blocks, and cuDNN: shares of the peak of each pass. profiles/frameworks/pytorch.yaml has the source of the former; the latter are
# medians over profiles/tables/h200/operations.csv, causal attentions of more than 1e11 FLOPs. The framework profile has shares of an older kernel for
# these chips, and none for H200, whose device profile has cuDNN's.
FLASH_ATTENTION_2 = {"attention": dict.fromkeys(HOPPER, 0.341), "attention_gradient": dict.fromkeys(HOPPER, 0.26), "attention_block_keys": 317,
                     "attention_gradient_block_keys": 100}
CUDNN_ATTENTION = {"attention": {"h100": 0.59, "h800": 0.59}, "attention_gradient": {"h100": 0.48, "h800": 0.48}}
# What products of the language models of profiles/tables/h200/steps.csv kept of their benchmark rate, all steps together; more than all on H100 (h100/steps.csv).
SUSTAINED = {"h100": 1, "h200": 0.97}
# Inductor generates no code for complex numbers, so that the rotation stays three kernels, of which it makes the casts (6 bytes each, there and back).
COMPILED_ROTATION = {"forward_kernels": 5, "forward_bytes": "12 B", "forward_strided_bytes": "3.5 B", "backward_kernels": 5, "backward_bytes": "12 B",
                     "backward_strided_bytes": "3.5 B"}


def unfused(model):
    forward, backward = SCORES[model]
    # No count of heads is a multiple of 999, so that these passes run always.
    return {FRAMEWORK + "fallback_softmax": {"heads": 999, "keys": 1, "forward_kernels": 5, "backward_kernels": 6, "forward_bytes": f"{forward} B",
                                             "backward_bytes": f"{backward} B"}}


def of_network(entry, group):
    """A model of the name of a builtin; None: no builtin is like it."""
    model, attention, precision = entry["model"], entry["attention"], entry["precision"]
    if attention == "flash":
        return None  # the builtins' attention is unfused
    kind = "unfused" if attention else "networks"
    name = "-".join(x for x in (model, attention, precision, str(entry["batch"])) if x)
    settings = unfused(model) if attention and precision == "bf16" else {}
    return {"id": f"{group}-{name}", "group": f"{group}-{kind}-{precision}", "model": model, "seq": SEQUENCE.get(model, 1), "precision": precision}, settings


def of_decoder(entry, group):
    t = entry["transformer"]  # empty: the model is a builtin
    ways = [w for w in ("compiled", "recompute", "sharded") if entry[w]]
    if entry["precision"] != "bf16":
        ways.append(entry["precision"])
    kind = ("experts" if t.get("experts") else "decoders") if t else "vision"
    row = {"id": f"{group}-{entry['model']}-l{t.get('layers', entry.get('layers'))}-{'-'.join([*ways, entry['attention']])}-b{entry['batch']}",
           "group": "-".join([group, kind, *(w for w in ways if w != "recompute"), *([entry["attention"]] if entry["attention"] != "flash" else [])]),
           "recompute": "full" if entry["recompute"] else "none", "sharding": "zero3" if entry["sharded"] else "none", "precision": entry["precision"]}
    if entry["precision"] == "fp8":
        row["fp8_recipe"] = "current"
    if t:
        row |= {"layers": t["layers"], "hidden": t["hidden"], "heads": t["heads"], "kv_heads": t["kv_heads"], "ffn": t["ffn"], "seq": t["sequence"], "vocab": t["vocabulary"],
                "attention": "flash"}
        row |= {key: int(t[key]) for key in ("gated", "rms_norm", "rope", "biases", "tied_embeddings")}
        row |= {key: t[key] for key in ("experts", "top_k") if key in t}
    else:
        row |= {"model": entry["model"], "seq": 1}
    # The optimizer is fused. PyTorch's RMS norm is one kernel since 2.9.
    settings = {FRAMEWORK + "adam_bytes": "0 B", FRAMEWORK + "memory.adam_temporaries": "0 B"}
    if t.get("rms_norm"):
        settings |= {FRAMEWORK + "rms_norm": {"forward_bytes": "0 B", "backward_bytes": "0 B"}, FRAMEWORK + "memory.rms_norm": "0 B"}
    if t:
        settings[FRAMEWORK + "sustained"] = SUSTAINED
    attention = {"flash": FLASH_ATTENTION_2, "cudnn": CUDNN_ATTENTION}.get(entry["attention"], {})
    settings |= {FRAMEWORK + key: value for key, value in attention.items()}
    if entry["compiled"]:
        settings[FRAMEWORK + "compiled"] = True
        if t.get("rope"):
            settings[FRAMEWORK + "rotation"] = COMPILED_ROTATION
    if entry["sharded"]:
        # FSDP2 over one GPU: its whole shard is cast into the buffer (6), which one rank gathers in place, and copied out (4); gradients go to fp32 by
        # a kernel (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, chunk_cat) that takes as long as a cast to fp32 does, and are reduced by
        # a copy (8). A step of llama3-70b has 42 copies: of 9 weights of 2 layers in two passes, of 3 of the root in one, and of 3 units' gradients.
        settings[FRAMEWORK + "unit_copies"] = {"gathered_bytes": "10 B", "reduced_bytes": "8 B", "reduced_strided_bytes": "4.5 B"}
    return row, settings


def is_autocast(entry):
    return entry["precision"] == "bf16" and not entry.get("sharded", False)


def points(measured, cluster, group, autocast=False):
    device = measured["device"]["name"]
    taken = f"one {device}, PyTorch {measured['environment'].get('torch', '?')}, {measured['environment'].get('date', '')[:10]}"
    for list_name, convert in (("iterations", of_network), ("decoders", of_decoder)):
        for entry in measured.get(list_name, []):
            said = convert(entry, group)
            if said is None or is_autocast(entry) != autocast:
                continue
            row, settings = said
            yield {"cluster": cluster, "nodes": 1, "n_gpus": 1, "tp": 1, "pp": 1, "dp": 1, "micro_batch": entry["batch"], "global_batch": entry["batch"], "optimizer": "adam",
                   "framework": "pytorch", "settings": json.dumps(settings) if settings else "", "measured_s": f"{entry['seconds']:.6g}",
                   "measured_peak_bytes": entry["peak_bytes"], "measured_reserved_bytes": entry["reserved_bytes"], "source": f"tools/collector/iterations.py, {taken}"} | row


def main(arguments):
    autocast = arguments[3:] == ["--autocast"]
    if len(arguments) != 3 and not autocast:
        print(__doc__, file=sys.stderr)
        return 2
    file, cluster, group = arguments[:3]
    try:
        with open(file, encoding="utf-8") as f:
            measured = json.load(f)
        rows = list(points(measured, cluster, group, autocast))
    except (OSError, ValueError, KeyError) as e:
        print(f"points.py: {file}: {e}", file=sys.stderr)
        return 2
    out = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

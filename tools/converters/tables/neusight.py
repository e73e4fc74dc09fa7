"""NeuSight's latencies of whole models (neusight_labels.csv, neusight_model_configs.json): Hugging Face's BERT, GPT and OPT in fp32, one GPU, or four of a node.
Rows of forward passes alone are left out: a point is an iteration. An iteration here is both passes; the forecast's has SGD besides, the least that an
optimizer does. Attention is not fused, and fp32 products run on vector units, as PyTorch's do unless they are told otherwise."""
from .points import Unsaid, number, point

# What the table calls a GPU -> a preset with such a slot, the device if it is another than the preset's, and the group's word for it.
GPUS = {
    "NVIDIA_H100_80GB_HBM3": ({"cluster": "dgx-h100"}, "h100"),
    "NVIDIA_A100-SXM4-40GB": ({"cluster": "dgx-a100-40gb"}, "a100"),
    "NVIDIA_A100-PCIE-40GB": ({"cluster": "pcie-a100"}, "a100-pcie"),
    "NVIDIA_A100_80GB_PCIe": ({"cluster": "pcie-a100", "cluster.node.gpus.type": "a100-pcie-80gb"}, "a100-pcie"),
    "Tesla_V100-PCIE-32GB": ({"cluster": "pcie-v100", "cluster.node.gpus.memory": "32 GB"}, "v100-pcie"),
    "NVIDIA_L4": ({"cluster": "pcie-l40s-4", "cluster.node.gpus.type": "l4-24gb"}, "l4"),
    "Tesla_T4": ({"cluster": "pcie-v100", "cluster.node.gpus.type": "t4-16gb"}, "t4"),
    # One of an MI250's two chips, and an MI210, have 104 of an MI250X chip's 110 compute units.
    "AMD_Instinct_MI210": ({"cluster": "mi250x-frontier", "cluster.node.gpus.compute_speed": 0.945}, "mi210"),
    "AMD_Instinct_MI250": ({"cluster": "mi250x-frontier", "cluster.node.gpus.compute_speed": 0.945}, "mi250"),
    # The generation before: 46.1 TFLOP/s in fp32 on matrix units and 1229 GB/s, 32 GB (its data sheet, from general knowledge).
    "AMD_Instinct_MI100": ({"cluster": "mi250x-frontier", "cluster.node.gpus.compute_speed": 0.962, "cluster.node.gpus.memory_speed": 0.768,
                            "cluster.node.gpus.memory": "32 GB"}, "mi100"),
}
# A split over four GPUs -> columns, and into how many parts it cuts the batch. pp4_1 has one micro-batch.
SPLITS = {"": ({"tp": 1, "pp": 1, "dp": 1}, 1), "dp4": ({"tp": 1, "pp": 1, "dp": 4}, 4), "tp4": ({"tp": 4, "pp": 1, "dp": 1}, 1),
          "pp4_1": ({"tp": 1, "pp": 4, "dp": 1}, 1)}


def shape_of(config):
    """Columns of a decoder or encoder as its configuration of Hugging Face's has them."""
    if "n_embd" in config:  # GPT-2 and what is made like it
        hidden = config["n_embd"]
        shape = {"layers": config["n_layer"], "hidden": hidden, "heads": config["n_head"], "ffn": config.get("n_inner") or 4 * hidden, "causal": 1}
    elif config["architectures"] == ["BertLMHeadModel"]:
        shape = {"layers": config["num_hidden_layers"], "hidden": config["hidden_size"], "heads": config["num_attention_heads"],
                 "ffn": config["intermediate_size"], "causal": 0, "model.head_transform": True}
    elif config["architectures"] == ["OPTForCausalLM"]:
        shape = {"layers": config["num_hidden_layers"], "hidden": config["hidden_size"], "heads": config["num_attention_heads"],
                 "ffn": config["ffn_dim"], "causal": 1, "model.activation": config["activation_function"]}
    else:
        raise Unsaid("an encoder and a decoder (Switch Transformers)")
    return dict(shape, vocab=config["vocab_size"], tied_embeddings=1, biases=1)


def neusight(tables):
    configs = tables.json("neusight_model_configs.json")

    def one(k, r):
        if r["mode"] != "train":
            raise Unsaid("forward passes alone")
        if r["device"] not in GPUS:
            raise Unsaid("no device profile is of this GPU")
        if r["option"] not in SPLITS:
            raise Unsaid("a compiler fused kernels")
        gpu, chip = GPUS[r["device"]]
        plan, parts = SPLITS[r["option"]]
        shape, batch = shape_of(configs[r["model"]]), int(r["batch"])
        return point(id=f"neusight-{k}", group=f"neusight-{chip}", **gpu, nodes=1, n_gpus=plan["tp"] * plan["pp"] * plan["dp"],
                     **dict(shape, layers=number(r["num_layer"]) or shape["layers"]), seq=r["seq_len"], attention="unfused", **plan, micro_batch=batch // parts,
                     global_batch=batch, precision="fp32", optimizer="sgd", framework="pytorch", measured_s=float(r["e2e_ms"]) / 1e3, source=r["source"])

    yield from tables.convert("neusight_labels.csv", "neusight", one)

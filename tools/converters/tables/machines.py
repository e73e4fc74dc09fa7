"""What tables call machines, as presets of clusters. A name is searched for the chip that it has."""
import re

from .points import Unsaid

# What a name must hold -> preset, GPUs of a node. The first that fits counts: names of newer chips hold those of older ones.
MACHINES = [(r"GB300", "gb300-nvl72", 4), (r"GB200", "gb200-nvl72", 4), (r"B300", "dgx-b300", 8), (r"B200", "dgx-b200", 8), (r"H800", "h800-node", 8),
            (r"H200", "dgx-h200", 8), (r"H100", "dgx-h100", 8), (r"H20\b", "h20-node", 8), (r"A100.*40 ?G", "dgx-a100-40gb", 8), (r"A100", "dgx-a100-80gb", 8),
            (r"MI325X", "mi325x-node", 8), (r"MI300X", "mi300x-node", 8)]
SEGMENT = 16  # trays of a rack that a job of several racks takes: 64 of 72 GPUs (Slurm's --segment in Megatron-Bridge's perf scripts)


# H100s with 96 GB of HBM2e at 2.4 TB/s, held to 500 W (pytorch/torchtitan, benchmarks/llama3_h100_202412_torchtitan.md, its section on hardware).
GRAND_TETON = {"cluster.node.gpus.memory": "95 GiB", "cluster.node.gpus.memory_speed": round(2.4 / 3.35, 3), "cluster.node.gpus.power_limit": "500 W"}


def machine(name, n_gpus):
    """The columns `cluster`, `nodes` and `n_gpus` and the settings of so many GPUs of a machine, and the chip's name in small letters."""
    for pattern, preset, per_node in MACHINES:
        found = re.search(pattern, name, re.IGNORECASE)
        if not found:
            continue
        nodes = max(1, -(-n_gpus // per_node))
        if n_gpus > per_node and n_gpus % per_node:
            raise Unsaid("the GPUs do not fill their nodes")
        columns = {"cluster": preset, "nodes": nodes, "n_gpus": n_gpus}
        if preset.endswith("nvl72") and nodes > 18:
            columns["cluster.node.domain.segment"] = SEGMENT
        if "grand teton" in name.lower():
            columns.update(GRAND_TETON)
        # "400 Gb/s per node": the rate of all adapters together, where the preset has one for each GPU.
        rate = re.search(r"(\d+) ?Gb/s per node", name)
        if rate:
            columns["cluster.links.infiniband.bandwidth"] = f"{int(rate.group(1)) / 8 / per_node:g} GB/s"
        return columns, re.match(r"[a-z]+\d+x?", found.group(0).lower()).group(0)
    raise Unsaid("no preset is of this machine")

"""What tables in shared columns call systems, as presets of clusters. Names are matched whole: the chip inside a longer name may be another one (H100 NVL, GH200),
so that a name which is not here is refused."""
import re

from .machines import SEGMENT
from .points import Unknown, Unsaid

RACK = 18  # trays of an NVL72

# DGX-2H: 2.1 petaFLOPS where DGX-2 has 2 (NVIDIA's data sheets of both), at 450 W for a GPU instead of 350, which no key says.
DGX_2H = {"cluster.node.gpus.compute_speed": 1.05}
# A800: an A100 whose NVLinks have 400 GB/s both ways (NVIDIA A800 data sheet); its adapters are its owner's choice, here as in a DGX A100.
A800 = {"cluster.links.nvlink.bandwidth": "200 GB/s"}
V100_16 = {"cluster.node.gpus.type": "v100-sxm2-16gb"}

# The name, in small letters and without vendors and boards -> preset, GPUs of a node, the chip's name in groups, settings.
SYSTEMS = [
    (r"gb300( nvl72)?", "gb300-nvl72", 4, "gb300", {}), (r"gb200( nvl72)?", "gb200-nvl72", 4, "gb200", {}),
    (r"b300( (270|288)gb)?", "dgx-b300", 8, "b300", {}), (r"b200( (180|192)gb)?", "dgx-b200", 8, "b200", {}),
    (r"h200( 141gb)?", "dgx-h200", 8, "h200", {}), (r"h100( 80gb)?", "dgx-h100", 8, "h100", {}), (r"h800( 80gb)?", "h800-node", 8, "h800", {}),
    (r"h20( 96gb)?", "h20-node", 8, "h20", {}), (r"a100( 80gb)?", "dgx-a100-80gb", 8, "a100", {}), (r"a100 40gb", "dgx-a100-40gb", 8, "a100", {}),
    (r"a800( 80gb)?", "dgx-a100-80gb", 8, "a800", A800), (r"a100 pcie( 40gb)?", "pcie-a100", 8, "a100-pcie", {}),
    (r"a100 (pcie 80gb|80gb pcie)", "pcie-a100", 8, "a100-pcie", {"cluster.node.gpus.type": "a100-pcie-80gb"}),
    (r"mi325x( 256gb)?", "mi325x-node", 8, "mi325x", {}), (r"mi300x( 192gb)?", "mi300x-node", 8, "mi300x", {}),
    (r"dgx1v?( v100)?( 32gb)?|v100( 32gb)?", "dgx-1v", 8, "v100", {}), (r"dgx1v?( v100)? 16gb|v100 16gb", "dgx-1v", 8, "v100", V100_16),
    (r"dgx2( v100)?( 32gb)?", "dgx-2", 16, "v100", {}), (r"dgx2h( v100)?( 32gb)?", "dgx-2", 16, "v100", DGX_2H),
    (r"v100 pcie( 16gb)?", "pcie-v100", 8, "v100-pcie", {}), (r"v100 pcie 32gb", "pcie-v100", 8, "v100-pcie", {"cluster.node.gpus.memory": "32 GB"}),
    (r"(aws )?p3\.16xlarge", "aws-p3.16xlarge", 8, "v100", {}), (r"(aws )?p4de\.24xlarge", "aws-p4de.24xlarge", 8, "a100", {}),
    (r"(aws )?p4d\.24xlarge", "aws-p4de.24xlarge", 8, "a100", {"cluster.node.gpus.type": "a100-sxm-40gb"}),
    (r"(aws )?p5\.48xlarge", "aws-p5.48xlarge", 8, "h100", {}), (r"summit", "summit", 6, "v100", {}),
    (r"l40s( 48gb)?", "pcie-l40s-4", 4, "l40s", {}), (r"l4( 24gb)?", "pcie-l40s-4", 4, "l4", {"cluster.node.gpus.type": "l4-24gb"}),
    (r"t4( 16gb)?", "pcie-v100", 8, "t4", {"cluster.node.gpus.type": "t4-16gb"}), (r"titan xp", "titan-xp-4", 4, "titan-xp", {}),
]
# Presets of eight GPUs on NVSwitch whose adapters `adapters` can lay out anew, and whether the switch reduces.
NVSWITCH = {"dgx-a100-40gb": False, "dgx-a100-80gb": False, "dgx-h100": True, "dgx-h200": True, "dgx-b200": True}


def plain(name):
    """"NVIDIA DGX H100" and "H100-SXM5-80 GB" -> "h100", "h100 80gb". DGX-1 and DGX-2 keep their names, which are not their chips'."""
    name = re.sub(r"\bdgx[ -]?(1v?|2h?)\b", r"dgx\1", name.lower())
    name = re.sub(r"(\d) ?(gi?b)\b", r"\1gb", re.sub(r"[\s_-]+", " ", name))
    name = re.sub(r"\b(nvidia|amd|tesla|instinct|dgx|hgx|sxm\d?|tensor core|gpus?|hbm\d?e?)\b", " ", name)
    return re.sub(r"\s+", " ", name).strip()


def system(name, n_gpus, nodes=0):
    """The columns `cluster`, `nodes` and `n_gpus` and the settings of n GPUs of a system, and the chip's name. `nodes`: as many as a row says, 0: as few as hold them."""
    for pattern, preset, per_node, chip, settings in SYSTEMS:
        if re.fullmatch(pattern, plain(name)):
            break
    else:
        raise Unknown("system", name)
    if n_gpus > per_node and n_gpus % per_node and not nodes:
        raise Unsaid(f"{n_gpus} GPUs do not fill nodes of {per_node}")
    nodes = nodes or -(-n_gpus // per_node)
    columns = {"cluster": preset, "nodes": nodes, "n_gpus": n_gpus, **settings}
    # A job of several racks takes 16 trays of each, unless its trays are whole racks.
    if preset.endswith("nvl72") and nodes > RACK and nodes % RACK:
        columns["cluster.node.domain.segment"] = SEGMENT
    return columns, chip


def adapters(preset, count, rate=None):
    """The settings of a node whose eight GPUs share `count` adapters of `rate` (as the preset's, where it is not given): a PCIe switch for each adapter with the GPUs that it
    serves, as HGX boards have them."""
    if preset not in NVSWITCH or 8 % count:
        raise Unsaid(f"{count} adapters in a node of {preset}")
    each, switches = 8 // count, [f"switch{k + 1}" for k in range(count)]
    wires = [{"between": ['"gpu[0-7]"', "switch0"], "link": "nvlink"}]
    for k, switch in enumerate(switches):
        first = k * each
        gpus = f"gpu{first}" if each == 1 else f'"gpu[{first}-{first + each - 1}]"'
        wires += [{"between": [end, switch], "link": "pcie"} for end in (gpus, f"nic{k}", "cpu0" if 2 * k < count else "cpu1")]
    wires.append({"between": ["cpu0", "cpu1"], "link": "xbus"})
    crossbar = {"switch0": {"in_network": True}} if NVSWITCH[preset] else "switch0"
    settings = {"cluster.node.components": ["cpu0", "cpu1", crossbar, *switches, *(f"nic{k}" for k in range(count))], "cluster.node.wires": wires}
    return {**settings, **({"cluster.links.infiniband.bandwidth": rate} if rate else {})}

"""Public tables of collectives. Each says on which machine it was measured; which preset describes that machine is decided here, in one place
per table. Rows of machines without a preset, and rows that show something else than the network (a forced algorithm, a host that could not
launch faster), are left out."""
COLUMNS = ["cluster", "nodes", "gpus", "kind", "bytes", "seconds", "source"]
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send")
US, MS = 1e-6, 1e-3

# A host that launches for all GPUs one after another, or from Python: up to a quarter above its least time, a row has measured the host.
LAUNCH_BOUND = 1.25


def number(row, column, unit=1.0):
    """None where the cell is empty."""
    return float(row[column]) * unit if row[column] else None


class Rows:
    """Collects the measurements of one table, and counts the rows that are left out."""

    def __init__(self, left_out):
        self.made, self.left_out = [], left_out

    def leave_out(self, why):
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def each(self, rows, presets, machine, collective="op"):
        """(row, preset, kind) of the rows whose machine has a preset, and whose collective is one of ours."""
        for row in rows:
            name = machine(row)
            if name not in presets:
                self.leave_out(f"no cluster preset for {name}")
                continue
            kind = {"alltoall": "all_to_all", "send_recv": "send"}.get(row[collective], row[collective])
            if kind in KINDS:
                yield row, presets[name], kind
            else:
                self.leave_out(f"no such collective here: {row[collective]}")

    def add(self, row, cluster, nodes, gpus, kind, bytes, seconds):
        if nodes != int(nodes) or gpus != int(gpus):
            raise ValueError(f"{gpus} GPUs on {nodes} nodes")
        if gpus < 2:
            return self.leave_out("one GPU alone")
        if not bytes > 0:
            return self.leave_out("no bytes")
        if not seconds or not seconds > 0:
            return self.leave_out("no time")
        self.made.append([cluster, int(nodes), int(gpus), kind, bytes, seconds, row.get("source") or row.get("source_dir", "")])


def aiconfigurator(rows, left_out):
    """NVIDIA aiconfigurator: one node, nccl-tests through CUDA graphs. Its sizes are those of the whole buffer for every collective. How its
    eight L40S are wired is not published: two of them have a path of PCIe alone, four reach a quarter of its rate and eight a fifteenth."""
    presets = {"a100_sxm": "dgx-a100-80gb", "h100_sxm": "dgx-h100", "h200_sxm": "dgx-h200", "b200_sxm": "dgx-b200", "b300_sxm": "dgx-b300",
               "gb200": "gb200-nvl72", "l40s": "pcie-l40s-4"}
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, presets, lambda row: row["system"]):
        gpus = number(row, "n_gpus")
        if preset.startswith("pcie") and gpus > 2:
            to.leave_out("its wires between more than two GPUs are not known")
        else:
            to.add(row, preset, 1, gpus, kind, number(row, "bytes"), number(row, "latency_ms", MS))
    return to.made


def vtrain(rows, left_out):
    """vTrain: one node. Its V100 machine reaches 22.5 GB/s between GPUs 0 and 1 and 134 GB/s among eight: the hybrid cube mesh of a DGX-1V."""
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, {"a100": "dgx-a100-80gb", "v100": "dgx-1v"}, lambda row: row["gpu"]):
        to.add(row, preset, 1, number(row, "n_gpus"), kind, number(row, "bytes"), number(row, "out_of_place_us", US))
    return to.made


def least_times(rows, launched):
    """The least time of each collective over the rows that may have measured a host; launched(row): None for the others."""
    least = {}
    for row in rows:
        seconds = launched(row)
        if seconds and seconds > 0:
            least[row["op"]] = min(seconds, least.get(row["op"], seconds))
    return least


def is_launch_bound(row, launched, least):
    seconds = launched(row)
    return seconds is not None and seconds < LAUNCH_BOUND * least[row["op"]]


def seconds_of_bus(kind, gpus, bytes, gb_per_s):
    """The time of a collective whose bus bandwidth a table gives: bytes of the whole buffer over it, times the share that a wire carries."""
    if not gb_per_s or not gb_per_s > 0:
        return None
    return (2 if kind == "all_reduce" else 1) * (gpus - 1) / gpus * bytes / (gb_per_s * 1e9)


def nccl_tests(rows, left_out):
    """nccl-tests runs that were published. A machine is known by its GPU and network columns together."""
    presets = {
        "A100-SXM4-40GB, NVLink3+NVSwitch": "dgx-a100-40gb",
        "A100 (DGX A100), 8x ConnectX-6 HDR200 IB per node": "dgx-a100-40gb",
        "A100-SXM4-40GB (BM.GPU4.8), 16x100Gb RoCE per node": "oci-bm.gpu4.8",
        "A100-80GB (p4de.24xlarge), 4x100Gb EFA per node": "aws-p4de.24xlarge",
        "H100 (p5.48xlarge), 32x100Gb EFA per node (3200Gb/s)": "aws-p5.48xlarge",
        "H100 (p5.48xlarge), 3200Gb/s EFA; EKS": "aws-p5.48xlarge",
        "H100 (p5.48xlarge), NVLink4+NVSwitch (NVLS)": "aws-p5.48xlarge",
        "H100 (GCP A3 Mega), 8x200Gb GPUDirect-TCPXO": "gcp-a3-megagpu-8g",
        "H100 SXM (CoreWeave HGX), 8x400Gb NDR IB": "dgx-h100",
        "GB200 NVL72, NVLink5 NVL72": "gb200-nvl72",
        "GB200 NVL72, 2 racks NVL72 + IB": "gb200-nvl72",
        "GB200 NVL72, 20 racks NVL72 + IB": "gb200-nvl72",
    }

    def launched(row):
        return number(row, "oop_time_us", US) if "single process" in row["notes"] else None

    least = least_times(rows, launched)
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, presets, lambda row: f"{row['gpu']}, {row['network']}"):
        if is_launch_bound(row, launched, least):
            to.leave_out("as quick as one process launches")
        else:
            to.add(row, preset, number(row, "n_nodes"), number(row, "n_gpus"), kind, number(row, "bytes"), number(row, "oop_time_us", US))
    return to.made


def vidur(rows, left_out):
    """vidur: within one node, and its H100 sends between two. The second node of its A100s hangs on a fabric that is not named (8 GB/s)."""
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, {"a100_dgx": "dgx-a100-80gb", "h100_dgx": "dgx-h100"}, lambda row: row["network_device"]):
        gpus = number(row, "num_workers")
        nodes = gpus / number(row, "devices_per_node")
        if nodes > 1 and preset == "dgx-a100-80gb":
            to.leave_out("between nodes, over a fabric that is not named")
        else:
            to.add(row, preset, nodes, gpus, kind, number(row, "bytes"), number(row, "median_ms", MS))
    return to.made


def ml_engineering(rows, left_out):
    """ml-engineering: bus bandwidths of all-reduce. Runs with an algorithm switched off do not show what the library would choose. P6 was measured
    from Python."""
    presets = {"H200": "dgx-h200", "B200": "dgx-b200", "B200 (AWS P6-B200)": "aws-p6-b200.48xlarge"}

    def seconds(row, kind):
        return seconds_of_bus(kind, number(row, "n_gpus"), number(row, "bytes"), number(row, "busbw_GBps"))

    def launched(row):
        may_be = row["gpu"] == "B200 (AWS P6-B200)" and row["n_nodes"] == "1"
        return seconds(row, "all_reduce") if may_be else None

    least = least_times(rows, launched)
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, presets, lambda row: row["gpu"]):
        if "NVLS off" in row["network"]:
            to.leave_out("the algorithm was forced")
        elif is_launch_bound(row, launched, least):
            to.leave_out("as quick as Python launches")
        else:
            to.add(row, preset, number(row, "n_nodes"), number(row, "n_gpus"), kind, number(row, "bytes"), seconds(row, kind))
    return to.made


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def many_authors(rows, left_out):
    """Rows of many authors, most of several nodes. Of P6 they are ml-engineering's, of exchanges among experts they tell no bytes."""
    presets = {
        "H100 GCP A3 Mega (8 x 200 Gb/s GPUDirect-TCPXO per node)": "gcp-a3-megagpu-8g",
        "H100 Nebius HGX (8 x 400 Gb/s IB)": "dgx-h100",
        "H100 HGX": "oci-bm.gpu.h100.8",  # eight adapters of 400 Gb/s of RoCE (NVIDIA/nccl issue 1221)
        "H200 HGX": "dgx-h200",
        "GB200 one tray (ND GB200 v6)": "gb200-nvl72",
    }
    to = Rows(left_out)
    for row, preset, kind in to.each(rows, presets, lambda row: row["system"], "collective"):
        if "NVLS off" in row["notes"]:
            to.leave_out("the algorithm was forced")
        elif not is_number(row["bytes"]):
            to.leave_out("no bytes")
        else:
            gpus, bytes = number(row, "n_gpus"), number(row, "bytes")
            seconds = number(row, "time_us", US)
            if seconds is None:
                seconds = seconds_of_bus(kind, gpus, bytes, number(row, "busbw_GBps"))
            to.add(row, preset, number(row, "n_nodes"), gpus, kind, bytes, seconds)
    return to.made


# Columns that a table has, the columns that it becomes, its converter.
KNOWN = [
    ({"system", "op", "n_gpus", "bytes", "latency_ms"}, COLUMNS, aiconfigurator),
    ({"gpu", "n_gpus", "bytes", "out_of_place_us", "op"}, COLUMNS, vtrain),
    ({"op", "gpu", "n_gpus", "n_nodes", "network", "bytes", "oop_time_us", "notes"}, COLUMNS, nccl_tests),
    ({"network_device", "op", "num_workers", "devices_per_node", "bytes", "median_ms"}, COLUMNS, vidur),
    ({"op", "gpu", "n_gpus", "n_nodes", "network", "bytes", "busbw_GBps"}, COLUMNS, ml_engineering),
    ({"system", "n_nodes", "n_gpus", "collective", "bytes", "busbw_GBps", "time_us", "notes"}, COLUMNS, many_authors),
]

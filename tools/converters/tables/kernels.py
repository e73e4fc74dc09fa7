"""Public tables of kernels. Each says on which device it was measured; rows of a device that has no profile are left out."""
import json
import math

COLUMNS = ["device", "precision", "kind", "batch", "m", "n", "k", "flops", "bytes", "seconds", "source"]

# The names that public tables give to devices that have a profile. The V100 of NeuSight has 32 GB; only the profile's memory differs.
DEVICES = {
    "a100_sxm": "a100-sxm-80gb",
    "h100_sxm": "h100-sxm-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "b200_sxm": "b200-sxm-180gb",
    "l40s": "l40s-48gb",
    "a100": "a100-sxm-80gb",
    "h100": "h100-sxm-80gb",
    "A100": "a100-sxm-80gb",
    "V100": "v100-sxm2-16gb",
    "T4": "t4-16gb",
    "Tesla T4": "t4-16gb",
    "NVIDIA L4": "l4-24gb",
    "Tesla V100-PCIE-32GB": "v100-pcie-16gb",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA H100 80GB HBM3": "h100-sxm-80gb",
    "NVIDIA H200": "h200-sxm-141gb",
    "NVIDIA GB200": "gb200-186gb",
    "NVIDIA GB300": "gb300-288gb",
}
MS = 1e-3


def number(row, column, unit=1.0):
    """None where the cell is empty."""
    return float(row[column]) * unit if row[column] else None


def size(row, column):
    value = float(row[column])
    if not (0 <= value <= 1e15 and value == int(value)):
        raise ValueError(f'{column}: "{row[column]}" is no size')
    return value


class Kernel:
    """Its work as pcg/work would count it. `sizes`: batch, m, n, k of a product; of traffic none."""

    def __init__(self, kind, flops, bytes, sizes=(0, 0, 0, 0)):
        self.kind, self.flops, self.bytes, self.sizes = kind, flops, bytes, sizes


def product(kind, batch, m, n, k, element_bytes):
    return Kernel(kind, 2 * batch * m * n * k, element_bytes * batch * (m * k + k * n + m * n), (batch, m, n, k))


def traffic(kind, bytes):
    return Kernel(kind, 0.0, bytes)


class Rows:
    """Collects the measurements of one table, and counts the rows that are left out."""

    def __init__(self, left_out):
        self.made, self.left_out = [], left_out

    def leave_out(self, why):
        self.left_out[why] = self.left_out.get(why, 0) + 1

    def device(self, name):
        if name not in DEVICES:
            self.leave_out(f"no device profile for {name}")
        return DEVICES.get(name)

    def each(self, rows, column):
        """The rows whose device, which a column names, has a profile."""
        for row in rows:
            device = self.device(row[column])
            if device:
                yield row, device

    def add(self, row, device, precision, kernel, seconds):
        if kernel.sizes == (0, 0, 0, 0) and not kernel.bytes > 0 or kernel.sizes != (0, 0, 0, 0) and 0 in kernel.sizes:
            return self.leave_out("a size is 0")
        if not seconds or not seconds > 0:
            return self.leave_out("no time")
        self.made.append([device, precision, kernel.kind, *(int(s) for s in kernel.sizes), kernel.flops, kernel.bytes, seconds, row.get("source", "")])


def matmuls(rows, left_out):
    """aiconfigurator: the device is the folder that the source names, "... systems/data/a100_sxm/gemm/..."."""
    to = Rows(left_out)
    for row in rows:
        device = to.device(row["source"].split("systems/data/", 1)[1].split("/", 1)[0])
        if device:
            to.add(row, device, "bf16", product("matmul", 1, size(row, "m"), size(row, "n"), size(row, "k"), 2), number(row, "latency_ms", MS))
    return to.made


def attention(rows, left_out):
    """aiconfigurator: fused causal attention, forward; fewer heads of keys and values where they are shared."""
    to = Rows(left_out)
    for row, device in to.each(rows, "system"):
        batch, length, heads = size(row, "batch"), size(row, "seq_len"), size(row, "num_heads")
        shared, width = size(row, "num_kv_heads_0=mha"), size(row, "head_dim")
        # Two products, half of each: 2 b s s d FLOPs, as those of one are already. q and the output are read and written once, keys and values too.
        kernel = product("attention", batch * heads, length, length, width, 2)
        kernel.bytes = 2 * batch * length * width * (2 * heads + 2 * (shared if shared > 0 else heads))
        to.add(row, device, "bf16", kernel, number(row, "latency_ms", MS))
    return to.made


def cudnn_kernel(row):
    backward = row["profile_pass"] == "bwd"
    batch, heads, shared = size(row, "batch_size"), size(row, "num_q_heads"), size(row, "num_kv_heads")
    queries, keys = size(row, "q_seqlen"), size(row, "kv_seqlen")
    query, value = size(row, "head_dim_qk"), size(row, "head_dim_vo")
    window = size(row, "sliding_window_size") if row["sliding_window_size"] else 0
    reach = min(window, keys) if window > 0 else keys
    causal = row.get("attn_mask") != "no_mask"
    kernel = product("attention_gradient" if backward else "attention", batch * heads, queries, reach, math.floor((query + value) / 2), 2)
    dims = 3 * query + 2 * value if backward else query + value
    kernel.flops = 2 * batch * heads * queries * reach * (1 - reach / (2 * keys) if causal else 1) * dims
    kernel.bytes = 2 * batch * (heads * queries + shared * keys) * (query + value) * (2 if backward else 1)
    return kernel


def cudnn_attention(rows, left_out):
    """cuDNN's benchmark of fused attention in training (NVIDIA/cudnn-frontend, benchmark/attention_training): one pass a row. Other libraries'
    kernels are left out, and those that add gradients in a fixed order, which trainings ask for only when they must."""
    precisions = {"bfloat16": "bf16", "float16": "fp16", "fp8": "fp8", "mxfp8": "mxfp8"}
    to = Rows(left_out)
    for row, device in to.each(rows, "gpu_name"):
        if row.get("success") == "False" or row.get("skipped") == "True":
            to.leave_out("no time")
        elif row.get("deterministic_bwd") == "True":
            to.leave_out("gradients are added in a fixed order")
        elif row.get("backend", "cudnn") != "cudnn":
            to.leave_out("attention of another library than cuDNN")
        elif row["data_type"] not in precisions:
            to.leave_out("a data type that has no name here")
        else:
            to.add(row, device, precisions[row["data_type"]], cudnn_kernel(row), number(row, "time_ms", MS))
    return to.made


def neusight_products(rows, left_out):
    """NeuSight: B products of M x N x K; N and K are those of torch's matmul."""
    to = Rows(left_out)
    for row, device in to.each(rows, "device"):
        to.add(row, device, "fp32", product("matmul", size(row, "B"), size(row, "M"), size(row, "N"), size(row, "K"), 4), number(row, "latency_ms", MS))
    return to.made


def neusight_traffic(rows, left_out):
    """NeuSight: operators over B x H elements; two operands for add, div, mul, pow (with a "u" at the end: one and a number)."""
    to = Rows(left_out)
    for row, device in to.each(rows, "device"):
        tensors = 3 if row["op"] in ("add", "div", "mul", "pow") else 2
        kind = {"ln": "norm", "softmax": "softmax"}.get(row["op"], "elementwise")
        to.add(row, device, "fp32", traffic(kind, 4 * (size(row, "B") * size(row, "H")) * tensors), number(row, "latency_ms", MS))
    return to.made


def neusight_convolutions(rows, left_out):
    """NeuSight: forward convolutions, square windows and images. fp32, but cuDNN uses TF32 by default on GPUs that have it."""
    to = Rows(left_out)
    for row, device in to.each(rows, "Device"):
        batch, fan_in, out = size(row, "B"), size(row, "Input_Channel"), size(row, "Output_Channel")
        window, side, stride = size(row, "Kernel_Szie"), size(row, "Input_Size"), size(row, "Stride")
        result = max(0.0, int((side + 2 * size(row, "Padding") - window) / stride) + 1)
        kernel = product("convolution", 1, batch * result * result, out, fan_in * window * window, 4)
        kernel.bytes = 4 * (batch * fan_in * side * side + out * fan_in * window * window + batch * out * result * result)
        precision = "fp32" if device.startswith(("v100", "t4")) else "tf32"
        to.add(row, device, precision, kernel, number(row, "Latency", MS))
    return to.made


def deepbench_field(fields, name):
    """A cell of JSON holds the fields of the sheet, whose names differ a little between sheets."""
    for key, value in fields.items():
        if (key == name or key.startswith(name + " (")) and isinstance(value, (int, float)):
            return float(value)
    return None


def add_deepbench_matmul(to, row, device, fields, half):
    # Its matrices are stored by columns: M are the features, N the samples, which we call n and m.
    m, n, k = (deepbench_field(fields, name) for name in "NMK")
    seconds = deepbench_field(fields, "Time (msec)")
    to.add(row, device, "fp16" if half else "fp32", product("matmul", 1, m, n, k, 2 if half else 4), seconds and seconds * MS)


def add_deepbench_convolution(to, row, device, fields, half):
    """Forward, gradient of the input and gradient of the weights are three products of the same sizes, as pcg/work counts them."""
    images, out, fan_in = (deepbench_field(fields, name) for name in "NKC")
    window = fan_in * deepbench_field(fields, "R") * deepbench_field(fields, "S")
    positions = images * deepbench_field(fields, "P") * deepbench_field(fields, "Q")
    element = 2 if half else 4
    side = deepbench_field(fields, "H") * deepbench_field(fields, "W")
    for m, n, k, time in ((positions, out, window, "Forward (msec)"), (positions, window, out, "wrt Inputs (msec)"), (out, window, positions, "wrt Parameters (msec)")):
        kernel = product("convolution", 1, m, n, k, element)
        kernel.bytes = element * (images * fan_in * side + out * window + positions * out)
        seconds = deepbench_field(fields, time)
        to.add(row, device, "fp16" if half else "fp32", kernel, seconds and seconds * MS)


def deepbench(rows, left_out):
    to = Rows(left_out)
    for row in rows:
        fields = json.loads(row["fields_json"])
        half = "FP16" in row["precision_sheet"]
        if "Psuedo" in row["precision_sheet"]:
            to.leave_out("computed in fp32 whatever is stored")
            continue
        matmul, convolution = "Time (msec)" in fields and "M" in fields, "Forward (msec)" in fields
        if not matmul and not convolution:
            to.leave_out("neither a matmul nor a convolution")
            continue
        device = to.device(row["device"])
        if device:
            (add_deepbench_matmul if matmul else add_deepbench_convolution)(to, row, device, fields, half)
    return to.made


def vidur_operators(rows, left_out):
    """Vidur: operators of a transformer's forward pass, in bf16. Times have a resolution of 1 us: below 128 tokens a kernel takes few of these steps,
    and rounding decides."""
    to = Rows(left_out)
    for row, device in to.each(rows, "device"):
        tokens, width, tp = size(row, "num_tokens"), size(row, "n_embd"), size(row, "tp")
        if tokens < 128:
            to.leave_out("kernels of a few microseconds, measured to 1 us")
            continue
        gated = row["gated_mlp"] == "True"
        ffn, heads = size(row, "n_expanded_embd") / tp, size(row, "n_head")
        packed = width / heads * (heads + 2 * size(row, "n_kv_head")) / tp
        for kernel, column in ((product("matmul", 1, tokens, packed, width, 2), "attn_pre_proj_ms"),
                               (product("matmul", 1, tokens, width, width / tp, 2), "attn_post_proj_ms"),
                               (product("matmul", 1, tokens, (2 if gated else 1) * ffn, width, 2), "mlp_up_proj_ms"),
                               (product("matmul", 1, tokens, width, ffn, 2), "mlp_down_proj_ms"),
                               (traffic("norm", 2 * tokens * 2 * width), "input_layernorm_ms"),
                               (traffic("elementwise", 2 * tokens * 3 * width), "add_ms"),
                               (traffic("elementwise", 2 * tokens * (3 if gated else 2) * ffn), "mlp_act_ms"),
                               (traffic("embedding", 2 * tokens * 2 * width), "emb_ms")):
            to.add(row, device, "bf16", kernel, number(row, column, MS))
    return to.made


def llmcompass(rows, left_out):
    """LLMCompass: fp16 matmuls as milliseconds, softmax, norm and GELU as elements per second."""
    to = Rows(left_out)
    for row, device in to.each(rows, "device"):
        value = number(row, "value") or 0.0
        first, second = size(row, "dim0"), number(row, "dim1") or 1.0
        if row["op"] == "matmul":
            to.add(row, device, "fp16", product("matmul", 1, first, second, size(row, "dim2"), 2), value * MS)
        else:
            kind = {"softmax": "softmax", "layernorm": "norm"}.get(row["op"], "elementwise")
            to.add(row, device, "fp16", traffic(kind, 4 * first * second), first * second / value * 1e-9 if value > 0 else None)
    return to.made


# Columns that a table has, the columns that it becomes, its converter.
KNOWN = [
    ({"m", "n", "k", "latency_ms", "tflops", "source"}, COLUMNS, matmuls),
    ({"system", "seq_len", "num_kv_heads_0=mha", "head_dim", "latency_ms"}, COLUMNS, attention),
    ({"gpu_name", "data_type", "q_seqlen", "head_dim_qk", "profile_pass", "time_ms", "sliding_window_size"}, COLUMNS, cudnn_attention),
    ({"device", "op", "B", "M", "N", "K", "latency_ms"}, COLUMNS, neusight_products),
    ({"device", "op", "B", "H", "latency_ms"}, COLUMNS, neusight_traffic),
    ({"Latency", "Device", "Kernel_Szie", "Padding"}, COLUMNS, neusight_convolutions),
    ({"device", "precision_sheet", "fields_json"}, COLUMNS, deepbench),
    ({"device", "num_tokens", "mlp_act_ms", "gated_mlp"}, COLUMNS, vidur_operators),
    ({"device", "op", "dim0", "dim1", "dim2", "metric", "value"}, COLUMNS, llmcompass),
]

#!/usr/bin/env python3
"""Default efficiencies of a device from public measurements: python3 profiles/fit_defaults.py DATA

DATA is a folder with the operator tables named below; the figures in profiles/devices name them. For every kind of
kernel this prints the two numbers of  time = (work + half) / (peak * max)  that fit best in log time, how many kernels they come from and
how far off they are (root mean square of the log, as a percentage; median absolute error). Work is FLOPs against the peak FLOP/s for kernels that
a plain roofline calls compute-bound, else bytes (each tensor once) against the memory bandwidth. Standard library only.
"""
import csv, json, math, os, sys

GPUS = {  # peak FLOP/s on tensor cores, without them; memory bytes/s. Sources: the comments in profiles/devices
    "v100-sxm2": (125e12, 15.7e12, 900e9), "v100-pcie": (112e12, 14e12, 900e9), "a100-sxm": (312e12, 19.5e12, 2039e9),
    "a100-pcie-80": (312e12, 19.5e12, 1935e9), "a100-pcie-40": (312e12, 19.5e12, 1555e9), "h100-sxm": (989.4e12, 66.9e12, 3350e9),
    "h200-sxm": (989.4e12, 66.9e12, 4800e9), "b200-sxm": (2250e12, 80e12, 7700e9), "p100": (18.7e12, 9.3e12, 732e9),
    "1080ti": (11.3e12, 11.3e12, 484e9), "l4": (121e12, 30.3e12, 300e9), "t4": (65e12, 8.1e12, 320e9),
}
SHORTEST = 1e-7  # a row below 0.1 us is no measurement


def rows(data, name):
    with open(os.path.join(data, name), newline="") as f:
        yield from csv.DictReader(f)


def fit(points, peak):
    """points: (work, seconds). Returns max, half, rms of the log, median absolute error; for each half the best max is a mean."""
    def at(half):
        logs = [math.log(t) - math.log((w + half) / peak) for w, t in points]
        mean = sum(logs) / len(logs)
        return sum((x - mean) ** 2 for x in logs) / len(logs), math.exp(-mean)
    lo, hi = math.log(1.0), math.log(peak * 1e-3)  # half: up to a millisecond at peak
    grid = [lo + (hi - lo) * i / 400 for i in range(401)]
    best = min(grid, key=lambda x: at(math.exp(x))[0])
    variance, share = at(math.exp(best))
    half = math.exp(best)
    errors = sorted(abs((w + half) / (peak * share) / t - 1) for w, t in points)
    return share, half, math.sqrt(variance), errors[len(errors) // 2]


def show(label, points, peak):
    points = [p for p in points if p[1] > SHORTEST and p[0] > 0]
    if len(points) < 8:
        return print(f"{label:58s} too few kernels ({len(points)})")
    share, half, rms, median = fit(points, peak)
    print(f"{label:58s} max {share:.3f}  half {half:9.3g}  ({half / peak / share * 1e6:5.1f} us)  {len(points):5d} kernels, rms {100 * rms:.0f} %, median {100 * median:.0f} %")


def both(label, kernels, peak, bandwidth):
    """kernels: (flops, bytes, seconds), split by the plain roofline."""
    show(label + ", compute", [(f, t) for f, b, t in kernels if f / peak >= b / bandwidth], peak)
    show(label + ", traffic", [(b, t) for f, b, t in kernels if f / peak < b / bandwidth], bandwidth)


def gemm(m, n, k, size, batch=1):
    return 2.0 * batch * m * n * k, float(size) * batch * (m * k + k * n + m * n)


def bf16_matmuls(data):
    for gpu, table in (("a100-sxm", "a100_sxm"), ("h100-sxm", "h100_sxm"), ("h200-sxm", "h200_sxm"), ("b200-sxm", "b200_sxm")):
        tensor, _, bandwidth = GPUS[gpu]
        kernels = []
        for r in rows(data, f"gemm_bf16_{table}.csv"):
            m, n, k = int(r["m"]), int(r["n"]), int(r["k"])
            if m >= 1:
                kernels.append((*gemm(m, n, k, 2), float(r["latency_ms"]) / 1e3))
        both(f"{gpu} bf16 matmul (gemm_bf16_{table}.csv)", kernels, tensor, bandwidth)
        times = sorted(t for _, _, t in kernels if t > SHORTEST)
        print(f"{gpu} shortest matmuls: 1 % take less than {times[len(times) // 100] * 1e6:.2f} us")


def attention(data):
    for gpu in ("a100-sxm", "h100-sxm"):
        tensor, _, bandwidth = GPUS[gpu]
        kernels = []
        for r in rows(data, "attention_prefill_fwd_bf16.csv"):
            kv = int(r["num_kv_heads_0=mha"])
            if r["system"] != gpu.replace("-", "_"):
                continue
            b, s, h, d = (int(r[x]) for x in ("batch", "seq_len", "num_heads", "head_dim"))
            flops = 4.0 * b * h * s * s * d / 2  # two matmuls; causal: half of the scores
            kernels.append((flops, 2.0 * b * s * d * (2 * h + 2 * (kv or h)), float(r["latency_ms"]) / 1e3))
        both(f"{gpu} bf16 causal attention forward", kernels, tensor, bandwidth)


def deepbench(data):
    for gpu, device, sheet, size, side in (("v100-sxm2", "V100", "Results - FP16 ip, Mixed math", 2, 0), ("v100-sxm2", "V100", "Results FP32", 4, 1),
                                           ("1080ti", "1080Ti", "Results - FP32", 4, 1), ("t4", "T4", "Results - FP16 ip, Mixed math", 2, 0),
                                           ("t4", "T4", "Results FP32", 4, 1)):
        peak, bandwidth = GPUS[gpu][side], GPUS[gpu][2]
        matmuls, convolutions = [], []
        for r in rows(data, "deepbench_train_raw.csv"):
            if r["device"] != device or r["precision_sheet"] != sheet:
                continue
            f = json.loads(r["fields_json"])
            if "Time (msec)" in f and "M" in f and "K" in f:
                matmuls.append((*gemm(f["M"], f["N"], f["K"], size), float(f["Time (msec)"]) / 1e3))
            elif "Forward (msec)" in f:
                out = f["N"] * f["K"] * f["P"] * f["Q"]
                window = f["C"] * next(v for k, v in f.items() if k.startswith("S") and k[1:2] in ("", " ")) * next(v for k, v in f.items() if k.startswith("R") and k[1:2] in ("", " "))
                traffic = size * (f["N"] * f["C"] * f["H"] * f["W"] + f["K"] * window + out)
                for time in (f["Forward (msec)"], f["wrt Inputs (msec)"], f["wrt Parameters (msec)"]):
                    if isinstance(time, (int, float)) and time > 0:
                        convolutions.append((2.0 * out * window, traffic, time / 1e3))
        both(f"{gpu} {sheet} matmul (deepbench {device})", matmuls, peak, bandwidth)
        both(f"{gpu} {sheet} convolution (deepbench {device})", convolutions, peak, bandwidth)


def neusight(data):
    cards = (("v100-pcie", "Tesla V100-PCIE-32GB"), ("a100-pcie-40", "NVIDIA A100-PCIE-40GB"), ("a100-pcie-80", "NVIDIA A100 80GB PCIe"),
             ("h100-sxm", "NVIDIA H100 80GB HBM3"), ("p100", "Tesla P100-PCIE-16GB"), ("l4", "NVIDIA L4"), ("t4", "Tesla T4"))
    for gpu, card in cards:
        _, vector, bandwidth = GPUS[gpu]
        for name in ("linear", "bmm"):
            kernels = [(*gemm(int(r["M"]), int(r["N"]), int(r["K"]), 4, int(r["B"])), float(r["latency_ms"]) / 1e3)
                       for r in rows(data, f"neusight_test_{name}_fp32.csv") if r["device"] == card]
            both(f"{gpu} fp32 {name} (neusight)", kernels, vector, bandwidth)
        tensors = {"ln": 2, "softmax": 2}
        for name in ("ln", "softmax", "elem"):
            points = []
            for r in rows(data, f"neusight_test_{name}_fp32.csv"):
                if r["device"] != card:
                    continue
                count = tensors.get(name) or (3 if r["op"] in ("add", "div", "mul", "pow") else 2)
                points.append((4.0 * count * int(r["B"]) * int(r["H"]), float(r["latency_ms"]) / 1e3))
            show(f"{gpu} fp32 {name} (neusight), traffic", points, bandwidth)
        kernels = []
        for r in rows(data, "neusight_conv_fp32.csv"):
            if r["Device"] != card:
                continue
            b, c, k, w, x, s, p = (int(r[n]) for n in ("B", "Input_Channel", "Output_Channel", "Kernel_Szie", "Input_Size", "Stride", "Padding"))
            y = (x + 2 * p - w) // s + 1
            kernels.append((2.0 * b * k * y * y * c * w * w, 4.0 * (b * c * x * x + k * c * w * w + b * k * y * y), float(r["Latency"]) / 1e3))
        # cuDNN uses TF32 for fp32 convolutions on an A100 unless told not to: half the tensor peak of fp16.
        peak = GPUS[gpu][0] / 2 if gpu.startswith("a100") else vector
        both(f"{gpu} fp32 convolution (neusight)", kernels, peak, bandwidth)


def vidur(data):
    for gpu, device in (("a100-sxm", "a100"), ("h100-sxm", "h100")):
        bandwidth = GPUS[gpu][2]
        kinds = {"norm": [], "elementwise": [], "embedding": []}
        for r in rows(data, "vidur_transformer_fwd_ops.csv"):
            if r["device"] != device or int(r["num_tokens"]) < 128:  # times have a resolution of 1 us
                continue
            tokens, width, ffn, tp = int(r["num_tokens"]), int(r["n_embd"]), int(r["n_expanded_embd"]), int(r["tp"])
            cells = (("norm", "input_layernorm_ms", 2 * width), ("elementwise", "add_ms", 3 * width),
                     ("elementwise", "mlp_act_ms", (3 if r["gated_mlp"] == "True" else 2) * ffn // tp), ("embedding", "emb_ms", 2 * width))
            for kind, column, per_token in cells:
                if r[column] and float(r[column]) > 0:
                    kinds[kind].append((2.0 * tokens * per_token, float(r[column]) / 1e3))
        for kind, points in kinds.items():
            show(f"{gpu} bf16 {kind} (vidur), traffic", points, bandwidth)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for part in (bf16_matmuls, attention, deepbench, neusight, vidur):
        part(sys.argv[1])


if __name__ == "__main__":
    main()

"""What the PyTorch half of the collector computes without PyTorch: which iterations are run in what order, statistics, FLOPs and bytes
of fused attention, and the joining of files. Standard library only; tests/collector/arithmetic_test.py tests it."""

import math
import statistics

# Batches from small to what the memory of a data-centre GPU holds; the names are builtin models of this project. gpt3-350m is GPT-2
# medium with the vocabulary padded to 51,200.
BATCHES = {
    "bert-large": (4, 16, 32),
    "gpt3-350m": (2, 8, 16),
    "resnext-50": (16, 64, 256),
    "inception-v3": (16, 64, 256),
    "dlrm": (512, 4096, 32768),
    "mlp": (64, 512, 4096),
}
TRANSFORMERS = ("bert-large", "gpt3-350m")
PRECISIONS = ("bf16", "tf32", "fp32")


def iteration_cases():
    """(model, batch, precision, attention) in the order in which they are run: every model once in each precision at its middle batch, then the
    others, so that whatever time there is covers all models. attention: "unfused" as the builtin models have it, or "flash"; "" without."""
    cases = []
    for place in (1, 2, 0):
        for precision in PRECISIONS:
            for model, batches in BATCHES.items():
                transformer = model in TRANSFORMERS
                cases.append((model, batches[place], precision, "unfused" if transformer else ""))
                if transformer and precision == "bf16":
                    cases.append((model, batches[place], precision, "flash"))
    return cases


def wants_trace(case):
    """One trace per model and attention, in bf16 at the middle batch."""
    model, batch, precision, _ = case
    return precision == "bf16" and batch == BATCHES[model][1]


def summarise(samples):
    """(median, interquartile range, kept) of seconds, without samples further than 5 scaled median absolute deviations and 1 % from the
    median: the rule of statistics.hpp."""
    if not samples:
        return 0.0, 0.0, 0
    middle = statistics.median(samples)
    deviation = statistics.median(abs(s - middle) for s in samples)
    allowed = 5 * 1.4826 * deviation + 0.01 * abs(middle)
    kept = sorted(s for s in samples if abs(s - middle) <= allowed)
    return statistics.median(kept), quantile(kept, 0.75) - quantile(kept, 0.25), len(kept)


def quantile(ordered, p):
    place = p * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def repeats_within(seconds_each, share_s):
    """How many iterations are timed: as many as fit into the share, 5 to 30."""
    if seconds_each <= 0:
        return 30
    return max(5, min(30, int(share_s / seconds_each)))


def share_of(left_s, cases_left, least_s=1.0):
    """Time for the next case: twice an even share of what is left, because later cases are mostly repeats at other batches."""
    return max(least_s, 2 * left_s / max(1, cases_left))


def flash_attention(backward, samples, heads, sequence, head_dim, causal, element_bytes=2):
    """A kernel entry without times, counted as pcg/work counts attention.flash_forward and attention.flash_gradient: 2 products forward and 5
    backward, half of that when causal; q, k, v and the output each once forward, all four and their gradients backward."""
    batch = samples * heads
    product = 2.0 * batch * sequence * sequence * head_dim
    tensor = float(element_bytes * batch * sequence * head_dim)
    return {
        "kind": "attention",
        "operation": "attention.flash_gradient" if backward else "attention.flash_forward",
        "batch": batch, "m": sequence, "n": sequence, "k": head_dim,
        "flops": product * (5.0 if backward else 2.0) / (2 if causal else 1),
        "bytes": tensor * (8 if backward else 4),
    }


def attention_cases():
    """(samples, heads, sequence, head_dim, causal): tokens from 1 Ki to 64 Ki, sequences from 128 to 16 Ki, whole and uneven."""
    cases = []
    for sequence in (128, 512, 1024, 2048, 4096, 8192, 16384, 1000, 3000, 257):
        for tokens in (1024, 8192, 65536):
            samples = tokens // sequence
            for heads, head_dim in ((16, 64), (32, 128)):
                if samples == 0 or samples * heads * float(sequence) ** 2 * head_dim > 4e12:
                    continue
                cases += [(samples, heads, sequence, head_dim, causal) for causal in (True, False)]
    return cases


def read_smi(text):
    """Clocks and power while measuring, from `nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw,temperature.gpu
    --format=csv,noheader,nounits` lines: {name: {min, median, max}}. Lines that are no four numbers are passed over."""
    names = (("multiprocessor_hz", 1e6), ("memory_hz", 1e6), ("power_w", 1), ("temperature_c", 1))
    columns = [[] for _ in names]
    for line in text.splitlines():
        try:
            values = [float(v) for v in line.split(",")]
        except ValueError:
            continue
        if len(values) == len(names) and all(math.isfinite(v) for v in values):
            for column, value, (_, unit) in zip(columns, values, names):
                column.append(value * unit)
    return {
        name: {"min": min(c), "median": statistics.median(c), "max": max(c)} for (name, _), c in zip(names, columns) if c
    }


def merge(measured, iterations, smi, driver):
    """One result: of the program's file, the script's ({"environment", "kernels", "iterations", "left_out"}, or None and a reason in
    left_out), what nvidia-smi said while they ran, and the driver's version. Raises ValueError when they contradict one another."""
    if measured.get("foreshard_collect") != 1:
        raise ValueError('the first file is none of the collector: "foreshard_collect" is not 1')
    result = dict(measured)
    result["environment"] = dict(measured["environment"])
    result["device"] = dict(measured["device"])
    if driver:
        result["environment"]["driver"] = driver
    if smi:
        result["device"]["clocks"] = dict(measured["device"].get("clocks", {}), measured=smi)
    if iterations is None:
        result["left_out"] = measured["left_out"] + ["iterations: the script wrote nothing"]
        return result
    name = iterations.get("device_name")
    if name and name != measured["device"]["name"]:
        raise ValueError(f'the files are of two devices: {measured["device"]["name"]} and {name}')
    result["environment"].update(iterations["environment"])
    result["kernels"] = measured["kernels"] + iterations["kernels"]
    result["iterations"] = iterations["iterations"]
    result["left_out"] = measured["left_out"] + iterations["left_out"]
    return result

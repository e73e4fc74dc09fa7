"""What the PyTorch half of the collector computes without PyTorch: which iterations are run in what order, statistics, and the joining of
files. Standard library only; tests/collector/arithmetic_test.py tests it."""

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


# Language models of today, by the keys of a scenario's model.transformer; the layers are a few, so that states fit one GPU.
DECODER_SHAPES = {
    name: dict(hidden=h, heads=a, kv_heads=g, ffn=f, sequence=s, vocabulary=v, gated=gated, rms_norm=gated, rope=gated, biases=False, tied_embeddings=not gated)
    for name, h, a, g, f, s, v, gated in (
        ("llama3-8b", 4096, 32, 8, 14336, 8192, 128256, True),
        ("llama2-13b", 5120, 40, 40, 13824, 4096, 32000, True),
        ("llama3-70b", 8192, 64, 8, 28672, 8192, 32000, True),
        ("llama-1b", 2048, 16, 16, 5632, 2048, 32000, True),
        ("mpt-7b", 4096, 32, 32, 16384, 2048, 50368, False),
        ("mpt-1b", 2048, 16, 16, 8192, 2048, 50368, False),
    )
}


# With experts in every layer; ffn is the width inside one.
DECODER_SHAPES |= {
    name: dict(hidden=h, heads=a, kv_heads=g, ffn=f, sequence=4096, vocabulary=v, gated=True, rms_norm=True, rope=True, biases=False, tied_embeddings=False, experts=e, top_k=k)
    for name, h, a, g, f, v, e, k in (("mixtral-8x7b", 4096, 32, 8, 14336, 32000, 8, 2), ("olmoe-7b", 2048, 16, 16, 1024, 50304, 64, 8))
}


def decoder(shape, layers, batch, compiled=False, recompute=False, attention="flash", sharded=True, precision="bf16"):
    return {"shape": shape, "layers": layers, "batch": batch, "compiled": compiled, "recompute": recompute, "attention": attention, "sharded": sharded, "precision": precision}


def transformer_of(options):
    """Keys of a scenario's model.transformer; none of a shape that is a builtin as a whole (vit-huge)."""
    return dict(DECODER_SHAPES[options["shape"]], layers=options["layers"]) if options["shape"] in DECODER_SHAPES else {}


# sharded: FSDP2 over the one GPU, bf16 from fp32 weights; else autocast. fp8: linear layers inside of layers. Order: whatever time there is covers the shapes.
DECODERS = (
    decoder("llama3-8b", 4, 1),
    decoder("mpt-7b", 6, 4),
    decoder("llama-1b", 16, 4),
    decoder("llama3-70b", 2, 1),
    decoder("mixtral-8x7b", 2, 1),
    decoder("vit-huge", 32, 64, attention="unfused"),
    decoder("llama-1b", 16, 4, precision="fp8"),
    decoder("llama-1b", 16, 4, compiled=True, precision="fp8"),
    decoder("llama3-8b", 4, 1, compiled=True, precision="fp8"),
    decoder("llama2-13b", 4, 2),
    decoder("mpt-1b", 24, 4),
    decoder("llama3-8b", 4, 2, recompute=True),
    decoder("llama-1b", 16, 4, compiled=True),
    decoder("llama3-8b", 4, 1, compiled=True),
    decoder("mpt-7b", 6, 8, recompute=True),
    decoder("llama3-8b", 4, 1, attention="cudnn"),
    decoder("llama-1b", 16, 1),
    decoder("mpt-7b", 6, 4, sharded=False),
    decoder("llama2-13b", 4, 2, compiled=True),
    decoder("llama3-70b", 2, 1, compiled=True),
    decoder("mpt-1b", 24, 1),
    decoder("llama-1b", 16, 4, sharded=False),
    decoder("llama3-8b", 4, 1, precision="fp8"),
    decoder("llama3-70b", 2, 1, precision="fp8"),
    decoder("llama3-70b", 2, 1, compiled=True, precision="fp8"),
    decoder("olmoe-7b", 4, 2),
    decoder("olmoe-7b", 4, 2, compiled=True),
    decoder("mixtral-8x7b", 2, 1, compiled=True),
    decoder("vit-huge", 32, 64, compiled=True, attention="unfused"),
)


def decoder_name(options):
    ways = [w for w in ("compiled", "recompute", "sharded") if options[w]]
    if options["precision"] != "bf16":
        ways.append(options["precision"])
    return f"{options['shape']}-l{options['layers']}-{'-'.join([*ways, options['attention']])}-b{options['batch']}"


def parallel_cases(gpus, tiny=False):
    """Decoders on all of `gpus` GPUs in the order in which they are run: sharded, tensor-parallel, pipelined. batch: samples of a rank, or of a
    micro-batch. A way that the shape's heads do not divide into is left out. tiny: sharded is left out, too, which needs a GPU."""
    if gpus < 2:
        return []
    shapes = {"tiny": dict(DECODER_SHAPES["llama-1b"], hidden=64, heads=4, kv_heads=2, ffn=96, sequence=16, vocabulary=128)} if tiny else DECODER_SHAPES
    cases = []
    for shape, layers in (("tiny", 4),) if tiny else (("llama3-8b", 4), ("llama-1b", 16)):
        c = shapes[shape]
        for way, micro_batches in (("sharded", 1), ("tensor", 1), ("pipelined", 2 * gpus)):
            if way == "tensor" and c["kv_heads"] % gpus or way == "sharded" and tiny:
                continue
            transformer = dict(c, layers=max(layers, gpus) // gpus * gpus if way == "pipelined" else layers)
            cases.append({"shape": shape, "way": way, "gpus": gpus, "batch": 1, "micro_batches": micro_batches, "transformer": transformer})
    return cases


def parallel_name(case):
    return f"{case['shape']}-l{case['transformer']['layers']}-{case['way']}{case['gpus']}-b{case['batch']}x{case['micro_batches']}"


def kernel_totals(events, steps):
    """[[name, kernels of one step, seconds of one step]], the longest first, of a Kineto trace's events."""
    totals = {}
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            count, seconds = totals.get(e["name"], (0, 0.0))
            totals[e["name"]] = (count + 1, seconds + 1e-6 * e["dur"])
    return [[name[:160], count / steps, seconds / steps] for name, (count, seconds) in sorted(totals.items(), key=lambda t: -t[1][1])]


def iteration_name(case):
    model, batch, precision, attention = case
    return f"{model}{'-' + attention if attention else ''}-{precision}-b{batch}"


def wants_trace(case):
    """One trace per model and attention in bf16, and one in tf32, which a scenario can say, at the middle batch."""
    model, batch, precision, _ = case
    return precision != "fp32" and batch == BATCHES[model][1]


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


def merge(measured, iterations, operations, smi, driver):
    """One result: of the program's file, the scripts' ({"environment", lists of entries, "left_out"}, or None where one wrote nothing), what
    nvidia-smi said while they ran, and the driver's version. Raises ValueError when they contradict one another."""
    if measured.get("foreshard_collect") != 1:
        raise ValueError('the first file is none of the collector: "foreshard_collect" is not 1')
    result = dict(measured)
    result["environment"] = dict(measured["environment"])
    result["device"] = dict(measured["device"])
    result["left_out"] = list(measured["left_out"])
    if driver:
        result["environment"]["driver"] = driver
    if smi:
        result["device"]["clocks"] = dict(measured["device"].get("clocks", {}), measured=smi)
    for what, part, lists in (("operations", operations, ("operations", "sustained")), ("iterations", iterations, ("iterations", "decoders", "parallel"))):
        if part is None:
            result["left_out"].append(f"{what}: the script wrote nothing")
            continue
        name = part.get("device_name")
        if name and name != measured["device"]["name"]:
            raise ValueError(f'the files are of two devices: {measured["device"]["name"]} and {name}')
        result["environment"].update(part["environment"])
        for key in lists:
            result[key] = part.get(key, [])
        result["left_out"] += part["left_out"]
    return result

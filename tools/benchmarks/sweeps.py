#!/usr/bin/env python3
"""What a sweep saves: 100 variants of BERT-Large on 24 GPUs with the base's plan, in one run and in 100, on one worker and on two.

    python3 tools/benchmarks/sweeps.py
    python3 tools/benchmarks/sweeps.py memory   # what a thousand variants on 2,048 GPUs need

Prints seconds of the processor (user and system, of all processes) and of the clock, and their ratios; each figure is the least of three runs,
of the 100 runs the sum of one each. FORESHARD names the program (build/foreshard).
"""
import json, os, resource, subprocess, sys, tempfile, time

PROGRAM = os.environ.get("FORESHARD", "build/foreshard")
BASE = {"foreshard": 1, "name": "BERT-Large", "model": {"builtin": "bert-large"}, "cluster": {"preset": "summit", "nodes": 4},
        "training": {"batch_per_gpu": 4, "precision": "fp32", "optimizer": "adam"}, "plans": ["data-parallel"]}
BANDWIDTHS = [f"{0.25 * (i + 1):g}x" for i in range(10)]  # of InfiniBand
LATENCIES = [f"{0.5 * (i + 1):g}x" for i in range(10)]  # of NVLink


def used():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def timed(folder, scenario, *options):
    """Seconds of the processor and of the clock of one run."""
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w") as file:
        json.dump(scenario, file)
    before, start = used(), time.perf_counter()
    subprocess.run([PROGRAM, "run", path, "--quiet", *options], check=True)
    return used() - before, time.perf_counter() - start


def swept(model=None):
    keys = {"cluster.links.infiniband.bandwidth": BANDWIDTHS, "cluster.links.nvlink.latency": LATENCIES}
    return dict(BASE, **({"model": model} if model else {}), what_if=[{"name": "sweep", "replan": False, "sweep": keys}])


def largest(folder, keys, *arguments):
    """Megabytes of the largest process that answers a sweep."""
    path = os.path.join(folder, "large.yaml")
    with open(path, "w") as file:
        json.dump({"foreshard": 1, "name": "large", "model": {"builtin": "gpt3-6.7b"}, "cluster": {"preset": "dgx-h100", "nodes": 256},
                   "training": {"global_batch": 2048, "precision": "bf16"}, "plans": [{"megatron": {"tensor": 8, "zero": 1}}],
                   "what_if": [{"name": "sweep", "replan": False, "sweep": keys}]}, file)
    _, status, usage = os.wait4(subprocess.Popen([PROGRAM, arguments[0], path, *arguments[1:]], stdout=subprocess.DEVNULL).pid, 0)
    assert status == 0, arguments
    return usage.ru_maxrss / 1024


def memory():
    answered = ("run", "--quiet", "--jobs", "2")
    with tempfile.TemporaryDirectory() as folder:
        bandwidths = {"cluster.links.infiniband.bandwidth": [f"{0.5 + 0.002 * i:.3f}x" for i in range(1000)]}
        lengths = {"model.sequence_length": [512 + 8 * i for i in range(1000)]}
        for name, keys in (("the base's plan over a bandwidth", bandwidths), ("plans of their own over the sequence length", lengths)):
            loaded, json_, report = (largest(folder, keys, *a) for a in (
                ("check",), (*answered, "--json", os.path.join(folder, "a.json")), (*answered, "--report", os.path.join(folder, "a.html"))))
            print(f"1,000 variants, {name}: loaded {loaded:.0f} MB, answered {json_:.0f} MB, with a report {report:.0f} MB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        one = min(timed(folder, swept())[0] for _ in range(3))
        apart = 0
        for b in BANDWIDTHS:
            for l in LATENCIES:
                cluster = dict(BASE["cluster"], **{"links.infiniband.bandwidth": b, "links.nvlink.latency": l})
                apart += timed(folder, dict(BASE, cluster=cluster))[0]
        print(f"100 variants in one run {one:.2f} s of the processor, in 100 runs {apart:.2f} s: {one / apart:.2f} of them")
        # Searches, whose pieces take long enough that starting workers does not count.
        search = dict(swept(), plans=[{"megatron": "search"}])
        search["what_if"][0]["replan"] = True
        clocks = {jobs: min(timed(folder, search, "--jobs", str(jobs))[1] for _ in range(3)) for jobs in (1, 2)}
        print(f"the same, searched anew: {clocks[1]:.2f} s on one worker, {clocks[2]:.2f} s on two: {clocks[1] / clocks[2]:.2f} times as fast")
        same = {jobs: min(timed(folder, swept(), "--jobs", str(jobs))[1] for _ in range(3)) for jobs in (1, 2)}
        print(f"with the same plan: {same[1]:.2f} s on one worker, {same[2]:.2f} s on two: {same[1] / same[2]:.2f} times as fast")


memory() if sys.argv[1:] == ["memory"] else main()

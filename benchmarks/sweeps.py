#!/usr/bin/env python3
"""What a sweep saves: 100 variants of BERT-Large on 24 GPUs with the base's plan, in one run and in 100, on one worker and on two.

    python3 benchmarks/sweeps.py

Prints seconds of the processor (user and system, of all processes) and of the clock, and their ratios; each figure is the least of three runs,
of the 100 runs the sum of one each. FORESHARD names the program (build/foreshard).
"""
import json, os, resource, subprocess, tempfile, time

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


main()

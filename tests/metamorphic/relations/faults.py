"""Relations between answers for a machine without and with a fault."""
from __future__ import annotations

import re
from typing import Any

from cluster_file import gpus_of
from relation import Case, Violations, at_least, at_most, between, seconds
from scenario import changed

from .machines import REPLICAS

_SHARES = (0.99, 0.9, 0.75, 0.5, 0.3)


def _names(components: list[Any]) -> list[str]:
    """Of a node's components, some of which are maps with their properties."""
    return [name for c in components for name in (c if isinstance(c, dict) else [c])]


def _fault_of(link: str, cluster: dict[str, Any]) -> dict[str, Any]:
    """What a fault of a link (`node1:gpu0->switch0`, `rail0->node1:nic0`, `leaf1->core`) is called."""
    parts = {"fabric", *gpus_of(cluster), *_names(cluster["node"].get("components", []))}
    a, b = re.sub(r"node\d+:", "", link).split("->")
    where = re.search(r"node(\d+):", link)
    if where is None:
        return {"between": [a, b]}
    if a in parts and b in parts:
        return {"node": int(where[1]), "between": [a, b]}
    return {"node": int(where[1]), "nic": a if a in parts else b}


@between
def a_narrower_link(case: Case) -> Violations:
    """With a share x left of one link each transfer that crosses it takes up to 1 / x of its time, and less where the library finds a quicker way:
    base <= time <= base / x, and the time grows as x shrinks. So it is for the drawn plan and for replicas. Tolerance: Case.collisions."""
    links = case.run.get("links", [])
    case.needs(links)
    fault = _fault_of(case.rng.choice(links)["name"], case.cluster)
    replicas = Case(case.program, changed(case.scenario, {**REPLICAS, "training.global_batch": case.run["gpus"]}), case.rng)
    for plan, asked in (("", case), (" of replicas", replicas)):
        runs = asked.ask_variants({str(x): {"cluster.faults": [{**fault, "left": x}]} for x in _SHARES})
        before = seconds(asked.run)
        for x in _SHARES:
            now = seconds(runs[str(x)])
            yield from at_least(f"{fault} with {x} left, to more left{plan}", now, before, asked.collisions)
            yield from at_most(f"{fault} with {x} left{plan}", now, seconds(asked.run) / x, asked.collisions)
            before = now


@between
def a_slower_gpu(case: Case) -> Violations:
    """Kernels of one GPU, or those of its node and their launches, take f times as long: base <= time <= f base, and the node costs at least what
    its GPU does. Tolerance: Case.collisions."""
    node = case.rng.randrange(case.cluster["nodes"])
    gpu = case.rng.choice(gpus_of(case.cluster))
    for f in (1.2, 2):
        faults = {"gpu": {"node": node, "gpu": gpu, "slowdown": f}, "node": {"node": node, "slowdown": f}}
        runs = case.ask_variants({name: {"cluster.faults": [fault]} for name, fault in faults.items()})
        yield from at_least(f"{gpu} of node {node} {f} x slower", seconds(runs["gpu"]), seconds(case.run), case.collisions)
        yield from at_least(f"node {node} {f} x slower, to its {gpu}", seconds(runs["node"]), seconds(runs["gpu"]), case.collisions)
        yield from at_most(f"node {node} {f} x slower", seconds(runs["node"]), f * seconds(case.run), case.collisions)


@between
def a_failed_nic(case: Case) -> Violations:
    """GPUs of a NIC that is gone use the next one, which then has more to carry: base <= time. Tolerance: Case.collisions."""
    nics = [c for c in _names(case.cluster["node"].get("components", [])) if c.startswith("nic")]
    case.needs(case.cluster["nodes"] > 1, len(nics) > 1)
    fault = {"node": case.rng.randrange(case.cluster["nodes"]), "nic": case.rng.choice(nics)}
    (run,) = case.ask_variants({"gone": {"cluster.faults": [fault]}}).values()
    yield from at_least(f"{fault} gone", seconds(run), seconds(case.run), case.collisions)

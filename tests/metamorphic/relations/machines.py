"""Relations between answers for machines of which one is better."""
from __future__ import annotations

from typing import Any

from cluster_file import are_joined, bytes_per_second, gpus_of, make_a_ring, wires_of
from relation import ROUNDING, Case, Violations, at_least, at_most, between, equal, kernels, same_run, seconds, simulated
from scenario import changed

_FACTORS = (1.3, 2, 8)
# Replicas that reduce their gradients after the pass.
REPLICAS = {"plans": [{"data-parallel": {"overlap": {"gradients": False}}}]}


def _speed(case: Case, key: str) -> float:
    """Of the cluster's GPUs or their hosts, in units of the profile's."""
    return case.cluster["node"]["gpus"].get(key, 1)


@between
def better_links_are_not_slower(case: Case) -> Violations:
    """With f times the bandwidth, or 1 / f of the latency, of one type of link each transfer takes between 1 / f and all of its time, kernels
    take theirs, and so: base / f <= time <= base. Tolerance: Case.collisions; of kernels rounding; of time <= base Case.meetings where a profile
    has protocols: a library takes the one that is quickest alone (NCCL's tuning), which on faster links may send more bytes (LL: two for one)
    to where groups meet."""
    links = [link["type"] for link in case.run.get("links", [])]
    case.needs(links)
    asked = {}
    for f in _FACTORS:
        for t in links:
            asked[f"{t} bandwidth x {f}"] = (f, {f"cluster.links.{t}.bandwidth": f"{f}x"})
            asked[f"{t} latency / {f}"] = (f, {f"cluster.links.{t}.latency": f"{1 / f}x"})
    for name, run in case.ask_variants({name: values for name, (_, values) in asked.items()}).items():
        yield from at_most(name, seconds(run), seconds(case.run), case.meetings if "network_profile" in case.cluster else case.collisions)
        yield from at_least(name, seconds(run), seconds(case.run) / asked[name][0], case.collisions)
        if simulated(run) == simulated(case.run):
            yield from equal(f"kernels with {name}", kernels(run), kernels(case.run), ROUNDING)


@between
def better_gpus_are_not_slower(case: Case) -> Violations:
    """With f times the FLOP/s, bandwidth of memory, or speed of launching each kernel or launch takes between 1 / f and all of its time: base / f
    <= time <= base. Tolerance: Case.collisions; of kernels rounding."""
    keys = ("compute_speed", "memory_speed", "host_speed")
    asked = {f"{key} x {f}": (f, {f"cluster.node.gpus.{key}": f * _speed(case, key)}) for f in _FACTORS for key in keys}
    for name, run in case.ask_variants({name: values for name, (_, values) in asked.items()}).items():
        yield from at_most(name, seconds(run), seconds(case.run), case.collisions)
        yield from at_least(name, seconds(run), seconds(case.run) / asked[name][0], case.collisions)
        if simulated(run) == simulated(case.run):
            yield from at_most(f"kernels with {name}", kernels(run), kernels(case.run), ROUNDING)
            yield from at_least(f"kernels with {name}", kernels(run), kernels(case.run) / asked[name][0], ROUNDING)


@between
def sensitivities_have_a_sign(case: Case) -> Violations:
    """As above for small changes: the elasticity of the time is between -1 and 0 for a speed or bandwidth, between 0 and 1 for a latency, and 0
    for the memory of a plan that stays. Tolerance: rounding over the change, from 5 % less to 5 % more."""
    slack = 1e-6
    for s in case.program.answer({**case.scenario, "sensitivity": True})["sensitivity"]:
        low, high = {"latency": (0, 1), "memory": (0, 0)}.get(s["parameter"].rpartition(".")[2], (-1, 0))
        if not low - slack <= s["elasticity"] <= high + slack:
            yield f"elasticity of {s['parameter']} is {s['elasticity']:.4g}, not within {low} to {high}"


@between
def all_twice_as_fast(case: Case) -> Violations:
    """Without floors, launches and a network profile every time is a quotient of work and speed, or a latency: with all of them halved the
    iteration takes half. Tolerance: rounding of times, by which tasks may change places."""
    case.needs("file" in case.cluster["node"]["gpus"])
    generic = Case(case.program, changed(case.scenario, {"training.framework": "generic"}), case.rng)
    twice: dict[str, Any] = {f"cluster.node.gpus.{key}": 2 * _speed(case, key) for key in ("compute_speed", "memory_speed", "host_speed")}
    for link in case.cluster["links"]:
        twice |= {f"cluster.links.{link}.bandwidth": "2x", f"cluster.links.{link}.latency": "0.5x"}
    (run,) = generic.ask_variants({"all": twice}).values()
    yield from equal("twice the time with all twice as fast", 2 * seconds(run), seconds(generic.run), 1e-6)


@between
def room_is_not_speed(case: Case) -> Violations:
    """A plan that stays runs as it does, whatever memory is left over. Tolerance: rounding."""
    (run,) = case.ask_variants({"memory": {"cluster.node.gpus.memory": "20 TB"}}).values()
    yield from equal("with 20 TB of memory", seconds(run), seconds(case.run), ROUNDING)


@between
def idle_links_decide_nothing(case: Case) -> Violations:
    """Types of links that carry nothing, made worse: nothing is drawn to them, and nothing waits for them. Tolerance: rounding."""
    idle = sorted(set(case.cluster["links"]) - {link["type"] for link in case.run.get("links", [])})
    case.needs(idle, not case.option("offload"))  # copies to hosts are not in the list
    worse = {f"cluster.links.{t}.bandwidth": "0.5x" for t in idle} | {f"cluster.links.{t}.latency": "3x" for t in idle}
    (run,) = case.ask_variants({"worse": worse}).values()
    yield from same_run(f"worse {', '.join(idle)}", case.run, run)


@between
def hosts_stay_off_wired_routes(case: Case) -> Violations:
    """In a node whose GPUs are joined by wires of their own, libraries keep to these (docs/decisions/0012: the kind of a route counts before its
    width): links of CPUs, ten times as wide, change no plan that offloads nothing. Where the wires only make a ring, they change no
    all-reduce. Tolerance: rounding."""
    of_hosts = sorted({kind for a, _, kind in wires_of(case.cluster) if a.startswith("cpu")})
    own = set(case.cluster["links"]) - set(of_hosts)
    joined = are_joined(case.cluster, own)
    case.needs(of_hosts, joined or make_a_ring(case.cluster, own), not case.option("offload"))
    one = changed(case.scenario, {"cluster.nodes": 1, "training.global_batch": 64} | ({} if joined and case.cluster["nodes"] == 1 else REPLICAS))
    asked = Case(case.program, one, case.rng)
    (run,) = asked.ask_variants({"wider": {f"cluster.links.{t}.bandwidth": "10x" for t in of_hosts}}).values()
    yield from same_run(f"wider {', '.join(of_hosts)}", asked.run, run)


@between
def oversubscription_does_not_help(case: Case) -> Violations:
    """Twice as oversubscribed, links between leaves of one node have half of the bandwidth: base <= time <= 2 base. Tolerance: Case.collisions;
    of the upper bound Case.meetings, as stages that wait for messages alone come to send in both directions at once."""
    case.needs(case.cluster["nodes"] > 1, "domain" not in case.cluster["node"])
    tree = {"type": "fat-tree", "link": case.cluster["network"]["link"], "nodes_per_leaf": 1}
    clusters = {o: {**case.cluster, "network": {**tree, "oversubscription": o}} for o in (1, 2, 4)}
    times = {o: seconds(case.ask({**case.kept_split, "cluster": cluster})) for o, cluster in clusters.items()}
    for o in (2, 4):
        yield from at_least(f"oversubscription {o} to {o // 2}", times[o], times[o // 2], case.collisions)
        yield from at_most(f"oversubscription {o} to {o // 2}", times[o], 2 * times[o // 2], case.meetings)


def _switched(own: dict[str, Any], nodes: int, gpus: int) -> dict[str, Any]:
    """Nodes with a switch, and a NIC for each GPU; the way to a NIC takes next to nothing."""
    wires = [{"between": [f"gpu{g}", end], "link": link} for g in range(gpus) for end, link in (("switch0", "nvlink"), (f"nic{g}", "pcie"))]
    node = {"gpus": {**own["node"]["gpus"], "count": gpus}, "components": ["switch0", *(f"nic{g}" for g in range(gpus))], "wires": wires}
    links = {**own["links"], "pcie": {"bandwidth": "900 GB/s", "latency": "0 us"}}
    return {"nodes": nodes, "links": links, "network": {"type": "switch", "link": "infiniband"}, "node": node}


@between
def one_node_or_nodes_of_one(case: Case) -> Violations:
    """The same GPUs on one switch, or each in a node of its own, whose NIC and network are no faster than the wires to the switch: every route
    is as short and as wide in one node. Tolerance: Case.collisions."""
    case.needs("node" in case.scenario["cluster"], case.run["gpus"] > 1)
    clusters = [_switched(case.cluster, n, case.run["gpus"] // n) for n in (1, case.run["gpus"])]
    one, many = (seconds(case.ask({**case.kept_split, "cluster": cluster})) for cluster in clusters)
    yield from at_most("on one switch", one, many, case.collisions)


def _is_slower_outside(case: Case) -> bool:
    """All NICs of a node together are no wider than the wires of one GPU. Each GPU sends and receives at least what its node has to when it
    reduces with another node: all that is reduced. So the NICs alone take as long as the wires of one node do."""
    of_gpu = [kind for a, _, kind in wires_of(case.cluster) if a == "gpu0"]
    nics = [name for name in case.cluster["node"].get("components", []) if isinstance(name, str) and name.startswith("nic")]
    if "network" not in case.cluster or not nics:
        return False
    link = {t: bytes_per_second(values["bandwidth"]) for t, values in case.cluster["links"].items()}
    of_one = max((of_gpu.count(t) * link[t] for t in set(of_gpu) if are_joined(case.cluster, {t})), default=0)
    return len(nics) * link[case.cluster["network"]["link"]] <= of_one


@between
def two_nodes_reduce_no_quicker(case: Case) -> Violations:
    """An all-reduce of n GPUs sends 2 (n - 1) / n of its bytes from each GPU, or all of them once where switches reduce. Neither shrinks with n,
    and NICs are no way round (_is_slower_outside): with as much work for each GPU, a second node saves nothing. Tolerance: rounding."""
    case.needs(_is_slower_outside(case))
    gpus = len(gpus_of(case.cluster))
    one, two = (seconds(case.ask({**REPLICAS, "cluster.nodes": n, "training.global_batch": n * gpus})) for n in (1, 2))
    yield from at_least("on two nodes", two, one, ROUNDING)


@between
def one_node_or_two_halves(case: Case) -> Violations:
    """The GPUs of a node all-reduce no quicker if half of them are in another node, which all bytes then reach through NICs
    (_is_slower_outside). Tolerance: rounding."""
    gpus = gpus_of(case.cluster)
    case.needs(_is_slower_outside(case), "domain" not in case.cluster["node"], len(gpus) % 2 == 0, len(gpus) > 2)
    gone = set(gpus[len(gpus) // 2 :])
    wires = [w for w in case.cluster["node"]["wires"] if gone.isdisjoint(w.get("between", ()))]
    wires = [{**w, "all_pairs": [e for e in w["all_pairs"] if e not in gone]} if "all_pairs" in w else w for w in wires]
    node = {**case.cluster["node"], "gpus": {**case.cluster["node"]["gpus"], "count": len(gpus) // 2}, "wires": wires}
    batch = {**REPLICAS, "training.global_batch": len(gpus)}
    one, two = (seconds(case.ask({**batch, "cluster": {**case.cluster, **half}})) for half in ({"nodes": 1}, {"nodes": 2, "node": node}))
    yield from at_least("in two halves", two, one, ROUNDING)

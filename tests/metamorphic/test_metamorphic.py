"""python3 -m unittest discover -s tests/metamorphic: that each relation can fail, and what draws and shrinking do."""
from __future__ import annotations

import copy
import json
import pathlib
import random
import tempfile
import unittest
from collections.abc import Callable
from typing import Any

import relations  # noqa: F401  (registers them)
from cluster_file import parsed
from draws import draw
from metamorphic import names_of, seeds_in
from program import Program, Refused, Run, Scenario
from relation import RELATIONS, Case, SaysNothing, split_of
from relations.faults import _fault_of
from shrinking import shrunk

CLUSTER = """
foreshard: 1
cluster:
  name: own
  nodes: 2
  links:
    nvlink: {bandwidth: 100 GB/s, latency: 1 us}
    pcie: {bandwidth: 32 GB/s, latency: 1 us}
    infiniband: {bandwidth: 12.5 GB/s, latency: 2.5 us}
  node:
    gpus: {file: ideal.yaml, count: 4}
    components:
      - cpu0
      - {switch0: {in_network: true}}
      - nic0
      - nic1
      - nic2
      - nic3
    wires:
      - {between: [gpu0, switch0], link: nvlink}
      - {between: [gpu1, switch0], link: nvlink}
      - {between: [gpu2, switch0], link: nvlink}
      - {between: [gpu3, switch0], link: nvlink}
      - {all_pairs: [gpu0, gpu1, gpu2, gpu3, cpu0, nic0, nic1, nic2, nic3], link: pcie}
  network: {type: switch, link: infiniband}
"""
EXPERTS = {"layers": 4, "hidden": 512, "heads": 8, "vocab": 1024, "sequence_length": 1024, "experts": 8, "top_k": 2, "expert_ffn": 512}
DENSE = {k: EXPERTS[k] for k in ("layers", "hidden", "heads", "vocab", "sequence_length")}


def scenario(model: dict[str, Any], plan: dict[str, Any], batch: int = 16) -> Scenario:
    return {"foreshard": 1, "name": "s", "model": {"transformer": model}, "cluster": parsed(CLUSTER)["cluster"],
            "training": {"global_batch": batch, "precision": "bf16", "optimizer": "adam", "framework": "generic"}, "plans": [{**plan, "name": "p"}]}


PIPELINE = scenario(DENSE, {"megatron": {"tensor": 1, "pipeline": 2, "micro_batch": 1, "schedule": "interleaved", "chunks": 2}})
FSDP = scenario(DENSE, {"fsdp": {"stage": "zero2", "micro_batch": 1, "recompute": "none"}})
TENSOR = scenario(EXPERTS, {"megatron": {"tensor": 2, "pipeline": 1, "micro_batch": 1}})

# What a program says that answers everything alike: half an iteration of waiting for links of one type, half full at their only moment.
RUN: Run = {
    "status": "ok", "iteration_time_s": 2.0, "iteration_time_interval_s": [1.0, 3.0], "gpus": 8, "mfu": 0.5, "mfu_causal": 0.4,
    "throughput_samples_per_s": 8.0, "tokens_per_s": 8192.0,
    "breakdown_s": {"compute": 1.0, "exposed_communication": 1.0, "bubble": 0.0, "imbalance": 0.0, "idle": 0.0},
    "exposed_communication_s": {"by_collective": {"all_reduce": 1.0}, "by_link": {"nvlink": 1.0}},
    "critical_path": [{"kind": "operator", "name": "linear forward", "time_s": 1.0}, {"kind": "collective", "name": "all_reduce", "time_s": 1.0}],
    "stages": [{"stage": 0, "compute_s": 1.0, "exposed_communication_s": 1.0, "bubble_s": 0.0, "imbalance_s": 0.0, "idle_s": 0.0}],
    "memory_bytes": {"peak": 100, "capacity": 200, "weights": 20, "gradients": 20, "optimizer": 20, "activations": 20, "workspace": 20},
    "communication_bytes": {"total": 1000, "by_collective": {"all_reduce": 600, "all_to_all": 400}, "by_link": {"nvlink": 1000}},
    "busiest_link": {"type": "nvlink", "name": "node0:gpu0->switch0", "busy": 0.5},
    "links": [{"type": "nvlink", "name": "node0:gpu0->switch0", "bytes": 1000, "carried_bytes": 1000, "bandwidth_bytes_per_s": 1000.0, "busy": 0.5,
               "busiest": 0.5, "over_time": [0.5] * 100}],
    "compute_basis_s": {"fitted": 1.0}, "plan_summary": "plan", "notes": [],
}
Doctor = Callable[[Run, int], None]


class Constant(Program):
    """Answers every question with RUN, but for what a doctor does to a run, whose number among all runs it is told."""

    def __init__(self, folder: str, doctor: Doctor, elasticity: float = 0) -> None:
        super().__init__("none", folder)
        self._doctor, self._runs, self._elasticity = doctor, 0, elasticity

    def text(self, scenario: Scenario, *options: str) -> str:
        for option, value in zip(options, options[1:]):
            if option == "--trace":
                pathlib.Path(value).write_text(json.dumps({"traceEvents": [{"ph": "C", "name": "memory", "args": {"bytes": 100}}]}))
            if option == "--save-plans":
                pathlib.Path(value, "plan.yaml").write_text("")
        variants = [("base", True)]
        for w in scenario.get("what_if", []):
            points = range(len(next(iter(w["sweep"].values())))) if "sweep" in w else [0]
            variants += [(w["name"], w.get("replan", True)) for _ in points]
        plans = [p if isinstance(p, str) else p.get("name", "p") for p in scenario["plans"]]
        runs = [self._run(v, replanned, p) for v, replanned in variants for p in plans]
        sensitivity = [{"parameter": "cluster.links.nvlink.bandwidth", "elasticity": self._elasticity}]
        return json.dumps({"question": {k: v for k, v in scenario.items() if k != "what_if"}, "runs": runs, "sensitivity": sensitivity})

    def written_out(self, cluster: dict[str, Any]) -> str:
        return CLUSTER

    def _run(self, variant: str, replanned: bool, plan: str) -> Run:
        run = {**copy.deepcopy(RUN), "plan": plan, "variant": variant, "replanned": replanned}
        self._doctor(run, self._runs)
        self._runs += 1
        return run


def scaled(path: str, factor: float, first: int = 1) -> Doctor:
    """Multiplies a number of runs from the `first` on, each time again: the second by the factor, the third by its square, ..."""
    *way, last = path.split(".")

    def doctor(run: Run, number: int) -> None:
        at: Any = run
        for key in way:
            at = at[int(key)] if isinstance(at, list) else at[key]
        key: Any = int(last) if isinstance(at, list) else last
        at[key] *= factor ** max(0, number + 1 - first)

    return doctor


TIME, PEAK, KERNELS, BYTES, FLOPS = "iteration_time_s", "memory_bytes.peak", "compute_basis_s.fitted", "communication_bytes.total", "mfu"
LONGER, SHORTER, FULLER, EMPTIER = scaled(TIME, 1.2), scaled(TIME, 0.8), scaled(PEAK, 1.2), scaled(PEAK, 0.8)
MORE_BYTES, MORE_FLOPS = scaled(BYTES, 1.2), scaled(FLOPS, 1.2)


def always(path: str, factor: float) -> Doctor:
    """From the first run on."""
    return scaled(path, factor, 0)


# By relation: a scenario that it concerns, and what it must notice.
NOTICES: dict[str, tuple[Scenario, list[Doctor]]] = {
    **{name: (PIPELINE, doctors) for name, doctors in {
        "shares_make_the_time": [always("breakdown_s.compute", 1.1), always("breakdown_s.compute", -1)],
        "exposed_communication_has_parts": [always("exposed_communication_s.by_link.nvlink", 1.1), lambda r, n: r.pop("exposed_communication_s")],
        "the_critical_path_is_the_time": [always("critical_path.0.time_s", 1.1)],
        "each_stage_fills_the_time": [always("stages.0.exposed_communication_s", 1.1), always("breakdown_s.compute", 1.1)],
        "memory_is_its_parts": [always("memory_bytes.weights", 2), always("memory_bytes.capacity", 0.1), always("memory_bytes.capacity", 0.505)],
        "bytes_have_one_kind_and_some_links": [always(BYTES, 2), always("links.0.bytes", 2), always("links.0.carried_bytes", 0.5)],
        "links_carry_what_fits": [always("links.0.busy", 1.1), always("links.0.busiest", 2.1), always("links.0.busiest", 0.9),
                                  always("links.0.over_time.3", 2.1)],
        "the_busiest_link_is_in_the_list": [always("busiest_link.busy", 1.1)],
        "rates_follow_from_the_time": [always("throughput_samples_per_s", 1.1), always("tokens_per_s", 1.1)],
        "useful_work_fits_into_the_peak": [always("mfu_causal", -1), lambda r, n: r.update(mfu=1.3, mfu_causal=1.2)],
        "the_interval_holds_the_time": [always(TIME, 2), always(TIME, 0.4)],
        **dict.fromkeys(("asked_again", "names_and_order", "the_question_of_the_answer", "the_cluster_written_out", "a_saved_plan",
                         "a_what_if_or_the_file", "a_sweep_or_its_points", "degrees_of_one", "bonded_wires", "equal_stages_listed",
                         "groups_of_as_many_as_stages"), [LONGER, FULLER, MORE_BYTES, MORE_FLOPS]),
    }.items()},
    "two_types_of_equal_nodes": (PIPELINE, [LONGER, FULLER]),
    "sharding_by_either_name": (FSDP, [LONGER, FULLER, MORE_BYTES]),
    "almost_equal_gpus": (PIPELINE, [LONGER, SHORTER]),
    "better_links_are_not_slower": (PIPELINE, [LONGER, scaled(TIME, 0.5), scaled(KERNELS, 1.1), scaled(KERNELS, 0.9)]),
    "better_gpus_are_not_slower": (PIPELINE, [LONGER, scaled(TIME, 0.5), scaled(KERNELS, 1.1), scaled(KERNELS, 0.5)]),
    "sensitivities_have_a_sign": (PIPELINE, []),  # a test of its own
    "all_twice_as_fast": (PIPELINE, [LONGER]),
    "room_is_not_speed": (PIPELINE, [LONGER, SHORTER]),
    "idle_links_decide_nothing": (PIPELINE, [LONGER, MORE_BYTES]),
    "hosts_stay_off_wired_routes": (PIPELINE, [LONGER, SHORTER]),
    "oversubscription_does_not_help": (PIPELINE, [SHORTER, scaled(TIME, 3)]),
    "one_node_or_nodes_of_one": (PIPELINE, [scaled(TIME, 0.8, 2)]),
    "one_node_or_two_halves": (PIPELINE, [SHORTER]),
    "two_nodes_reduce_no_quicker": (PIPELINE, [SHORTER]),
    "a_narrower_link": (PIPELINE, [SHORTER, scaled(TIME, 1.1)]),
    "a_slower_gpu": (PIPELINE, [SHORTER, scaled(TIME, 1.7)]),
    "a_failed_nic": (PIPELINE, [SHORTER]),
    "longer_sequences": (PIPELINE, [SHORTER, EMPTIER]),
    "bigger_micro_batches": (PIPELINE, [SHORTER, EMPTIER, scaled(TIME, 2.2)]),
    "no_step_in_tokens": (PIPELINE, [scaled(TIME, 1.3), SHORTER, scaled(KERNELS, 1.3)]),
    "micro_batches_add_a_period": (PIPELINE, [LONGER]),
    "batches_together": (PIPELINE, [SHORTER, scaled(TIME, 2.2)]),
    "twice_the_replicas": (PIPELINE, [SHORTER, FULLER, EMPTIER, scaled(KERNELS, 1.1), scaled(KERNELS, 0.9)]),
    "bigger_models": (PIPELINE, [SHORTER, EMPTIER, scaled(FLOPS, 0.9)]),
    "lighter_attention": (PIPELINE, [LONGER, FULLER]),
    "padding_is_no_work": (TENSOR, [SHORTER, MORE_FLOPS, scaled("communication_bytes.by_collective.all_to_all", 2)]),
    "the_same_work": (PIPELINE, []),  # RUN says that as many samples are the work of any batch
    "sharding_more_holds_less": (TENSOR, [scaled(PEAK, 3)]),
    "recomputing_holds_less": (PIPELINE, [scaled(PEAK, 1e6), scaled(KERNELS, 0.9)]),
    "offloading_holds_less": (TENSOR, [FULLER]),
    "one_forward_one_backward_keeps_less": (scenario(DENSE, {"megatron": {"pipeline": 2}}), [FULLER]),
    "overlap_moves_the_same_bytes": (PIPELINE, [MORE_BYTES, LONGER]),
    "sharded_updates_move_the_same_bytes": (TENSOR, [MORE_BYTES]),
    "more_tensor_ranks_hold_less": (TENSOR, [FULLER]),
    "no_layer_elsewhere_is_better": (PIPELINE, [SHORTER]),
    "the_trace_reaches_the_peak": (PIPELINE, [always(PEAK, 1.1), always(PEAK, 0.9)]),
    "choosing_is_no_worse": (FSDP, [LONGER]),
    "searching_is_no_worse": (PIPELINE, [LONGER]),
}
# Of a program that answers everything alike: twice as much of all is half the time, and eight times the batch more work.
DOES_NOT_HOLD = {"all_twice_as_fast", "the_same_work"}


def found(name: str, question: Scenario, doctor: Doctor, elasticity: float = 0) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        case = Case(Constant(folder, doctor, elasticity), question, random.Random(1))
        case.run  # before other questions, as metamorphic.py does
        return list(RELATIONS[name].check(case))


class Relations(unittest.TestCase):
    def test_each_says_why_it_holds_and_how_far(self) -> None:
        for r in RELATIONS.values():
            self.assertRegex(r.derivation, r"\. Tolerance", r.name)

    def test_each_holds_of_answers_that_do_not_change(self) -> None:
        self.assertEqual(NOTICES.keys(), RELATIONS.keys())
        for name, (question, _) in NOTICES.items():
            with self.subTest(name):
                self.assertEqual(bool(found(name, question, lambda run, number: None)), name in DOES_NOT_HOLD)

    def test_each_notices_doctored_answers(self) -> None:
        for name, (question, doctors) in NOTICES.items():
            for i, doctor in enumerate(doctors):
                with self.subTest(name, doctor=i):
                    self.assertTrue(found(name, question, doctor))

    def test_a_speed_that_makes_slower_is_noticed_and_one_that_gives_more_than_itself(self) -> None:
        for elasticity in (0.01, -1.01):
            self.assertTrue(found("sensitivities_have_a_sign", PIPELINE, lambda run, number: None, elasticity))

    def test_a_relation_says_nothing_of_what_it_does_not_concern(self) -> None:
        for name, question in (("padding_is_no_work", PIPELINE), ("no_layer_elsewhere_is_better", FSDP), ("groups_of_as_many_as_stages", TENSOR)):
            with self.assertRaises(SaysNothing):
                found(name, question, lambda run, number: None)


class Words(unittest.TestCase):
    def test_a_cluster_file_is_read(self) -> None:
        c = parsed(CLUSTER)["cluster"]
        self.assertEqual(c["links"]["infiniband"], {"bandwidth": "12.5 GB/s", "latency": "2.5 us"})
        self.assertEqual(c["node"]["components"][1], {"switch0": {"in_network": True}})
        self.assertEqual(c["node"]["wires"][0], {"between": ["gpu0", "switch0"], "link": "nvlink"})

    def test_a_fault_is_named_after_its_link(self) -> None:
        cluster = parsed(CLUSTER)["cluster"]
        self.assertEqual(_fault_of("node1:gpu0->switch0", cluster), {"node": 1, "between": ["gpu0", "switch0"]})
        self.assertEqual(_fault_of("node0:nic1->switch", cluster), {"node": 0, "nic": "nic1"})
        self.assertEqual(_fault_of("rail0->node3:nic0", cluster), {"node": 3, "nic": "nic0"})
        self.assertEqual(_fault_of("leaf1->core", cluster), {"between": ["leaf1", "core"]})

    def test_a_split_is_read_from_a_summary(self) -> None:
        self.assertEqual(split_of("pipeline 4, layers per stage 2 + 2 x 3 + 1, 8 micro-batches"), [2, 3, 3, 1])
        self.assertEqual(split_of("pipeline 4"), [])

    def test_seeds_and_scenarios_are_numbered(self) -> None:
        self.assertEqual(seeds_in("3"), [3])
        self.assertEqual(list(names_of(seeds_in("7-8"), 2)), ["7-0", "8-0", "7-1", "8-1"])


class Draws(unittest.TestCase):
    def test_a_name_draws_one_scenario_and_others_draw_others(self) -> None:
        self.assertEqual(draw(random.Random("1-1")), draw(random.Random("1-1")))
        self.assertNotEqual(draw(random.Random("1-1")), draw(random.Random("1-2")))

    def test_every_planner_schedule_and_kind_of_cluster_is_drawn(self) -> None:
        text = json.dumps([draw(random.Random(f"draws-{i}")) for i in range(600)])
        for word in ("data-parallel fsdp zero3 interleaved dualpipe zb-h1 ulysses deepep offload "
                     "dlrm lora mamba_heads kv_rank torus dgx-b200 fp8").split():
            self.assertIn(word, text)


class Shrinking(unittest.TestCase):
    def test_what_does_not_matter_goes(self) -> None:
        class Picky(Constant):
            def text(self, scenario: Scenario, *options: str) -> str:
                if scenario["model"]["transformer"].get("layers", 0) < 2 or "megatron" not in scenario["plans"][0]:
                    raise Refused("one layer, or no planner")
                return super().text(scenario, *options)

        with tempfile.TemporaryDirectory() as folder:
            small = shrunk(Picky(folder, LONGER), RELATIONS["room_is_not_speed"], TENSOR, "1")
        self.assertEqual(small["model"]["transformer"], {"layers": 2})
        self.assertEqual(small["plans"][0]["megatron"], {})


if __name__ == "__main__":
    unittest.main()

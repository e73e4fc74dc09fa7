"""Scenarios in each form are answered by the program, and what is wrong with them is said in its words."""
import contextlib
import io
import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

import foreshard

from .scenarios import ROOT, small


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)


class RunTest(InFolder):
    def test_a_map_a_file_and_text_of_one_scenario_have_one_answer(self) -> None:
        (self.folder / "s.json").write_text(json.dumps(small()))
        of_map = foreshard.run(small())
        scenarios: list[str | Path] = ["s.json", self.folder / "s.json", json.dumps(small(), indent=1)]
        for scenario in scenarios:
            answer = foreshard.run(scenario)
            for mine, theirs in zip(answer.runs, of_map.runs, strict=True):
                for key in ("plan", "status", "iteration_time_s", "notes"):
                    self.assertEqual(mine[key], theirs[key])

    def test_documented_keys_are_attributes_and_the_raw_map_is_there(self) -> None:
        result = foreshard.run(small())
        self.assertEqual(result.scenario, "two Summit nodes")
        self.assertEqual([r.plan for r in result.runs], ["data-parallel", "megatron"])
        run = result.runs[0]
        self.assertEqual(run.gpus, 12)
        self.assertGreater(run["iteration_time_s"], 0)
        self.assertEqual(run["mfu"], run.mfu)
        self.assertIsNone(run.runners_up)
        self.assertEqual(dict(run), result.raw["runs"][0])
        with self.assertRaisesRegex(AttributeError, "Run has no 'iteration_time'"):
            run.iteration_time
        self.assertIn("iteration_time_s", dir(run))
        times = [r["iteration_time_s"] for r in result.runs]
        self.assertEqual(result.best, result.runs[times.index(min(times))])

    def test_results_can_be_pickled(self) -> None:
        result = foreshard.run(small())
        again = pickle.loads(pickle.dumps(result))
        self.assertEqual(again, result)
        self.assertEqual(again.exit_code, 0)

    def test_files_that_a_map_names_are_relative_to_the_working_directory(self) -> None:
        foreshard.run(small(), save_plans="plans")
        saved = sorted(p.name for p in Path("plans").iterdir())
        self.assertEqual(len(saved), 2)
        again = foreshard.run(small(plans=[{"file": Path("plans") / saved[0]}]))
        self.assertEqual(again.runs[0].status, "ok")

    def test_what_nothing_fits_is_an_answer(self) -> None:
        result = foreshard.run(small(training={"batch_per_gpu": 4096, "precision": "fp32", "optimizer": "adam"}, plans=["data-parallel"]))
        self.assertEqual(result.exit_code, 1)
        self.assertEqual(result.runs[0].status, "out_of_memory")
        self.assertIsNone(result.best)

    def test_a_typo_is_told_with_its_key_and_a_hint(self) -> None:
        scenario = small()
        scenario["modle"] = scenario.pop("model")
        with self.assertRaises(foreshard.InputError) as raised:
            foreshard.run(scenario)
        self.assertIn('unknown key "modle"', str(raised.exception))
        self.assertIn('did you mean "model"?', str(raised.exception))
        self.assertEqual(raised.exception.exit_code, 2)
        self.assertIsInstance(raised.exception, ValueError)

    def test_a_file_that_is_not_there_is_bad_input_whatever_its_name(self) -> None:
        for name in ("none.yaml", "--version", "-"):
            with self.assertRaisesRegex(foreshard.InputError, "No such file"):
                foreshard.run(name)

    def test_what_json_cannot_say_is_bad_input(self) -> None:
        loop: dict[str, Any] = {}
        loop["model"] = loop
        scenarios: list[dict[str, Any]] = [{"foreshard": {1}}, {"foreshard": float("nan")}, loop]
        for scenario in scenarios:
            with self.assertRaisesRegex(foreshard.InputError, "cannot be written as JSON"):
                foreshard.run(scenario)

    def test_names_in_any_script_come_back(self) -> None:
        self.assertEqual(foreshard.run(small(name="größer 😀")).scenario, "größer 😀")

    def test_options_reach_the_program(self) -> None:
        result = foreshard.run(small(), jobs=2, seed=7, explain=True, resume="kept", csv="r.csv", trace="t.json")
        self.assertIn("against_data_parallel", result.runs[1])
        self.assertTrue(any(Path("kept").iterdir()))
        self.assertEqual(len(Path("r.csv").read_text().splitlines()), 3)
        self.assertIn("traceEvents", json.loads(Path("t.json").read_text()))
        self.assertEqual(foreshard.run(small(), resume="kept").runs[0].plan, "data-parallel")
        with self.assertRaisesRegex(foreshard.InputError, "--jobs"):
            foreshard.run(small(), jobs=0)

    def test_sensitivities_and_capacity_are_lists(self) -> None:
        candidate = {"cluster": {"preset": "summit"}, "nodes": [2, 4], "price": "1 USD/gpu/h"}
        result = foreshard.run(small(sensitivity=True, capacity={"train": {"samples": 1000000}, "candidates": [candidate]}))
        self.assertEqual({s.plan for s in result.sensitivity}, {"data-parallel", "megatron"})
        self.assertEqual(len(result.capacity), 4)
        self.assertGreater(result.capacity[0]["cost_usd"], 0)
        self.assertIn("cheapest", result.capacity_summary or {})


class ValidateAndShowTest(InFolder):
    points = ROOT / "tools/converters/points/dlperf-megatron-v100.csv"

    def test_points_are_held_against_forecasts(self) -> None:
        result = foreshard.validate(self.points)
        self.assertTrue(result.within_limits)
        self.assertEqual(len(result.points), result.groups[0]["points"])
        self.assertIn("time.mean_error", foreshard.records.row(result.groups[0]))

    def test_a_limit_that_is_not_kept_is_an_answer(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertFalse(foreshard.validate([self.points], limits={"dlperf-*": "0.1%"}).within_limits)
        self.assertIn("missed: dlperf", said.getvalue())

    def test_each_kind_is_shown(self) -> None:
        for kind in ("model", "cluster", "device", "framework"):
            names = [entry["name"] for entry in foreshard.show(kind)]
            self.assertTrue(names)
            shown = foreshard.show(kind, names[0])
            self.assertIsInstance(shown, str if kind in ("device", "framework") else dict)
        self.assertIn("megatron", [p["planner"] for p in foreshard.show("planners")])
        self.assertTrue(foreshard.show("planners", "megatron"))

    def test_plans_are_shown_and_compared(self) -> None:
        foreshard.run(small(), save_plans="plans")
        first, second = sorted(Path("plans").iterdir())
        self.assertIsInstance(foreshard.show("plan", first), dict)
        self.assertIn("others", foreshard.show("plan", first, second))

    def test_an_unknown_name_is_told_with_a_hint(self) -> None:
        with self.assertRaisesRegex(foreshard.InputError, "summit"):
            foreshard.show("cluster", "sumit")
        with self.assertRaises(foreshard.InputError):
            foreshard.show("clutser")

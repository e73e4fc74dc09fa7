"""The PyTorch half of the collector, as far as it goes without PyTorch."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

COLLECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "collector")
FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "collect.json")
sys.dont_write_bytecode = True
sys.path.insert(0, COLLECT)
import arithmetic  # noqa: E402
import operation_cases  # noqa: E402
import points  # noqa: E402


def measured_part():
    with open(FIXTURE, encoding="utf-8") as f:
        part = json.load(f)
    part["iterations"] = []
    return part


class Cases(unittest.TestCase):
    def test_every_model_comes_before_any_repeats_at_another_batch(self):
        first = arithmetic.iteration_cases()[:8]
        self.assertEqual({c[0] for c in first}, set(arithmetic.BATCHES))
        self.assertEqual({c[2] for c in first}, {"bf16"})

    def test_each_case_once_and_all_of_them(self):
        cases = arithmetic.iteration_cases()
        self.assertEqual(len(cases), len(set(cases)))
        # 6 models, 3 batches, 3 precisions, and both transformers with flash in bf16 at 3 batches.
        self.assertEqual(len(cases), 6 * 3 * 3 + 2 * 3)

    def test_one_trace_for_each_model_and_attention_in_each_of_two_precisions(self):
        traced = [c for c in arithmetic.iteration_cases() if arithmetic.wants_trace(c)]
        # 6 models, and both transformers with flash, in bf16; 6 models in tf32.
        self.assertEqual(len(traced), 8 + 6)
        self.assertEqual({c[2] for c in traced}, {"bf16", "tf32"})

    def test_time_is_shared(self):
        self.assertEqual(arithmetic.share_of(100, 50), 4)
        self.assertEqual(arithmetic.share_of(0, 10), 1.0)
        self.assertEqual(arithmetic.repeats_within(0.1, 1), 10)
        self.assertEqual(arithmetic.repeats_within(10, 1), 5)
        self.assertEqual(arithmetic.repeats_within(0.0001, 1), 30)


class Statistics(unittest.TestCase):
    def test_median_and_quartiles_as_in_statistics_test_cpp(self):
        self.assertEqual(arithmetic.summarise([4, 1, 3, 2]), (2.5, 1.5, 4))
        median, _, kept = arithmetic.summarise([9.9, 10.1, 10, 9.9, 10.1, 100, 10.5])
        self.assertAlmostEqual(median, 10.05)
        self.assertEqual(kept, 6)
        self.assertEqual(arithmetic.summarise([]), (0.0, 0.0, 0))


class Decoders(unittest.TestCase):
    def test_each_has_a_name_of_its_own(self):
        names = [arithmetic.decoder_name(d) for d in arithmetic.DECODERS]
        self.assertEqual(len(names), len(set(names)))

    def test_three_sizes_are_trained_eager_and_compiled_in_bf16_and_fp8(self):
        ways = {(d["shape"], d["compiled"], d["precision"]) for d in arithmetic.DECODERS if d["sharded"]}
        for shape in ("llama-1b", "llama3-8b", "llama3-70b"):
            self.assertLessEqual({(shape, c, p) for c in (False, True) for p in ("bf16", "fp8")}, ways)

    def test_weights_of_fp8_are_whole_sixteens(self):
        for d in arithmetic.DECODERS:
            if d["precision"] == "fp8":
                t = arithmetic.transformer_of(d)
                self.assertEqual([t[k] % 16 for k in ("hidden", "ffn")], [0, 0])
                self.assertFalse(t["biases"])  # models.Fp8Linear adds none

    def test_a_builtin_has_no_keys_of_its_own(self):
        self.assertEqual(arithmetic.transformer_of(arithmetic.decoder("vit-huge", 32, 64)), {})
        self.assertEqual(arithmetic.transformer_of(arithmetic.decoder("olmoe-7b", 4, 2))["experts"], 64)

    def test_kernels_of_a_step(self):
        events = [{"cat": "kernel", "name": "a", "dur": 2.0}, {"cat": "kernel", "name": "b", "dur": 9.0}, {"cat": "kernel", "name": "a", "dur": 4.0},
                  {"cat": "gpu_memcpy", "name": "c", "dur": 1.0}, {"cat": "cpu_op", "name": "d", "dur": 100.0}, {"name": "e"}]
        totals = arithmetic.kernel_totals(events, 2)
        self.assertEqual([t[:2] for t in totals], [["b", 0.5], ["a", 1.0], ["c", 0.5]])
        self.assertAlmostEqual(totals[1][2], 3e-6)


class Operations(unittest.TestCase):
    def test_every_case_can_be_built_and_comes_once(self):
        cases = operation_cases.cases()
        self.assertTrue(all(c["build"] in operation_cases.BUILDERS for c in cases + operation_cases.sustained_cases()))
        keys = [(c["operation"], c["how"], json.dumps(c["shape"])) for c in cases]
        self.assertEqual(len(keys), len(set(keys)))

    def test_attention_is_counted_as_pcg_work_counts_it(self):
        # 2 samples, 32 heads of 128 that share 8 of keys, 4,096 positions, causal: each of two products is 2 x 64 x 4096^2 / 2 x 128.
        c = next(c for c in operation_cases.attention_cases() if c["how"] == "cudnn")
        product = 2 * 64 * 4096**2 / 2 * 128
        self.assertEqual((c["flops"], c["backward_flops"]), (2 * product, 5 * product))
        tensors = 2 * 4096 * (32 + 8 + 8 + 32) * 128 * 2
        self.assertEqual((c["bytes"], c["backward_bytes"]), (tensors, 2 * tensors))
        self.assertEqual((c["batch"], c["m"], c["n"], c["k"]), (64, 4096, 4096, 128))


class Parallel(unittest.TestCase):
    def test_each_way_of_each_shape_on_several_gpus_alone(self):
        self.assertEqual(arithmetic.parallel_cases(1), [])
        cases = arithmetic.parallel_cases(4)
        self.assertEqual([(c["shape"], c["way"]) for c in cases], [(s, w) for s in ("llama3-8b", "llama-1b") for w in ("sharded", "tensor", "pipelined")])
        self.assertEqual({c["micro_batches"] for c in cases if c["way"] == "pipelined"}, {8})
        self.assertEqual(arithmetic.parallel_name(cases[2]), "llama3-8b-l4-pipelined4-b1x8")

    def test_stages_have_equally_many_layers_and_heads_divide(self):
        for gpus in range(2, 17):
            for c in arithmetic.parallel_cases(gpus):
                if c["way"] == "pipelined":
                    self.assertEqual(c["transformer"]["layers"] % gpus, 0)
                if c["way"] == "tensor":
                    self.assertEqual(c["transformer"]["kv_heads"] % gpus, 0)
        self.assertFalse([c for c in arithmetic.parallel_cases(3) if c["way"] == "tensor"])


class Smi(unittest.TestCase):
    def test_clocks_and_power(self):
        text = "345, 3201, 76.5, 30\n1980, 3201, 650.0, 55\n1500, 3201, 400, 50\n[N/A], 1, 2, 3\n\nERROR\n1, 2, 3\nnan, 1, 1, 1\n"
        smi = arithmetic.read_smi(text)
        self.assertEqual(smi["multiprocessor_hz"], {"min": 345e6, "median": 1500e6, "max": 1980e6})
        self.assertEqual(smi["power_w"]["max"], 650)
        self.assertEqual(arithmetic.read_smi(""), {})


class Merge(unittest.TestCase):
    script = {"device_name": "Made-up GPU", "environment": {"torch": "2.0"}, "iterations": [{"model": "mlp"}], "decoders": [], "left_out": ["dlrm: made up"]}
    operated = {"device_name": "Made-up GPU", "environment": {}, "operations": [{"operation": "add"}], "sustained": [], "left_out": []}

    def test_parts_are_joined(self):
        part = measured_part()
        whole = arithmetic.merge(part, self.script, self.operated, {"power_w": {"min": 1, "median": 2, "max": 3}}, "580.1")
        self.assertEqual(whole["iterations"], [{"model": "mlp"}])
        self.assertEqual(whole["operations"], [{"operation": "add"}])
        self.assertEqual(whole["left_out"], part["left_out"] + ["dlrm: made up"])
        self.assertEqual(whole["environment"]["driver"], "580.1")
        self.assertEqual(whole["environment"]["torch"], "2.0")
        self.assertEqual(whole["device"]["clocks"]["measured"]["power_w"]["max"], 3)
        self.assertEqual(part["environment"].get("torch_new"), None)

    def test_without_a_script_it_is_said(self):
        whole = arithmetic.merge(measured_part(), None, None, {}, "")
        self.assertIn("iterations: the script wrote nothing", whole["left_out"])
        self.assertIn("operations: the script wrote nothing", whole["left_out"])

    def test_foreign_and_contradictory_files_are_refused(self):
        with self.assertRaisesRegex(ValueError, "none of the collector"):
            arithmetic.merge({"kernels": []}, None, None, {}, "")
        with self.assertRaisesRegex(ValueError, "two devices: Made-up GPU and another"):
            arithmetic.merge(measured_part(), dict(self.script, device_name="another"), None, {}, "")


class Points(unittest.TestCase):
    measured = {
        "device": {"name": "Made-up GPU"}, "environment": {"torch": "2.0", "date": "2026-01-02T03:04:05Z"},
        "iterations": [{"model": "gpt3-350m", "batch": 2, "precision": "bf16", "seconds": 0.5, "peak_bytes": 10, "reserved_bytes": 20, "attention": how}
                       for how in ("unfused", "flash")] +
                      [{"model": "mlp", "batch": 64, "precision": "fp32", "seconds": 0.25, "peak_bytes": 1, "reserved_bytes": 2, "attention": ""}],
        "decoders": [{"model": "llama-1b", "transformer": dict(arithmetic.DECODER_SHAPES["llama-1b"], layers=3), "batch": 4, "precision": "bf16", "seconds": 1.0,
                      "peak_bytes": 3, "reserved_bytes": 4, "attention": "flash", "compiled": True, "recompute": False, "sharded": True}],
    }

    def test_each_iteration_that_can_be_said_is_a_point(self):
        rows = list(points.points(self.measured, "dgx-h200", "mine"))
        self.assertEqual([r["id"] for r in rows], ["mine-mlp-fp32-64", "mine-llama-1b-l3-compiled-sharded-flash-b4"])
        self.assertEqual([r["group"] for r in rows], ["mine-networks-fp32", "mine-decoders-compiled-sharded"])
        self.assertEqual([r["id"] for r in points.points(self.measured, "dgx-h200", "mine", autocast=True)], ["mine-gpt3-350m-unfused-bf16-2"])
        self.assertEqual(rows[0]["settings"], "")
        settings = json.loads(rows[1]["settings"])
        self.assertEqual(settings["training.framework.compiled"], True)
        self.assertEqual(settings["training.framework.adam_bytes"], "0 B")
        self.assertEqual((rows[1]["layers"], rows[1]["sharding"], rows[1]["gated"]), (3, "zero3", 1))

    def point_of(self, options):
        entry = dict(options, model=options["shape"], transformer=arithmetic.transformer_of(options), seconds=1.0, peak_bytes=3, reserved_bytes=4)
        return list(points.points(dict(self.measured, iterations=[], decoders=[entry]), "dgx-h100", "mine"))[0]

    def test_fp8_names_its_recipe(self):
        row = self.point_of(arithmetic.decoder("llama-1b", 2, 4, compiled=True, precision="fp8"))
        self.assertEqual((row["id"], row["group"]), ("mine-llama-1b-l2-compiled-sharded-fp8-flash-b4", "mine-decoders-compiled-sharded-fp8"))
        self.assertEqual((row["precision"], row["fp8_recipe"]), ("fp8", "current"))

    def test_experts_are_columns(self):
        row = self.point_of(arithmetic.decoder("mixtral-8x7b", 2, 1))
        self.assertEqual((row["group"], row["experts"], row["top_k"], row["ffn"]), ("mine-experts-sharded", 8, 2, 14336))

    def test_a_builtin_stands_by_its_name(self):
        row = self.point_of(arithmetic.decoder("vit-huge", 32, 64, attention="unfused"))
        self.assertEqual((row["id"], row["group"]), ("mine-vit-huge-l32-sharded-unfused-b64", "mine-vision-sharded-unfused"))
        self.assertEqual((row["model"], row["seq"], "hidden" in row), ("vit-huge", 1, False))
        self.assertEqual(set(row) - set(points.COLUMNS), set())


class Programs(unittest.TestCase):
    def run_script(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(COLLECT, name), *arguments], capture_output=True, text=True, check=False)

    def test_a_dry_run_needs_no_pytorch(self):
        done = self.run_script("iterations.py", "--dry-run", "--budget", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bert-large-flash-bf16-b16", done.stdout)
        self.assertIn("llama3-8b-l4-sharded-flash-b1", done.stdout)
        done = self.run_script("iterations.py", "--dry-run", "--cases", "^vit.*compiled|^resnext-50-tf32-b64$")
        self.assertEqual([line.strip() for line in done.stdout.splitlines()[1:]], ["vit-huge-l32-compiled-sharded-unfused-b64", "resnext-50-tf32-b64"])
        done = self.run_script("operations.py", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rates over time", done.stdout)
        done = self.run_script("parallel.py", "--dry-run", "--gpus", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("llama-1b-l16-tensor2-b1x1", done.stdout)

    def test_merge_writes_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            kernels, script, smi, out = (os.path.join(folder, n) for n in ("k.json", "i.json", "s.csv", "o.json"))
            parallel = {"parallel": [{"way": "tensor"}], "left_out": ["parallel: made up"]}
            for path, value in ((kernels, measured_part()), (script, Merge.script), (os.path.join(folder, "parallel.json"), parallel)):
                with open(path, "w", encoding="utf-8") as f:
                    json.dump(value, f)
            with open(smi, "w", encoding="utf-8") as f:
                f.write("1980, 3201, 650.0, 55\n")
            done = self.run_script("merge.py", kernels, script, "-", smi, "580.1", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding="utf-8") as f:
                whole = json.load(f)
            self.assertEqual(whole["iterations"], [{"model": "mlp"}])
            self.assertEqual(whole["parallel"], [{"way": "tensor"}])
            self.assertIn("parallel: made up", whole["left_out"])
            with open(kernels, "w", encoding="utf-8") as f:
                f.write('{"foreshard_collect": 1')
            self.assertEqual(self.run_script("merge.py", kernels, script, "-", smi, "580.1", out).returncode, 2)

    def test_tables_have_a_row_for_each_kernel_and_collective(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_script("tables.py", FIXTURE, "h200-sxm-141gb", folder, "dgx-h200").returncode, 0)
            rows = {name: open(os.path.join(folder, name), encoding="utf-8").read().splitlines() for name in ("kernels.csv", "collectives.csv")}
            self.assertIn("h200-sxm-141gb,bf16,matmul,1,1024,1024,1024,2147483648,6291456,8e-06", rows["kernels.csv"])
            self.assertEqual(rows["collectives.csv"], ["cluster,nodes,gpus,kind,bytes,seconds", "dgx-h200,1,2,all_reduce,1048576,2e-05"])
            self.assertEqual(self.run_script("tables.py", __file__, "h200-sxm-141gb", folder).returncode, 2)

    def test_equal_work_is_one_row_with_the_median_and_eager_parts_are_none(self):
        import tables
        norm = {"precision": "bf16", "kind": "norm", "batch": 1, "m": 0, "n": 0, "k": 0, "flops": 10, "bytes": 80}
        collected = {"kernels": [{**norm, "seconds": s} for s in (3.0, 1.0, 2.0, None)],
                     "operations": [{**norm, "how": "eager", "seconds": 9.0}, {**norm, "how": "fused", "seconds": 4.0}]}
        self.assertEqual(tables.kernel_rows(collected, "x"), [("x", "bf16", "norm", 1, 0, 0, 0, 10, 80, 2.5)])

    def test_products_of_misaligned_channels_have_a_table_of_their_own(self):
        import tables
        product = {"precision": "bf16", "kind": "convolution", "batch": 1, "flops": 10, "bytes": 80, "seconds": 1.0}
        sizes = [("forward", 49, 64, 576), ("forward", 48, 64, 27), ("weight_gradient", 64, 576, 49), ("weight_gradient", 60, 576, 48)]
        collected = {"kernels": [{**product, "operation": f"conv2d.{o}", "m": m, "n": n, "k": k} for o, m, n, k in sizes]}
        self.assertEqual([r[4:7] for r in tables.kernel_rows(collected, "x")], [(49, 64, 576), (64, 576, 49)])
        self.assertEqual([r[4:7] for r in tables.kernel_rows(collected, "x", misaligned=True)], [(48, 64, 27), (60, 576, 48)])


if __name__ == "__main__":
    unittest.main()

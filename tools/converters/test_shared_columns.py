"""Tables in shared columns: rows that are made up become points, by names and words. Lengths and seconds are worked out beside each check."""
import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tables import points
from tables.models import model
from tables.shared_columns import COLUMNS, shared_columns
from tables.systems import adapters, system

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FORESHARD_DATA", HERE / "../../../shared/data/measured"))
ROW = {"id": "one", "system": "DGX H100", "model": "Llama 3.1 8B", "framework": "megatron-core", "precision": "bf16", "n_gpus": 8, "tp": 1, "pp": 1, "cp": 1, "vp": 1, "ep": 1,
       "micro_batch": 1, "global_batch": 16, "seq": 4096, "recompute": "none", "measure": "step_s", "value": 2.5, "source": "someone/runs@1234567:README.md"}
INTERNEVO = {"system": "A100 80GB", "model": "InternLM 7B", "framework": "internevo", "seq": 2048, "micro_batch": 2, "global_batch": 128, "n_gpus": 16,
             "source": "InternLM/InternEvo@3a665e8:doc/en/train_performance.md"}
BERT = {"system": "DGX-1 V100 16GB", "model": "BERT-Large", "framework": "torch", "precision": "fp16", "seq": 128, "words": "lamb mlm",
        "source": "NVIDIA/DeepLearningExamples@729963d:PyTorch/LanguageModeling/BERT/README.md"}
LORA = {"model": "Llama 2 70B", "precision": "fp8", "fp8_recipe": "delayed", "seq": 8192, "global_batch": 8, "words": "lora:16:qkv,out",
        "source": "mlcommons/training_results_v5.0:NVIDIA/results/x/llama2_70b_lora"}


def written(folder, *rows, name="made_up.csv"):
    (Path(folder) / "e2e").mkdir(exist_ok=True)
    with open(Path(folder) / "e2e" / name, "w", newline="", encoding="utf-8") as f:
        table = csv.DictWriter(f, COLUMNS, restval="")
        table.writeheader()
        table.writerows({**ROW, **r} for r in rows)


class SharedColumnsTest(unittest.TestCase):
    def tables(self, *rows):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        written(folder.name, *rows)
        tables = points.Tables(folder.name)
        return tables, list(shared_columns(tables))

    def one(self, **row):
        tables, made = self.tables(row)
        self.assertEqual((tables.refused, tables.left_out, len(made)), ([], {}, 1))
        return made[0]

    def settings(self, **row):
        return self.one(**row).get("settings", "")

    def refused(self, **row):
        tables, made = self.tables(row)
        self.assertEqual((made, tables.left_out), ([], {}))
        return tables.refused[0]

    def test_any_table_of_this_header_is_read_and_groups_are_named_after_it(self):
        p = self.one()
        self.assertEqual(p["group"], "made-up-h100-bf16")
        self.assertEqual((p["cluster"], p["nodes"], p["dp"], p["sharding"], p["framework"]), ("dgx-h100", 1, 8, "zero1", "megatron-core"))
        self.assertEqual(p["source"], ROW["source"])

    def test_seconds_follow_from_each_measure(self):
        self.assertEqual(self.one()["measured_s"], 2.5)
        self.assertAlmostEqual(self.one(measure="tokens_s_gpu", value=1024)["measured_s"], 16 * 4096 / (1024 * 8))
        self.assertAlmostEqual(self.one(measure="samples_s", value=32)["measured_s"], 0.5)
        # Llama 2 7B: 32 x (4 x 4096^2 + 3 x 4096 x 11008) + 4096 x 32000 weights; 6 FLOPs each and token, 12 x 32 x 4096 x 4096^2 of attention.
        sample = 6 * 4096 * (32 * (4 * 4096**2 + 3 * 4096 * 11008) + 4096 * 32000) + 12 * 32 * 4096 * 4096**2
        p = self.one(model="Llama 2 7B", measure="tflops_gpu_full_attention", value=768, n_gpus=4, global_batch="", words="dp4")
        self.assertEqual(p["global_batch"], 64)  # 16 micro-batches of 4 replicas
        self.assertAlmostEqual(p["measured_s"], 64 * sample / (768e12 * 4))

    def test_internevo_shards_states_in_a_node_and_has_four_adapters(self):
        p = self.one(**INTERNEVO, shard=8)
        self.assertEqual((p["framework"], p["sharding"], p["sequence_parallel"]), ("pytorch", "zero1", 0))
        self.assertIn("plan.shard: 8", p["settings"])
        self.assertIn("cluster.links.infiniband.bandwidth: 12.5 GB/s", p["settings"])
        self.assertIn("training.framework.overlap_parameters: true", p["settings"])
        self.assertNotIn("plan.shard", self.settings(**INTERNEVO))
        self.assertNotIn("cluster.", self.settings(**{**INTERNEVO, "n_gpus": 8}))
        self.assertEqual(self.one(**INTERNEVO, tp=2)["sequence_parallel"], 0)
        self.assertEqual(self.one(**INTERNEVO, shard=1)["sharding"], "none")

    def test_each_gpu_and_each_adapter_is_on_one_switch(self):
        for count in (1, 2, 4, 8):
            wires = [w["between"] for w in adapters("dgx-h100", count)["cluster.node.wires"] if w["link"] == "pcie"]
            ends = [end.strip('"') for end, _ in wires]
            gpus = [int(k) for end in ends if end.startswith("gpu") for k in spread(end)]
            self.assertEqual(sorted(gpus), list(range(8)))
            self.assertEqual(sorted(e for e in ends if e.startswith("nic")), [f"nic{k}" for k in range(count)])
        self.assertIn("{switch0: {in_network: true}}", self.settings(words="nics_4", n_gpus=16))

    def test_a_masked_head_leaves_parameters_as_they_are(self):
        p = self.one(**BERT)
        self.assertEqual(p["vocab"], 4770)  # 30528 x 20 / 128
        self.assertIn("model.positions: 26270", p["settings"])  # 512 + 30528 - 4770
        self.assertIn("cluster.node.gpus.type: v100-sxm2-16gb", p["settings"])
        self.assertIn("training.framework.gradient_bucket: all", p["settings"])
        self.assertEqual((p["optimizer"], p["attention"], p["sharding"]), ("adam", "unfused", "none"))
        tensorflow = self.one(**{**BERT, "framework": "tf", "source": BERT["source"].replace("PyTorch", "TensorFlow")})
        self.assertEqual(tensorflow["framework"], "generic")
        self.assertIn("training.framework.overlap_gradients: false", tensorflow["settings"])

    def test_words_of_plans_become_settings(self):
        for word, setting in [("cuda_graphs", "plan.cuda_graphs: true"), ("layer_graphs", "plan.graphed: {attention: true, mlp: true}"),
                              ("flash2", "training.framework.attention: {a100: 0.6"), ("tp_overlap", "training.framework.overlap_tensor: true"),
                              ("no_overlap", "training.framework.overlap_gradients: false"), ("recompute_first_21", "plan.recompute: {blocks: 21}"),
                              ("lora:64:qkv,out,gate,up,down", "model.lora: {rank: 64, on: [qkv, out, gate, up, down]}"), ("fp8_inputs", "plan.activation_inputs: fp8")]:
            self.assertIn(setting, self.settings(words=word))
        self.assertEqual(self.one(words="recompute_first_21")["recompute"], "full")
        mixtral = {"model": "Mixtral 8x7B", "words": "deepep"}
        self.assertIn("plan.dispatch: deepep", self.settings(**mixtral, ep=8))
        self.assertNotIn("plan.dispatch", self.settings(**mixtral))

    def test_low_precision(self):
        self.assertIn("plan.weights: fp8_transposed", self.settings(precision="fp8", words="fp8_params"))
        self.assertIn("plan.weights: fp8}", self.settings(precision="fp8", words="fp8_params", system="DGX B200"))
        self.assertIn("training.fp8_attention: true", self.settings(precision="fp8", words="fp8_attention"))
        self.assertNotIn("fp8_attention", self.settings(precision="nvfp4", words="fp8_attention", system="GB200"))  # no key has it
        self.assertEqual(self.one(precision="fp8", fp8_recipe="current")["fp8_recipe"], "current")

    def test_mlperf_lora_by_its_configuration(self):
        blackwell = {**LORA, "system": "GB200", "n_gpus": 72, "cp": 8, "global_batch": 9}
        self.assertIn("plan.context_kind: ulysses", self.settings(**blackwell))
        self.assertIn("plan.weights: fp8", self.settings(**blackwell))
        self.assertNotIn("context_kind", self.settings(**LORA, system="H200", cp=2))
        self.assertEqual(self.one(**LORA, system="MI300X")["sharding"], "none")
        self.assertEqual(self.one(**{**LORA, "system": "MI300X", "n_gpus": 16, "cp": 2})["sharding"], "zero1")

    def test_racks_are_whole_or_in_segments(self):
        self.assertNotIn("segment", self.settings(system="GB200", n_gpus=144, global_batch=144))  # two racks of 18 trays
        self.assertIn("cluster.node.domain.segment: 16", self.settings(system="GB200", n_gpus=512, global_batch=512))

    def test_what_is_not_known_is_refused_by_row_and_column(self):
        for column, cell in [("system", "H100 NVL"), ("system", "GH200"), ("system", "MI355X"), ("model", "GPT-3 15B"), ("model", "Falcon 40B"), ("framework", "abacus"),
                             ("precision", "fp6"), ("words", "flash9"), ("measure", "tokens_s"), ("recompute", "some"), ("fp8_recipe", "yearly")]:
            self.assertEqual(self.refused(**{column: cell}), f'made_up.csv: row one: {column}: "{cell}" is not known')
        self.assertIn("a cell is not what it should be", self.refused(value="fast"))

    def test_what_cannot_be_said_is_left_out_by_name(self):
        for row, why in [({"words": "dp4"}, "one: the row says 4 replicas, and its degrees leave 8"), ({"global_batch": ""}, "one: seconds of a batch that is not given"),
                         ({"tp": 3}, "one: its degrees do not divide its GPUs"), ({"source": ""}, "one: its source is not given"), ({"shard": 16}, "one: 16 GPUs share"),
                         ({"model": "T5-3B"}, "one: encoder-decoders have no columns"), ({"n_gpus": 12}, "one: 12 GPUs do not fill nodes of 8")]:
            tables, made = self.tables(row)
            self.assertEqual((made, tables.refused), ([], []))
            self.assertTrue(next(iter(tables.left_out))[1].startswith(why))

    def test_a_builtin_stands_for_what_has_no_columns(self):
        p = self.one(model="T5-Large")
        self.assertEqual(p["model"], "t5-large")
        self.assertNotIn("layers", p)
        self.assertIn("model.sequence_length: 4096", p["settings"])

    def test_systems_by_any_spelling(self):
        for name, n, cluster, nodes in [("NVIDIA H100-SXM5-80 GB", 16, "dgx-h100", 2), ("DGX A100 40GB", 8, "dgx-a100-40gb", 1), ("A100-SXM4-80GB", 1, "dgx-a100-80gb", 1),
                                        ("DGX-2H", 512, "dgx-2", 32), ("DGX-1 V100 32GB", 8, "dgx-1v", 1), ("GB300 NVL72", 72, "gb300-nvl72", 18), ("DGX B300", 8, "dgx-b300", 1),
                                        ("AMD Instinct MI325X", 32, "mi325x-node", 4), ("DGX H200", 8, "dgx-h200", 1)]:
            self.assertEqual(system(name, n)[0]["cluster"], cluster)
            self.assertEqual(system(name, n)[0]["nodes"], nodes)

    def test_models_by_name_and_size(self):
        billions = {"Llama 2 7B": 6.7, "Llama 2 13B": 13.0, "Llama 2 70B": 69, "Llama 3.1 8B": 8.0, "Llama 3.3 70B": 70.6, "Llama 3.1 405B": 406, "Qwen 1.8B": 1.84, "Qwen 7B": 7.7,
                    "Qwen 14B": 14.2, "Qwen 72B": 72.3, "Qwen2.5 7B": 7.6, "Qwen2.5-14B": 14.8, "Qwen2.5 32B": 32.8, "Qwen2.5 72B": 72.7, "Qwen3 8B": 8.2, "Qwen3 14B": 14.8,
                    "Qwen3 32B": 32.8, "Qwen3-30B-A3B": 30.5, "Mixtral 8x7B": 46.7, "Mixtral 8x22B": 141, "GPT-3 175B": 175, "Nemotron-4 15B": 15.6, "Nemotron-4 340B": 341,
                    "InternLM 7B": 7.3, "InternLM 20B": 20.1, "BERT-Large": 0.334}
        for name, size in billions.items():
            self.assertAlmostEqual(parameters(model(name, exact=True)) / 1e9 / size, 1, delta=0.02, msg=name)

    def test_the_script_writes_the_rest_and_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            written(folder, {}, {"id": "two", "words": "flash9"})
            done = subprocess.run([sys.executable, "-B", HERE / "points_from_tables.py", folder, folder + "/points"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.strip(), 'made_up.csv: row two: words: "flash9" is not known')
            self.assertTrue((Path(folder) / "points/made-up-h100-bf16.csv").exists())

    @unittest.skipUnless((DATA / "e2e").is_dir(), "needs shared data")
    def test_every_point_of_the_public_tables_names_its_source(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            from points_from_tables import main
            main(DATA, folder)
            files = [*Path(folder).glob("*.csv"), *(HERE / "points").glob("*.csv")]
            self.assertGreater(len(files), 80)
            for file in files:
                with open(file, newline="", encoding="utf-8") as f:
                    self.assertTrue(all(r["source"] for r in csv.DictReader(f)), file)


def spread(name):
    """gpu[2-3] -> 2, 3."""
    digits = name.removeprefix("gpu").strip("[]")
    first, _, last = digits.partition("-")
    return range(int(first), int(last or first) + 1)


def parameters(shape):
    """Of a dense decoder or one whose layers all have experts, without norms and biases."""
    hidden, heads = shape["hidden"], shape["heads"]
    width = shape.get("head_dim") or hidden // heads
    attention = hidden * width * 2 * (heads + (shape.get("kv_heads") or heads))
    mlp = hidden * shape["ffn"] * (3 if shape.get("gated") else 2) * (shape.get("experts") or 1)
    tables = 1 if shape.get("tied_embeddings", 1) else 2
    return shape["layers"] * (attention + mlp) + tables * hidden * shape["vocab"]


if __name__ == "__main__":
    unittest.main()

"""The arithmetic of the timings in other runtimes, and that each step of them works on small models."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import executor_kernels
import export_models
import model_inputs
import other_optimizers
import ratios
import time_in_runtimes

HERE = Path(__file__).resolve().parent
TORCH_PYTHON = "/usr/bin/python3"


def small_model(path, inputs=None, nodes=None, scale=1.0):
    """By default two products of one matrix, which could be one."""
    weights = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32) * scale
    inputs = inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 32])]
    nodes = nodes or [helper.make_node("MatMul", ["x", "a"], ["xa"]),
                      helper.make_node("MatMul", ["x", "b"], ["xb"]),
                      helper.make_node("Add", ["xa", "xb"], ["y"])]
    constants = [onnx.numpy_helper.from_array(array, name) for array, name in zip(weights, "ab")]
    graph = helper.make_graph(nodes, "small", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", 32])],
                              constants)
    onnx.save(helper.make_model(graph, ir_version=8,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


class Kernels(unittest.TestCase):
    def test_both_names_of_a_kernel_are_one_kind(self):
        ours = [{"launch": "conv [1, 64, 56, 56]  /layer1/Conv", "cost_us": 5},
                {"launch": "batch_norm [1, 64]  bn", "cost_us": 1},
                {"launch": "convert to channels-last [1, 3]", "cost_us": 1}]
        theirs = [{"operator": "com.microsoft.nchwc.Conv", "cost_us": 2},
                  {"operator": "com.microsoft.FusedConv", "cost_us": 1},
                  {"operator": "ReorderInput", "cost_us": 2}, {"operator": "FusedGemm", "cost_us": 4}]
        ours, theirs = executor_kernels.kinds_of(ours), executor_kernels.kinds_of(theirs)
        self.assertEqual(ours, {"conv": 5, "batchnorm": 1, "conversion": 1})
        self.assertEqual(theirs, {"conv": 3, "conversion": 2, "matmul": 4})
        self.assertEqual(executor_kernels.losses(ours, theirs), [("conv", 5, 3), ("batchnorm", 1, 0)])


class Ratios(unittest.TestCase):
    def series(self, rng, loads=5, turns=24, ratio=1.05, load_noise=0.01):
        original, result = [], []
        for _ in range(loads):
            machine = np.exp(rng.normal(0, 0.2, turns))  # It slows both of a turn.
            noise = rng.normal(0, 0.02, (2, turns)) + rng.normal(0, load_noise, (2, 1))
            original.append(machine * np.exp(noise[0]))
            result.append(machine * np.exp(noise[1]) / ratio)
        return original, result

    def test_a_constant_factor_is_found_exactly(self):
        original = [np.array([3.0, 1.0, 2.0, 9.0]), np.array([1.0, 5.0, 4.0, 2.0])]
        for quantile in ratios.QUANTILES.values():
            found = ratios.speedup(original, [each / 2 for each in original], quantile)
            np.testing.assert_allclose(found, 2)

    def test_turns_are_drawn_as_pairs(self):
        rng = np.random.default_rng(1)
        original, result = self.series(rng, loads=1, turns=60)
        _, low, high = ratios.speedup(original, result)
        shuffled = [rng.permutation(each) for each in result]
        _, wide_low, wide_high = ratios.speedup(original, shuffled)
        self.assertLess(2 * (high - low), wide_high - wide_low)

    def test_the_interval_covers_the_ratio(self):
        rng = np.random.default_rng(2)
        covered = 0
        for trial in range(60):
            _, low, high = ratios.speedup(*self.series(rng), seed=trial)
            covered += low <= 1.05 <= high
        self.assertGreaterEqual(covered, 51)  # 95 % of 60 are 57.

    def test_the_interval_knows_that_loads_differ(self):
        rng = np.random.default_rng(3)
        _, low, high = ratios.speedup(*self.series(rng, turns=200, load_noise=0.05))
        self.assertGreater(high - low, 0.04)

    def test_more_turns_in_one_load_than_in_another(self):
        original = [np.full(8, 2.0), np.full(3, 2.0)]
        result = [np.full(8, 1.0), np.full(3, 4.0)]
        self.assertAlmostEqual(ratios.speedup(original, result)[0], 1)

    def test_times_that_are_no_pairs_are_refused(self):
        for original, result in [([[1.0, 2.0]], [[1.0]]), ([[1.0]], [[0.0]]), ([], []),
                                 ([[1.0]], [[1.0], [1.0]])]:
            with self.assertRaises(ValueError):
                ratios.speedup(original, result)

    def test_the_best_of_others_is_no_matter_of_luck(self):
        lucky = {label: [np.full(9, 0.5 if load == place else 1.0) for load in range(3)]
                 for place, label in enumerate("abc")}
        ours = [np.full(9, 1.0)] * 3
        np.testing.assert_allclose(ratios.against_the_best(lucky, ours, 0.2), 1)
        better = [np.full(9, 0.6)] * 3
        np.testing.assert_allclose(ratios.against_the_best({**lucky, "d": better}, ours, 0.2), 0.6)
        np.testing.assert_allclose(ratios.against_the_best({"d": better[:1]}, ours[:1], 0.2), 0.6)

    def test_summary(self):
        text = ratios.summary({"a": (2.0, 1.9, 2.1), "b": (0.5, 0.4, 1.1), "c": (0.9, 0.8, 0.95)})
        self.assertIn("3 models: geometric mean 0.965, worst 0.500 (b), best 2.000 (a), "
                      "2 below 1, 1 of them by the whole interval, 1 at 1.10 or more", text)

    def test_each_file_has_each_place_equally_often(self):
        for count in (2, 3, 7):
            orders = time_in_runtimes.orders(count)
            places = Counter((place, file) for _ in range(2 * count)
                             for place, file in enumerate(next(orders)))
            self.assertEqual(set(places.values()), {2})
            self.assertEqual(len(places), count * count)


class Models(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_inputs_are_as_declared(self):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 32]),
                  helper.make_tensor_value_info("rows", TensorProto.INT64, [40]),
                  helper.make_tensor_value_info("keep", TensorProto.BOOL, [40, 1]),
                  helper.make_tensor_value_info("a", TensorProto.FLOAT, [32, 32])]
        path = small_model(self.folder / "model.onnx", inputs)
        found = model_inputs.draw(path)
        self.assertEqual({name: (value.dtype.name, value.shape) for name, value in found.items()},
                         {"x": ("float32", (1, 32)), "rows": ("int64", (40,)),
                          "keep": ("bool", (40, 1))})
        self.assertEqual(set(found["rows"]), {0, 1})

    def test_differences(self):
        def both(a, b):
            found = model_inputs.difference([np.array(a)], [np.array(b)])
            return found["absolute"], found["relative"]

        self.assertEqual(both([1.0, -4.0], [1.0, -3.0]), (1, 0.25))
        self.assertEqual(both([np.nan, np.inf, 1.0], [np.nan, np.inf, 1.0]), (0, 0))
        self.assertEqual(both([np.nan, 1.0], [1.0, 1.0]), (np.inf, np.inf))
        self.assertEqual(both([np.inf, 2.0], [5.0, 2.0])[0], np.inf)
        self.assertEqual(both([True, False], [True, True]), (1, 1))
        with self.assertRaises(ValueError):
            both([1.0], [1.0, 1.0])

    def test_files_are_timed_against_the_original(self):
        original = small_model(self.folder / "original.onnx")
        double = small_model(self.folder / "double.onnx", scale=2)
        broken = self.folder / "broken.onnx"
        broken.write_text("This is no model.")
        report = time_in_runtimes.measure(original, {"double": double, "broken": broken},
                                          "onnxruntime", threads=1, seconds=0.2, loads=2)
        self.assertEqual(set(report["files"]), {"control", "double"})
        self.assertEqual(list(report["errors"]), ["broken"])
        self.assertEqual(report["files"]["control"]["difference"]["relative"], 0)
        self.assertAlmostEqual(report["files"]["double"]["difference"]["relative"], 1, places=5)
        ratio, low, high = report["files"]["double"]["low"]
        self.assertTrue(0 < low <= ratio <= high, report["files"]["double"])
        turns = {label: [len(load) for load in loads] for label, loads in report["times"].items()}
        self.assertEqual(len(turns["original"]), 2)
        self.assertGreaterEqual(min(turns["original"]), time_in_runtimes.LEAST_TURNS)
        self.assertEqual(turns["original"], turns["double"])
        self.assertEqual(len(list(time_in_runtimes.rows(report))), 2)

    def test_a_crash_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "crashed"):
            time_in_runtimes.in_own_process(os._exit, 7)

    def test_optimize_and_time(self):
        small_model(self.folder / "small.onnx")
        report = self.folder / "report.json"
        done = subprocess.run(
            [sys.executable, HERE / "run.py", self.folder, "small", "--seconds", "0.2", "--loads", "2",
             "--json", report, "--", "--costs", "roofline", "--cost-db", "none"],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        entry = json.loads(report.read_text())["small"]
        self.assertNotIn("error", entry["optimization"])
        self.assertEqual(entry["unchanged"], not entry["reports"], entry)
        self.assertIn("| small |", done.stdout)

    def test_other_optimizers_beside_ours(self):
        small_model(self.folder / "small.onnx")
        report = self.folder / "others.json"
        done = subprocess.run(
            [sys.executable, HERE / "other_optimizers.py", self.folder, "small", "--ours", self.folder,
             "--seconds", "0.2", "--loads", "2", "--json", report], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        entry = json.loads(report.read_text())["small"]
        files = entry["reports"][0]["files"]
        made = set(files) - {"control", "ours"}  # The packages need not be there.
        self.assertEqual(made | set(entry["errors"]), set(other_optimizers.OPTIMIZERS))
        self.assertFalse(made & set(entry["errors"]))
        for found in files.values():
            self.assertLess(found["difference"]["relative"], 1e-5)
        self.assertIn("ours: 1 models", done.stdout)
        self.assertEqual("ours beside the best of them: 1 models" in done.stdout, bool(made))

    def test_light_model(self):
        makers = export_models.catalog(python="none")
        path = export_models.write("light_shufflenet", makers["light_shufflenet"], self.folder)
        written = path.stat().st_mtime_ns
        export_models.write("light_shufflenet", makers["light_shufflenet"], self.folder)
        self.assertEqual(path.stat().st_mtime_ns, written)
        self.assertEqual([each.name for each in self.folder.iterdir()], ["light_shufflenet.onnx"])

    def test_what_does_not_depend_on_its_input_is_refused(self):
        zero = small_model(self.folder / "zero.onnx", scale=0)
        with self.assertRaisesRegex(RuntimeError, "hardly depend"):
            export_models.check(zero)

    @unittest.skipUnless(export_models.has_torch(TORCH_PYTHON), f"{TORCH_PYTHON} has no torch")
    def test_torch_model_keeps_its_batch_norm(self):
        makers = export_models.catalog(TORCH_PYTHON)
        path = export_models.write("tiny", makers["tiny"], self.folder)
        operators = [node.op_type for node in onnx.load(path).graph.node]
        self.assertIn("BatchNormalization", operators)


if __name__ == "__main__":
    unittest.main()

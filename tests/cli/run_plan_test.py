"""run-plan: ranks compute what ONNX Runtime computes, as threads and as processes, and say what is wrong."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import commands
import sanitizers
from commands import BIN_DIR, RANKED, process_of_rank, run

GPT = ("gpt", "--set", "layers=2", "--set", "hidden=32", "--set", "heads=4", "--set", "seq=8",
       "--set", "positions=8", "--set", "vocabulary=48", "--batch", "4")

MPIRUN = shutil.which("mpirun")


def sizes(model):
    """The arguments of a built-in network for build-model, which has no --batch."""
    name, *options = model
    return [name, *["--set" if o == "--batch" else o if o.startswith("--") or "=" in o else f"batch={o}"
                    for o in options]]


class RunPlan(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        os.environ["XDG_CACHE_HOME"] = str(cls.folder / "cache")
        cls.model = cls.folder / "gpt.onnx"
        done = run("build-model", *sizes(GPT), "-o", cls.model)
        assert done.returncode == 0, done.stderr
        session = onnxruntime.InferenceSession(cls.model, providers=["CPUExecutionProvider"])
        taken = session.get_inputs()[0]
        cls.inputs = cls.folder / "in.npz"
        tokens = np.random.default_rng(1).integers(0, 48, taken.shape)
        np.savez(cls.inputs, **{taken.name: tokens})
        cls.names = [output.name for output in session.get_outputs()]
        cls.expected = session.run(None, {taken.name: tokens})
        cls.pair = cls.plan("pair.json", "2", "megatron")
        cls.quad = cls.plan("quad.json", "4", "best")

    @classmethod
    def plan(cls, name, devices, strategy, model=None):
        path = cls.folder / name
        model = [cls.model] if model is None else model
        done = run("plan-graph", *model, "--topology", "k80x4-ib", "--devices", devices, "--strategy",
                   strategy, "-o", path)
        assert done.returncode == 0, done.stderr
        return path

    def report(self, *arguments):
        done = run("run-plan", *arguments, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def fails(self, code, text, *arguments):
        done = run("run-plan", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        return done.stderr

    def expect_results(self, path):
        with np.load(path) as results:
            self.assertEqual(sorted(results), sorted(self.names))
            for name, expected in zip(self.names, self.expected):
                np.testing.assert_allclose(results[name], expected, rtol=1e-4, atol=1e-5)

    def test_plans_compute_what_onnx_runtime_does(self):
        for devices, strategy in (("2", "data"), ("2", "megatron"), ("4", "pipeline"), ("4", "model"),
                                  ("4", "best")):
            with self.subTest(devices=devices, strategy=strategy):
                plan = self.plan("plan.json", devices, strategy)
                out = self.folder / "out.npz"
                report = self.report(plan, self.model, "--virtual", "--steps", "2", "--check",
                                     "--inputs", self.inputs, "--outputs", out)
                self.expect_results(out)
                self.assertTrue(report["equal"])
                self.assertTrue(report["programs_are_checked"])
                self.assertEqual(len(report["ranks"]), int(devices))

    def test_the_report_sets_measured_beside_simulated(self):
        report = self.report(self.pair, self.model, "--virtual", "--steps", "3")
        self.assertEqual(report["steps"], 3)
        self.assertIn(report["step_us"], report["all_step_us"])
        self.assertEqual(report["simulated_us"], json.loads(self.pair.read_text())["simulated_us"])
        self.assertGreater(report["peak_memory_mb"], 0)
        self.assertGreater(report["foretold_memory_mb"], 0)
        self.assertGreater(len(report["exchanges"]), 0)
        for rank in report["ranks"]:
            self.assertGreater(rank["compute_us"], 0)
            self.assertLessEqual(0, rank["idle_share"])
            self.assertLess(rank["idle_share"], 1)
        text = run("run-plan", self.pair, self.model, "--virtual", "--steps", "2").stdout
        for word in ("simulated", "foretold", "messages of", "idle", "prime field"):
            self.assertIn(word, text)

    def test_a_built_in_network_has_the_weights_of_its_file(self):
        plan = self.plan("named.json", "2", "megatron", GPT)
        named, file = self.folder / "named.npz", self.folder / "file.npz"
        self.report(plan, *GPT, "--virtual", "--steps", "1", "--outputs", named)
        self.report(self.pair, self.model, "--virtual", "--steps", "1", "--outputs", file)
        with np.load(named) as a, np.load(file) as b:
            for name in self.names:  # Not one plan: a file's constants are weights, too.
                np.testing.assert_allclose(a[name], b[name], rtol=1e-4, atol=1e-5)

    def test_splits_without_a_reduction_give_the_bits_of_one_device(self):
        plan = self.plan("data.json", "4", "data")
        report = self.report(plan, self.model, "--virtual", "--steps", "1", "--check", "--device",
                             "reference")
        for result in report["results"]:
            self.assertFalse(result["sums_are_cut"])
            self.assertEqual(result["different_bits"], 0)

    def test_a_step_is_drawn_as_it_was_simulated_and_measured(self):
        svg, trace = self.folder / "step.svg", self.folder / "step.json"
        for path in (svg, trace):
            self.report(self.pair, self.model, "--virtual", "--steps", "1", "--timeline", path)
        drawn = xml.etree.ElementTree.fromstring(svg.read_text())
        classes = [element.get("class") for element in drawn.iter() if element.get("class")]
        self.assertGreater(classes.count("part") + classes.count("part critical"), 0)
        self.assertGreater(classes.count("measured"), 2)
        events = json.loads(trace.read_text())["traceEvents"]
        measured = [event for event in events if event["pid"] == 4 and event["ph"] == "X"]
        self.assertEqual({event["args"]["does"] for event in measured}, {"compute", "exchange"})
        self.assertEqual({event["tid"] for event in measured}, {0, 1})
        self.assertGreater(len([event for event in events if event["pid"] == 1]), 2)

    def write(self, name, nodes, inputs, outputs, weights):
        typed = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in values]
                 for values in (inputs, outputs)]
        graph = helper.make_graph(nodes, "g", *typed, [numpy_helper.from_array(w, n) for n, w in weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, self.folder / name)
        return self.folder / name

    def test_results_have_the_names_of_the_file(self):
        weight = np.arange(36, dtype=np.float32).reshape(6, 6)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Identity", ["product"], ["a"]),
                 helper.make_node("Identity", ["product"], ["b"]), helper.make_node("Identity", ["x"], ["c"])]
        model = self.write("names.onnx", nodes, [("x", [4, 6])], [(n, [4, 6]) for n in "abc"], [("w", weight)])
        plan, inputs, out = self.plan("names.json", "2", "data", [model]), self.folder / "x.npz", self.folder / "abc.npz"
        x = np.random.default_rng(2).standard_normal((4, 6)).astype(np.float32)
        np.savez(inputs, x=x)
        report = self.report(plan, model, "--virtual", "--steps", "1", "--check", "--inputs", inputs, "--outputs", out)
        self.assertEqual([result["name"] for result in report["results"]], ["a", "b", "c"])
        with np.load(out) as results:
            self.assertEqual(sorted(results), ["a", "b", "c"])
            np.testing.assert_array_equal(results["c"], x)
            np.testing.assert_array_equal(results["a"], results["b"])
            np.testing.assert_allclose(results["a"], x @ weight, rtol=1e-5, atol=1e-4)

    def test_tensors_without_elements_are_handed_over(self):
        weight = np.ones((6, 5), np.float32)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["e"]),
                 helper.make_node("ReduceSum", ["e", "one"], ["s"], keepdims=0),
                 helper.make_node("MatMul", ["z", "w"], ["p"]), helper.make_node("Add", ["s", "p"], ["y"])]
        model = self.write("empty.onnx", nodes, [("x", [4, 0, 6]), ("z", [4, 6])], [("e", [4, 0, 5]), ("y", [4, 5])],
                           [("w", weight), ("one", np.array([1]))])
        for options in (["--fix", "stages=2"], ["--train", "--optimizer", "adam"]):
            plan, out = self.folder / "empty.json", self.folder / "empty.npz"
            done = run("plan-graph", model, *options, "--topology", "k80x4-ib", "--devices", "2", "-o", plan)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(self.report(plan, model, "--virtual", "--steps", "1", "--check", "--outputs", out)["equal"])

    def test_there_are_as_many_ranks_as_devices(self):
        hint = self.fails(2, "the plan is for 4 devices, and one process is started", self.quad,
                          self.model)
        self.assertIn("mpirun -n 4 run-plan PLAN MODEL", hint)
        self.assertIn("--virtual", hint)

    def test_what_does_not_belong_together_is_refused(self):
        other = self.folder / "other.onnx"
        done = run("build-model", *sizes(GPT), "--seed", "1", "-o", other)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.fails(3, "another model", self.pair, other, "--virtual")
        self.fails(3, "another topology", self.pair, self.model, "--virtual", "--topology",
                   "dgx-a100x1")
        machine = {"version": 1, "name": "two of ours", "devices": [{"kind": "cpu", "count": 2}],
                   "kinds": [{"name": "cpu", "memory_bytes": 1e9, "memory_bytes_per_s": 1e9, "flops_per_s": {"f32": 1e9}}],
                   "levels": [{"name": "bus", "size": 2, "latency_us": 1, "bytes_per_s": 1e9}]}
        topology = self.folder / "machine.json"
        topology.write_text(json.dumps(machine))
        plan = self.folder / "ours.json"
        done = run("plan-graph", self.model, "--topology", topology, "--strategy", "data", "-o", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        hint = self.fails(3, "the plan is for the topology 'two of ours'", plan, self.model, "--virtual")
        self.assertIn("give the topology's file in --topology", hint)
        self.report(plan, self.model, "--virtual", "--steps", "1", "--topology", topology)
        self.fails(3, "absent", self.folder / "absent.json", self.model, "--virtual")
        self.fails(2, "--set", self.pair, self.model, "--virtual", "--set", "layers=2")

    def test_a_damaged_plan_is_refused(self):
        damaged = self.folder / "damaged.json"
        text = self.pair.read_text()
        damaged.write_text(text[: len(text) // 2])
        self.fails(3, "no JSON", damaged, self.model, "--virtual")
        changed = json.loads(text)
        changed["peak_bytes"] *= 0.5
        damaged.write_text(json.dumps(changed))
        self.fails(3, "digest", damaged, self.model, "--virtual")

    def test_loops_whose_parts_are_no_graphs_run_whole(self):
        plan = json.loads(self.pair.read_text())
        del plan["digest"]
        axis = next(axis["name"] for axis in plan["axes"] if axis["size"] == 2)
        plan["cuts"].append({"joined": [axis]})
        norms = [node for node in plan["nodes"] if node["name"].endswith("norm")]
        self.assertGreater(len(norms), 0)
        for node in norms:
            node["cuts"] = len(plan["cuts"]) - 1
        changed = self.folder / "changed.json"
        changed.write_text(json.dumps(plan))
        report = self.report(changed, self.model, "--virtual", "--steps", "1", "--check")
        self.assertTrue(report["equal"])
        self.assertEqual(report["not_cut"], [f"{node['name']} along {axis}" for node in norms])

    def test_inputs_have_to_fit(self):
        wrong = self.folder / "wrong.npz"
        np.savez(wrong, nothing=np.zeros(3, np.float32))
        self.fails(3, "there is no array for the input", self.pair, self.model, "--virtual", "--inputs",
                   wrong)
        self.fails(2, "--steps", self.pair, self.model, "--virtual", "--steps", "0")
        for limit in ("0", "1e300", "nan"):
            self.fails(2, "--time-limit", self.pair, self.model, "--virtual", "--time-limit", limit)

    def test_an_interrupted_run_ends_with_130(self):
        process = subprocess.Popen(
            [BIN_DIR / "run-plan", self.pair, self.model, "--virtual", "--steps", "1000000", "-v"],
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            commands.wait_for_line(process.stderr, "running")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=sanitizers.seconds(60))
        self.assertEqual(process.returncode, 130, stderr)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_processes_compute_the_bits_of_threads(self):
        there, here = self.folder / "mpi.npz", self.folder / "virtual.npz"
        done = self.mpirun(2, self.pair, self.model, "--inputs", self.inputs, "--outputs", there,
                           "--check", "--json", "-", "--steps", "2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["ranks_are"], "processes")
        self.assertTrue(report["equal"])
        self.report(self.pair, self.model, "--virtual", "--steps", "1", "--inputs", self.inputs,
                    "--outputs", here)
        with np.load(there) as a, np.load(here) as b:
            for name in self.names:
                np.testing.assert_array_equal(a[name], b[name])
        self.expect_results(there)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_another_number_of_processes_is_refused_once(self):
        done = self.mpirun(2, self.quad, self.model)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("the plan is for 4 devices, and 2 processes are started"), 1,
                         done.stderr)
        self.assertIn("mpirun -n 4 run-plan PLAN MODEL", done.stderr)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_virtual_ranks_are_of_one_process(self):
        done = self.mpirun(2, self.pair, self.model, "--virtual")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("mpirun started several processes"), 1, done.stderr)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_a_rank_that_does_not_come_ends_all(self):
        process = subprocess.Popen(
            [MPIRUN, "-n", "2", str(BIN_DIR / "run-plan"), str(self.pair), str(self.model), "--steps",
             "1000000", "--time-limit", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **RANKED})
        with process:
            commands.wait_for_line(process.stderr, "running")
            os.kill(commands.wait_for(lambda: process_of_rank(process, 1)), signal.SIGSTOP)
            _, stderr = process.communicate(timeout=sanitizers.seconds(60))
        self.assertEqual(process.returncode, 7, stderr)
        self.assertEqual(stderr.count("error:"), 1, stderr)
        self.assertRegex(stderr, "error: rank 0: .*(no call of|from) rank 1")

    def mpirun(self, ranks, *arguments):
        return subprocess.run(
            [MPIRUN, "-n", str(ranks), str(BIN_DIR / "run-plan"), *map(str, arguments)],
            capture_output=True, text=True, timeout=sanitizers.seconds(120), env={**os.environ, **RANKED})


if __name__ == "__main__":
    unittest.main()

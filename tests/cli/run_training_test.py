"""run-plan of plans that train: checkpoints, data in batches, and the same step whoever the ranks are."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import commands
import sanitizers
from commands import BIN_DIR, RANKED, run

MODEL = ("mlp", "--set", "layers=6", "--set", "inputs=6", "--set", "hidden=8", "--set", "outputs=4",
         "--batch", "8")
MPIRUN = shutil.which("mpirun")


class RunTraining(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.data = cls.plan("data.json", "data", "--train", "--optimizer", "adam")
        cls.stages = cls.plan("stages.json", "pipeline", "--train", "--optimizer", "adam")
        cls.inference = cls.plan("inference.json", "data")

    @classmethod
    def plan(cls, name, strategy, *options):
        path = cls.folder / name
        done = run("plan-graph", *MODEL, *options, "--topology", "k80x4-ib", "--devices", "2",
                   "--strategy", strategy, "-o", path)
        assert done.returncode == 0, done.stderr
        return path

    def train(self, plan, steps, *arguments):
        done = run("run-plan", plan, *MODEL, "--virtual", "--steps", steps, "--learning-rate", "0.01",
                   "--json", "-", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def fails(self, code, text, *arguments):
        done = run("run-plan", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)

    def checkpoint(self, name, plan, steps, *arguments):
        path = self.folder / name
        report = self.train(plan, steps, "--checkpoint", path, *arguments)
        with np.load(path) as arrays:
            return report, dict(arrays)

    def expect_same_bits(self, one, other):
        self.assertEqual(set(one), set(other))
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name], name)

    def test_a_run_goes_on_with_the_same_bits(self):
        whole, expected = self.checkpoint("whole.npz", self.data, "6")
        first, _ = self.checkpoint("first.npz", self.data, "2")
        rest, found = self.checkpoint("rest.npz", self.data, "4", "--resume", self.folder / "first.npz")
        self.assertEqual(whole["losses"], first["losses"] + rest["losses"])
        self.assertEqual(rest["steps_before"], 2)
        self.expect_same_bits(expected, found)
        self.assertLess(whole["losses"][-1], whole["losses"][0])

    def test_another_plan_goes_on_as_well(self):
        whole = self.train(self.data, "6")["losses"]
        self.checkpoint("middle.npz", self.data, "2")
        rest = self.train(self.stages, "4", "--resume", self.folder / "middle.npz")["losses"]
        np.testing.assert_allclose(whole[2:], rest, rtol=1e-5)

    def test_batches_are_taken_in_turn(self):
        random = np.random.default_rng(3)
        batches = {"x": random.standard_normal((3, 8, 6)).astype(np.float32),
                   "labels": random.integers(0, 4, (3, 8))}
        np.savez(self.folder / "all.npz", **batches)
        together = self.train(self.data, "3", "--inputs", self.folder / "all.npz")["losses"]
        alone = []
        state = []
        for k in range(3):
            np.savez(self.folder / "one.npz", **{name: array[k] for name, array in batches.items()})
            report = self.train(self.data, "1", "--inputs", self.folder / "one.npz", "--checkpoint",
                                self.folder / "state.npz", *state)
            alone += report["losses"]
            state = ["--resume", self.folder / "state.npz"]
        self.assertEqual(together, alone)
        np.savez(self.folder / "wrong.npz", x=batches["x"], labels=batches["labels"][0])
        self.fails(3, "'labels' has another type or shape", self.data, *MODEL, "--virtual", "--inputs",
                   self.folder / "wrong.npz")

    def test_a_damaged_checkpoint_is_refused(self):
        self.checkpoint("good.npz", self.data, "1")
        damaged = bytearray((self.folder / "good.npz").read_bytes())
        with np.load(self.folder / "good.npz") as arrays:
            name = arrays.files[0]
            at = damaged.index(arrays[name].tobytes())
        damaged[at] ^= 1
        (self.folder / "damaged.npz").write_bytes(damaged)
        self.fails(3, f"array {name}: is damaged", self.data, *MODEL, "--virtual", "--resume",
                   self.folder / "damaged.npz")

    def test_weights_of_types_that_numpy_lacks_are_resumed(self):
        weight = helper.make_tensor("w", TensorProto.BFLOAT16, [6, 4], np.linspace(-1, 1, 24))
        typed = [helper.make_tensor_value_info(n, TensorProto.BFLOAT16, shape) for n, shape in (("x", [4, 6]), ("y", [4, 4]))]
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", typed[:1], typed[1:], [weight])
        model, plan = self.folder / "bf16.onnx", self.folder / "bf16.json"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
        done = run("plan-graph", model, "--train", "--optimizer", "sgd", "--topology", "k80x4-ib", "--devices", "2",
                   "--strategy", "data", "-o", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        batch, kept = self.folder / "bf16-batch.npz", self.folder / "bf16.npz"
        np.savez(batch, x=np.ones((4, 6), np.float32), labels=np.arange(4))
        words = (plan, model, "--virtual", "--inputs", batch, "--learning-rate", "0.5", "--json", "-", "--checkpoint", kept)
        losses = []
        for steps, more in (("3", []), ("1", []), ("2", ["--resume", kept])):
            done = run("run-plan", *words, "--steps", steps, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            losses.append(json.loads(done.stdout)["losses"])
        self.assertEqual(losses[0], losses[1] + losses[2])

    def test_a_run_goes_on_with_the_batch_that_is_next(self):
        random = np.random.default_rng(4)
        batches = self.folder / "three.npz"
        np.savez(batches, x=random.standard_normal((3, 8, 6)).astype(np.float32), labels=random.integers(0, 4, (3, 8)))
        whole, expected = self.checkpoint("whole.npz", self.data, "5", "--inputs", batches)
        self.checkpoint("first.npz", self.data, "2", "--inputs", batches)
        rest, found = self.checkpoint("rest.npz", self.data, "3", "--inputs", batches, "--check",
                                      "--resume", self.folder / "first.npz")
        self.assertEqual(whole["losses"][2:], rest["losses"])
        self.assertTrue(rest["equal"])
        self.expect_same_bits(expected, found)

    def test_the_first_step_is_that_of_one_device(self):
        for plan in (self.data, self.stages):
            report = self.train(plan, "2", "--check")
            self.assertTrue(report["equal"])
            self.assertGreater(len(report["results"]), 9)

    def test_a_plan_is_checked_without_running_it(self):
        for options in (["--train", "--strategy", "zero-3"], ["--strategy", "data"]):
            done = run("plan-graph", *MODEL, *options, "--topology", "k80x4-ib", "--devices", "4",
                       "--check", "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            check = json.loads(done.stdout)["check"]
            self.assertEqual((check["ranks"], check["computed"]), (4, True))
        done = run("plan-graph", *MODEL[:-1], "1024", "--train", "--topology", "dgx-a100x128",
                   "--strategy", "data", "--check", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        check = json.loads(done.stdout)["check"]
        self.assertEqual((check["ranks"], check["is_smaller"]), (2, True))

    def test_settings_of_training_are_for_plans_that_train(self):
        self.fails(2, "the plan is for inference", self.inference, *MODEL, "--virtual", "--checkpoint",
                   self.folder / "none.npz")
        for rate in ("0", "-1", "nan"):
            self.fails(2, "--learning-rate", self.data, *MODEL, "--virtual", "--learning-rate", rate)
        np.savez(self.folder / "other.npz", weight=np.zeros(3, np.float32))
        self.fails(3, "it is no checkpoint", self.data, *MODEL, "--virtual", "--resume",
                   self.folder / "other.npz")
        np.savez(self.folder / "before.npz", **{"soapstone.steps": np.array(-2)})
        self.fails(3, "it is no checkpoint", self.data, *MODEL, "--virtual", "--resume",
                   self.folder / "before.npz")
        np.savez(self.folder / "small.npz", **{"soapstone.steps": np.array(2)})
        self.fails(3, "of another model or optimizer", self.data, *MODEL, "--virtual", "--resume",
                   self.folder / "small.npz")

    def test_an_interrupted_run_leaves_a_checkpoint(self):
        path = self.folder / "interrupted.npz"
        process = subprocess.Popen(
            [BIN_DIR / "run-plan", self.data, *MODEL, "--virtual", "--steps", "1000000",
             "--checkpoint", path, "--every", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            commands.wait_for(path.exists)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=sanitizers.seconds(60))
        self.assertEqual(process.returncode, 130)
        with np.load(path) as arrays:
            steps = int(arrays["soapstone.steps"])
        self.assertGreater(steps, 0)
        self.assertEqual(self.train(self.data, "1", "--resume", path)["steps_before"], steps)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_interrupted_processes_leave_a_checkpoint(self):
        path = self.folder / "processes.npz"
        process = subprocess.Popen(
            [MPIRUN, "-n", "2", BIN_DIR / "run-plan", self.data, *MODEL, "--steps", "1000000", "--checkpoint", path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **RANKED})
        with process:
            commands.wait_for_line(process.stderr, "running")
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=sanitizers.seconds(60))
        self.assertNotEqual(process.returncode, 0)  # It is mpirun's own.
        self.assertTrue(path.exists(), stderr)
        self.train(self.data, "1", "--resume", path)

    @unittest.skipUnless(MPIRUN, "there is no mpirun")
    def test_processes_train_with_the_bits_of_threads(self):
        for plan in (self.data, self.stages):
            _, expected = self.checkpoint("threads.npz", plan, "3")
            done = subprocess.run(
                [MPIRUN, "-n", "2", BIN_DIR / "run-plan", plan, *MODEL, "--steps", "3",
                 "--learning-rate", "0.01", "--checkpoint", self.folder / "processes.npz"],
                capture_output=True, text=True, timeout=sanitizers.seconds(120),
                env={**os.environ, **RANKED})
            self.assertEqual(done.returncode, 0, done.stderr)
            with np.load(self.folder / "processes.npz") as arrays:
                self.expect_same_bits(expected, dict(arrays))


if __name__ == "__main__":
    unittest.main()

"""Every message that a user can meet: its exit code, what it says, and what it says to do."""

import json
import os
import signal
import subprocess
import unittest

import numpy as np

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path

# Command, exit code, and what the message must say.
CASES = {
    "no model": (["inspect-graph"], 2, "error: model is required"),
    "unknown option": (["inspect-graph", SPACE.model, "--shap", "x=1"], 2,
                       "did you mean --shape?"),
    "option far from any": (["inspect-graph", SPACE.model, "--wibble"], 2,
                            "there is no option --wibble"),
    "surplus argument": (["inspect-graph", SPACE.model, SPACE.other], 2,
                         "there is no place for the argument"),
    "quiet and verbose": (["inspect-graph", SPACE.model, "-q", "-v"], 2, "--quiet"),
    "shape without sizes": (["inspect-graph", SPACE.model, "--shape", "x"], 2,
                            "'x' gives no sizes (write NAME=1x3x224x224, or DIMENSION=4)"),
    "shape with a letter": (["inspect-graph", SPACE.model, "--shape", "x=1xb"], 2,
                            "'b' is not a size, in 'x=1xb'"),
    "unknown fusion": (["inspect-graph", SPACE.model, "--fusion", "some"], 2, "some"),
    "no such file": (["inspect-graph", P / "absent.onnx"], 3, "absent.onnx"),
    "a folder": (["inspect-graph", P], 3, str(P)),
    "no model at all": (["inspect-graph", SPACE.garbage], 3, "garbage.onnx"),
    "half a model": (["inspect-graph", SPACE.truncated], 3, "truncated.onnx"),
    "an empty file": (["inspect-graph", SPACE.empty], 3, "empty.onnx"),
    "open sizes": (["inspect-graph", SPACE.open_batch], 3, "--shape"),
    "dot into no folder": (["inspect-graph", SPACE.model, "--dot", P / "no" / "g.dot"], 3,
                           "cannot be written: No such file or directory"),
    "json into no folder": (["inspect-graph", SPACE.model, "--json", P / "no" / "r.json"], 3,
                            "cannot be written: No such file or directory"),

    "portable and not": (["optimize-graph", SPACE.model, "--dry-run", "--portable", "--contrib"], 2,
                         "--portable and --contrib contradict each other"),
    "operators of another runtime": (
        ["optimize-graph", SPACE.model, "--dry-run", "--contrib", "--runtime", "openvino"], 2,
        "--contrib asks for operators that only ONNX Runtime has, but the runtime is openvino"),
    "operators of no runtime of ours": (
        ["optimize-graph", SPACE.model, "--dry-run", "--contrib", "--runtime", "soapstone"], 2,
        "the runtime is soapstone"),
    "half a number of samples": (["optimize-graph", SPACE.model, "--dry-run", "--verify", "3x"], 2,
                                 "--verify 3x: not a number of inputs"),
    "inputs of another shape, before the search": (
        ["optimize-graph", SPACE.model, "--dry-run", "--inputs", P / "other_shape.npz"], 3,
        "the array 'x' is f32[3, 8], but the model reads x: f32[2, 8]"),
    "a proof of nothing": (["optimize-graph", SPACE.model, "--dry-run", "--proof", P / "proof"], 2,
                           "--dry-run writes nothing that --proof could prove"),
    "inputs without a check": (["optimize-graph", SPACE.model, "--dry-run", "--verify", "off",
                                "--inputs", P / "other_shape.npz"], 2,
                               "there are --inputs for the check, which is turned off"),
    "unknown rule": (["optimize-graph", SPACE.model, "--dry-run", "--only", "perpetuum"], 2,
                     "--only: there is no rule 'perpetuum'"),
    "a roofline timed": (["cost-rules", P / "absent.rules", "--time"], 2,
                         "--time runs kernels, which a roofline has not"),
    "one model only": (["compare-graphs", SPACE.model], 2, "b is required"),
    "not equivalent": (["compare-graphs", SPACE.model, SPACE.other], 6,
                       "does not compute what"),
    "other inputs": (["compare-graphs", SPACE.model, SPACE.wide], 3, "input"),
    "nothing to compare on": (["compare-graphs", SPACE.model, SPACE.model, "--samples", "0"], 2,
                              "set --samples to 1 or more, or give --inputs or a --proof"),
    "negative tolerance": (["compare-graphs", SPACE.model, SPACE.model, "--rtol", "-1"], 2,
                           "'-1' is not a number of at least 0"),
    "tolerance in words": (["compare-graphs", SPACE.model, SPACE.model, "--rtol", "low"], 2,
                           "'low' is not a number of at least 0"),
    "npz without the input": (["compare-graphs", SPACE.model, SPACE.model, "--inputs",
                               P / "other_names.npz"], 3, "there is no array for the input 'x'"),
    "npz of another shape": (["compare-graphs", SPACE.model, SPACE.model, "--inputs",
                              P / "other_shape.npz"], 3,
                             "the array 'x' is f32[3, 8], but the model reads x: f32[2, 8]"),
    "no npz": (["compare-graphs", SPACE.model, SPACE.model, "--inputs", SPACE.garbage], 3,
               "garbage.onnx"),

    "bench without a model": (["bench-graph"], 2, "which model?"),
    "unknown device": (["bench-graph", SPACE.model, "--device", "abacus"], 2, "abacus"),
    "device of no number": (["bench-graph", SPACE.model, "--device", "cuda:first"], 2, "cuda:1"),
    "no such card": (["bench-graph", SPACE.model, "--device", "cuda:77"], 7, "no CUDA device: "),
    "no card to optimize on": (["optimize-graph", SPACE.model, "-o", P / "x.onnx", "--runtime", "soapstone",
                                "--device", "cuda:77"], 7, "no CUDA device: "),
    "no card to compare on": (["compare-graphs", SPACE.model, SPACE.model, "--device", "cuda:77"], 7,
                              "no CUDA device: "),
    "no card to measure": (["measure-costs", "--models", "lenet", "-o", P / "c.jsonl", "--device",
                            "cuda:77"], 7, "no CUDA device: "),
    "costs of no model": (["measure-costs", "--models", "lenett", "-o", P / "c.jsonl"], 3,
                          "lenett: cannot be read"),
    "costs over the model": (["measure-costs", "--models", SPACE.model, "-o", SPACE.model], 2,
                             "--output would overwrite the model"),
    "unknown target": (["optimize-graph", SPACE.model, "-o", P / "x.onnx", "--target", "h2000"], 2,
                       "there is no target 'h2000'"),
    "target of no costs": (["optimize-graph", SPACE.model, "-o", P / "x.onnx", "--target",
                            SPACE.garbage], 3, "garbage.onnx:1: not a JSON object"),
    "target and other costs": (["optimize-graph", SPACE.model, "-o", P / "x.onnx", "--target",
                                SPACE.garbage, "--costs", "roofline"], 2,
                               "--target brings its own costs"),
    "target and a runtime": (["optimize-graph", SPACE.model, "-o", P / "x.onnx", "--target",
                              SPACE.garbage, "--runtime", "openvino"], 2,
                             "--target is not here"),
    "cannot be run": (["bench-graph", SPACE.custom], 4, "Secret"),
    "costs in no database": (["bench-graph", SPACE.model, "--breakdown", "--cost-db",
                              SPACE.garbage], 7, "file is not a database"),
    "costs that are not there": (["bench-graph", "--import-costs", P / "absent.jsonl"], 3,
                                 "absent.jsonl: cannot be read"),
    "costs that are none": (["bench-graph", "--import-costs", SPACE.garbage], 3,
                            "garbage.onnx:1: not a JSON object"),
    "exchange without a database": (["bench-graph", "--export-costs", P / "c", "--cost-db", "none"],
                                    2, "--cost-db none leaves no database"),
    "costs into no folder": (["bench-graph", "--export-costs", P / "no" / "c.jsonl"], 3,
                             "cannot be written: No such file or directory"),

    "build nothing": (["build-model"], 2, "which model?"),
    "misspelt model": (["build-model", "squezenet"], 2, "did you mean squeezenet?"),
    "unknown model": (["build-model", "perpetuum"], 2, "build-model --list shows all"),
    "unknown parameter": (["build-model", "squeezenet", "--set", "wings=2"], 2,
                          "squeezenet has no parameter 'wings'"),
    "parameter without a value": (["build-model", "squeezenet", "--set", "batch"], 2,
                                  "'batch' sets nothing"),
    "unknown opset": (["build-model", "squeezenet", "--opset", "99"], 2, "99"),
    "parameters that make no network": (["build-model", "squeezenet", "--set", "batch=-1", "-o",
                                         P / "n.onnx"], 3, "batch"),
    "model into no folder": (["build-model", "squeezenet", "-o", P / "no" / "s.onnx"], 3,
                             "s.onnx"),
}


class Errors(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        SPACE.close()

    def test_table(self):
        np.savez(P / "other_names.npz", y=np.zeros((2, 8), np.float32))
        np.savez(P / "other_shape.npz", x=np.zeros((3, 8), np.float32))
        for name, (command, code, message) in CASES.items():
            with self.subTest(name):
                done = run(*command)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertTrue(any(line.startswith("error: ")
                                    for line in done.stderr.splitlines()), done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_inputs_are_checked_before_the_search(self):
        np.savez(P / "early.npz", x=np.zeros((3, 8), np.float32))
        done = run("optimize-graph", SPACE.model, "--dry-run", "--inputs", P / "early.npz")
        self.assertNotIn("simplifying", done.stderr)
        self.assertIn("reading rules", done.stderr)

    def test_json_holds_the_error(self):
        done = run("inspect-graph", SPACE.garbage, "--json", "-")
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["code"], 3)
        self.assertIn("garbage.onnx", error["where"])

    def test_json_of_a_result_is_not_replaced_by_the_error(self):
        done = run("compare-graphs", SPACE.model, SPACE.other, "--json", "-")
        self.assertEqual(done.returncode, 6)
        self.assertFalse(json.loads(done.stdout)["equal"])

    def test_no_graphviz(self):
        done = run("inspect-graph", SPACE.model, "--svg", P / "g.svg",
                   env={**os.environ, "PATH": str(P)})
        self.assertEqual(done.returncode, 7)
        self.assertIn("Graphviz cannot be run", done.stderr)
        self.assertIn("hint: install Graphviz", done.stderr)

    def test_full_disk_behind_stdout(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            command = [str(commands.BIN_DIR / "inspect-graph"), str(SPACE.model)]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 7)
        self.assertIn("error: cannot write to standard output", done.stderr)

    def test_interrupt(self):
        command = [str(commands.BIN_DIR / "bench-graph"), str(SPACE.model), "--time", "3",
                   "--rounds", "1000000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        commands.wait_for_line(process.stderr, "timing")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("press Ctrl-C again", stderr)

    def test_a_second_interrupt_ends_at_once(self):
        command = [str(commands.BIN_DIR / "bench-graph"), str(SPACE.model), "--time", "600",
                   "--rounds", "1000000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        commands.wait_for_line(process.stderr, "timing")
        process.send_signal(signal.SIGINT)
        commands.wait_for_line(process.stderr, "press Ctrl-C again")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()

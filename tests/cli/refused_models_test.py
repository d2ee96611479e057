"""Models that no runtime can run, and outputs that cannot be written: both are refused with the
reason, and nothing is written. Neighbors that one runtime can run, or that can be written, pass."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # noqa: F401  (the runtime that is asked)
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
# Nothing here depends on the rules, and to read one takes less time.
QUICK = ["--effort", "1", "--measure-time", "1", "--cost-db", "none", "--only", "factor_lhs_out_of_sum",
         "--python", sys.executable]


def model(name, nodes, weights=(), inputs=(4, 8), opsets=()):
    graph = helper.make_graph(
        nodes, "refused", [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(shape, np.float32), key) for key, shape in weights])
    return commands.save(graph, P / name, opsets)


def around(op_type, domain="", **attributes):
    """An operator between others that are known."""
    return [helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node(op_type, ["a"], ["b"], domain=domain, **attributes),
            helper.make_node("Relu", ["b"], ["y"])]


REFUSED = {
    "a domain of one's own": (around("Zorp", "my.own"), [("w", (8, 8))], (4, 8), "my.own.Zorp"),
    "no operator of ONNX": (around("Zorp"), [("w", (8, 8))], (4, 8), "Zorp"),
    "nothing else": ([helper.make_node("Zorp", ["x"], ["y"], domain="my.own")], [], (4, 8),
                     "my.own.Zorp"),
    "channels that do not fit": ([helper.make_node("Conv", ["x", "w"], ["y"])],
                                 [("w", (4, 5, 3, 3))], (1, 3, 8, 8), "Conv"),
}
RUN_ELSEWHERE = {
    "nothing but an operator of ONNX Runtime": (
        [helper.make_node("FastGelu", ["x"], ["y"], domain="com.microsoft")], [], (4, 8)),
    "an operator of ONNX Runtime": (around("FastGelu", "com.microsoft"), [("w", (8, 8))], (4, 8)),
    "an operator that is opaque here": (around("Unique", axis=0), [("w", (8, 8))], (4, 8)),
    "channels that fit": ([helper.make_node("Conv", ["x", "w"], ["y"])], [("w", (4, 3, 3, 3))],
                          (1, 3, 8, 8)),
}


def domains(nodes):
    return [helper.make_opsetid(d, 1) for d in {n.domain for n in nodes} if d]


class Refused(unittest.TestCase):
    def test_what_nothing_can_run_is_no_input(self):
        for name, (nodes, weights, inputs, operator) in REFUSED.items():
            path = model("refused.onnx", nodes, weights, inputs, domains(nodes))
            for more in ([], ["--runtime", "soapstone"], ["--judge", "none"],
                         ["--costs", "roofline"]):
                with self.subTest(name, more=more):
                    out = P / "never.onnx"
                    done = run("optimize-graph", path, "-o", out, *QUICK, *more)
                    self.assertEqual(done.returncode, 4, done.stderr)
                    error = re.search(r"(?m)^error: (.*)", done.stderr)[1]
                    self.assertIn(operator, error)
                    self.assertIn("refused.onnx", error)
                    self.assertNotRegex(done.stdout, r"\d us")
                    self.assertFalse(out.exists())

    def test_what_is_allowed_unchecked_is_not_timed(self):
        nodes, weights, inputs, _ = REFUSED["a domain of one's own"]
        path = model("allowed.onnx", nodes, weights, inputs, domains(nodes))
        done = run("optimize-graph", path, "-o", P / "allowed_out.onnx", *QUICK,
                   "--allow-unchecked", "--json", P / "allowed.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((P / "allowed.json").read_text())
        self.assertIsNone(report["latency_before_us"])
        self.assertIsNone(report["speedup"])
        self.assertTrue(re.search(r"measured latency +not measured", done.stdout), done.stdout)
        self.assertTrue(any("nothing was timed" in note for note in report["notes"]))

    def test_what_one_runtime_can_run_is_optimized(self):
        for name, (nodes, weights, inputs) in RUN_ELSEWHERE.items():
            with self.subTest(name):
                path = model("run.onnx", nodes, weights, inputs, domains(nodes))
                out = P / "run_out.onnx"
                for more in ([], ["--runtime", "soapstone"], ["--judge", "none"],
                             ["--costs", "roofline", "--dry-run"]):
                    done = run("optimize-graph", path, "-o", out, *QUICK, *more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn(" 0.00 us", done.stdout)
                    self.assertEqual(out.exists(), "--dry-run" not in more)
                    out.unlink(missing_ok=True)

    def test_what_no_input_can_be_made_for(self):
        """A sequence is no input that random numbers make; whether the model loads is known."""
        sequence = helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3]))
        for operator, domain, code in (("SequenceAt", "", 0), ("Zorp", "my.own", 4)):
            nodes = [helper.make_node("Constant", [], ["k"], value_int=0),
                     helper.make_node(operator, ["s", "k"], ["a"], domain=domain),
                     helper.make_node("Relu", ["a"], ["y"])]
            graph = helper.make_graph(
                nodes, "refused", [helper.make_value_info("s", sequence)],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
            path = commands.save(graph, P / "sequence.onnx", domains(nodes))
            done = run("optimize-graph", path, "-o", P / "sequence_out.onnx", *QUICK)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertNotRegex(done.stdout, r"(?m)measured latency.* \d")


class Outputs(unittest.TestCase):
    """Refused before the model is even read: it is no model at all."""

    def setUp(self):
        self.garbage = P / "garbage.onnx"
        self.garbage.write_bytes(b"no model")

    def refuses(self, code, message, output, *more):
        done = run("optimize-graph", self.garbage, "-o", output, *QUICK, *more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("reading", done.stderr)
        self.assertEqual(self.garbage.read_bytes(), b"no model")

    def test_devices_and_folders(self):
        self.refuses(3, "--output: cannot be written: it is not a regular file", "/dev/null")
        self.refuses(3, "--output: cannot be written: it is a directory", P)
        self.refuses(3, "--output: cannot be written: No such file", P / "absent" / "out.onnx")
        self.refuses(3, "--output: cannot be written", self.garbage / "out.onnx")
        self.refuses(3, "--output: cannot be written", "/proc/out.onnx")
        link = P / "link_to_null.onnx"
        link.symlink_to("/dev/null")
        self.refuses(3, "--output: cannot be written: it is not a regular file", link)
        self.assertFalse(Path("/dev/null").is_file())

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_without_permission(self):
        closed = P / "closed"
        closed.mkdir(mode=0o500)
        self.refuses(3, "--output: cannot be written: Permission", closed / "out.onnx")

    def test_the_model_itself(self):
        link = P / "link_to_model.onnx"
        link.symlink_to(self.garbage)
        hard = P / "hard.onnx"
        hard.hardlink_to(self.garbage)
        for output in (self.garbage, link, hard, P / "." / "garbage.onnx"):
            self.refuses(2, "--output would overwrite the model", output)
        done = run("optimize-graph", self.garbage, "-o", self.garbage, *QUICK)
        self.assertIn("--overwrite", done.stderr)

    def test_weights_of_the_model(self):
        path = commands.linear_model(P / "outside.onnx")
        onnx.save(onnx.load(path), path, save_as_external_data=True, location="outside.bin",
                  size_threshold=0)
        (P / "outside.bin").rename(P / "other.onnx.data")
        model = onnx.load(path, load_external_data=False)
        for tensor in model.graph.initializer:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = "other.onnx.data"
        onnx.save(model, path)
        before = (P / "other.onnx.data").read_bytes()
        for name, code in (("other.onnx.data", 2), ("other.onnx", 2), ("third.onnx", 0)):
            done = run("optimize-graph", path, "-o", P / name, "--costs", "roofline", *QUICK)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("would overwrite weights of the model" in done.stderr, code == 2)
            self.assertEqual((P / "other.onnx.data").read_bytes(), before)

    def test_the_model_itself_where_that_is_wanted(self):
        path = commands.linear_model(P / "mine.onnx")
        for options in (["--overwrite"], ["--dry-run"]):
            done = run("optimize-graph", path, "-o", path, "--costs", "roofline", *QUICK, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            onnx.checker.check_model(path)


class OtherCommands(unittest.TestCase):
    """All commands look at their outputs in one way, before they read anything."""

    def setUp(self):
        self.garbage = P / "garbage.txt"
        self.garbage.write_bytes(b"nothing")

    def refuses(self, code, message, *command):
        done = run(*command)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("--overwrite", done.stderr)
        self.assertEqual(self.garbage.read_bytes(), b"nothing")

    def test_what_is_read_is_not_overwritten(self):
        file = self.garbage
        link = P / "link.txt"
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        for command in (["inspect-graph", file, "--json", link], ["inspect-graph", file, "--dot", file],
                        ["compare-graphs", P / "a", file, "--json", file],
                        ["bench-graph", file, "--json", link],
                        ["plan-graph", file, "--topology", "local", "-o", file],
                        ["train-graph", file, "-o", file],
                        ["inspect-plan", file, "--svg", link],
                        ["run-plan", file, "lenet", "--outputs", link]):
            self.refuses(2, "would overwrite the ", *command)
        self.refuses(2, "--json would overwrite the rules", "verify-rules", file, "--json", link)
        self.refuses(2, "--json would overwrite the rules", "cost-rules", file, "--json", file)
        self.refuses(2, "--output would overwrite what --known reads", "generate-rules", "--ops", "1",
                     "--known", f"{P / 'a'},{file}", "-o", link)

    def test_what_cannot_be_written(self):
        for command in (["build-model", "lenet"], ["generate-rules", "--ops", "1"]):
            self.refuses(3, "--output: cannot be written: it is not a regular file", *command, "-o",
                         "/dev/null")
            self.refuses(3, "--output: cannot be written: it is a directory", *command, "-o", P)
        for command in (["plan-graph", self.garbage, "--topology", "local"],
                        ["inspect-graph", self.garbage]):
            self.refuses(3, "--json: cannot be written: No such file", *command, "--json",
                         P / "absent" / "r.json")

    def test_two_outputs_are_two_files(self):
        self.refuses(2, "--dot and --svg are the same file", "inspect-graph", self.garbage, "--dot",
                     P / "x", "--svg", P / "x")
        self.refuses(2, "--output and --json are the same file", "plan-graph", self.garbage,
                     "--topology", "local", "-o", P / "x", "--json", P / "x")


if __name__ == "__main__":
    unittest.main()

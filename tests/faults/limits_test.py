"""Small files that ask for much: sizes, attributes and counts beyond anything that a machine holds,
each beside a neighbor that is read. Every one ends soon, within a limit on memory, with exit code 3
or 4 (or is kept as it is, where nothing has to be run), and says where and why."""

import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz" / "files"))
sys.path.append(str(Path(__file__).parents[1]))
import sanitizers  # noqa: E402
from broken_seeds import FLOAT, INT64, STRING, floats, ints, make, one, small_model  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
LARGE = 1 << 31
MOST_KB = sanitizers.memory(1 << 20)
CPU_S = sanitizers.seconds(20)


def run(*arguments, env=None):
    """Exit code, stdout and stderr, peak memory in kB, CPU seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [BIN_DIR / arguments[0], *map(str, arguments[1:]), "--max-memory", "4", "-q"],
            stdout=out, stderr=err, env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return (process.returncode, out.read().decode(errors="replace"),
                err.read().decode(errors="replace"), usage.ru_maxrss,
                usage.ru_utime + usage.ru_stime)


# Nodes on which ONNX's own shape inference divides by 0 or fails otherwise.
BREAKS_INFERENCE = {
    "Attention without heads": one("Attention", [[1, 8, 16]] * 3, opset=23, q_num_heads=4,
                                   kv_num_heads=0),
    "DepthToSpace with a huge block": one("DepthToSpace", [[1, 16, 8, 8]], blocksize=1 << 62),
    "SplitToSequence into nothing": one("SplitToSequence", [[1, 16]], [np.int64(0)]),
}
# Nodes that are read, and known to be too large as soon as they are to be run.
TOO_LARGE = {
    "AffineGrid": one("AffineGrid", [[1, 2, 3]], [ints(1, 1, LARGE, 2)]),
    "Expand": one("Expand", [[1]], [ints(LARGE)]),
    "Resize": one("Resize", [[1, 1, 4, 4]], [ints(1, 1, LARGE, 4)], inputs=["x0", "", "", "c0"]),
    "ConstantOfShape": make([helper.make_node("ConstantOfShape", ["s"], ["c"]),
                             helper.make_node("Add", ["c", "x"], ["y"])],
                            [("x", FLOAT, [1])], [("y", FLOAT)], [("s", ints(LARGE))]),
    "Tile": one("Tile", [[1]], [ints(LARGE)]),
    "Range": make([helper.make_node("Range", ["a", "b", "c"], ["r"]),
                   helper.make_node("Add", ["r", "x"], ["y"])], [("x", INT64, [1])], [("y", INT64)],
                  [("a", np.int64(0)), ("b", np.int64(LARGE)), ("c", np.int64(1))]),
    "OneHot": one("OneHot", [[1]], [np.int64(LARGE), np.array([0, 1], np.float32)], kind=INT64),
    "Pad": one("Pad", [[1]], [ints(0, LARGE)]),
    "Upsample": one("Upsample", [[1]], [np.array([2.0**31], np.float32)], opset=9),
    "EyeLike": one("EyeLike", [[1 << 16, 1 << 15]]),
    "RandomNormal": make([helper.make_node("RandomNormal", [], ["r"], shape=[LARGE]),
                          helper.make_node("Add", ["r", "x"], ["y"])],
                         [("x", FLOAT, [1])], [("y", FLOAT)]),
    "HannWindow": make([helper.make_node("HannWindow", ["n"], ["r"]),
                        helper.make_node("Add", ["r", "x"], ["y"])],
                       [("x", FLOAT, [1])], [("y", FLOAT)], [("n", np.int64(LARGE))]),
    "an input": one("Relu", [[LARGE]]),
}
# Small, and it would run for days.
TOO_LONG = one("AveragePool", [[1, 1, 4, 4]], kernel_shape=[1 << 24, 1 << 24],
               pads=[1 << 23, 1 << 23, 1 << 23, 1 << 23])
NEIGHBORS = {
    "AffineGrid": one("AffineGrid", [[1, 2, 3]], [ints(1, 1, 4, 2)]),
    "Expand": one("Expand", [[1]], [ints(4)]),
    "Resize": one("Resize", [[1, 1, 4, 4]], [ints(1, 1, 8, 4)], inputs=["x0", "", "", "c0"]),
    "Tile": one("Tile", [[1]], [ints(4)]),
    "Pad": one("Pad", [[1]], [ints(0, 4)]),
    "EyeLike": one("EyeLike", [[4, 3]]),
    "DepthToSpace": one("DepthToSpace", [[1, 16, 8, 8]], blocksize=2),
    "Attention": one("Attention", [[1, 8, 16]] * 3, opset=23, q_num_heads=4, kv_num_heads=4),
    "texts": one("Identity", [[2]], kind=STRING, out=STRING),
    "texts beside numbers": make(
        [helper.make_node("Concat", ["s", "s"], ["u"], axis=0),
         helper.make_node("Relu", ["x"], ["y"])],
        [("s", STRING, [2]), ("x", FLOAT, [2])], [("u", STRING), ("y", FLOAT)]),
}


def lying_tensor(name, **fields):
    model = onnx.ModelProto.FromString(small_model())
    tensor = model.graph.initializer.add()
    tensor.name, tensor.data_type = name, fields.pop("data_type", FLOAT)
    tensor.dims.extend(fields.pop("dims"))
    for key, value in fields.pop("external", {}).items():
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key=key, value=value)
    for field, value in fields.items():
        setattr(tensor, field, value)
    return model.SerializeToString()


def sparse(nnz, rank, values=2):
    tensor = onnx.SparseTensorProto()
    tensor.values.CopyFrom(numpy_helper.from_array(floats(values), "w"))
    tensor.indices.CopyFrom(numpy_helper.from_array(ints(1, 3), "i"))
    tensor.values.dims[:] = [nnz]
    tensor.indices.dims[:] = [nnz, rank]
    tensor.dims.extend([1 << 40, 8])
    return make([helper.make_node("Constant", [], ["c"], sparse_value=tensor),
                 helper.make_node("Add", ["x", "c"], ["y"])], [("x", FLOAT, [2, 8])],
                [("y", FLOAT)])


def nested_branches(depth):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", FLOAT, [2])])
    for _ in range(depth):
        graph = helper.make_graph(
            [helper.make_node("If", ["c"], ["y"], then_branch=graph, else_branch=graph)], "g", [],
            [helper.make_tensor_value_info("y", FLOAT, [2])])
        if graph.ByteSize() > 1 << 20:
            break
    return graph


def endless_functions():
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    body = [helper.make_function("mine", name, ["a"], ["b"],
                                 [helper.make_node(callee, ["a"], ["b"], domain="mine")], opsets)
            for name, callee in (("F", "G"), ("G", "F"))]
    return make([helper.make_node("F", ["x"], ["y"], domain="mine")], [("x", FLOAT, [2])],
                [("y", FLOAT)], functions=body, domains=["mine"])


def exploding_functions():
    """Twenty functions, each of which calls the next ten times."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    functions = []
    for k in range(20):
        nodes = [helper.make_node(f"F{k + 1}" if k < 19 else "Relu", ["a"], ["b" if j == 0 else
                                                                            f"t{j}"],
                                  domain="mine" if k < 19 else "") for j in range(10)]
        functions.append(helper.make_function("mine", f"F{k}", ["a"], ["b"], nodes, opsets))
    return make([helper.make_node("F0", ["x"], ["y"], domain="mine")], [("x", FLOAT, [2])],
                [("y", FLOAT)], functions=functions, domains=["mine"])


LIES = {
    "more elements than data": (lying_tensor("w", dims=[1 << 30], raw_data=b"1234"), "tensor 'w'"),
    "negative dimensions": (lying_tensor("w", dims=[-4, 2], raw_data=b"1234"), "impossible"),
    "dimensions that overflow": (lying_tensor("w", dims=[1 << 62, 1 << 62]), "tensor 'w'"),
    "texts that are not there": (lying_tensor("w", dims=[1 << 40], data_type=STRING), "tensor 'w'"),
    "no such file": (lying_tensor("w", dims=[4], external={"location": "gone.bin"}), "gone.bin"),
    "a file outside": (lying_tensor("w", dims=[4], external={"location": "../w.bin"}), "outside"),
    "beyond its file": (lying_tensor("w", dims=[4], external={
        "location": "w.bin", "offset": str((1 << 63) - 1)}), "w.bin"),
    "a length of its own": (lying_tensor("w", dims=[4], external={
        "location": "w.bin", "length": "8"}), "8 bytes"),
    "a sparse tensor": (sparse(1 << 40, 1), "of data, but"),
    "functions that call each other": (endless_functions(), "calls itself"),
    "functions that explode": (exploding_functions(), "inlining"),
}


class Models(unittest.TestCase):
    def setUp(self):
        self.space = tempfile.TemporaryDirectory(prefix="soapstone-limits-")
        self.path = Path(self.space.name)
        (self.path / "w.bin").write_bytes(bytes(16))
        self.addCleanup(self.space.cleanup)

    def model(self, data):
        path = self.path / "model.onnx"
        path.write_bytes(data)
        return path

    def refused(self, words, *command, codes=(3, 4), env=None):
        code, _, errors, peak_kb, cpu_s = run(*command, env=env)
        self.assertIn(code, codes, errors)
        for word in words:
            self.assertIn(word, errors)
        self.assertIn("error: ", errors)
        self.assertLess(peak_kb, MOST_KB)
        self.assertLess(cpu_s, CPU_S)

    def accepted(self, *command):
        code, _, errors, peak_kb, cpu_s = run(*command)
        self.assertEqual(code, 0, errors)
        self.assertLess(peak_kb, MOST_KB)
        self.assertLess(cpu_s, CPU_S)

    def test_onnx_is_asked_elsewhere(self):
        for name, data in BREAKS_INFERENCE.items():
            with self.subTest(name):
                self.refused(["model.onnx", "shape inference breaks", "hint: "], "inspect-graph",
                             self.model(data), codes=(3,))

    def test_sizes_are_checked_before_anything_runs(self):
        for name, data in TOO_LARGE.items():
            model = self.model(data)
            with self.subTest(name):
                self.refused(["GiB", "--max-memory"], "compare-graphs", model, model, codes=(4,))
        self.refused(["model.onnx", "the largest tensor is", "--max-memory"], "optimize-graph",
                     model, "-o", self.path / "out.onnx", "--cost-db", "none", codes=(4,))
        self.refused(["--max-memory"], "bench-graph", model, codes=(4,))

    def test_work_is_checked_before_anything_runs(self):
        model = self.model(TOO_LONG)
        self.refused(["model.onnx", "operations"], "compare-graphs", model, model, codes=(3, 4))

    def test_neighbors_are_read_and_run(self):
        for name, data in NEIGHBORS.items():
            with self.subTest(name):
                model = self.model(data)
                self.accepted("compare-graphs", model, model, "--samples", "1")

    def test_lies(self):
        for name, (data, words) in LIES.items():
            with self.subTest(name):
                self.refused(["model.onnx", words], "inspect-graph", self.model(data), codes=(3,))

    def test_many_and_deep(self):
        cases = {
            "a node with 200,000 inputs": make(
                [helper.make_node("Concat", [f"x{k % 50}" for k in range(200_000)], ["y"], axis=0)],
                [(f"x{k}", FLOAT, [1]) for k in range(50)], [("y", FLOAT)]),
            "100,000 inputs": make([helper.make_node("Relu", ["x0"], ["y"])],
                                   [(f"x{k}", FLOAT, [1]) for k in range(100_000)],
                                   [("y", FLOAT)]),
            "a name of 30 MB": make([helper.make_node("Relu", ["x" * 30_000_000], ["y"])],
                                    [("x" * 30_000_000, FLOAT, [1])], [("y", FLOAT)]),
            "branches in branches": make(
                list(nested_branches(14).node), [("x", FLOAT, [2]), ("c", TensorProto.BOOL, [])],
                [("y", FLOAT)]),
        }
        for name, data in cases.items():
            with self.subTest(name):
                code, _, errors, peak_kb, cpu_s = run("inspect-graph", self.model(data))
                self.assertIn(code, (0, 3, 4), errors)
                self.assertLess(peak_kb, 2 * MOST_KB)
                self.assertLess(cpu_s, CPU_S)

    def test_arrays_of_inputs(self):
        model = self.model(small_model())
        inputs = self.path / "inputs.npz"
        np.savez(inputs, x=np.ones((2, 8), np.float32))
        compare = ["compare-graphs", model, model, "--samples", "0", "--inputs", inputs]
        self.accepted(*compare)
        whole = inputs.read_bytes()
        at = whole.index(b"PK\x01\x02")
        for size in (8_000_000_000 % (1 << 32), 3_000_000_000, (1 << 32) - 2):
            lying = bytearray(whole)
            lying[at + 24:at + 28] = struct.pack("<I", size)
            inputs.write_bytes(lying)
            with self.subTest(size):
                self.refused(["inputs.npz"], *compare)
        for size in (8 << 30, (1 << 64) - 1):
            inputs.write_bytes(zip64(size))
            with self.subTest(size):
                self.refused(["inputs.npz"], *compare)
        with zipfile.ZipFile(inputs, "w") as archive:
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2147483648,), }\n"
            archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        self.refused(["inputs.npz", "elements"], *compare, codes=(3,))

    def test_a_baseline_that_grows(self):
        rules = self.path / "rules"
        rules.mkdir()
        (rules / "baseline.rules").write_text(
            "rule grows\n  x: [n, m]\n  source\n    y = relu(x)\n  target\n    t = relu(x)\n"
            "    y = relu(t)\n")
        (rules / "none.rules").write_text(
            "rule twice\n  x: [n, m]\n  source\n    t = neg(x)\n    y = neg(t)\n  target\n"
            "    y = x\n")
        self.refused(["grows", "come to no end"], "optimize-graph", self.model(small_model()), "-o",
                     self.path / "out.onnx", "--costs", "roofline", "--allow-unproved",
                     "--cost-db", "none", codes=(3,), env={"SOAPSTONE_RULES_DIR": str(rules)})
        self.assertFalse((self.path / "out.onnx").exists())


def zip64(size):
    """An archive whose only entry claims `size` bytes, in the form for large files."""
    name, data = b"x.npy", b"\x93NUMPY\x01\x00"
    extra = struct.pack("<HHQQ", 1, 16, size, len(data))
    local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 33, 0, 0xffffffff, 0xffffffff,
                        len(name), len(extra)) + name + extra + data
    central = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 33, 0, 0xffffffff,
                          0xffffffff, len(name), len(extra), 0, 0, 0, 0, 0) + name + extra
    end = struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


LAW = "  source\n    t = neg(x)\n    y = neg(t)\n  target\n    y = x\n"
WORDS = {
    "a chain": ("rule f\n  x: [n]\n  source\n" + "".join(
        f"    t{k} = relu({f't{k - 1}' if k else 'x'})\n" for k in range(100_000)) +
        "  target\n    t99999 = relu(x)\n", "more than 1000 results"),
    "values": ("rule f\n  for k in {" + ",".join(map(str, range(40_000))) + "}\n  x: [n]\n" + LAW,
               "more than 5000 values"),
    "loops": ("rule f\n" + "".join(
        f"  for k{i} in {{{','.join(map(str, range(60)))}}}\n" for i in range(5)) + "  x: [n]\n" +
        LAW, "more than 5000 instances"),
    "nested loops": ("rule f\n" + "".join(f"  for k{i} in {{0}}\n" for i in range(3000)) +
                     "  x: [n]\n" + LAW, "more than 16 parameters"),
    "permutations": ("rule f\n  for P in perms(12)\n  x: [n]\n" + LAW, "perms(n)"),
    "ranks": ("rule f\n  for A in ranks(0..1000)\n  x: [n]\n" + LAW, "ranks go from"),
    "a long sum": ("rule f\n  x: [" + "+".join(f"n{k}" for k in range(20_000)) + "]\n" + LAW,
                   "too many terms"),
    "brackets": ("rule f\n  x: [" + "(" * 50_000 + "n" + ")" * 50_000 + "]\n" + LAW,
                 "nested too deeply"),
    "calls": ("rule f\n  x: [n]\n  source\n    y = transpose(x; perm=inverse([0]))\n  target\n" +
              "".join(f"    t{k} = transpose(x; perm=inverse([0]))\n" for k in range(20_000)) +
              "    y = relu(x)\n", "more than 256"),
}


class Rules(unittest.TestCase):
    def setUp(self):
        self.space = tempfile.TemporaryDirectory(prefix="soapstone-limits-")
        self.file = Path(self.space.name, "own.rules")
        self.addCleanup(self.space.cleanup)

    def verify(self, text):
        self.file.write_text(text)
        result = run("verify-rules", self.file)
        self.assertLess(result[3], MOST_KB)
        self.assertLess(result[4], CPU_S)
        return result

    def test_too_much_is_said(self):
        for name, (text, words) in WORDS.items():
            with self.subTest(name):
                code, _, errors, _, _ = self.verify(text)
                self.assertEqual(code, 3, errors)
                self.assertIn("own.rules", errors)
                self.assertIn(words, errors)

    def test_many_small_rules_take_little(self):
        text = "".join(f"rule f{k}\n  x: [n]\n{LAW}" for k in range(3000))
        code, _, errors, peak_kb, _ = self.verify(text)
        self.assertEqual(code, 0, errors)
        self.assertLess(peak_kb, MOST_KB // 2)

    def test_a_place_deep_in_a_file(self):
        text = "".join(f"rule f{k}\n  x: [n]\n{LAW}\n" for k in range(100))
        code, _, errors, _, _ = self.verify(text + "rule g\n  x: [n\n")
        self.assertEqual(code, 3, errors)
        self.assertIn("own.rules:80", errors)

    def test_huge_sizes_are_not_tried(self):
        code, _, errors, _, _ = self.verify(
            "rule f\n  x: [1000000000, 1000000000]\n" + LAW)
        self.assertEqual(code, 3, errors)
        self.assertIn("larger than a million", errors)
        self.assertEqual(self.verify("rule f\n  x: [100, n]\n" + LAW)[0], 0)


if __name__ == "__main__":
    unittest.main()

"""The workers in Python, asked over their streams: the protocol that they share, ONNX Runtime, the
example of the documentation, and OpenVINO where it is installed."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
WORKERS = ROOT / "workers"
SPACE = tempfile.TemporaryDirectory()
P = Path(SPACE.name)
SIDE = 192  # Of the matrices.


class Worker:
    """A worker's process, and a folder for its files."""

    def __init__(self, program, *words):
        self.folder = tempfile.mkdtemp(dir=P)
        self.process = subprocess.Popen([sys.executable, program, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.asked = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)

    def answer(self, verb, **fields):
        self.asked += 1
        print(json.dumps({"id": self.asked, "verb": verb, **fields}), file=self.process.stdin,
              flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.asked, answer
        return answer

    def ask(self, verb, **fields):
        answer = self.answer(verb, **fields)
        assert "ok" in answer, answer
        return answer["ok"]

    def load(self, path, optimizations=True, threads=1, provider="", options=()):
        return self.ask("load", path=str(path), optimizations=optimizations, threads=threads,
                        provider=provider, options=list(options))["model"]

    def tensors(self, **arrays):
        files = []
        for name, array in arrays.items():
            array.tofile(Path(self.folder) / f"{name}.bin")
            files.append({"name": name, "type": {"float32": "f32", "bool": "bool"}[array.dtype.name],
                          "dims": list(array.shape), "file": f"{name}.bin"})
        return {"inputs": files, "folder": self.folder}

    def run(self, model, **arrays):
        outputs = self.ask("run", model=model, **self.tensors(**arrays))["outputs"]
        return {output["name"]: np.fromfile(Path(self.folder) / output["file"], np.float32)
                .reshape(output["dims"]) for output in outputs}

    def prepare(self, model, **arrays):
        self.ask("prepare", model=model, **self.tensors(**arrays))

    def profile(self, model, runs=12):
        file = self.ask("profile", model=model, runs=runs, folder=self.folder)["file"]
        return json.loads((Path(self.folder) / file).read_text())


def chain(length=6):
    """Products with a matrix and their relu; every second relu has no name."""
    weights = numpy_helper.from_array(np.full((SIDE, SIDE), 1 / SIDE, np.float32), "w")
    nodes, value = [], "x"
    for k in range(length):
        nodes.append(helper.make_node("MatMul", [value, "w"], [f"p{k}"], name=f"product{k}"))
        nodes.append(helper.make_node("Relu", [f"p{k}"], [f"r{k}"], name="" if k % 2 else f"relu{k}"))
        value = f"r{k}"
    nodes.append(helper.make_node("Identity", [value], ["y"], name="last"))
    return save("chain.onnx", nodes, [value_info("x", [4, SIDE])], [value_info("y", [4, SIDE])],
                [weights])


def branches():
    """An If whose branches have two nodes each."""
    def branch(name, op):
        nodes = [helper.make_node(op, ["x"], [f"{name}_a"], name=f"{name}_first"),
                 helper.make_node(op, [f"{name}_a"], [f"{name}_b"], name=f"{name}_second")]
        return helper.make_graph(nodes, name, [], [value_info(f"{name}_b", [8])])
    node = helper.make_node("If", ["c"], ["z"], name="choice", then_branch=branch("then", "Sqrt"),
                            else_branch=branch("else", "Neg"))
    last = helper.make_node("Neg", ["z"], ["y"], name="last")
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    return save("branches.onnx", [node, last], [condition, value_info("x", [8])],
                [value_info("y", [8])], [])


def value_info(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def save(name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, P / name)
    return P / name


X = np.linspace(-1, 1, 4 * SIDE, dtype=np.float32).reshape(4, SIDE)


class EachWorker:
    """What every worker must do. Subclasses name the program."""

    program, name, kernels = "", "", True

    def worker(self):
        return Worker(WORKERS / self.program)

    def test_says_who_it_is(self):
        with self.worker() as worker:
            hello = worker.ask("hello", protocol=2)
            self.assertEqual(hello["runtime"], self.name)
            self.assertEqual(hello["protocol"], 2)
            self.assertIsInstance(hello["providers"], list)
            self.assertEqual(worker.answer("hello", protocol=1)["error"]["kind"], "protocol")

    def test_runs_with_and_without_optimizations(self):
        with self.worker() as worker:
            expected = X
            for _ in range(6):
                expected = np.maximum(expected @ np.full((SIDE, SIDE), 1 / SIDE, np.float32), 0)
            for optimizations in (False, True):
                model = worker.load(chain(), optimizations)
                result = worker.run(model, x=X)
                self.assertEqual(list(result), ["y"])
                np.testing.assert_allclose(result["y"], expected, rtol=1e-4, atol=1e-6)
                worker.ask("close", model=model)
            self.assertIn("error", worker.answer("run", model=model, **worker.tensors(x=X)))

    def test_times_in_turn(self):
        with self.worker() as worker:
            models = [worker.load(chain()), worker.load(chain(60))]
            for model in models:
                worker.prepare(model, x=X)
            Path(worker.folder, "x.bin").unlink()
            for _ in range(5):  # Other work is a reason to measure again.
                samples = worker.ask("time", models=[*models, models[0]], rounds=15,
                                     budget_us=1e9)["samples"]
                for of_model in samples:
                    for times in of_model.values():
                        self.assertEqual(len(times), 15)
                        self.assertTrue(all(np.isfinite(times)) and min(times) >= 0)
                short, long, again = (np.median(of_model["cpu_us"]) for of_model in samples)
                if long > 3 * short > again:
                    break
            self.assertGreater(long, 3 * short)
            self.assertLess(again, 3 * short)
            samples = worker.ask("time", models=models, rounds=1000, budget_us=1)["samples"]
            self.assertEqual(len(samples[0]["wall_us"]), 3)

    def test_profiles(self):
        with self.worker() as worker:
            model = worker.load(chain())
            worker.prepare(model, x=X)
            if not self.kernels:
                answer = worker.answer("profile", model=model, runs=3, folder=worker.folder)
                self.assertEqual(answer["error"]["kind"], "runtime")
                return
            profile = worker.profile(model)
            self.assertGreater(profile["total_us"], 0)
            self.assertTrue(profile["kernels"])
            made = {"x"}
            for kernel in profile["kernels"]:
                self.assertGreaterEqual(kernel["us"], 0)
                self.assertTrue(kernel["outputs"])
                # Each reads what an earlier one made, so nothing is missing.
                self.assertTrue(made.intersection(kernel["inputs"]), kernel)
                made.update(kernel["outputs"])

    def test_errors_leave_it_alive(self):
        with self.worker() as worker:
            (P / "broken.onnx").write_bytes(b"no model")
            answer = worker.answer("load", path=str(P / "broken.onnx"), optimizations=True,
                                   threads=1, provider="", options=[])
            self.assertIn(answer["error"]["kind"], ("load", "runtime"))
            self.assertTrue(answer["error"]["message"])
            self.assertIn("error", worker.answer("dance"))
            self.assertIn("error", worker.answer("time", models=[7], rounds=3, budget_us=1))
            worker.load(chain())


class OnnxRuntime(EachWorker, unittest.TestCase):
    program, name = "onnxruntime_worker.py", "ONNX Runtime"

    def test_kernels_are_those_of_the_optimized_graph(self):
        with self.worker() as worker:
            model = worker.load(chain())
            worker.prepare(model, x=X)
            kernels = worker.profile(model)["kernels"]
            self.assertEqual([kernel["op"] for kernel in kernels], ["MatMul", "Relu"] * 6)
            self.assertEqual([kernel["inputs"] for kernel in kernels[:4]],
                             [["x", "w"], ["p0"], ["r0", "w"], ["p1"]])
            self.assertEqual(kernels[-1]["outputs"], ["y"])

    def test_bodies_belong_to_their_kernel(self):
        with self.worker() as worker:
            model = worker.load(branches())
            worker.prepare(model, c=np.array(True), x=np.ones(8, np.float32))
            kernels = worker.profile(model)["kernels"]
            self.assertEqual([kernel["op"] for kernel in kernels], ["If", "Neg"])
            self.assertEqual(kernels[1]["inputs"], ["z"])

    def test_threads_and_providers(self):
        with self.worker() as worker:
            model = worker.load(chain(), threads=2, provider="CPUExecutionProvider")
            self.assertEqual(worker.run(model, x=X)["y"].shape, (4, SIDE))


class Example(EachWorker, unittest.TestCase):
    program, name, kernels = "example_worker.py", "ONNX reference", False

    def test_is_what_the_page_shows(self):
        page = (ROOT / "docs/workers.md").read_text()
        block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertEqual(block[1], (WORKERS / "example_worker.py").read_text())


@unittest.skipUnless(importlib.util.find_spec("openvino"), "OpenVINO is not installed")
class OpenVino(EachWorker, unittest.TestCase):
    program, name = "openvino_worker.py", "OpenVINO"

    def test_kernels_say_where_they_come_from(self):
        with self.worker() as worker:
            model = worker.load(chain())
            worker.prepare(model, x=X)
            origins = {origin for kernel in worker.profile(model)["kernels"]
                       for origin in kernel["origins"]}
            self.assertLessEqual({"product0", "relu0", "product1", "r1"}, origins)


class WithoutTheRuntime(unittest.TestCase):
    def test_the_missing_package_is_named(self):
        for program, package in (("onnxruntime_worker.py", "onnxruntime"),
                                 ("openvino_worker.py", "openvino")):
            absent = P / package
            absent.mkdir()
            (absent / f"{package}.py").write_text("raise ImportError('not here')")
            starter = P / f"without_{package}.py"
            starter.write_text(f"import runpy, sys\nsys.path[:0] = [{str(WORKERS)!r}]\n"
                               f"sys.path[:0] = [{str(absent)!r}]\n"
                               f"runpy.run_path({str(WORKERS / program)!r}, run_name='__main__')\n")
            with self.subTest(package), Worker(starter) as worker:
                error = worker.answer("hello", protocol=2)["error"]
                self.assertEqual(error["kind"], "missing")
                self.assertIn(f"cannot import {package}: not here", error["message"])


NOISY = """
import sys, os
sys.path.insert(0, sys.argv[1])
from protocol import Model, Runtime, serve

class Noisy(Runtime):
    name = "Noisy"
    def version(self):
        print("I print, and", flush=True)
        os.write(1, b"so does my library\\n")
        return "1"
    def load(self, *_):
        raise MemoryError()

serve(Noisy())
"""


class Protocol(unittest.TestCase):
    def test_only_answers_go_to_standard_output(self):
        (P / "noisy.py").write_text(NOISY)
        with Worker(P / "noisy.py", str(WORKERS)) as worker:
            self.assertEqual(worker.ask("hello", protocol=2)["version"], "1")
            error = worker.answer("load", path="x", optimizations=True, threads=1, provider="",
                                  options=[])["error"]
            self.assertEqual(error, {"kind": "memory", "message": "MemoryError"})
            _, said = worker.process.communicate(timeout=60)
            self.assertEqual(said, "I print, and\nso does my library\n")

    def test_arithmetic(self):
        """In a process of its own, since the module redirects standard output."""
        done = subprocess.run([sys.executable, "-c", ARITHMETIC], cwd=WORKERS, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


ARITHMETIC = """
from protocol import order_of, typical, without_profiler
for count in (1, 2, 3, 5):
    orders = [order_of(count, turn) for turn in range(2 * count)]
    for order in orders:
        assert sorted(order) == list(range(count)), order
    for index in range(count):
        assert sum(order[0] == index for order in orders) == 2, (count, orders)
        followed = {order[k + 1] for order in orders for k in range(count - 1) if order[k] == index}
        assert len(followed) == min(2, count - 1), (index, followed)
assert typical([1]) == 1 and typical([3, 1, 2]) == 1.5
assert typical([2, 2, 3, 1000, 3000, 900, 800]) == 7 / 3
assert typical([100, 101, 102, 200]) == 101
assert typical([0, 10, 4, 6, 900], error_us=30) == 5
assert without_profiler([], (5, 5)) == []
assert without_profiler([4, 2], (10, 10)) == [4, 2]
assert without_profiler([4, 2], (4, 8)) == without_profiler([4, 2], (8, 4)) == [3, 1]
assert without_profiler([100, 2], (50, 50)) == [97, 0.2], "three microseconds at most"
"""

if __name__ == "__main__":
    unittest.main()

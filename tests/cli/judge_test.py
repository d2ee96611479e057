"""The independent judge: what it sees, what the report says of it, and what is left out for it."""

import json
import os
import sys
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import commands
import networks
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
PYTHON = sys.executable
QUICK = ["--costs", "roofline", "--budget", "200", "--time", "0", "--python", PYTHON]

WRONG_RULE = """# Wrong: the bias is lost where it is not zero.
rule drop_bias
  x: [m, k]   a: [k, n]   b: [n]
  source
    p = matmul(x, a)
    y = add(p, b)
  target
    y = matmul(x, a)
"""


def optimize(model, *arguments, **options):
    done = run("optimize-graph", model, *QUICK, *arguments, "--json", P / "report.json", **options)
    report = json.loads((P / "report.json").read_text())
    return done, report


def dense(path, nodes, outputs, opsets=(), inputs=None):
    """A model over x[4, 8] with weights w[8, 8], v[8, 8] and b[8]."""
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
               for name, shape in [("w", (8, 8)), ("v", (8, 8)), ("b", (8,))]]
    graph = helper.make_graph(
        nodes, "dense", inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in outputs], weights)
    return commands.save(graph, path, opsets)


def negations_behind(path, op_type, domain=""):
    """Two negations before an operator, and two behind it."""
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["c"]),
             helper.make_node("Relu", ["c"], ["d"]),
             helper.make_node(op_type, ["d", "axis"] if op_type == "CumSum" else ["d"], ["e"],
                              domain=domain),
             helper.make_node("Neg", ["e"], ["f"]), helper.make_node("Neg", ["f"], ["g"]),
             helper.make_node("Relu", ["g"], ["y"])]
    graph = helper.make_graph(
        nodes, "behind", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        [numpy_helper.from_array(np.array(1, np.int64), "axis")],
        value_info=[helper.make_tensor_value_info("e", TensorProto.FLOAT, [4, 8])])
    return commands.save(graph, path, [helper.make_opsetid(domain, 1)] if domain else [])


def negations(path):
    return [node.op_type for node in onnx.load(path).graph.node].count("Neg")


def to_half(path, result):
    """The same model with f16 for f32."""
    model = onnx.load(path)
    for index, weight in enumerate(model.graph.initializer):
        if weight.data_type == TensorProto.FLOAT:
            half = numpy_helper.to_array(weight).astype(np.float16)
            model.graph.initializer[index].CopyFrom(numpy_helper.from_array(half, weight.name))
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    onnx.save(model, result)
    return result


def optimized_by_runtime(path, result):
    """What ONNX Runtime's basic optimizations make of it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(result)
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return result


def with_weights(path, result, scale):
    """Random weights for those of one number, the same in every call; the last is scaled."""
    model = onnx.load(path)
    random = np.random.default_rng(3)
    last = None
    for index, weight in enumerate(model.graph.initializer):
        values = numpy_helper.to_array(weight)
        if weight.data_type != TensorProto.FLOAT or values.size < 2:
            continue
        if values.ndim == 1:
            new = random.uniform(0.5, 1.5, values.shape)
        else:
            new = random.standard_normal(values.shape) / np.sqrt(np.prod(values.shape[1:]))
        model.graph.initializer[index].CopyFrom(
            numpy_helper.from_array(new.astype(np.float32), weight.name))
        if values.ndim > 1:
            last = index
    weight = model.graph.initializer[last]
    scaled = numpy_helper.to_array(weight) * np.float32(scale)
    model.graph.initializer[last].CopyFrom(numpy_helper.from_array(scaled, weight.name))
    onnx.save(model, result)
    return result


def tearDownModule():
    SPACE.close()


class Judge(unittest.TestCase):
    def setUp(self):
        self.merged = dense(P / "two.onnx",
                            [helper.make_node("MatMul", ["x", "w"], ["p"]),
                             helper.make_node("Neg", ["p"], ["q"]),
                             helper.make_node("Neg", ["q"], ["y"])],
                            [("y", TensorProto.FLOAT, [4, 8])])

    def test_first_lines_say_who_looked(self):
        done, report = optimize(self.merged, "-o", P / "out.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotEqual(report["result"], "original")
        self.assertTrue(report["judge"]["looked"])
        self.assertTrue(report["judge"]["equal"])
        self.assertEqual(report["judge"]["runtime"], f"ONNX Runtime {onnxruntime.__version__}")
        self.assertIn("computes the same from both files", done.stdout.splitlines()[1])

    def test_first_lines_say_that_nobody_looked(self):
        done, report = optimize(self.merged, "-o", P / "out.onnx", "--judge", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(report["judge"]["looked"])
        self.assertIn("no independent runtime has looked", done.stdout.splitlines()[1])

    def test_a_runtime_asked_for_by_name_must_be_there(self):
        done = run("optimize-graph", self.merged, "--dry-run", "--judge", "onnxruntime", "--python",
                   "/bin/false")
        self.assertEqual(done.returncode, 7)
        self.assertIn("pip install onnxruntime", done.stderr)

    def test_compare_graphs_asks_too(self):
        done = run("compare-graphs", SPACE.model, SPACE.model, "--python", PYTHON)
        self.assertRegex(done.stdout, r"finds them equal on \d\d samples")
        other = run("compare-graphs", SPACE.model, SPACE.other, "--python", PYTHON, "--json", "-")
        self.assertEqual(other.returncode, 6)
        self.assertFalse(json.loads(other.stdout)["judge"]["equal"])

    def test_a_broken_worker_is_no_judge(self):
        for name, program in [("crash", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
                              ("garbage", "print('hello'); input(); input()"),
                              ("absent", "raise SystemExit(3)")]:
            with self.subTest(name):
                folder = P / name
                folder.mkdir()
                (folder / "onnxruntime_worker.py").write_text(program)
                done = run("optimize-graph", self.merged, "--costs", "roofline", "-o",
                           P / "out.onnx",
                           env={**os.environ, "SOAPSTONE_WORKERS_DIR": str(folder)})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("no independent runtime has looked", done.stdout)

    def test_a_wrong_rule_is_taken_out(self):
        rules = SPACE.write("wrong.rules", WRONG_RULE.encode())
        model = dense(P / "bias.onnx", [helper.make_node("MatMul", ["x", "w"], ["p"]),
                                        helper.make_node("Add", ["p", "b"], ["y"])],
                      [("y", TensorProto.FLOAT, [4, 8])])
        done, report = optimize(model, "-o", P / "out.onnx", "--only-rules", rules, "--allow-unproved")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([rule["rule"] for rule in report["rules_taken_out"]], ["drop_bias"])
        self.assertIn("ordinary values", report["rules_taken_out"][0]["difference"]["input"])
        self.assertIn("TAKEN OUT: rule drop_bias", done.stdout)
        same = run("compare-graphs", model, P / "out.onnx", "--python", PYTHON)
        self.assertEqual(same.returncode, 0, same.stdout)

    def test_opaque_operators_run_in_the_judge(self):
        model = negations_behind(P / "cumsum.onnx", "CumSum")
        done, report = optimize(model, "-o", P / "out.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(report["judge"]["looked"])
        self.assertEqual(negations(P / "out.onnx"), 0)

    def test_behind_unknown_operators_nothing_is_rewritten(self):
        model = negations_behind(P / "secret.onnx", "Secret", "mine")
        done = run("optimize-graph", model, "--costs", "roofline", "--budget", "200", "--judge",
                   "none", "-o", P / "out.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(negations(P / "out.onnx"), 2)
        self.assertIn("--allow-unchecked", done.stdout)
        optimize(model, "-o", P / "out.onnx", "--allow-unchecked")
        self.assertEqual(negations(P / "out.onnx"), 0)

    def test_what_is_judged_is_what_is_written(self):
        done, _ = optimize(self.merged, "-o", P / "out.onnx")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([path.name for path in P.glob(".soapstone-*")], [])
        onnx.checker.check_model(P / "out.onnx")


REFUSES_OPEN_RESULTS = """
import sys
sys.path.insert(0, {workers!r})
from protocol import Refusal, serve
import onnx
import onnxruntime_worker


class Picky(onnxruntime_worker.Session):
    def run(self, inputs):
        rows = onnx.load(self.path).graph.input[0].type.tensor_type.shape.dim[0]
        if rows.dim_param and self.path.endswith("out.onnx"):
            raise Refusal("run", "the shape is of no use")
        return super().run(inputs)


onnxruntime_worker.Session = Picky
serve(onnxruntime_worker.OnnxRuntime())
"""


class Gaps(unittest.TestCase):
    """What a judge could overlook: runs that it refuses, types that it gives and nobody expects."""

    def test_a_model_that_runs_optimized_alone_is_judged_as_deployed(self):
        nodes = [helper.make_node("Cast", ["x"], ["a"], to=TensorProto.BFLOAT16),
                 helper.make_node("Dropout", ["a"], ["c"]),
                 helper.make_node("Cast", ["c"], ["d"], to=TensorProto.FLOAT),
                 helper.make_node("Neg", ["d"], ["e"]), helper.make_node("Neg", ["e"], ["y"])]
        model = dense(P / "brain.onnx", nodes, [("y", TensorProto.FLOAT, [4, 8])])
        wrong = dense(P / "wrong.onnx", nodes[:-1] + [helper.make_node("Relu", ["e"], ["y"])],
                      [("y", TensorProto.FLOAT, [4, 8])])
        same = run("compare-graphs", model, model, "--python", PYTHON)
        self.assertEqual(same.returncode, 0, same.stdout)
        self.assertIn("without its own optimizations it does not run the original", same.stdout)
        other = run("compare-graphs", model, wrong, "--python", PYTHON, "--json", "-")
        self.assertEqual(other.returncode, 6)
        self.assertFalse(json.loads(other.stdout)["judge"]["equal"])

    def test_a_runtime_that_refuses_the_original_is_named(self):
        model = negations_behind(P / "secret.onnx", "Secret", "mine")
        done, report = optimize(model, "-o", P / "out.onnx", "--allow-unchecked")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ONNX Runtime", report["judge"]["reason"])
        self.assertIn("does not run the original", report["judge"]["reason"])

    def test_sizes_that_the_runtime_gives_otherwise_are_a_difference(self):
        nodes = [helper.make_node("ExpandDims", ["x", "axis"], ["d"], domain="com.microsoft"),
                 helper.make_node("Neg", ["d"], ["e"]), helper.make_node("Neg", ["e"], ["y"])]
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xdy"]
        graph = helper.make_graph(nodes, "misread", values[:1], values[2:],
                                  [numpy_helper.from_array(np.array(0, np.int32), "axis")],
                                  value_info=values[1:2])
        model = commands.save(graph, P / "misread.onnx", [helper.make_opsetid("com.microsoft", 1)])
        out = P / "misread.out.onnx"
        done, report = optimize(model, "-o", out)
        self.assertEqual(done.returncode, 6, done.stdout)
        self.assertFalse(out.exists())
        self.assertIn("f32[1, 4, 8] as result 1 (y) of the original, which is f32[4, 8] here",
                      report["judge"]["difference"]["what"])

    def test_results_under_other_names_are_a_difference(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]),
                 helper.make_node("MatMul", ["x", "v"], ["z"])]
        outputs = [("y", TensorProto.FLOAT, [4, 8]), ("z", TensorProto.FLOAT, [4, 8])]
        model = dense(P / "named.onnx", nodes, outputs)
        other = onnx.load(model)
        other.graph.output[1].name = "renamed"
        other.graph.node[1].output[0] = "renamed"
        onnx.save(other, P / "renamed.onnx")
        done = run("compare-graphs", model, P / "renamed.onnx", "--python", PYTHON)
        self.assertEqual(done.returncode, 6, done.stdout)
        self.assertIn("result 2 (renamed)", done.stdout)

    def open_model(self):
        return dense(P / "open.onnx",
                     [helper.make_node("MatMul", ["x", "w"], ["p"]),
                      helper.make_node("Neg", ["p"], ["q"]), helper.make_node("Neg", ["q"], ["y"])],
                     [("y", TensorProto.FLOAT, ["rows", 8])],
                     inputs=[helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 8])])

    def first_size(self, path):
        return onnx.load(path).graph.input[0].type.tensor_type.shape.dim[0]

    def test_open_sizes_are_judged(self):
        done, report = optimize(self.open_model(), "-o", P / "out.onnx", "--shape", "rows=3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.first_size(P / "out.onnx").dim_param, "rows")
        self.assertRegex(" ".join(report["notes"]),
                         "computes the same from both files at rows=3 and at rows=4 and at rows=6")

    def test_an_open_result_that_does_not_run_is_closed(self):
        folder = P / "picky"
        folder.mkdir()
        workers = str(Path(os.environ["SOURCE_DIR"]) / "workers")
        (folder / "onnxruntime_worker.py").write_text(REFUSES_OPEN_RESULTS.format(workers=workers))
        done, report = optimize(self.open_model(), "-o", P / "out.onnx", "--shape", "rows=3",
                                env={**os.environ, "SOAPSTONE_WORKERS_DIR": str(folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(report["judge"]["equal"])
        self.assertEqual(self.first_size(P / "out.onnx").dim_value, 3)
        self.assertIn("the shape is of no use", " ".join(report["notes"]))

    def test_contrib_operators_need_no_import(self):
        nodes = [helper.make_node("Gelu", ["x"], ["d"], domain="com.microsoft"),
                 helper.make_node("Neg", ["d"], ["e"]), helper.make_node("Neg", ["e"], ["y"])]
        model = dense(P / "gelu.onnx", nodes, [("y", TensorProto.FLOAT, [4, 8])])
        done, report = optimize(model, "-o", P / "out.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not import that domain", done.stderr)
        self.assertTrue(report["judge"]["equal"])
        result = onnx.load(P / "out.onnx")
        self.assertEqual([node.op_type for node in result.graph.node], ["Gelu"])
        self.assertIn(("com.microsoft", 1),
                      [(opset.domain, opset.version) for opset in result.opset_import])


class Tolerance(unittest.TestCase):
    """Optimizations of ONNX Runtime count as equal, in f32 and f16; one weight that is a hundredth
    larger does not."""

    def compare(self, a, b):
        return run("compare-graphs", a, b, "--samples", "8", "--python", PYTHON, timeout=300)


# Where files differ, the whole network is run in double precision by the reference executor, many
# times, to see whether rounding explains it: sizes at which that takes a second or two.
SMALLER = {"squeezenet": {"image": 32}, "inception_v3": {"image": 75, "width_percent": 6},
           "resnet50": {"image": 32, "width": 8},
           "resnext50": {"image": 32, "width": 8, "group_width": 1},
           "bert_base": {"hidden": 96, "seq": 8}, "nasrnn": {}}


def add_network(name):
    def test(self):
        networks.build(name, P / f"{name}.built.onnx")
        model = with_weights(P / f"{name}.built.onnx", P / f"{name}.onnx", 1)
        better = optimized_by_runtime(model, P / f"{name}.ort.onnx")
        done = self.compare(model, better)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        networks.build(name, P / f"{name}.small.onnx", **SMALLER[name])
        right = with_weights(P / f"{name}.small.onnx", P / f"{name}.right.onnx", 1)
        wrong = with_weights(P / f"{name}.small.onnx", P / f"{name}.wrong.onnx", 1.01)
        done = self.compare(right, wrong)
        self.assertEqual(done.returncode, 6, done.stdout + done.stderr)

    setattr(Tolerance, f"test_{name}", test)


def add_half_network(name):
    def test(self):
        networks.build(name, P / f"{name}.built.onnx")
        single = with_weights(P / f"{name}.built.onnx", P / f"{name}.single.onnx", 1)
        model = to_half(single, P / f"{name}.half.onnx")
        better = optimized_by_runtime(model, P / f"{name}.half.ort.onnx")
        done = self.compare(model, better)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    setattr(Tolerance, f"test_{name}_in_f16", test)


for network in networks.NETWORKS:
    add_network(network)
for network in ["squeezenet", "nasrnn"]:
    add_half_network(network)

if __name__ == "__main__":
    unittest.main()

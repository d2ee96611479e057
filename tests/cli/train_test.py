"""train-graph: what a step computes, what its file says, and what is refused."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import commands
from commands import run
from training_steps import Step

RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 5)).astype(np.float32)
W = RNG.standard_normal((5, 4)).astype(np.float32)
B = RNG.standard_normal(4).astype(np.float32)
LABELS = RNG.integers(0, 4, 6)
TARGET = RNG.standard_normal((6, 4)).astype(np.float32)


def model(path, nodes, weights, shape=(6, 5), opset=17, result="y", kind=TensorProto.FLOAT,
          domains=(), sizes=None):
    graph = helper.make_graph(
        nodes, "trained", [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    made = helper.make_model(graph, opset_imports=[
        helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)])
    made.ir_version = 8
    onnx.save(made, path)
    return path


def linear():
    return [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "scores")]


def softmax(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def cross_entropy(w, b):
    """Loss and gradients of the linear model."""
    p = softmax(X.astype(np.float64) @ w + b)
    loss = -np.log(p[np.arange(6), LABELS]).mean()
    p[np.arange(6), LABELS] -= 1
    return loss, X.T @ p / 6, p.sum(0) / 6


def squared(w, b):
    error = X.astype(np.float64) @ w + b - TARGET
    return (error ** 2).mean(), X.T @ error * 2 / error.size, error.sum(0) * 2 / error.size


class Sgd:
    def __init__(self, rate, decay=0.0):
        self.rate, self.decay = rate, decay

    def __call__(self, _, w, g):
        return w - self.rate * (g + self.decay * w)


class Momentum(Sgd):
    def __init__(self, rate, nesterov=False):
        super().__init__(rate)
        self.nesterov, self.v = nesterov, {}

    def __call__(self, name, w, g):
        v = self.v[name] = 0.9 * self.v.get(name, 0) + g
        return w - self.rate * (g + 0.9 * v if self.nesterov else v)


class Adam(Sgd):
    """That of the paper: epsilon is added after the correction."""

    def __init__(self, rate, beta=0.9, shrink=0.0, epsilon=1e-8):
        super().__init__(rate)
        self.beta, self.shrink, self.epsilon, self.m, self.s, self.t = beta, shrink, epsilon, {}, {}, {}

    def __call__(self, name, w, g):
        t = self.t[name] = self.t.get(name, 0) + 1
        m = self.m[name] = self.beta * self.m.get(name, 0) + (1 - self.beta) * g
        s = self.s[name] = 0.999 * self.s.get(name, 0) + 0.001 * g ** 2
        deviation = np.sqrt(s / (1 - 0.999 ** t)) + self.epsilon
        return w * (1 - self.rate * self.shrink) - self.rate / (1 - self.beta ** t) * m / deviation


class Train(unittest.TestCase):
    def setUp(self):
        self.space = commands.Workspace()
        self.addCleanup(self.space.close)
        self.path = self.space.path

    def step(self, file, *options):
        written = self.path / "train.onnx"
        done = run("train-graph", file, "-o", written, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        onnx.checker.check_model(onnx.load(written), full_check=True)
        return Step(written)

    def refused(self, code, text, file, *options):
        written = self.path / "refused.onnx"
        done = run("train-graph", file, "-o", written, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(written.exists())

    def linear(self, **options):
        return model(self.path / "linear.onnx", linear(), {"w": W, "b": B}, **options)

    def test_steps_are_those_of_numpy(self):
        cases = [("cross_entropy", cross_entropy, Sgd(0.5), ["--optimizer", "sgd"]),
                 ("mse", squared, Sgd(0.5), ["--optimizer", "sgd"]),
                 ("mse", squared, Sgd(0.5, 0.3), ["--weight-decay", "0.3"]),
                 ("mse", squared, Momentum(0.1), ["--optimizer", "momentum"]),
                 ("mse", squared, Momentum(0.1, True), ["--optimizer", "momentum", "--nesterov"]),
                 ("cross_entropy", cross_entropy, Adam(0.1), ["--optimizer", "adam"]),
                 ("cross_entropy", cross_entropy, Adam(0.1, 0.5), ["--optimizer", "adam", "--betas",
                                                                 "0.5,0.999"]),
                 ("mse", squared, Adam(0.1, epsilon=0.2), ["--optimizer", "adam", "--epsilon", "0.2"]),
                 ("mse", squared, Adam(0.1, shrink=0.4), ["--optimizer", "adamw", "--weight-decay",
                                                          "0.4"]),
                 ("mse", squared, Adam(0.1, shrink=0.01), ["--optimizer", "adamw"])]
        file = self.linear()
        for loss, gradients, update, options in cases:
            with self.subTest(options=options, loss=loss):
                step = self.step(file, "--loss", loss, *options)
                labels = {"labels": LABELS} if loss == "cross_entropy" else {"target": TARGET}
                w, b = W.astype(np.float64), B.astype(np.float64)
                for _ in range(20):
                    results = step.run({"x": X, **labels}, update.rate)
                    expected, dw, db = gradients(w, b)
                    self.assertAlmostEqual(results["loss"], expected, 4)
                    w, b = update("w", w, dw), update("b", b, db)
                np.testing.assert_allclose(step.kept["w"], w, rtol=0, atol=1e-3)
                np.testing.assert_allclose(step.kept["b"], b, rtol=0, atol=1e-3)

    def test_the_file_says_what_it_is(self):
        step = self.step(self.linear(), "--optimizer", "adam", "--loss", "cross_entropy")
        inputs = {value.name for value in step.model.graph.input}
        states = {f"{name}.{state}_moment" for name in "wb" for state in ("first", "second")}
        self.assertEqual(inputs, {"x", "labels", "learning_rate", "step", "w", "b"} | states)
        self.assertEqual(set(step.outputs), {"loss"} | {f"{n}.updated" for n in {"w", "b"} | states})
        self.assertEqual(step.notes["replaces"], {f"{n}.updated": n for n in {"w", "b"} | states})
        defaults = {t.name: numpy_helper.to_array(t) for t in step.model.graph.initializer
                    if t.name in inputs}
        self.assertEqual(set(defaults), {"step", "w", "b"} | states)
        np.testing.assert_array_equal(defaults["w"], W)
        self.assertEqual(defaults["step"], 1)
        self.assertFalse(any(defaults[name].any() for name in states))
        self.assertEqual({node.domain for node in step.model.graph.node}, {""})
        results = step.session.run(None, {"x": X, "labels": LABELS, "learning_rate": np.array(1, np.float32)})
        self.assertAlmostEqual(results[0], cross_entropy(W, B)[0], 4)

    def test_names_that_are_taken_get_a_number(self):
        nodes = [helper.make_node("MatMul", ["x", "learning_rate"], ["loss"]),
                 helper.make_node("Relu", ["loss"], ["learning_rate.updated"])]
        file = model(self.path / "names.onnx", nodes, {"learning_rate": W},
                     result="learning_rate.updated")
        step = self.step(file, "--loss", "mse")
        self.assertEqual(step.notes["learning_rate"], "learning_rate_1")
        self.assertEqual(set(step.notes["replaces"].values()), {"learning_rate"})
        before = step.run({"x": X, "target": TARGET}, 0.1)[step.notes["loss"]]
        self.assertLess(step.run({"x": X, "target": TARGET}, 0.1)[step.notes["loss"]], before)

    def test_frozen_weights_stay(self):
        step = self.step(self.linear(), "--freeze", "b*", "--loss", "mse")
        self.assertEqual(step.notes["replaces"], {"w.updated": "w"})
        self.refused(2, "nothing that can be trained is called 'c'", self.linear(), "--freeze", "c")

    def test_inputs_may_be_weights(self):
        step = self.step(self.linear(), "--weight", "x", "--freeze", "[wb]", "--loss", "mse")
        self.assertEqual(step.notes["replaces"], {"x.updated": "x"})
        error = X @ W + B - TARGET
        results = step.run({"x": X, "target": TARGET}, 0.5)
        np.testing.assert_allclose(results["x.updated"], X - 0.5 * 2 / error.size * error @ W.T,
                                   atol=1e-5)
        file = model(self.path / "bare.onnx", [helper.make_node("Relu", ["x"], ["y"])], {})
        self.refused(3, "it has no initializers with floating-point elements", file)
        self.refused(2, "--weight: nothing that can be trained", file, "--weight", "z")

    def test_an_output_may_be_the_loss(self):
        nodes = linear() + [helper.make_node("ReduceMean", ["y"], ["mean"], keepdims=0)]
        file = model(self.path / "scalar.onnx", nodes, {"w": W, "b": B}, result="mean")
        step = self.step(file)
        self.assertNotIn("labels", step.notes)
        results = step.run({"x": X}, 1.0)
        np.testing.assert_allclose(results["b.updated"], B - 0.25, atol=1e-6)

    def test_batch_norm_trains_on_the_batch(self):
        channels = {name: RNG.uniform(0.5, 1, 5).astype(np.float32) for name in "smv"}
        nodes = [helper.make_node("BatchNormalization", ["x", "s", "o", "m", "v"], ["n"], "norm",
                                  momentum=0.7),
                 helper.make_node("MatMul", ["n", "w"], ["y"])]
        weights = {**channels, "o": np.zeros(5, np.float32), "w": W}
        step = self.step(model(self.path / "norm.onnx", nodes, weights), "--loss", "mse")
        results = step.run({"x": X, "target": TARGET}, 0.1)
        normal = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5) * channels["s"]
        self.assertAlmostEqual(results["loss"], ((normal @ W - TARGET) ** 2).mean(), 5)
        np.testing.assert_allclose(results["m.updated"], 0.7 * channels["m"] + 0.3 * X.mean(0),
                                   atol=1e-6)
        np.testing.assert_allclose(results["v.updated"], 0.7 * channels["v"] + 0.3 * X.var(0),
                                   atol=1e-6)

    def test_dropout_is_refused_unless_it_is_dropped(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("Dropout", ["h"], ["y"], "drops")]
        file = model(self.path / "dropout.onnx", nodes, {"w": W})
        self.refused(4, "'drops' (Dropout)", file)
        self.refused(4, "--drop-dropout", file)
        training = [nodes[0], helper.make_node("Dropout", ["h", "r", "t"], ["y"], "drops")]
        flags = {"r": np.array(0.5, np.float32), "t": np.array(True)}
        self.refused(4, "; Dropout: ", model(self.path / "on.onnx", training, {"w": W, **flags}),
                     "--drop-dropout", "--loss", "mse")
        step = self.step(file, "--drop-dropout", "--loss", "mse")
        self.assertAlmostEqual(step.run({"x": X, "target": TARGET}, 0.1)["loss"],
                               ((X @ W - TARGET) ** 2).mean(), 4)

    def test_models_of_old_opsets_are_written_in_17(self):
        nodes = [helper.make_node("Unsqueeze", ["x"], ["u"], axes=[0]),
                 helper.make_node("MatMul", ["u", "w"], ["y"])]
        file = model(self.path / "old.onnx", nodes, {"w": W}, opset=9)
        step = self.step(file, "--loss", "mse")
        self.assertEqual(step.model.opset_import[0].version, 17)
        loss = step.run({"x": X, "target": TARGET[None]}, 0.1)["loss"]
        self.assertAlmostEqual(loss, ((X @ W - TARGET) ** 2).mean(), 4)

    def test_what_cannot_be_differentiated_is_named(self):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("Secret", ["h"], ["s"], "secret", domain="mine"),
                 helper.make_node("Relu", ["s"], ["y"])]
        graph = model(self.path / "secret.onnx", nodes, {"w": W}, domains=["mine"], sizes=(6, 4))
        self.refused(4, "secret", graph, "--loss", "mse")
        self.refused(4, "secret.onnx", graph, "--loss", "mse")

    def test_a_batch_that_a_node_does_not_allow_is_explained(self):
        shape = np.array([6, 4], np.int64)
        nodes = [*linear(), helper.make_node("Reshape", ["y", "shape"], ["z"], "fixed")]
        file = model(self.path / "fixed.onnx", nodes, {"w": W, "b": B, "shape": shape}, shape=(1, 5),
                     result="z", sizes=(6, 4))
        self.refused(4, "'fixed'", file, "--batch", "3", "--loss", "mse")
        self.refused(4, "; Reshape: ", file, "--batch", "3", "--loss", "mse")

    def test_wrong_requests_are_refused(self):
        file = self.linear()
        self.refused(2, "this optimizer has no --momentum", file, "--momentum", "0.5")
        self.refused(2, "it has --betas, --epsilon", file, "--optimizer", "adam", "--nesterov")
        self.refused(2, "this optimizer has no --betas", file, "--betas", "0.5,0.5")
        for betas in ("0.5", "0.5,1", "0.5,0.5,0.5", "a,b", "0.5,-1"):
            self.refused(2, f"--betas: '{betas}' is not two shares", file, "--optimizer", "adam",
                         "--betas", betas)
        self.refused(2, "--shape is for files", "mlp", "--shape", "x=2")
        self.refused(2, "--set is for built-in networks", file, "--set", "batch=2")
        self.refused(3, "no output is a floating-point scalar", file, "--loss", "output")
        self.refused(3, "there is no model 'mpl'", "mpl")
        self.refused(3, "input 'x'", model(self.path / "open.onnx", linear(),
                                                     {"w": W, "b": B}, shape=("n", 5)))
        nodes = [helper.make_node("Floor", ["x"], ["f"]), helper.make_node("Relu", ["f"], ["y"])]
        self.refused(3, "the loss depends on no weight", model(self.path / "none.onnx", nodes, {}),
                     "--weight", "x", "--loss", "mse")
        broken = self.space.write("broken.onnx", b"not a model")
        self.refused(3, "broken.onnx", broken)
        self.assertEqual(run("train-graph", file).returncode, 2)

    def test_reports(self):
        done = run("train-graph", self.linear(), "-o", self.path / "r.onnx", "--json", "-", "--loss",
                   "mse", "--optimizer", "momentum")
        report = json.loads(done.stdout)
        self.assertEqual((report["weights"], report["parameters"]), (2, 24))
        self.assertEqual(report["data"], ["x"])
        self.assertEqual((report["labels"], report["step"]), ("target", "step"))
        self.assertGreater(report["gradients_by_law"], 0)
        text = run("train-graph", self.linear(), "-o", self.path / "r.onnx", "--loss", "mse").stdout
        self.assertIn("feed       x, target, learning_rate", text)

    def test_optimize_graph_takes_a_step(self):
        self.step(self.linear(), "--loss", "mse", "--optimizer", "adam")
        faster = self.path / "faster.onnx"
        done = run("optimize-graph", self.path / "train.onnx", "-o", faster, "--effort", "1",
                   "--measure-time", "1", "--cost-db", "none", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = Step(self.path / "train.onnx"), Step(faster)
        for _ in range(3):
            data = {"x": X, "target": TARGET}
            self.assertAlmostEqual(first.run(data, 0.1)["loss"], second.run(data, 0.1)["loss"], 5)


if __name__ == "__main__":
    unittest.main()

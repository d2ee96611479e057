"""The graphs inside If, Loop and Scan: optimized as models of their own, put back, and judged here by
ONNX Runtime on inputs of our own."""

import json
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
QUICK = ["--costs", "roofline", "--budget", "200", "--time", "0", "--python", sys.executable]
# The rule that makes two_products() one. Each graph inside a node is a job of its own, which reads
# the rules: all of them only where one of the others might do harm, or is needed.
ONE_RULE = ["--only", "factor_lhs_out_of_sum"]
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RANDOM = np.random.default_rng(0)


def floats(name, *shape):
    return numpy_helper.from_array(RANDOM.standard_normal(shape).astype(np.float32), name)


def value(name, kind=F, shape=(4, 8)):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, name="", **attributes):
    return helper.make_node(op, inputs, outputs, name, **attributes)


def two_products(x, prefix, result):
    """Nodes that the search makes one product: two of the same tensor, and their sum."""
    a, b, both = prefix + "a", prefix + "b", prefix + "ab"
    return [node("MatMul", [x, prefix + "v"], [a]), node("MatMul", [x, prefix + "w"], [b]),
            node("Add", [a, b], [both]), node("Tanh", [both], [result])]


def product_weights(prefix, n=8):
    return [floats(prefix + "v", n, n), floats(prefix + "w", n, n)]


def save(name, nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(nodes, "outer", inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, P / name)
    return P / name


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def bodies_of(path):
    """The graphs inside the nodes of the file's graph, by node and attribute."""
    return {f"{n.name}.{a.name}": a.g for n in onnx.load(path).graph.node for a in n.attribute
            if a.HasField("g")}


def improved_by_branch(report):
    return {b["body"][:4]: b["improved"] for b in report["bodies"] if ", in " not in b["body"]}


def types(graph):
    return [n.op_type for n in graph.node]


def defined(graph):
    names = [w.name for w in graph.initializer] + [o for n in graph.node for o in n.output if o]
    return names


class Bodies(unittest.TestCase):
    def optimize(self, model, *arguments, rules=ONE_RULE):
        result = P / "result.onnx"
        result.unlink(missing_ok=True)
        done = run("optimize-graph", model, "-o", result, *QUICK, *rules, *arguments, "--json",
                   P / "r.json", timeout=400)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        onnx.checker.check_model(onnx.load(result), full_check=True)
        self.scopes_do_not_clash(onnx.load(result).graph, set())
        return result, json.loads((P / "r.json").read_text())

    def scopes_do_not_clash(self, graph, outside):
        own = {v.name for v in graph.input} | set(defined(graph))
        self.assertFalse(own & outside)
        for inner in graph.node:
            for attribute in inner.attribute:
                if attribute.HasField("g"):
                    self.scopes_do_not_clash(attribute.g, own | outside)

    def same(self, before, after, *feeds):
        a, b = session(before), session(after)
        for feed in feeds:
            for wanted, got in zip(a.run(None, feed), b.run(None, feed)):
                np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4)

    def improved(self, report):
        self.assertTrue(all(b["improved"] for b in report["bodies"]), report["bodies"])
        self.assertEqual(report["outcome"], "improved")
        self.assertLess(report["cost_after_us"], report["cost_before_us"])

    @staticmethod
    def draw(*shape):
        return RANDOM.standard_normal(shape).astype(np.float32)

    # --- If -----------------------------------------------------------------------------------

    def data_dependent_if(self, name, before="Relu"):
        """Which branch is taken hangs on the sum of x. One weight of the outer graph is read by both."""
        then = helper.make_graph(
            [*two_products("h", "t", "ts"), node("MatMul", ["ts", "shared"], ["ty"])], "then", [],
            [value("ty")], product_weights("t"))
        other = helper.make_graph(
            [*two_products("h", "e", "es"), node("MatMul", ["es", "shared"], ["ey"])], "else", [],
            [value("ey")], product_weights("e"))
        return save(name, [node(before, ["x"], ["h"]),
                           node("ReduceSum", ["x"], ["total"], keepdims=0),
                           node("Greater", ["total", "zero"], ["positive"]),
                           node("If", ["positive"], ["y"], "choose", then_branch=then,
                                else_branch=other)],
                    [value("x")], [value("y")],
                    [numpy_helper.from_array(np.float32(0), "zero"), floats("shared", 8, 8)])

    def test_what_overflows_otherwise_in_a_body_is_no_difference(self):
        """(x·A)·B becomes x·(A·B), which overflows at other inputs, as the rule says of itself."""
        random = np.random.default_rng(1)

        def branch(prefix):
            weights = [numpy_helper.from_array((size * random.standard_normal((8, 8))).astype(np.float32), prefix + name)
                       for name, size in [("v", 1000), ("w", 0.001)]]
            return helper.make_graph(
                [node("MatMul", ["h", prefix + "v"], [prefix + "t"]),
                 node("MatMul", [prefix + "t", prefix + "w"], [prefix + "y"])], prefix, [],
                [value(prefix + "y")], weights)
        model = save("overflow.onnx", [node("Relu", ["x"], ["h"]),
                                       node("ReduceSum", ["x"], ["total"], keepdims=0),
                                       node("Greater", ["total", "zero"], ["positive"]),
                                       node("If", ["positive"], ["y"], "choose", then_branch=branch("t"),
                                            else_branch=branch("e"))],
                     [value("x")], [value("y")], [numpy_helper.from_array(np.float32(0), "zero")])
        result, report = self.optimize(model, rules=["--only", "associate_matmuls_right"])
        self.improved(report)
        x = random.standard_normal((4, 8)).astype(np.float32)
        self.same(model, result, {"x": x}, {"x": -np.abs(x)})

    def test_what_changes_in_bodies_is_explained_and_traced(self):
        trace, text = P / "bodies.trace", P / "bodies.txt"
        _, report = self.optimize(self.data_dependent_if("explained.onnx"), f"--explain={text}", "--trace", trace)
        names = {b["body"] for b in report["bodies"]}
        self.assertEqual({b["body"] for b in report["explanation"]["bodies"]}, names)
        for body in report["explanation"]["bodies"]:
            rules = [rule["rule"] for change in body["changes"] for rule in change["rules"]]
            self.assertEqual(rules, ["factor_lhs_out_of_sum"])
        for name in names:
            self.assertIn(f"in the {name}", text.read_text())
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        for name in names:
            own = [event["event"] for event in events if event.get("body") == name]
            self.assertEqual((own[0], own[-1], own.count("application") > 0), ("run", "end", True))
        around = [event["event"] for event in events if "body" not in event]
        self.assertEqual((around[0], around[-1]), ("run", "end"))

    def test_both_branches_of_a_condition_on_data(self):
        model = self.data_dependent_if("if.onnx")
        result, report = self.optimize(model, rules=())
        self.assertEqual({b["body"] for b in report["bodies"]},
                         {"then_branch of node 'choose' (If)", "else_branch of node 'choose' (If)"})
        self.improved(report)
        self.assertTrue(report["judge"]["equal"])
        self.assertTrue(report["equivalence"]["equal"])
        for body in bodies_of(result).values():
            self.assertEqual(types(body).count("MatMul"), 2)  # 3 before
            self.assertNotIn("shared", defined(body))  # read from outside, as before
        x = abs(self.draw(4, 8))
        self.same(model, result, {"x": x}, {"x": -x})
        self.assertIn("with better bodies", run("optimize-graph", model, "-o", result, *QUICK,
                                                *ONE_RULE).stdout)

    def test_a_branch_that_cannot_be_better_stays(self):
        then = helper.make_graph(two_products("x", "t", "ty"), "then", [], [value("ty")],
                                 product_weights("t"))
        other = helper.make_graph([node("Relu", ["x"], ["ey"])], "else", [], [value("ey")])
        model = save("one.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                       else_branch=other)],
                     [value("x"), value("c", B, ())], [value("y")])
        result, report = self.optimize(model)
        self.assertEqual(improved_by_branch(report), {"then": True, "else": False})
        self.assertIn("it has fewer than two operators", [b["reason"] for b in report["bodies"]])
        self.assertEqual(bodies_of(result)["choose.else_branch"], other)
        x = self.draw(4, 8)
        self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    def test_if_in_if(self):
        inner_then = helper.make_graph(two_products("x", "t", "ty"), "then", [], [value("ty")],
                                       product_weights("t"))
        inner_else = helper.make_graph(two_products("h", "f", "fy"), "else", [], [value("fy")],
                                       product_weights("f"))
        then = helper.make_graph(
            [node("Relu", ["x"], ["h"]),
             node("If", ["d"], ["iy"], "inner", then_branch=inner_then, else_branch=inner_else)],
            "outer_then", [], [value("iy")])
        other = helper.make_graph(two_products("x", "e", "ey"), "outer_else", [], [value("ey")],
                                  product_weights("e"))
        model = save("nested.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                          else_branch=other)],
                     [value("x"), value("c", B, ()), value("d", B, ())], [value("y")])
        result, report = self.optimize(model)
        self.assertEqual(len(report["bodies"]), 4)
        self.assertIn("then_branch of node 'inner' (If), in then_branch of node 'choose' (If)",
                      [b["body"] for b in report["bodies"]])
        self.improved(report)
        x = self.draw(4, 8)
        self.same(model, result, *({"x": x, "c": np.array(c), "d": np.array(d)}
                                   for c in (True, False) for d in (True, False)))

    def test_a_branch_with_a_convolution_and_a_norm(self):
        channels = value("ty", F, (1, 4, 6, 6))
        nodes = [node("Conv", ["x", "k"], ["c1"], pads=[1, 1, 1, 1]),
                 node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n"]),
                 node("Relu", ["n"], ["ty"])]
        numbers = np.random.default_rng(3)
        weights = [floats("k", 4, 3, 3, 3), floats("s", 4), floats("b", 4), floats("m", 4),
                   numpy_helper.from_array(numbers.uniform(0.5, 1.5, 4).astype(np.float32), "v")]
        then = helper.make_graph(nodes, "then", [], [channels], weights)
        other = helper.make_graph([node("Conv", ["x", "k2"], ["ey"], pads=[1, 1, 1, 1])], "else", [],
                                  [value("ey", F, (1, 4, 6, 6))], [floats("k2", 4, 3, 3, 3)])
        model = save("conv.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                        else_branch=other)],
                     [value("x", F, (1, 3, 6, 6)), value("c", B, ())],
                     [value("y", F, (1, 4, 6, 6))])
        result, report = self.optimize(model)
        self.assertEqual(improved_by_branch(report), {"then": True, "else": False})
        self.assertNotIn("BatchNormalization", types(bodies_of(result)["choose.then_branch"]))
        x = self.draw(1, 3, 6, 6)
        self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    def test_branches_without_work_of_their_own(self):
        """One hands a tensor of the outer graph on, the other a weight."""
        then = helper.make_graph([node("Identity", ["h"], ["ty"])], "then", [], [value("ty")])
        other = helper.make_graph([], "else", [], [value("k")], [floats("k", 4, 8)])
        model = save("empty.onnx", [*two_products("x", "o", "h"),
                                    node("If", ["c"], ["y"], "choose", then_branch=then,
                                         else_branch=other)],
                     [value("x"), value("c", B, ())], [value("y")], product_weights("o"))
        result, report = self.optimize(model)
        self.assertEqual(improved_by_branch(report), {"then": False, "else": False})
        self.assertEqual({b["reason"] for b in report["bodies"]}, {"it has fewer than two operators"})
        x = self.draw(4, 8)
        self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    # --- Loop ---------------------------------------------------------------------------------

    def loop(self, name, body_nodes, body_weights, trips="trips", outputs=("h", "t"), more=(),
             state_shape=(4, 8), inputs=(), state_result=(4, 8)):
        """`h` and `t` of the body: the next state, and what is stacked."""
        body = helper.make_graph(
            [*body_nodes, node("Identity", ["go"], ["still"])], "body",
            [value("i", I, ()), value("go", B, ()), helper.make_tensor_value_info("s", F, None)],
            [value("still", B, ()), *(helper.make_tensor_value_info(o, F, None) for o in outputs)],
            body_weights)
        results = ["final", "stacked"][:len(outputs)]
        values = [value("final", F, state_result), value("stacked", F, (None, 4, 8))][:len(outputs)]
        return save(name, [node("Loop", [trips, "", "x"], results, "repeat", body=body)],
                    [value("x", F, state_shape), *inputs], values, more)

    def test_loop_with_a_state_and_stacked_results(self):
        model = self.loop("loop.onnx", [*two_products("s", "l", "h"), node("Neg", ["h"], ["t"])],
                          product_weights("l"),
                          more=[numpy_helper.from_array(np.int64(3), "trips")])
        result, report = self.optimize(model)
        self.improved(report)
        body, = report["bodies"]
        self.assertEqual(body["runs"], 3)
        saved = 3 * (body["cost_before_us"] - body["cost_after_us"])
        self.assertAlmostEqual(report["cost_before_us"] - report["cost_after_us"], saved, places=3)
        self.assertEqual(types(bodies_of(result)["repeat.body"]).count("MatMul"), 1)
        self.same(model, result, {"x": self.draw(4, 8)})

    def test_loop_whose_trips_are_an_input(self):
        model = self.loop("trips.onnx", [*two_products("s", "l", "h"), node("Neg", ["h"], ["t"])],
                          product_weights("l"), inputs=[value("trips", I, ())])
        result, report = self.optimize(model)
        self.improved(report)
        self.assertEqual(report["bodies"][0]["runs"], 1)
        x = self.draw(4, 8)
        self.same(model, result, *({"x": x, "trips": np.array(n)} for n in (1, 2, 5)))

    def test_a_state_that_grows_leaves_its_size_open(self):
        """Each iteration appends a row: what is found has to hold for any number of rows."""
        nodes = [*two_products("s", "l", "p"), node("ReduceMean", ["p"], ["m"], axes=[0]),
                 node("Concat", ["p", "m"], ["h"], axis=0)]
        model = self.loop("grows.onnx", nodes, product_weights("l"), outputs=("h",),
                          more=[numpy_helper.from_array(np.int64(3), "trips")], state_result=(None, 8))
        result, report = self.optimize(model)
        body, = report["bodies"]
        if not body["improved"]:
            self.assertIn("size", body["reason"])
        self.same(model, result, {"x": self.draw(4, 8)})
        self.assertEqual(session(result).run(None, {"x": self.draw(4, 8)})[0].shape, (7, 8))

    def test_a_state_that_something_is_added_to(self):
        """h + f(h) stays ordinary; 2·h does not, and may be infinite where tanh makes it finite."""
        added = self.loop("added.onnx", [*two_products("s", "l", "f"), node("Add", ["s", "f"], ["h"])],
                          product_weights("l"), outputs=("h",),
                          more=[numpy_helper.from_array(np.int64(3), "trips")])
        result, report = self.optimize(added)
        self.improved(report)
        self.same(added, result, {"x": self.draw(4, 8)})
        doubled = self.loop("doubled.onnx",
                            [*two_products("s", "l", "t"), node("Add", ["s", "s"], ["h"])],
                            product_weights("l"),
                            more=[numpy_helper.from_array(np.int64(3), "trips")])
        result, report = self.optimize(doubled, rules=())
        self.assertEqual(report["bodies"][0]["reason"], "no faster graph found")
        self.same(doubled, result, {"x": self.draw(4, 8)})

    def test_a_body_that_hands_its_input_on(self):
        model = self.loop("through.onnx", two_products("s", "l", "t"), product_weights("l"),
                          outputs=("s", "t"),
                          more=[numpy_helper.from_array(np.int64(2), "trips")])
        result, report = self.optimize(model)
        self.improved(report)
        self.same(model, result, {"x": self.draw(4, 8)})

    def test_a_body_with_one_tensor_as_two_results(self):
        model = self.loop("twice.onnx", two_products("s", "l", "h"), product_weights("l"),
                          outputs=("h", "h"),
                          more=[numpy_helper.from_array(np.int64(3), "trips")])
        result, report = self.optimize(model)
        self.improved(report)
        self.same(model, result, {"x": self.draw(4, 8)})

    def test_a_loop_in_a_branch(self):
        body = helper.make_graph(
            [*two_products("s", "l", "h"), node("Identity", ["go"], ["still"])], "body",
            [value("i", I, ()), value("go", B, ()), value("s")],
            [value("still", B, ()), value("h")], product_weights("l"))
        then = helper.make_graph([node("Loop", ["trips", "", "x"], ["ty"], "repeat", body=body)],
                                 "then", [], [value("ty")])
        other = helper.make_graph([node("Relu", ["x"], ["ey"])], "else", [], [value("ey")])
        model = save("loop_in_if.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                              else_branch=other)],
                     [value("x"), value("c", B, ())], [value("y")],
                     [numpy_helper.from_array(np.int64(2), "trips")])
        result, report = self.optimize(model)
        self.assertEqual(improved_by_branch(report), {"then": True, "else": False})
        self.assertIn((2, True), [(b["runs"], b["improved"]) for b in report["bodies"]])
        x = self.draw(4, 8)
        self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    # --- Scan ---------------------------------------------------------------------------------

    def test_scan_with_several_states(self):
        """Two states, slices of two inputs, one from the end; a weight and a tensor from outside."""
        body = helper.make_graph(
            [node("Concat", ["p", "u"], ["pu"], axis=1), *two_products("pu", "s", "n"),
             node("MatMul", ["n", "down"], ["d"]), node("Add", ["d", "outer"], ["np"]),
             node("Mul", ["q", "z"], ["nq"]), node("Sub", ["np", "nq"], ["r"])], "body",
            [value("p", F, (2, 4)), value("q", F, (2, 4)), value("u", F, (2, 4)),
             value("z", F, (2, 4))],
            [value("np", F, (2, 4)), value("nq", F, (2, 4)), value("r", F, (2, 4))],
            product_weights("s"))
        model = save("scan.onnx",
                     [node("Relu", ["p0"], ["outer"]),
                      node("Scan", ["p0", "q0", "us", "zs"], ["pn", "qn", "rs"], "walk", body=body,
                           num_scan_inputs=2, scan_input_axes=[0, 1],
                           scan_input_directions=[0, 1])],
                     [value("p0", F, (2, 4)), value("q0", F, (2, 4)), value("us", F, (5, 2, 4)),
                      value("zs", F, (2, 5, 4))],
                     [value("pn", F, (2, 4)), value("qn", F, (2, 4)), value("rs", F, (5, 2, 4))],
                     [floats("down", 8, 4)])
        result, report = self.optimize(model)
        self.improved(report)
        self.assertEqual(report["bodies"][0]["runs"], 5)
        self.same(model, result, {"p0": self.draw(2, 4), "q0": self.draw(2, 4),
                                  "us": self.draw(5, 2, 4), "zs": self.draw(2, 5, 4)})

    # --- Sizes, names, special values ---------------------------------------------------------

    def test_open_sizes_stay_open(self):
        then = helper.make_graph(two_products("x", "t", "ty"), "then", [], [value("ty", F, ("N", 8))],
                                 product_weights("t"))
        other = helper.make_graph(two_products("x", "e", "ey"), "else", [],
                                  [value("ey", F, ("N", 8))], product_weights("e"))
        model = save("open.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                        else_branch=other)],
                     [value("x", F, ("N", 8)), value("c", B, ())], [value("y", F, ("N", 8))])
        result, report = self.optimize(model, "--shape", "N=4")
        self.improved(report)
        for n in (1, 4, 7):
            x = self.draw(n, 8)
            self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    def test_new_names_clash_with_none_outside(self):
        """Tensors of the outer graph have the names that the result of the body would like to use."""
        model = self.data_dependent_if("names.onnx")
        result, _ = self.optimize(model)
        fresh = {n for body in bodies_of(result).values() for n in defined(body)}
        loaded = onnx.load(model)
        old = {n for a in loaded.graph.node[-1].attribute for n in defined(a.g)}
        last = "h"
        for name in sorted(fresh - old):
            loaded.graph.node.insert(1, node("Identity", ["h"], [name]))
            last = name
        loaded.graph.node.append(node("Add", ["y", last], ["shifted"]))
        loaded.graph.output[0].name = "shifted"
        onnx.save(loaded, model)
        result, report = self.optimize(model)
        self.improved(report)
        x = self.draw(4, 8)
        self.same(model, result, {"x": x}, {"x": -x})

    def test_a_tensor_that_may_be_infinite_may_be_so_in_a_branch(self):
        """exp(x) reaches tanh, which makes ∞ finite: x·v + x·w may be NaN there, and x·(v + w) not."""
        _, report = self.optimize(self.data_dependent_if("infinite.onnx", before="Exp"), rules=())
        self.assertFalse(any(b["improved"] for b in report["bodies"]), report["bodies"])
        _, report = self.optimize(self.data_dependent_if("finite.onnx", before="Tanh"))
        self.improved(report)

    def test_nan_that_the_outer_graph_clears_stays(self):
        """x/b times w in a branch; outside, what is no number becomes 0."""
        then = helper.make_graph(
            [node("Div", ["x", "b"], ["q"]), node("Mul", ["q", "zero"], ["n"]),
             node("Add", ["n", "x"], ["ty"])], "then", [], [value("ty")])
        other = helper.make_graph(two_products("x", "e", "ey"), "else", [], [value("ey")],
                                  product_weights("e"))
        model = save("nan.onnx",
                     [node("If", ["c"], ["m"], "choose", then_branch=then, else_branch=other),
                      node("IsNaN", ["m"], ["lost"]), node("Where", ["lost", "one", "m"], ["y"])],
                     [value("x"), value("b"), value("c", B, ())], [value("y")],
                     [numpy_helper.from_array(np.float32(0), "zero"),
                      numpy_helper.from_array(np.float32(1), "one")])
        result, _ = self.optimize(model, rules=())
        x, b = self.draw(4, 8), self.draw(4, 8)
        b[0] = 0
        self.same(model, result, {"x": x, "b": b, "c": np.array(True)},
                  {"x": x, "b": b, "c": np.array(False)})

    def test_weights_outside_that_nobody_reads_any_more_are_gone(self):
        """Both factors belong to the outer graph; v + w is made once, in the branch."""
        then = helper.make_graph(two_products("x", "t", "ty"), "then", [], [value("ty")])
        other = helper.make_graph([node("MatMul", ["x", "tw"], ["ey"])], "else", [], [value("ey")])
        model = save("outside.onnx", [node("If", ["c"], ["y"], "choose", then_branch=then,
                                           else_branch=other)],
                     [value("x"), value("c", B, ())], [value("y")], product_weights("t"))
        result, report = self.optimize(model)
        self.assertEqual(improved_by_branch(report), {"then": True, "else": False})
        self.assertEqual([w.name for w in onnx.load(result).graph.initializer], ["tw"])
        x = self.draw(4, 8)
        self.same(model, result, {"x": x, "c": np.array(True)}, {"x": x, "c": np.array(False)})

    # --- What keeps bodies as they are --------------------------------------------------------

    def test_without_a_runtime_bodies_stay(self):
        model = self.data_dependent_if("alone.onnx")
        result, report = self.optimize(model, "--judge", "none")
        self.assertFalse(any(b["improved"] for b in report["bodies"]))
        self.assertIn("--allow-unchecked", report["bodies"][0]["reason"])
        self.assertEqual(bodies_of(result), bodies_of(model))
        result, report = self.optimize(model, "--judge", "none", "--allow-unchecked")
        self.improved(report)
        x = abs(self.draw(4, 8))
        self.same(model, result, {"x": x}, {"x": -x})

    def test_a_proof_has_no_room_for_bodies(self):
        model = self.data_dependent_if("proof.onnx")
        result, report = self.optimize(model, "--proof", P / "steps")
        self.assertIn("proof", report["bodies"][0]["reason"])
        self.assertEqual(bodies_of(result), bodies_of(model))

    def test_a_dry_run_writes_nothing_and_tells(self):
        model = self.data_dependent_if("dry.onnx")
        done = run("optimize-graph", model, "--dry-run", *QUICK, *ONE_RULE, "--json", P / "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((P / "r.json").read_text())
        self.improved(report)
        self.assertIsNone(report["output"])
        self.assertIn("bodies, each as a model of its own", done.stdout)


def tearDownModule():
    SPACE.close()


if __name__ == "__main__":
    unittest.main()

"""Random graphs as branches of If and bodies of Loop and Scan, also in each other: optimize-graph works
on them without its own judge, and ONNX Runtime says here whether the results compute the same.

  python body_fuzz.py --models 1000 --seed 0 [--seconds S]

The exit code is 0 if nothing was found."""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import fuzz_command
import model_judge
import node_templates
from differential_fuzz import sanitizers
from model_judge import JUMPS, Judge, Verdict
from random_models import FLOATS, LETTER, Model, ModelBuilder, Unfit

BIN = Path(os.environ.get("BIN_DIR", Path(__file__).parents[3] / "build" / "bin"))
SEARCH = ["--costs", "roofline", "--budget", "60", "--patience", "8", "--verify", "2", "--judge",
          "none", "--allow-unchecked"]
# Differences that a label may explain: a rule said that it makes finite what was not.
EXPLAINED = {"precision", "finite"}


def renamed(graph, prefix):
    """A copy of the graph whose own tensors have the prefix; its inputs are captured."""
    outside = {v.name for v in graph.input}
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    new = lambda name: name if not name or name in outside else prefix + name  # noqa: E731
    for node in copy.node:
        node.name = node.name and prefix + node.name
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                attribute.g.CopyFrom(renamed_inside(attribute.g, new))
    for value in [*copy.initializer, *copy.output]:
        value.name = new(value.name)
    return copy


def renamed_inside(graph, new):
    """A nested graph: all that it reads and makes comes from names of the same kind."""
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    for node in copy.node:
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                attribute.g.CopyFrom(renamed_inside(attribute.g, new))
    for value in [*copy.input, *copy.initializer, *copy.output]:
        value.name = new(value.name)
    return copy


def dims(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def kind(value):
    return value.type.tensor_type.elem_type


class Wrapping:
    """Makes a model of a drawn one: all of its nodes stand in a body."""

    def __init__(self, model, seed):
        self.random = random.Random(seed)
        self.inner = model
        self.graph = model.proto.graph
        self.nodes, self.inputs, self.outputs, self.weights = [], [*self.graph.input], [], []
        self.ranges = dict(model.ranges)

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def move_weights_out(self, body):
        """Some weights of the body belong to the graph around it."""
        kept = []
        for weight in body.initializer:
            (self.weights if self.random.random() < 0.4 else kept).append(weight)
        del body.initializer[:]
        body.initializer.extend(kept)

    def condition(self):
        """An input, or something that hangs on the data."""
        floats = [v for v in self.graph.input if kind(v) == TensorProto.FLOAT]
        if not floats or self.random.random() < 0.4:
            self.inputs.append(helper.make_tensor_value_info("flag", TensorProto.BOOL, []))
            return "flag"
        self.nodes += [helper.make_node("Flatten", [self.random.choice(floats).name], ["flat"],
                                        axis=0),
                       helper.make_node("ReduceMax", ["flat"], ["most"], keepdims=0),
                       helper.make_node("Greater", ["most", self.weight("limit", np.float32(0.5))],
                                        ["flag"])]
        return "flag"

    def branches(self, outer=""):
        """The graph in both branches; in the second one results of floats are halved."""
        then, other = renamed(self.graph, outer + "a."), renamed(self.graph, outer + "b.")
        del then.input[:], other.input[:]
        for value in other.output:
            if LETTER[kind(value)] not in "fd":
                continue
            name, half = value.name, outer + "half." + value.name
            number = np.array(0.5, helper.tensor_dtype_to_np_dtype(kind(value)))
            other.initializer.append(numpy_helper.from_array(number, half + ".w"))
            other.node.append(helper.make_node("Mul", [name, half + ".w"], [half]))
            value.name = half
        self.move_weights_out(then)
        self.move_weights_out(other)
        return {"then_branch": then, "else_branch": other}

    def as_if(self):
        flag = self.condition()
        self.nodes.append(helper.make_node("If", [flag], [v.name for v in self.graph.output],
                                           "choose", **self.branches()))
        self.outputs = [*self.graph.output]

    def states(self):
        """Pairs of an input and an output of one type: what an iteration makes of it."""
        pairs, free = [], [v for v in self.graph.output]
        for value in self.graph.input:
            if value.name in self.ranges or LETTER[kind(value)] not in FLOATS:
                continue
            fitting = [o for o in free if kind(o) == kind(value) and dims(o) == dims(value)]
            if fitting and len(pairs) < 2:
                pairs.append((value, self.random.choice(fitting)))
                free.remove(pairs[-1][1])
        return pairs

    def body(self, pairs, condition):
        """The graph with states as inputs, and its results stacked or handed on."""
        body = renamed(self.graph, "l.")
        results = {v.name: "l." + v.name for v in self.graph.output}
        formal = {v.name: "in." + v.name for v, _ in pairs}
        for node in body.node:
            node.input[:] = [formal.get(name, name) for name in node.input]
        values = {v.name: v for v in self.graph.output}
        stacked = [n for n in results if n not in {o.name for _, o in pairs}]
        del body.input[:], body.output[:]
        make = helper.make_tensor_value_info
        shape = (lambda v: dims(v)) if self.random.random() < 0.6 else (lambda v: None)
        if condition:
            body.input.extend([make("number", TensorProto.INT64, []),
                               make("go", TensorProto.BOOL, [])])
            body.node.append(helper.make_node("Identity", ["go"], ["still"]))
            body.output.append(make("still", TensorProto.BOOL, []))
        body.input.extend(make(formal[v.name], kind(v), shape(v) if condition else dims(v))
                          for v, _ in pairs)
        body.output.extend(make(results[o.name], kind(o), shape(o) if condition else dims(o))
                           for _, o in pairs)
        body.output.extend(make(results[n], kind(values[n]), dims(values[n])) for n in stacked)
        self.move_weights_out(body)
        return body, [values[n] for n in stacked]

    def as_loop(self):
        pairs = self.states()
        body, stacked = self.body(pairs, condition=True)
        if self.random.random() < 0.5:
            trips = self.weight("trips", np.int64(self.random.randint(0, 3)))
        else:
            trips = "trips"
            self.inputs.append(helper.make_tensor_value_info(trips, TensorProto.INT64, []))
            self.ranges[trips] = (0, 4)
        self.give("Loop", [trips, ""], pairs, stacked, body)

    def as_scan(self):
        """One input more, which is walked over: it is added to the first state, or stacked."""
        pairs = self.states()
        body, stacked = self.body(pairs, condition=False)
        make = helper.make_tensor_value_info
        self.inputs.append(make("rows", TensorProto.FLOAT, [3, 4]))
        body.input.append(make("row", TensorProto.FLOAT, [4]))
        body.node.append(helper.make_node("Tanh", ["row"], ["row.tanh"]))
        body.output.append(make("row.tanh", TensorProto.FLOAT, [4]))
        row = make("walked", TensorProto.FLOAT, [4])
        self.give("Scan", [], pairs, [*stacked, row], body, ["rows"], num_scan_inputs=1)

    def give(self, op, first, pairs, stacked, body, last=(), **attributes):
        ends = [f"end.{o.name}" for _, o in pairs]
        stacks = [f"all.{v.name}" for v in stacked]
        self.nodes.append(helper.make_node(op, [*first, *(v.name for v, _ in pairs), *last],
                                           [*ends, *stacks], "repeat", body=body, **attributes))
        make = helper.make_tensor_value_info
        self.outputs = [make(e, kind(o), dims(o)) for e, (_, o) in zip(ends, pairs)]
        self.outputs += [make(s, kind(v), [None, *dims(v)]) for s, v in zip(stacks, stacked)]

    def nest(self):
        """What stands in a body is an If with both halves."""
        flag = self.condition()
        nodes = [*self.nodes, helper.make_node("If", [flag], [v.name for v in self.graph.output],
                                               "inner", **self.branches("n."))]
        self.graph = helper.make_graph(nodes, "nested", self.inputs, [*self.graph.output],
                                       self.weights)
        self.nodes, self.weights = [], []

    def model(self):
        if self.random.random() < 0.25:
            self.nest()
        self.random.choice([self.as_if, self.as_loop, self.as_scan] if not self.graph.name == "nested"
                           else [self.as_if_around, self.as_loop])()
        graph = helper.make_graph(self.nodes, "outer", self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=self.inner.proto.opset_import)
        model.ir_version = self.inner.proto.ir_version
        onnx.checker.check_model(model, full_check=True)
        return Model(model, self.inner.seed, self.ranges, self.inner.tame)

    def as_if_around(self):
        self.inputs.append(helper.make_tensor_value_info("outer.flag", TensorProto.BOOL, []))
        self.nodes.append(helper.make_node("If", ["outer.flag"],
                                           [v.name for v in self.graph.output], "choose",
                                           **self.branches("o.")))
        self.outputs = [*self.graph.output]


def draw(seed):
    """Raises what drawing and ONNX's checker do if this seed has none."""
    choose = random.Random(seed)
    builder = ModelBuilder(seed, choose.choice([13, 17, 18, 21]), "f")
    node_templates.draw_model(builder, least=3, most=8)
    model = builder.finish(seed)
    # Beyond a jump rounding makes any difference, which the judge cannot see inside a body.
    if any(node.op_type in JUMPS for node in model.proto.graph.node):
        raise Unfit
    return Wrapping(model, seed).model()


def attempt(model, folder):
    """The report of optimize-graph, or None and why."""
    given, result, report = folder / "model.onnx", folder / "result.onnx", folder / "report.json"
    given.write_bytes(model.proto.SerializeToString())
    result.unlink(missing_ok=True)
    done = subprocess.run([BIN / "optimize-graph", given, "-o", result, *SEARCH, "--python",
                           sys.executable, "--json", report], capture_output=True, text=True,
                          timeout=sanitizers.seconds(120))
    if done.returncode != 0:
        return None, f"exit {done.returncode}: {done.stderr[-500:]}"
    return json.loads(report.read_text()), ""


def fuzz(models, seconds, seed):
    """Counts, and the finds as texts."""
    counts, finds = collections.Counter(), []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(seed, seed + models):
            if time.monotonic() > end:
                break
            try:
                model = draw(number)
                judge = Judge(model)
            except Exception:  # what ONNX or its runtime does not know
                counts["not drawn"] += 1
                continue
            counts["judged"] += 1
            try:
                report, why = attempt(model, folder)
            except subprocess.TimeoutExpired:
                counts["too slow"] += 1
                continue
            verdict = Verdict("died", "", "", why)
            if report is not None:
                counts["bodies"] += len(report["bodies"])
                counts["bodies improved"] += sum(b["improved"] for b in report["bodies"])
                for body in report["bodies"]:
                    counts["left: " + body["reason"].split("'")[0][:60]] += not body["improved"]
                onnx.checker.check_model(onnx.load(folder / "result.onnx"), full_check=True)
                verdict, _ = judge.compare(str(folder / "result.onnx"))
            if verdict.kind in EXPLAINED:
                counts[f"explained: {verdict.kind}"] += 1
            elif verdict.kind:
                finds.append(f"seed {number}: {verdict}\n{onnx.printer.to_text(model.proto)}")
    return counts, finds


if __name__ == "__main__":
    sys.exit(fuzz_command.run(__doc__, fuzz))

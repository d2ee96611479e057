"""plan-graph --onnx: what the annotations of the model say is what the plan says."""

import itertools
import json
import math
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from commands import run

ROWS, INNER, COLUMNS, RESULTS = 256, 512, 2048, 32
NODE = ("--topology", "dgx-a100x1")


def layers():
    """Two fully connected layers; the second has no bias."""
    rng = np.random.default_rng(7)
    weights = {"first": rng.standard_normal((INNER, COLUMNS)), "bias": rng.standard_normal(COLUMNS),
               "second": rng.standard_normal((COLUMNS, RESULTS))}
    nodes = [helper.make_node("MatMul", ["x", "first"], ["product"], name="multiply"),
             helper.make_node("Add", ["product", "bias"], ["sum"], name="add"),
             helper.make_node("Relu", ["sum"], ["positive"], name="relu"),
             helper.make_node("MatMul", ["positive", "second"], ["y"], name="multiply_again")]
    graph = helper.make_graph(
        nodes, "layers", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, INNER])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, RESULTS])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


SHAPES = {"x": (ROWS, INNER), "first": (INNER, COLUMNS), "product": (ROWS, COLUMNS),
          "bias": (COLUMNS,), "sum": (ROWS, COLUMNS), "positive": (ROWS, COLUMNS),
          "second": (COLUMNS, RESULTS), "y": (ROWS, RESULTS)}
# Of each node: the dimension of each tensor that moves with a loop, by the loop's name.
MULTIPLY = [{"sample": 0, "reduction": 1}, {"reduction": 0, "parameter": 1},
            {"sample": 0, "parameter": 1}]
PLACES = {"multiply": MULTIPLY, "multiply_again": MULTIPLY,
          "add": [{"sample": 0, "parameter": 1}, {"parameter": 0}, {"sample": 0, "parameter": 1}],
          "relu": [{"sample": 0, "sample2": 1}, {"sample": 0, "sample2": 1}]}


def said(spec, shape):
    """The elements that each device holds, after the annotations."""
    levels = [(dim.axis, simple.dim_value, simple.num_shards)
              for dim in spec.sharded_dim for simple in dim.simple_sharding]
    groups = {entry.key: list(entry.value) for entry in spec.index_to_device_group_map}
    held = {}
    shards = itertools.product(*(range(count) for _, _, count in levels))
    for device, shard in zip(spec.device, shards, strict=True):
        elements = [np.arange(size) for size in shape]
        for axis in range(len(shape)):
            index = np.arange(shape[axis])
            keep = np.ones(shape[axis], bool)
            inner = shape[axis]
            for (at, size, count), part in zip(levels, shard):
                if at == axis:
                    inner //= size
                    keep &= index // inner % size * count // size == part
            elements[axis] = index[keep]
        for holder in groups.get(device, [device]):
            assert holder not in held
            held[holder] = [list(part) for part in elements]
    return held


def planned(plan, node, places, shape):
    """The same, after the plan."""
    held = {}
    sizes = {axis["name"]: axis["size"] for axis in plan["axes"]}
    strides = {axis["name"]: axis["stride"] for axis in plan["axes"]}
    cuts = plan["cuts"][node["cuts"]]
    per_stage = math.prod(sizes.values())
    for device in range(per_stage):
        elements = [list(range(size)) for size in shape]
        for loop, axes in cuts.items():
            if loop not in places:
                continue
            part, count = 0, 1
            for axis in sorted(axes, key=lambda name: -strides[name]):
                part = part * sizes[axis] + device // strides[axis] % sizes[axis]
                count *= sizes[axis]
            size = shape[places[loop]]
            elements[places[loop]] = [e for e in range(size) if e * count // size == part]
        held[node["stage"] * per_stage + device] = elements
    return held


class PlanOnnx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def annotated(self, model, *options):
        """Report, plan and the model that was written, which is valid."""
        paths = [self.folder / name for name in ("report.json", "plan.json", "annotated.onnx")]
        done = run("plan-graph", model, *NODE, *options, "--json", paths[0], "-o", paths[1],
                   "--onnx", paths[2])
        self.assertEqual(done.returncode, 0, done.stderr)
        onnx.checker.check_model(str(paths[2]), full_check=True)
        report, plan = (json.loads(path.read_text()) for path in paths[:2])
        written = onnx.load(paths[2])
        self.assertGreaterEqual(written.ir_version, 11)
        self.assertEqual([c.num_devices for c in written.configuration], [plan["devices"]])
        self.assertEqual(len(set(written.configuration[0].device)), plan["devices"])
        return report, plan, written

    def specs(self, node, plan, configuration):
        (devices,) = node.device_configurations
        self.assertEqual(devices.configuration_id, configuration)
        for spec in devices.sharding_spec:
            self.assertIn(spec.tensor_name, [*node.input, *node.output])
            holders = [d for d in spec.device if d >= 0]
            holders += [d for entry in spec.index_to_device_group_map for d in entry.value]
            self.assertTrue(all(0 <= d < plan["devices"] for d in holders))
        return {spec.tensor_name: spec for spec in devices.sharding_spec}

    def test_shards_are_those_of_the_plan(self):
        model = self.folder / "layers.onnx"
        onnx.save(layers(), model)
        cut_reductions = 0
        for options in (("--fix", "model=2", "--fix", "any=4"), ("--fix", "stages=2"),
                        ("--strategy", "megatron", "--fix", "model=4"), ("--strategy", "model")):
            report, plan, written = self.annotated(model, *options)
            nodes = {node["name"]: node for node in plan["nodes"]}
            self.assertEqual(len(written.graph.node), len(PLACES))
            tensors = 0
            for node in written.graph.node:
                in_plan = nodes[node.name]
                self.assertEqual(node.device_configurations[0].pipeline_stage, in_plan["stage"])
                specs = self.specs(node, plan, written.configuration[0].name)
                tensors += len(specs)
                is_partial = "reduction" in plan["cuts"][in_plan["cuts"]]
                cut_reductions += is_partial
                for name, places in zip([*node.input, *node.output], PLACES[node.name]):
                    with self.subTest(options=options, node=node.name, tensor=name):
                        if is_partial and name == node.output[0]:
                            self.assertNotIn(name, specs)
                            continue
                        self.assertEqual(said(specs[name], SHAPES[name]),
                                         planned(plan, in_plan, places, SHAPES[name]))
            self.assertEqual(report["onnx"]["nodes"], len(PLACES))
            self.assertEqual(report["onnx"]["tensors"], tensors)
        self.assertGreater(cut_reductions, 0)

    def test_annotations_change_no_result(self):
        model = self.folder / "layers.onnx"
        onnx.save(layers(), model)
        self.annotated(model, "--fix", "model=2")
        x = np.random.default_rng(3).standard_normal((ROWS, INNER)).astype(np.float32)
        results = [onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
            None, {"x": x})[0] for path in (model, self.folder / "annotated.onnx")]
        np.testing.assert_array_equal(*results)

    def test_what_has_no_words_is_counted(self):
        report, plan, written = self.annotated(
            "gpt", "--set", "layers=4", "--set", "seq=64", "--batch", "32", "--train", "--fix",
            "stages=2", "--fix", "model=2", "--fix", "microbatches=4", "--fix", "recompute=1")
        unsaid = report["onnx"]["unsaid"]
        self.assertEqual(unsaid["microbatches"], 4)
        self.assertEqual(unsaid["recomputation"], 1)
        self.assertEqual(unsaid["backward_pass"], 1)
        stages = {node["name"]: node["stage"] for node in plan["nodes"]}
        shapes = {info.name: [d.dim_value for d in info.type.tensor_type.shape.dim] for info in
                  [*written.graph.input, *written.graph.value_info, *written.graph.output]}
        digits = 0
        for node in written.graph.node:
            if not node.device_configurations:
                continue
            if node.name in stages:
                self.assertEqual(node.device_configurations[0].pipeline_stage, stages[node.name])
            for name, spec in self.specs(node, plan, written.configuration[0].name).items():
                for dim in spec.sharded_dim:
                    sizes = [simple.dim_value for simple in dim.simple_sharding]
                    digits += len(sizes) > 1
                    if name in shapes:
                        self.assertEqual(math.prod(sizes), shapes[name][dim.axis])
        self.assertEqual({node.device_configurations[0].pipeline_stage
                          for node in written.graph.node if node.device_configurations}, {0, 1})
        self.assertGreater(digits, 0)


if __name__ == "__main__":
    unittest.main()

"""What a model says besides its graph is still there in a result: annotations for quantization, doc
strings, metadata."""

import json
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
QUICK = ["--costs", "roofline", "--budget", "200", "--time", "0", "--python", sys.executable]


def annotation(tensor, scale, zero):
    note = onnx.TensorAnnotation(tensor_name=tensor)
    note.quant_parameter_tensor_names.extend([
        onnx.StringStringEntryProto(key="SCALE_TENSOR", value=scale),
        onnx.StringStringEntryProto(key="ZERO_POINT_TENSOR", value=zero)])
    return note


def prop(key, value):
    return onnx.StringStringEntryProto(key=key, value=value)


def annotated(path):
    """Two products of x that become one; h, which no rewrite touches, and a, which is gone."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal((8, 8)).astype(np.float32), name)
               for name in "vw"]
    # The numbers of annotations are read by no node; two of them are equal.
    weights += [numpy_helper.from_array(np.float32(0.5), name) for name in ("hs", "xs", "as")]
    weights += [numpy_helper.from_array(np.uint8(128), name) for name in ("hz", "xz", "az")]
    nodes = [helper.make_node("MatMul", ["x", "v"], ["a"]),
             helper.make_node("MatMul", ["x", "w"], ["b"]),
             helper.make_node("Add", ["a", "b"], ["s"]),
             helper.make_node("Hardmax", ["s"], ["h"], "hard", doc_string="of a test"),
             helper.make_node("Neg", ["h"], ["y"], "minus", doc_string="the last one")]
    nodes[3].metadata_props.append(prop("layer", "3"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])], weights,
                              doc_string="a graph")
    graph.metadata_props.append(prop("graph", "1"))
    graph.quantization_annotation.extend(
        [annotation("x", "xs", "xz"), annotation("h", "hs", "hz"), annotation("a", "as", "az")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], doc_string="a model")
    model.metadata_props.append(prop("model", "2"))
    model.ir_version = 10
    onnx.save(model, path)
    return path


class KeptNotes(unittest.TestCase):
    def setUp(self):
        given = annotated(P / "annotated.onnx")
        done = run("optimize-graph", given, "-o", P / "result.onnx", *QUICK, "--json", P / "r.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads((P / "r.json").read_text())["result"], "rewritten")
        self.given, self.result = onnx.load(given), onnx.load(P / "result.onnx")
        self.assertEqual([n.op_type for n in self.result.graph.node].count("MatMul"), 1)
        onnx.checker.check_model(self.result, full_check=True)

    def test_annotations_of_tensors_that_are_there(self):
        notes = {n.tensor_name: n for n in self.result.graph.quantization_annotation}
        self.assertEqual(set(notes), {"x", "h"})
        for note in self.given.graph.quantization_annotation[:2]:
            self.assertEqual(notes[note.tensor_name], note)

    def test_the_weights_that_annotations_name(self):
        given = {w.name: numpy_helper.to_array(w) for w in self.given.graph.initializer}
        result = {w.name: numpy_helper.to_array(w) for w in self.result.graph.initializer}
        for name in ("xs", "xz", "hs", "hz"):
            np.testing.assert_array_equal(result[name], given[name])
        self.assertNotIn("as", result)  # of a tensor that is gone

    def test_docs_and_metadata(self):
        nodes = {n.name: n for n in self.result.graph.node}
        self.assertEqual(nodes["hard"].doc_string, "of a test")
        self.assertEqual(list(nodes["hard"].metadata_props), [prop("layer", "3")])
        self.assertEqual(nodes["minus"].doc_string, "the last one")
        self.assertEqual(self.result.graph.doc_string, "a graph")
        self.assertEqual(list(self.result.graph.metadata_props), [prop("graph", "1")])
        self.assertEqual(self.result.doc_string, "a model")
        self.assertEqual(list(self.result.metadata_props), [prop("model", "2")])


def tearDownModule():
    SPACE.close()


if __name__ == "__main__":
    unittest.main()

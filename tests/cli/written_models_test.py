"""What optimize-graph writes says what it is good for: types, opsets, and nodes that no rule changed as they were
read."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from commands import run
from model_writing import ModelWritingTest, linear_layers, model, real


class WrittenModelsTest(ModelWritingTest):
    def test_sequences_and_optional_values_have_no_sizes(self):
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, 3])
        for kind, operator, place in (
                (helper.make_sequence_type_proto(tensor), "SequenceAt", ["place"]),
                (helper.make_optional_type_proto(tensor), "OptionalGetElement", [])):
            weights = {"place": np.int64(0)} if place else {}
            nodes = linear_layers(weights) + [helper.make_node(operator, ["s", *place], ["e"]),
                                              helper.make_node("Neg", ["e"], ["y"])]
            path = self.space.path / f"{operator}.onnx"
            graph = helper.make_graph(
                nodes, "g", [helper.make_value_info("s", kind),
                             helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                [helper.make_tensor_value_info("p", TensorProto.FLOAT, [4, 16]),
                 helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
                [numpy_helper.from_array(v, k) for k, v in weights.items()])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                        ir_version=8), path)
            written, output, _ = self.optimize(path)
            self.assertEqual(written.graph.input[0].type, kind)
            self.assertEqual([node.op_type for node in written.graph.node].count("MatMul"), 1)
            if operator == "SequenceAt":
                self.assert_same(path, output, {"x": real(4, 8), "s": [real(2, 3), real(2, 3)]})

    # --- Opsets ---

    def old_network(self, opset):
        """Convolutions to be merged, a pool, a Clip and a Slice as each opset says them."""
        weights = {"a": real(8, 4, 3, 3), "b": real(8, 4, 3, 3)}
        nodes = [helper.make_node("MaxPool", ["x"], ["t"], kernel_shape=[3, 3], strides=[2, 2],
                                  pads=[1, 1, 1, 1]),
                 helper.make_node("Conv", ["t", "a"], ["p"], kernel_shape=[3, 3]),
                 helper.make_node("Conv", ["t", "b"], ["q"], kernel_shape=[3, 3]),
                 helper.make_node("Add", ["p", "q"], ["s1"])]
        if opset < 11:
            nodes.append(helper.make_node("Clip", ["s1"], ["y"], min=0.0, max=6.0))
        else:
            weights.update(low=np.float32(0), high=np.float32(6))
            nodes.append(helper.make_node("Clip", ["s1", "low", "high"], ["y"]))
        if opset < 10:
            nodes.append(helper.make_node("Slice", ["s1"], ["z"], starts=[1], ends=[5], axes=[1]))
        else:
            weights.update(s=np.array([1]), e=np.array([5]), i=np.array([1]))
            nodes.append(helper.make_node("Slice", ["s1", "s", "e", "i"], ["z"]))
        return model(self.space.path / f"old_{opset}.onnx", nodes, {"x": [1, 4, 16, 16]},
                     {"y": [1, 8, 6, 6], "z": [1, 4, 6, 6]}, weights, opset)

    def test_every_opset_is_optimized_and_written(self):
        for opset in (*range(7, 14), 23, 24, 25):
            with self.subTest(opset=opset):
                path = self.old_network(opset)
                written, output, _ = self.optimize(path)
                self.assertEqual(written.opset_import[0].version, opset)
                onnx.checker.check_model(written, full_check=True)
                self.assertEqual(sum(node.op_type == "Conv" for node in written.graph.node), 1)
                self.assert_same(path, output, {"x": real(1, 4, 16, 16)})

    def test_an_operator_that_a_newer_opset_changed_is_kept_and_named(self):
        weights = {"k": np.array([2])}
        nodes = linear_layers(weights) + [helper.make_node("TopK", ["p", "k"], ["y", "i"])]
        for opset, kept in ((23, "top_k"), (24, "TopK changed in opset 24")):
            path = model(self.space.path / f"top_{opset}.onnx", nodes, {"x": [4, 8]},
                         {"y": [4, 2]}, dict(weights), opset)
            done = run("inspect-graph", path, "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(kept, done.stdout + done.stderr)

    # --- Nodes as they were ---

    def test_nodes_that_no_rule_changed_are_written_as_they_were_read(self):
        weights = {"s": real(3), "t": real(3), "i": np.array([1, 0, -1]), "r": np.array([1, 2, 1, 1]),
                   "g": real(6, 5), "h": real(5), "two": np.float32(2)}
        others = [
            helper.make_node("InstanceNormalization", ["v", "s", "t"], ["v1"], "norm", epsilon=0.01),
            helper.make_node("Tile", ["v1", "r"], ["v2"], "tile"),
            helper.make_node("Gather", ["v2", "i"], ["v3"], "gather", axis=1),
            helper.make_node("Pow", ["v3", "two"], ["y"], "square"),
            helper.make_node("DepthToSpace", ["u", ], ["w"], "depth", blocksize=2),
            helper.make_node("Gemm", ["m", "g", "h"], ["z"], "gemm", alpha=0.5)]
        nodes = linear_layers(weights) + others
        path = model(self.space.path / "kept.onnx", nodes,
                     {"x": [4, 8], "v": [1, 3, 4, 4], "u": [1, 8, 2, 2], "m": [4, 6]},
                     {"z": [4, 5], "p": [4, 16], "y": [1, 3, 4, 4], "w": [1, 2, 4, 4]}, weights, 17)
        skip = ["--skip", "instance_norm_as_layer_norm", "--skip", "named_layer_norm"]
        for part in ("gather", "expand", "reduce_mean", "mul", "reshape"):
            skip += ["--skip", "linear_map_of_" + part]
        for options in (skip, [*skip, "--keep-constants"]):
            written, output, report = self.optimize(path, *options)
            now = {node.name: node for node in written.graph.node}
            for node in others:
                self.assertEqual(now[node.name].op_type, node.op_type)
                self.assertEqual(now[node.name].attribute, node.attribute)
            products = [node for node in written.graph.node if node.op_type == "MatMul"]
            self.assertEqual(len(products), 1)
            feeds = {"x": real(4, 8), "v": real(1, 3, 4, 4), "u": real(1, 8, 2, 2),
                     "m": real(4, 6)}
            self.assert_same(path, output, feeds)

    def test_the_proof_leads_to_nodes_as_they_were(self):
        weights = {"g": real(5, 6), "h": real(5)}
        nodes = linear_layers(weights) + [
            helper.make_node("Gemm", ["m", "g", "h"], ["z"], alpha=0.5, transB=1)]
        path = model(self.space.path / "proof.onnx", nodes, {"x": [4, 8], "m": [4, 6]},
                     {"z": [4, 5], "p": [4, 16]}, weights, 17)
        proof = self.space.path / "chain"
        written, output, _ = self.optimize(path, "--proof", proof)
        self.assertIn("Gemm", [node.op_type for node in written.graph.node])
        done = run("compare-graphs", path, output, "--proof", proof)
        self.assertEqual(done.returncode, 0, done.stderr)

    # --- Constants ---

    def test_weights_that_are_filled_with_a_number_are_weights(self):
        """Large models come without weights: each is filled with some number. What is computed from
        them must agree when others take their place."""
        shapes = {"w": [4, 3, 3, 3], "gamma": [4], "beta": [4], "mean": [4], "var": [4]}
        weights = {"four": np.array([4]), "kernels": np.array(shapes["w"]), "one": np.array(1, np.float32)}
        nodes = [helper.make_node("ConstantOfShape", ["kernels" if name == "w" else "four"], [name],
                                  value=numpy_helper.from_array(np.array([number], np.float32)))
                 for name, number in zip(shapes, (0.25, 1.5, 0.5, 0.25, 2.0))]
        nodes += [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
                  helper.make_node("Add", ["gamma", "one"], ["scale"]),
                  helper.make_node("BatchNormalization", ["c", "scale", "beta", "mean", "var"], ["y"])]
        path = model(self.space.path / "filled.onnx", nodes, {"x": [1, 3, 8, 8]}, {"y": [1, 4, 8, 8]},
                     weights, 17)
        written, output, _ = self.optimize(path, "--keep-constants", outcome="no_gain_found")
        self.assertNotIn("BatchNormalization", [node.op_type for node in written.graph.node])
        compared = run("compare-graphs", path, output, "--random-weights", "--samples", "2")
        self.assertEqual(compared.returncode, 0, compared.stdout)


if __name__ == "__main__":
    unittest.main()

"""What onnxruntime computes from optimized models: the same as from the originals."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

sys.path.append(str(Path(__file__).parents[1]))
import networks

SAMPLES = 3
# Tolerance relative to the largest number in an output.
TOLERANCE = 1e-3
# The default is 17.
OTHER_OPSETS = {"squeezenet": [13, 23], "bert_base": [13, 23]}
# Batch norm costs nothing behind a convolution, and grouped convolutions are not merged.
MAY_STAY = {"resnext50"}


def interface(model):
    """Names, types and shapes of inputs and outputs."""
    return [[(value.name, value.type.SerializeToString(deterministic=True)) for value in values]
            for values in (model.graph.input, model.graph.output)]


def operators(model):
    return [node.op_type for node in model.graph.node]


def opsets(model):
    return {opset.domain: opset.version for opset in model.opset_import}


def random_inputs(session, seed):
    random = np.random.default_rng(seed)
    return {value.name: random.standard_normal(value.shape).astype(np.float32)
            if value.type == "tensor(float)" else random.integers(0, 2, value.shape, np.int64)
            for value in session.get_inputs()}


def open_session(path):
    """Runs the nodes of the file one by one, so that no fault hides in what onnxruntime changes."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Onnxruntime(unittest.TestCase):
    def check(self, name, opset):
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
            networks.build(name, before, opset)
            # Nothing else looks at the result, and takes out what is wrong, before it is compared here.
            networks.optimize(name, before, "-o", after, "--verify", "off", "--judge", "none")
            onnx.checker.check_model(after, full_check=True)
            original, optimized = onnx.load(before), onnx.load(after)
            self.assertEqual(opsets(optimized), opsets(original))
            self.assertEqual(interface(optimized), interface(original))
            if name not in MAY_STAY:
                self.assertNotEqual(operators(optimized), operators(original))
            self.compare(open_session(before), open_session(after))

    def compare(self, original, optimized):
        for seed in range(SAMPLES):
            inputs = random_inputs(original, seed)
            for value, wanted, got in zip(original.get_outputs(), original.run(None, inputs),
                                          optimized.run(None, inputs), strict=True):
                self.assertTrue(np.isfinite(wanted).all())
                scale = np.abs(wanted).max()
                self.assertGreater(scale, 0)
                np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * scale,
                                           err_msg=f"output {value.name}, seed {seed}")


def add_test(name, opset):
    setattr(Onnxruntime, f"test_{name}_opset_{opset}", lambda self: self.check(name, opset))


for network in networks.NETWORKS:
    for version in [17, *OTHER_OPSETS.get(network, [])]:
        add_test(network, version)

if __name__ == "__main__":
    unittest.main()

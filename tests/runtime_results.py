"""What onnxruntime computes from an optimized network: the same as from the original."""

import numpy as np
import onnx
import onnxruntime

SAMPLES = 3
# Tolerance relative to the largest number in an output.
TOLERANCE = 1e-3
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


def check_same(test, name, before, after):
    """Fails the test unless the file `after` is an optimized form of the network in `before`."""
    onnx.checker.check_model(after, full_check=True)
    original, optimized = onnx.load(before), onnx.load(after)
    test.assertEqual(opsets(optimized), opsets(original))
    test.assertEqual(interface(optimized), interface(original))
    if name not in MAY_STAY:
        test.assertNotEqual(operators(optimized), operators(original))
    original, optimized = open_session(before), open_session(after)
    for seed in range(SAMPLES):
        inputs = random_inputs(original, seed)
        for value, wanted, got in zip(original.get_outputs(), original.run(None, inputs),
                                      optimized.run(None, inputs), strict=True):
            test.assertTrue(np.isfinite(wanted).all())
            scale = np.abs(wanted).max()
            test.assertGreater(scale, 0)
            np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * scale,
                                       err_msg=f"output {value.name}, seed {seed}")

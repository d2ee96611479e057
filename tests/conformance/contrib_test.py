"""Operators that ONNX Runtime adds to those of ONNX: what is read computes what ONNX Runtime does, and
so does what is written, with these operators and without."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from opset_nodes import real
from opset_runs import Runner, difference, write
from opset_test import arrays

DOMAIN = "com.microsoft"
OURS = {"BiasGelu", "FastGelu", "QuickGelu", "FusedMatMul", "SkipLayerNormalization",
        "SkipSimplifiedLayerNormalization", "MultiHeadAttention"}


class Case:
    """One node. None among the inputs is left out; `outputs` are numbers of those that are asked for."""

    def __init__(self, op, *inputs, outputs=(0,), domain=DOMAIN, kept=False, **attributes):
        self.op, self.inputs, self.outputs, self.domain = op, inputs, outputs, domain
        self.kept, self.attributes = kept, attributes

    def name(self):
        shapes = [None if value is None else value.shape for value in self.inputs]
        return f"{self.op} of {shapes}, {self.attributes}, outputs {self.outputs}"

    def feeds(self):
        return {f"x{k}": value for k, value in enumerate(self.inputs) if value is not None}

    def model(self):
        names = ["" if value is None else f"x{k}" for k, value in enumerate(self.inputs)]
        results = [f"y{k}" if k in self.outputs else "" for k in range(max(self.outputs) + 1)]
        node = helper.make_node(self.op, names, results, domain=self.domain, **self.attributes)
        inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape)
                  for name, value in self.feeds().items()]
        outputs = [helper.make_tensor_value_info(f"y{k}", onnx.TensorProto.FLOAT, None)
                   for k in self.outputs]
        return helper.make_model(helper.make_graph([node], "g", inputs, outputs), ir_version=8,
                                 opset_imports=[helper.make_opsetid("", 17),
                                                helper.make_opsetid(DOMAIN, 1)])


def gelu_cases():
    x, bias = real(2, 3, 4), real(4)
    yield Case("Gelu", x)
    yield Case("BiasGelu", x, bias)
    yield Case("FastGelu", x)
    yield Case("FastGelu", x, bias)
    yield Case("QuickGelu", x)
    yield Case("QuickGelu", x, alpha=1.0)
    yield Case("QuickGelu", x, alpha=-0.5)


def product_cases():
    for exchange_a, exchange_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for alpha in (1.0, 0.125):
            for batch in ((), (5,), (2, 3)):
                a = real(*batch, *((4, 3) if exchange_a else (3, 4)))
                b = real(*batch, *((6, 4) if exchange_b else (4, 6)))
                yield Case("FusedMatMul", a, b, transA=exchange_a, transB=exchange_b, alpha=alpha)
    yield Case("FusedMatMul", real(2, 3, 4), real(4, 6), alpha=0.5)
    yield Case("FusedMatMul", real(3, 2, 4), real(2, 4, 6), transBatchA=1)
    yield Case("FusedMatMul", real(2, 3, 4), real(4, 2, 6), transBatchB=1)
    yield Case("FusedMatMul", real(4, 2, 3), real(2, 4, 6), transA=1, transBatchA=1)
    yield Case("FusedMatMul", real(2, 3, 4), real(6, 2, 4), transB=1, transBatchB=1)
    yield Case("FusedMatMul", real(4), real(4, 6), kept=True)


def gemm_cases():
    operands = real(3, 4), real(4, 6), real(6)
    for activation, parameters in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.25]),
                                   ("HardSigmoid", [0.25, 0.75])):
        named = dict(zip(("activation_alpha", "activation_beta"), parameters))
        yield Case("FusedGemm", *operands, activation=activation, **named)
    yield Case("FusedGemm", real(4, 3), real(6, 4), real(3, 1), activation="Relu", alpha=0.5, beta=2.0,
               transA=1, transB=1)
    yield Case("FusedGemm", *operands, activation="Softplus", kept=True)


def conv_cases():
    x, w, bias = real(1, 4, 6, 6), real(6, 2, 3, 3), real(6)
    window = {"group": 2, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    for activation, parameters in (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.25]),
                                   ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.25, 0.75])):
        extra = {"activation_params": parameters} if parameters else {}
        yield Case("FusedConv", x, w, bias, activation=activation, **window, **extra)
    yield Case("FusedConv", x, w, bias, real(1, 6, 6, 6), activation="Relu", **window)
    yield Case("FusedConv", x, w, activation="Relu", strides=[2, 2], **window)


def norm_cases():
    x, y, scale, offset, bias = real(2, 3, 8), real(2, 3, 8), real(8), real(8), real(8)
    op = "SkipLayerNormalization"
    yield Case(op, x, y, scale)
    yield Case(op, x, y, scale, offset, epsilon=0.01)
    yield Case(op, x, y, scale, offset, bias, outputs=(0, 3))
    yield Case(op, x, y, scale, None, bias)
    yield Case(op, real(5, 8), real(5, 8), scale, offset)
    yield Case(op, x, real(1, 3, 8), scale, offset)
    op = "SkipSimplifiedLayerNormalization"
    yield Case(op, x, y, scale)
    yield Case(op, x, y, scale, bias, epsilon=0.01, outputs=(0, 3))
    op = "SimplifiedLayerNormalization"
    yield Case(op, x, scale, domain="", axis=-1, stash_type=1)
    yield Case(op, x, real(3, 8), domain="", axis=1, epsilon=0.01, stash_type=1)


def attention_cases():
    op = "MultiHeadAttention"
    q, k, v = real(2, 5, 8), real(2, 7, 8), real(2, 7, 12)
    yield Case(op, q, k, v, num_heads=2)
    yield Case(op, q, k, v, num_heads=4, scale=0.75)
    yield Case(op, q, k, v, real(28), num_heads=2)
    for offset in (real(2, 2, 5, 7), real(1, 2, 5, 7), real(2, 1, 5, 7), real(1, 1, 5, 7)):
        yield Case(op, q, k, v, None, None, offset, num_heads=2)
    yield Case(op, q, real(2, 5, 8), real(2, 5, 8), num_heads=2, unidirectional=1, kept=True)
    op = "Attention"
    x = real(2, 5, 6)
    yield Case(op, x, real(6, 24), real(24), num_heads=2)
    yield Case(op, x, real(6, 24), real(24), num_heads=4, scale=0.75)
    yield Case(op, x, real(6, 28), real(28), num_heads=2, qkv_hidden_sizes=[8, 8, 12])
    yield Case(op, x, real(6, 24), real(24), None, None, real(2, 2, 5, 5), num_heads=2)
    yield Case(op, x, real(6, 24), real(24), num_heads=2, unidirectional=1, kept=True)


def not_understood_cases():
    """What ONNX Runtime refuses, or makes something else of than ONNX's operators would."""
    x, q, k = real(2, 3, 8), real(2, 5, 8), real(1, 7, 8)
    yield Case("BiasGelu", x)
    yield Case("BiasGelu", x, real(1))
    yield Case("FastGelu", x, real(3, 8))
    yield Case("Gelu", x, real(8))
    yield Case("Gelu", x, approximate="tanh")
    yield Case("SkipLayerNormalization", real(1, 3, 8), x, real(8))
    yield Case("SkipLayerNormalization", x, real(8), real(8))
    yield Case("SkipLayerNormalization", x, x, real(1))
    yield Case("SkipSimplifiedLayerNormalization", x, real(2, 1, 8), real(8))
    yield Case("MultiHeadAttention", q, k, k, num_heads=2)
    yield Case("MultiHeadAttention", q, q, q, None, None, real(1, 1, 1, 5), num_heads=2)
    yield Case("MultiHeadAttention", q, q, q, num_heads=2, scale=100.0)
    yield Case("Attention", q, real(8, 24), real(1), num_heads=2)
    yield Case("Attention", q, real(8, 24), real(24), num_heads=2, qkv_hidden_sizes=[8, 8])
    yield Case("FusedMatMul", real(2, 3, 4), real(4, 6), transBatchB=1)
    yield Case("FusedConv", real(1, 4, 6, 6), real(6, 4, 3, 3), None, real(1, 6, 1, 1),
               activation="Relu", kernel_shape=[3, 3])
    yield Case("FusedConv", real(1, 4, 6, 6), real(6, 4, 3, 3), activation="LeakyRelu",
               kernel_shape=[3, 3])
    yield Case("FusedGemm", real(3, 4), real(4, 6), real(6), activation="Clip")
    yield Case("FusedGemm", real(3, 4), real(4, 6), real(6))


def check_what_is_not_understood(folder, problems):
    cases = list(not_understood_cases())
    paths = [folder / f"{number}.onnx" for number in range(len(cases))]
    for case, path in zip(cases, paths):
        onnx.save(case.model(), path)
    for case, answer in zip(cases, write(["copies"], paths), strict=True):
        if answer["read"]["status"] == "written" and not answer["opaque"]:
            problems.append(f"{case.name()}: is read as if ONNX Runtime took it")


def check_reading(folder, runner, problems):
    cases = [case for make in (gelu_cases, product_cases, gemm_cases, conv_cases, norm_cases,
                               attention_cases) for case in make()]
    paths = [folder / f"{number}.onnx" for number in range(len(cases))]
    for case, path in zip(cases, paths):
        onnx.save(case.model(), path)
    compared = 0
    for case, path, answer in zip(cases, paths, write(["copies"], paths), strict=True):
        if answer["read"]["status"] != "written":
            problems.append(f"{case.name()}: not read: {answer['read']['reason']}")
            continue
        if bool(answer["opaque"]) != case.kept:
            problems.append(f"{case.name()}: kept whole: {answer['opaque']}")
        where, expected = runner.run(path, case.feeds())
        if expected is None:
            problems.append(f"{case.name()}: runs {where}")
            continue
        for form in ("kept", "mapped"):
            if answer[form]["status"] != "written":
                problems.append(f"{case.name()}: {form}: {answer[form]['reason']}")
                continue
            there, actual = runner.run(f"{path}.{form}", case.feeds())
            wrong = there if actual is None else difference(expected, actual, 1e-5, 1e-5)
            if wrong:
                problems.append(f"{case.name()}: {form}: {wrong}")
            foreign = any(node.domain for node in onnx.load(f"{path}.{form}").graph.node)
            # Two results are those of two operators of ours, which are written apart.
            as_read = form == "kept" and case.domain != "" and len(case.outputs) == 1
            if foreign != (as_read or case.kept):
                problems.append(f"{case.name()}: {form}: operators of another domain: {foreign}")
            compared += 1
    return compared


def check_writing(folder, runner, problems):
    """Composite operators, as what they stand for and as operators of ONNX Runtime."""
    found = set()
    for line in write(["contrib", str(folder)]):
        name = f"{line['call']} of {line['types']}, {line['contrib']}"
        if line["written"]["status"] != "written":
            problems.append(f"{name}: {line['written']['reason']}")
            continue
        ops = {node.op_type for node in onnx.load(line["path"]).graph.node if node.domain == DOMAIN}
        if bool(ops) != line["contrib"]:
            problems.append(f"{name}: written with {ops}")
        found |= ops
        where, actual = runner.run(line["path"], arrays(line["types"], line["inputs"]))
        if actual is None:
            problems.append(f"{name}: runs {where}")
            continue
        for k, (got, wanted) in enumerate(zip(actual, line["outputs"], strict=True)):
            if not np.allclose(np.asarray(got).ravel(), wanted, rtol=1e-4, atol=1e-5):
                problems.append(f"{name}: output {k} differs")
    if found != OURS:
        problems.append(f"written were {sorted(found)}, not {sorted(OURS)}")


def main():
    runner, problems = Runner(), []
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        compared = check_reading(Path(name), runner, problems)
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        check_what_is_not_understood(Path(name), problems)
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        check_writing(Path(name), runner, problems)
    print(f"{compared} copies compared")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""The cases of every operator, and their models at every opset."""

import numpy as np
import onnx

from opset_elements import (arithmetic_cases, cast_cases, chain_cases, compare_cases, pad_cases,
                            pow_cases, reduce_cases, reshape_cases, slice_cases, split_cases,
                            squeeze_cases, top_k_cases)
from opset_layers import (batch_norm_cases, clip_cases, dropout_cases, gemm_cases, group_norm_cases,
                          pool_cases, resize_cases, softmax_cases, upsample_cases)
from opset_nodes import (NEWEST_OPSET, OLDEST_OPSET, Case, binary, each, ints, positive, real, truth,
                         unary, whole)

CASES = {
    **{op: unary(real(2, 3)) for op in """Abs Neg Relu Sigmoid Tanh Exp Floor Ceil Identity
        HardSigmoid LeakyRelu Softplus Elu Selu Softsign Hardmax ThresholdedRelu""".split()},
    **{op: unary(positive(2, 3)) for op in "Log Sqrt Reciprocal".split()},
    **{op: unary(real(2, 3)) for op in """Sin Cos Tan Erf Round HardSwish Gelu Mish Sign IsNaN
        Shrink Celu Size Shape""".split()},
    "Not": unary(truth(2, 3)),
    **{op: softmax_cases for op in ("Softmax", "LogSoftmax")},
    **{op: pool_cases for op in ("MaxPool", "AveragePool")},
    **{op: unary(real(1, 2, 3, 4)) for op in ("GlobalAveragePool", "GlobalMaxPool")},
    **{op: reduce_cases for op in """ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2
        ReduceLogSum ReduceLogSumExp ReduceSumSquare ReduceProd""".split()},
    **{op: arithmetic_cases for op in ("Add", "Sub", "Mul", "Div")},
    **{op: binary((truth(2, 3), truth(3))) for op in ("And", "Or", "Xor")},
    **{op: compare_cases for op in "Equal Less Greater LessOrEqual GreaterOrEqual".split()},
    **{op: chain_cases for op in ("Min", "Max", "Sum", "Mean")},
    "Pow": pow_cases, "Pad": pad_cases, "Clip": clip_cases, "Slice": slice_cases,
    "Split": split_cases, "Reshape": reshape_cases, "Dropout": dropout_cases,
    "BatchNormalization": batch_norm_cases, "Gemm": gemm_cases, "Resize": resize_cases,
    "Upsample": upsample_cases, "TopK": top_k_cases, "GroupNormalization": group_norm_cases,
    "Squeeze": squeeze_cases, "Unsqueeze": squeeze_cases, "Cast": cast_cases,
    "CastLike": each(Case("CastLike", [real(2, 3), whole(1)])),
    "Where": each(Case("Where", [truth(2, 3), real(3), real(2, 1)])),
    "MatMul": each(Case("MatMul", [real(2, 3, 4), real(4, 5)]), Case("MatMul", [real(4), real(4, 5)]),
                   Case("MatMul", [real(3, 4), real(4)])),
    "Conv": each(Case("Conv", [real(1, 4, 6, 6), real(6, 2, 3, 3), real(6)], group=2,
                      pads=[1, 0, 1, 2], strides=[2, 1]),
                 Case("Conv", [real(1, 2, 7, 7)], [real(3, 2, 2, 2)], auto_pad="SAME_LOWER"),
                 Case("Conv", [real(1, 2, 9)], [real(3, 2, 3)], dilations=[2])),
    "Transpose": each(Case("Transpose", [real(2, 3, 4)]),
                      Case("Transpose", [real(2, 3, 4)], perm=[1, 2, 0])),
    "Concat": each(Case("Concat", [real(2, 3), real(2, 1)], axis=1)),
    "Flatten": each(*[Case("Flatten", [real(2, 3, 4)], axis=axis) for axis in (0, 1, 2, 3)]),
    "Expand": each(Case("Expand", [real(3, 1)], [ints(2, 1, 4)])),
    "Gather": each(Case("Gather", [real(5, 3), whole(2, 2, low=0, high=3)], axis=1),
                   Case("Gather", [real(5, 3)], [ints(4, 0)])),
    "Tile": each(Case("Tile", [real(2, 3)], [ints(2, 3)])),
    "DepthToSpace": lambda op, opset: [Case(op, [real(1, 8, 2, 3)], blocksize=2)] + (
        [Case(op, [real(1, 8, 2, 3)], blocksize=2, mode="CRD")] if opset >= 11 else []),
    "SpaceToDepth": each(Case("SpaceToDepth", [real(1, 2, 4, 6)], blocksize=2)),
    "InstanceNormalization": each(Case("InstanceNormalization", [real(2, 3, 4, 5)],
                                       [real(3), real(3)], epsilon=0.001)),
    "LayerNormalization": each(Case("LayerNormalization", [real(2, 3, 4)], [real(4), real(4)]),
                               Case("LayerNormalization", [real(2, 3, 4), real(3, 4)], axis=1)),
    "RMSNormalization": each(Case("RMSNormalization", [real(2, 3, 4), real(4)])),
    "PRelu": each(Case("PRelu", [real(2, 3)], [np.array([0.25], np.float32)]),
                  Case("PRelu", [real(2, 3)], [positive(3)])),
    # As many images as channels: the reference goes over images where it should go over channels.
    "LRN": each(Case("LRN", [real(5, 5, 2, 2)], size=3)),
    "ConstantOfShape": each(Case("ConstantOfShape", [], [ints(2, 3)])),
    "EyeLike": each(Case("EyeLike", [real(3, 4)], k=1)),
    "CumSum": each(Case("CumSum", [real(3, 4)], [np.int64(1)])),
    "Mod": each(Case("Mod", [whole(4), whole(4, low=1)]), Case("Mod", [real(4), positive(4)], fmod=1)),
    "ArgMax": each(Case("ArgMax", [real(3, 4)], axis=1)),
    "LpPool": each(Case("LpPool", [real(1, 2, 4, 4)], kernel_shape=[2, 2])),
}

# Read as opaque: for a reason that its operator or this form of it has.
KEPT = set("""Hardmax Tan Mish IsNaN ReduceProd
    Resize Upsample TopK LRN CumSum Mod ArgMax LpPool PRelu BatchNormalization Pad Cast Softplus
    Dropout Pow Div ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare MaxPool
    AveragePool""".split())


def models_of(folder):
    """(name, path, inputs) of every operator at every opset that has it."""
    number = 0
    for op, make in CASES.items():
        for opset in range(OLDEST_OPSET, NEWEST_OPSET + 1):
            try:
                schema = onnx.defs.get_schema(op, opset, "")
            except onnx.defs.SchemaError:
                continue
            if schema.deprecated:
                continue
            for k, case in enumerate(make(op, opset)):
                path = folder / f"{number}.onnx"
                number += 1
                onnx.save(case.model(opset), path)
                yield f"{op} {k} opset {opset}", op, path, dict(case.inputs)

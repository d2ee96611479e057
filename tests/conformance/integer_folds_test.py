"""Integers that reading computes, beside what ONNX Runtime computes of them.

Each row is one node all of whose operands are constants of the model. Reading folds it: the model
that is written has no such node, and the same result. A row of left_alone() must not be folded, as
its result is no integer of its type, or runtimes differ on it: there the node is written again.
Every operator that reading folds (models/onnx/shapes/fold.cpp) has a row or a reason for none."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
SOURCE_DIR = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
WRITER = BUILD_DIR / "tests" / "write-onnx-cases"
OPSET = 18
# A constant becomes a result of a model by an Identity, so those that are left tell nothing.
NOT_TRIED = {"Identity", "Ceil", "Floor", "Round", "Sqrt"}  # The others are of reals alone.

I64, I32, U8 = np.int64, np.int32, np.uint8
MOST = {dtype: np.iinfo(dtype).max for dtype in (I64, I32, U8)}
LEAST = {dtype: np.iinfo(dtype).min for dtype in (I64, I32, U8)}


def of(dtype, *values):
    return np.array(values, dtype)


def signed_pairs(dtype):
    """Every sign and both ways around, and the ends of the type."""
    a = [7, -7, 7, -7, 6, -6, 0, 1, -1, MOST[dtype], LEAST[dtype] + 1, LEAST[dtype]]
    b = [3, 3, -3, -3, 3, -3, 5, MOST[dtype], LEAST[dtype], 2, 2, 3]
    return of(dtype, *a), of(dtype, *b)


def rows():
    """(operator, operands, attributes)"""
    x = np.arange(-3, 9).reshape(3, 4)
    for dtype in (I64, I32, U8):
        whole = x.astype(dtype) if dtype != U8 else np.arange(12, dtype=U8).reshape(3, 4)
        row = whole[0]
        yield from [("Concat", [whole, whole], {"axis": 1}),
                    ("Gather", [whole, of(I64, 2, -3)], {}),
                    ("Gather", [whole, of(I32, -1)], {"axis": 1}),
                    ("Expand", [row, of(I64, 2, 4)], {}), ("Flatten", [whole], {"axis": 0}),
                    ("Reshape", [whole, of(I64, -1, 2)], {}),
                    ("Slice", [whole, of(I64, -1), of(I64, -9), of(I64, 1), of(I64, -2)], {}),
                    ("Squeeze", [whole[None], of(I64, 0)], {}),
                    ("Unsqueeze", [whole, of(I64, -1)], {}), ("Tile", [row, of(I64, 3)], {}),
                    ("Transpose", [whole], {}), ("Shape", [whole], {"start": -1}),
                    ("Size", [whole], {}),
                    ("Cast", [whole], {"to": TensorProto.INT64}),
                    ("Cast", [whole], {"to": TensorProto.BOOL}),
                    ("ConstantOfShape", [of(I64, 2, 3)],
                     {"value": numpy_helper.from_array(of(dtype, 5))}),
                    ("Where", [row > row[1], row, row[::-1].copy()], {}),
                    ("Max", [row, row[::-1].copy()], {}), ("Min", [row, row[::-1].copy()], {}),
                    ("ReduceMax", [whole, of(I64, 1)], {}), ("ReduceMin", [whole, of(I64, 0)], {}),
                    ("Equal", [row, row[::-1].copy()], {})]
        if dtype == U8:
            # Quotients and remainders have no sign here; sums that fit are no less right.
            a, b = of(U8, 200, 255, 7, 0), of(U8, 7, 255, 9, 3)
            yield from [("Div", [a, b], {}), ("Mod", [a, b], {}), ("Mod", [a, b], {"fmod": 1}),
                        ("Add", [of(U8, 250), of(U8, 5)], {}), ("Sub", [of(U8, 5), of(U8, 5)], {}),
                        ("Mul", [of(U8, 51), of(U8, 5)], {})]
            continue
        a, b = signed_pairs(dtype)
        small, other = of(dtype, 7, -7, 0, 100), of(dtype, -3, 3, 5, -100)
        # ONNX Runtime takes fmod of doubles, which hold no integers beyond 2^53.
        near = np.abs(a.astype(float)) < 2 ** 53
        yield from [("Div", [a, b], {}), ("Mod", [a, b], {}),
                    ("Mod", [a[near], b[near]], {"fmod": 1}), ("Add", [small, other], {}),
                    ("Sub", [small, other], {}), ("Mul", [small, other], {}),
                    ("Neg", [small], {}), ("Abs", [small], {}),
                    ("Add", [of(dtype, MOST[dtype] - 1), of(dtype, 1)], {}),
                    ("Sub", [of(dtype, LEAST[dtype] + 1), of(dtype, 1)], {}),
                    ("Neg", [of(dtype, MOST[dtype])], {}), ("NonZero", [whole], {}),
                    ("Less", [a, b], {}), ("Greater", [a, b], {}), ("LessOrEqual", [a, b], {}),
                    ("GreaterOrEqual", [a, b], {}), ("ReduceSum", [whole, of(I64, 1)], {}),
                    ("ReduceProd", [whole + dtype(4), of(I64, 1)], {"keepdims": 0}),
                    ("Split", [whole, of(I64, 1, 2)], {}),
                    ("Range", [dtype(7), dtype(-8), dtype(-3)], {}),
                    ("Range", [dtype(2), dtype(2), dtype(1)], {})]
    for upper in (0, 1):
        yield ("Trilu", [x, of(I64, -1)[0]], {"upper": upper})
    yes, no = np.array([True, True, False, False]), np.array([True, False, True, False])
    yield from [("And", [yes, no], {}), ("Or", [yes, no], {}), ("Not", [yes], {})]


def left_alone():
    """Results that no integer of the type is, divisions by 0, and operators that are not folded."""
    for dtype in (I64, I32):
        most, least, one = of(dtype, MOST[dtype]), of(dtype, LEAST[dtype]), of(dtype, 1)
        yield from [("Add", [most, one], {}), ("Sub", [least, one], {}),
                    ("Mul", [most, one + one], {}),
                    ("Neg", [least], {}), ("Abs", [least], {}), ("Div", [least, -one], {}),
                    ("Div", [one, one - one], {}), ("Mod", [one, one - one], {}),
                    ("ReduceSum", [of(dtype, MOST[dtype], 1), of(I64, 0)], {}),
                    ("ReduceProd", [of(dtype, MOST[dtype], 2), of(I64, 0)], {})]
    yield from [("Add", [of(U8, 250), of(U8, 6)], {}), ("Sub", [of(U8, 5), of(U8, 6)], {}),
                ("Mul", [of(U8, 16), of(U8, 16)], {}), ("Div", [of(U8, 5), of(U8, 0)], {})]
    for direction in ("LEFT", "RIGHT"):
        yield ("BitShift", [of(U8, 129, 1), of(U8, 1, 3)], {"direction": direction})


def model_of(row):
    op, operands, attributes = row
    names = [f"c{k}" for k in range(len(operands))]
    outputs = [f"y{k}" for k in range(2 if op == "Split" else 1)]
    constants = [numpy_helper.from_array(np.asarray(v), n) for n, v in zip(names, operands)]
    node = helper.make_node(op, names, outputs, **attributes)
    # A model has an input, if only to be passed on.
    floats = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in ("x", "passed")]
    graph = helper.make_graph([node, helper.make_node("Neg", ["x"], ["passed"])], "g", floats[:1],
                              [onnx.ValueInfoProto(name=name) for name in outputs] + floats[1:],
                              constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def run(path):
    """What ONNX Runtime computes; none if it has no kernel for the type."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options,
                                               providers=["CPUExecutionProvider"])
        return session.run(None, {"x": np.ones(1, np.float32)})
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return None


def describe(row):
    op, operands, attributes = row
    return f"{op}({', '.join(str(np.asarray(v).tolist()) for v in operands)}) of " \
           f"{np.asarray(operands[0]).dtype} {attributes or ''}".rstrip()


def written(folder, table):
    """The paths of the rows' models, which are written as PATH.mapped."""
    paths = []
    for k, row in enumerate(table):
        paths.append(folder / f"{k}.onnx")
        onnx.save(model_of(row), paths[-1])
    done = subprocess.run([WRITER, "copies"], input="".join(f"{path}\n" for path in paths),
                          capture_output=True, text=True, timeout=300, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for row, line in zip(table, lines, strict=True):
        assert line.get("mapped", {}).get("status") == "written", f"{describe(row)}: {line}"
    return paths


def is_folded(path, op):
    return all(node.op_type != op for node in onnx.load(f"{path}.mapped").graph.node
               if node.input[:1] != ["x"])


def check_rows(folder, table, problems):
    """Returns how many rows ONNX Runtime computed as well."""
    compared = 0
    for row, path in zip(table, written(folder, table)):
        if not is_folded(path, row[0]):
            problems.append(f"{describe(row)}: not folded")
        expected, actual = run(path), run(f"{path}.mapped")
        if expected is None:
            continue
        compared += 1
        for a, b in zip(expected, actual, strict=True):
            if a.dtype != b.dtype or a.shape != b.shape or not np.array_equal(a, b):
                problems.append(f"{describe(row)}: {b.tolist()} of {b.dtype}, not {a.tolist()}")
    return compared


def operators_that_fold():
    text = (SOURCE_DIR / "models/onnx/shapes/fold.cpp").read_text()
    table = re.search(r"kFolded\[\] = \{(.*?)\};", text, re.DOTALL)
    return set(re.findall(r'"(\w+)"', table[1]))


def main():
    problems = []
    table, others = list(rows()), list(left_alone())
    folding = operators_that_fold()
    tried = {op for op, _, _ in table}
    problems += [f"{op} is folded, and no row tries it"
                 for op in sorted(folding - tried - NOT_TRIED)]
    problems += [f"{op} has a row, and is not folded" for op in sorted(tried - folding)]
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        compared = check_rows(Path(name), table, problems)
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        problems += [f"{describe(row)}: folded, though its result is not the same everywhere"
                     for row, path in zip(others, written(Path(name), others))
                     if is_folded(path, row[0])]
    print(f"{len(table)} rows, {compared} computed by ONNX Runtime as well; "
          f"{len(others)} that are not folded")
    if compared < 0.8 * len(table):
        problems.append("too few rows were compared")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

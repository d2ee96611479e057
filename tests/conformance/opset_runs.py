"""Models written by us and run by others, and what their results differ by."""

import collections
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
WRITER = BUILD_DIR / "tests" / "write-onnx-cases"


class Runner:
    """Runs models where that is possible."""

    def __init__(self):
        self.how = collections.Counter()

    def run(self, path, inputs):
        model = onnx.load(path)
        if onnxruntime:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            options.intra_op_num_threads = 1
            try:
                session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                       providers=["CPUExecutionProvider"])
                results = session.run(None, inputs)
                self.how["ONNX Runtime"] += 1
                return "ONNX Runtime", results
            except Exception:  # an opset or a type that it has no kernel for
                pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = ReferenceEvaluator(model).run(None, inputs)
            self.how["reference"] += 1
            return "reference", results
        except Exception as error:
            return f"nowhere ({type(error).__name__}: {error})", None


def difference(expected, actual, rtol=1e-5, atol=1e-6):
    if len(expected) != len(actual):
        return f"{len(actual)} outputs, not {len(expected)}"
    for k, (a, b) in enumerate(zip(expected, actual)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k} is {b.dtype}{b.shape}, not {a.dtype}{a.shape}"
        if a.dtype.kind == "f":
            if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
                return f"output {k} differs by {np.nanmax(np.abs(a.astype(float) - b))}"
        elif not np.array_equal(a, b):
            return f"output {k} differs"
    return None


def write(arguments, lines=()):
    done = subprocess.run([WRITER, *arguments], input="".join(f"{line}\n" for line in lines),
                          capture_output=True, text=True, timeout=500)
    if done.returncode != 0:
        sys.exit(f"write-onnx-cases ends with {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def complaint(path):
    """Of ONNX's checker and its shape inference; none if the model is right."""
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:
        return str(error)
    return None

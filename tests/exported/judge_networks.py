#!/usr/bin/env python3
"""Reads and optimizes ONNX files, and lets onnxruntime say whether results are those of the file that was given.

    python3 tests/exported/judge_networks.py FOLDER_OR_FILE... [--seconds S] [--seed N] [-- OPTION_OF_OPTIMIZE_GRAPH...]

Each file is a row: what is kept as it is, and how the results compare. Sizes that a file leaves open are drawn, and a
result that leaves them open is compared at other sizes, too. Needs onnx, onnxruntime and numpy. Exit code 1: a file was
not read, or a result is wrong.
"""

import argparse
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
import onnxruntime

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
FAST = ["--effort", "1", "--costs", "roofline", "--cost-db", "none"]
INPUTS = 3
# Of the largest number of an output: results are rounded differently.
TOLERANCE = 2e-3
SMALLEST_TOKEN, TOKENS = 3, 29
# Operators of exports for which there is no comprehension: how many elements results have depends on data, or state goes
# through them in a loop.
WITHOUT_MEANING = {"NonZero", "Loop", "Scan", "If", "Unique", "Compress", "NonMaxSuppression", "LSTM", "GRU", "RNN",
                   "RandomNormalLike", "RandomUniformLike", "RandomNormal", "RandomUniform", "SequenceEmpty",
                   "SequenceInsert", "SequenceAt", "ConcatFromSequence", "SplitToSequence"}


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def open_dimensions(path):
    """The names of sizes that the inputs leave open."""
    names = {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                names[dimension.dim_param] = None
    return list(names)


def draw(runner, sizes, generator):
    """Inputs that a network could get: tokens, masks whose first element counts, images and sounds."""
    feeds = {}
    for value in runner.get_inputs():
        shape = [sizes[size] if isinstance(size, str) else size for size in value.shape]
        if "mask" in value.name:
            array = (generator.random(shape) < 0.7).astype(np.float64)
            array[..., 0] = 1
        elif "int" in value.type:
            array = generator.integers(SMALLEST_TOKEN, TOKENS, shape)
        else:
            array = generator.standard_normal(shape)
        types = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool}
        feeds[value.name] = array.astype(types.get(value.type, np.float32))
    return feeds


def error_of(result, reference):
    """How far a result is from the reference, relative to its largest number. Infinity: they differ in kind."""
    if result.shape != reference.shape or result.dtype != reference.dtype:
        return np.inf
    if not np.issubdtype(reference.dtype, np.floating):
        return 0.0 if np.array_equal(result, reference) else np.inf
    finite = np.isfinite(reference)
    if not np.array_equal(finite, np.isfinite(result)) or not np.array_equal(
            np.where(finite, 0, reference), np.where(finite, 0, result), equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    difference = np.abs(result[finite].astype(np.float64) - reference[finite]).max()
    return float(difference / max(1e-6, np.abs(reference[finite]).max()))


def largest_error(given, made, sizes, seed):
    """Over several inputs, between two files in onnxruntime."""
    before, after = session(given), session(made)
    generator = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(INPUTS):
        feeds = draw(before, sizes, generator)
        for reference, result in zip(before.run(None, feeds), after.run(None, feeds)):
            worst = max(worst, error_of(result, reference))
    return worst


def run(command, *arguments):
    done = subprocess.run([str(BIN_DIR / command), *map(str, arguments)], capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{command} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def sizes_at(path, step):
    """Small sizes for what is open; batches and lengths differ, and a length is one that models have."""
    names = open_dimensions(path)
    # Sounds need more samples than tokens: their name says so.
    return {name: (1600 if "samples" in name else 2 + 5 * k) + (k + 1) * step for k, name in enumerate(names)}


def judge(path, options=FAST, seed=1):
    """Reads the file, optimizes it, compares. Returns the row of the table. Errors: RuntimeError."""
    sizes = sizes_at(path, 0)
    shapes = [part for name, size in sizes.items() for part in ("--shape", f"{name}={size}")]
    inspected = json.loads(run("inspect-graph", path, *shapes, "--json", "-", "--quiet"))
    row = {"network": path.stem, "opset": inspected["opset"], "sizes": sizes, "nodes": inspected["nodes"],
           "opaque": sorted((node["operator"], node["reason"]) for node in inspected["opaque_nodes"])}
    with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
        made = Path(folder) / "made.onnx"
        report = json.loads(run("optimize-graph", path, "-o", made, *shapes, *options, "--python", sys.executable,
                                "--json", "-", "--quiet"))
        row["outcome"], row["speedup"] = report["outcome"], report.get("speedup")
        onnx.checker.check_model(onnx.load(made))
        row["error"] = largest_error(path, made, sizes, seed)
        row["open"] = bool(sizes) and open_dimensions(made) != []
        if row["open"]:
            for step in (1, 3, 20):  # beyond bounds that all sizes near the first ones keep
                row["error"] = max(row["error"], largest_error(path, made, sizes_at(path, step), seed))
    row["right"] = row["error"] <= TOLERANCE
    return row


def unexpected(row):
    """The operators that are kept as they are though a meaning could be read."""
    return sorted({op for op, _ in row["opaque"] if op not in WITHOUT_MEANING})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=0, help="begin no file after that long; 0: no limit")
    parser.add_argument("--seed", type=int, default=1)
    arguments, options = parser.parse_known_args()
    files = [file for path in arguments.paths
             for file in (sorted(path.glob("*.onnx")) if path.is_dir() else [path])]
    if arguments.seconds:
        random.Random(arguments.seed).shuffle(files)
    start, failures = time.monotonic(), 0
    for path in files:
        if arguments.seconds and time.monotonic() - start > arguments.seconds:
            break
        try:
            row = judge(path, [*FAST, *(option for option in options if option != "--")], arguments.seed)
            kept = ", ".join(f"{op} x{sum(o == op for o, _ in row['opaque'])} ({reason})"
                             for op, reason in sorted({op: reason for op, reason in row["opaque"]}.items()))
            failures += not row["right"]
            print(f"{row['network']:26} opset {row['opset']} {row['nodes']:5} nodes  {row['outcome']:14} "
                  f"{'right' if row['right'] else 'WRONG'} {row['error']:.0e}"
                  f"{' at open sizes' if row['open'] else ''}  {kept or 'all understood'}", flush=True)
        except Exception as error:  # Each file is reported.
            failures += 1
            print(f"{path.stem:26} FAILED {type(error).__name__}: {str(error)[:400]}", flush=True)
    print(f"{len(files)} files, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the commands of the build and makes small models for them."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import sanitizers  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
MERGE_MATMULS = (Path(__file__).parents[1] / "support" / "merge_matmuls.rules").read_text()


DEADLINE_S = sanitizers.seconds(60)
# For root, and for more ranks than cores, mpirun wants to be told that it is meant.
RANKED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
          "OMPI_MCA_rmaps_base_oversubscribe": "1", "ASAN_OPTIONS": "detect_leaks=0"}


def wait_for(condition):
    """What the condition comes to as soon as that is true."""
    end = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
    return found


def wait_for_line(stream, text):
    """Reads lines up to one that holds the text."""
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"the process ended without a line with {text!r}")


def process_of_rank(mpirun, rank):
    """Its process id, or None if it is not there yet."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended, or is somebody else's
        if parent == mpirun.pid and f"OMPI_COMM_WORLD_RANK={rank}".encode() in words:
            return int(folder.name)
    return None


def processor_seconds(process):
    """What the process has used of all cores until now."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(*arguments, timeout=120, **options):
    """The finished command, with its stdout and stderr as text."""
    command = [str(BIN_DIR / arguments[0]), *map(str, arguments[1:])]
    return subprocess.run(command, capture_output=True, text=True,
                          timeout=sanitizers.seconds(timeout), **options)


def linear_model(path, weight_scale=1.0, rows=2, relu=True, extra_input=False):
    """x[rows, 8] times weights, with a relu behind it. `rows` may be the name of a dimension."""
    weights = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h" if relu else "y"], "product")]
    if relu:
        nodes.append(helper.make_node("Relu", ["h"], ["y"], "activation"))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 8])]
    if extra_input:
        inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [rows, 8]))
    graph = helper.make_graph(
        nodes, "linear", inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 4])],
        [numpy_helper.from_array(weights * np.float32(weight_scale), "w")])
    return save(graph, path)


def custom_model(path):
    """A model with an operator that nobody knows."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["h"], "activation"),
         helper.make_node("Secret", ["h"], ["y"], "secret", domain="mine")], "custom",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 8])])
    return save(graph, path, [helper.make_opsetid("mine", 1)])


def save(graph, path, opsets=()):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *opsets])
    model.ir_version = 8
    onnx.save(model, path)
    return path


class Workspace:
    """A folder with models, gone at the end. Its cost database is its own."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        self.path = Path(self._folder.name)
        os.environ["XDG_CACHE_HOME"] = str(self.path / "cache")
        self.model = linear_model(self.path / "model.onnx")
        self.other = linear_model(self.path / "other.onnx", weight_scale=1.5)
        self.wide = linear_model(self.path / "wide.onnx", extra_input=True)
        self.open_batch = linear_model(self.path / "open.onnx", rows="batch")
        self.custom = custom_model(self.path / "custom.onnx")
        self.garbage = self.write("garbage.onnx", b"\xff\xfe this is no model " * 10)
        self.truncated = self.write("truncated.onnx", self.model.read_bytes()[:100])
        self.empty = self.write("empty.onnx", b"")

    def write(self, name, data):
        path = self.path / name
        path.write_bytes(data)
        return path

    def close(self):
        self._folder.cleanup()

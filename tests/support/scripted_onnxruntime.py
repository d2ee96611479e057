"""Runs a worker of ONNX Runtime, which is named by the first argument, that does not look at the clock:
a model takes less for each operator of com.microsoft that it has, and nothing else matters. What a
search keeps then does not depend on the machine."""

import runpy
import sys
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(sys.argv[1]).parent))
import protocol  # noqa: E402: it lies beside the worker

SLOWEST_US, GAIN_US = 1000.0, 40.0


def time_us(model):
    graph = onnx.load(model.path, load_external_data=False).graph
    return SLOWEST_US - GAIN_US * sum(node.domain == "com.microsoft" for node in graph.node)


def scripted_times(models, rounds, _):
    return [{"wall_us": [us] * rounds, "cpu_us": [us] * rounds} for us in map(time_us, models)]


protocol.time_in_turn = scripted_times
runpy.run_path(sys.argv[1], run_name="__main__")

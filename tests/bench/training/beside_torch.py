"""Times steps of training on one core beside PyTorch's, and compares the losses of twenty steps:

    python3 -m venv /tmp/torch && /tmp/torch/bin/pip install torch numpy onnx
    BIN_DIR=build/bin /tmp/torch/bin/python tests/bench/training/beside_torch.py [NETWORK...] [--steps N]

Both run in turn, one thread each. PyTorch runs the file that build-model writes, each node by a
function of PyTorch, as tests/golden/training/torch_losses.py does.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).parents[2] / "golden" / "training"))

import cases
import torch_losses

CASES = {
    "resnet50": cases.Case("resnet50", "sgd", 0.001, "batch=8", classes=1000),
    "bert": cases.Case("bert", "adam", 0.0001, "batch=4 seq=128", classes=2),
    "nmt": cases.Case("nmt", "sgd", 0.01, "batch=16", classes=1000),
}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class OurStep:
    """A plan for one device, trained by run-plan."""

    def __init__(self, case, folder, data):
        self.case, self.plan, self.data = case, folder / "plan.json", folder / "data.npz"
        np.savez(self.data, **data)
        run(torch_losses.BIN_DIR / "plan-graph", case.network, *case.settings(), "--train",
            "--optimizer", case.optimizer, "--topology", "local", "--devices", "1", "-o", self.plan,
            "-q")

    def report(self, steps):
        return json.loads(run(
            torch_losses.BIN_DIR / "run-plan", self.plan, self.case.network, *self.case.settings(),
            "--virtual", "--steps", str(steps), "--learning-rate", str(self.case.rate), "--inputs",
            self.data, "--json", "-"))


class TorchStep:
    def __init__(self, case, built, data, weights):
        self.graph, self.case = onnx.load(built).graph, case
        arrays = {t.name: numpy_helper.to_array(t).copy() for t in self.graph.initializer} | data
        self.values = {name: torch.from_numpy(array) for name, array in arrays.items()}
        statistics_of_norms = {name for node in self.graph.node
                               if node.op_type == "BatchNormalization" for name in node.input[3:]}
        self.optimizer = torch_losses.optimizer_of(
            case, [tensor.requires_grad_() for name, tensor in self.values.items()
                   if name in weights - statistics_of_norms])

    def run(self):
        began = time.perf_counter()
        self.optimizer.zero_grad()
        loss = torch_losses.loss_of(self.case, self.graph,
                                    torch_losses.forward(self.graph, self.values))
        loss.backward()
        self.optimizer.step()
        return loss.item(), time.perf_counter() - began


def measure(name, steps):
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        built, trained = folder / "forward.onnx", folder / "train.onnx"
        run(torch_losses.BIN_DIR / "build-model", case.network, *case.settings(), "-o", built, "-q")
        run(torch_losses.BIN_DIR / "train-graph", case.network, *case.arguments(), "-o", trained, "-q")
        step = onnx.load(trained)
        notes = cases.notes_of(step)
        data = cases.data_of(step, notes, case.classes)
        theirs = TorchStep(case, built, data, set(notes["replaces"].values()))
        ours = OurStep(case, folder, data)
        losses, seconds = [], []
        for _ in range(steps // 2):
            loss, took = theirs.run()
            losses.append(loss)
            seconds.append(took)
        report = ours.report(steps)
        for _ in range(steps - steps // 2):
            loss, took = theirs.run()
            losses.append(loss)
            seconds.append(took)
    difference = max(abs(a - b) for a, b in zip(losses, report["losses"], strict=True))
    low = statistics.quantiles(seconds, n=5)[0]
    our_low = report["step_us"] / 1e6
    print(f"{name:10} PyTorch {low:6.3f} s, ours {our_low:6.3f} s: {our_low / low:5.2f} of its time; "
          f"losses differ by {difference:.1e}; {report.get('reference_kernels', 0)} reference kernels",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(CASES), choices=[*CASES, []])
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.networks:
        measure(name, arguments.steps)


if __name__ == "__main__":
    main()

"""Twenty steps of training on two ranks, cut as plans of several kinds say, have the losses that
PyTorch comes to (losses.json, which torch_losses.py makes)."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parents[1] / "cli")]
import cases  # noqa: E402
from training_steps import Step  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", HERE.parents[2] / "build" / "bin"))
LOSSES = json.loads((HERE / "losses.json").read_text())
# Each network is trained with one of these, in turn.
STRATEGIES = ["data", "best", "zero-1", "megatron", "zero-3", "pipeline"]
# Sums over two ranks round otherwise, which batch norms of a few samples make more of in each step.
COMPARED = {"resnet18": 4}
# Plans cut cross entropy, which is what they choose for outputs like these.
CASES = [case for case in cases.CASES if case.loss == "cross_entropy"]


class Plans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tool(self, name, *arguments):
        done = subprocess.run([BIN_DIR / name, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def data_of(self, case):
        """The data that PyTorch had, as an archive."""
        path = self.folder / "train.onnx"
        self.run_tool("train-graph", case.network, *case.arguments(), "-o", path, "-q")
        step = Step(path)
        data = cases.data_of(step.model, step.notes, case.classes)
        data.pop(step.notes.get("step"), None)
        np.savez(self.folder / "data.npz", **data)
        return self.folder / "data.npz"

    def model_of(self, case):
        """By name; other weights than the first seed's are in a file."""
        if case.seed == 0:
            return [case.network, *case.settings()[2:]]
        path = self.folder / "model.onnx"
        self.run_tool("build-model", case.network, *case.settings(), "-o", path, "-q")
        return [path]

    def losses(self, case, strategy):
        model, plan = self.model_of(case), self.folder / "plan.json"
        self.run_tool("plan-graph", *model, "--train", "--optimizer", case.optimizer, "--devices", 2,
                      "--topology", "k80x4-ib", "--strategy", strategy, "-o", plan, "-q")
        report = self.run_tool("run-plan", plan, *model, "--virtual", "--steps", cases.STEPS,
                               "--fusion", "full",
                               "--learning-rate", case.rate, "--inputs", self.data_of(case),
                               "--json", "-")
        return json.loads(report)["losses"]

    def test_losses_are_those_of_pytorch(self):
        for number, case in enumerate(CASES):
            strategy = STRATEGIES[number % len(STRATEGIES)]
            with self.subTest(case.name, strategy=strategy):
                compared = COMPARED.get(case.network, cases.STEPS)
                np.testing.assert_allclose(self.losses(case, strategy)[:compared],
                                           LOSSES[case.name][:compared], rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()

"""Twenty steps of training in ONNX Runtime have the losses that PyTorch comes to (losses.json, which
torch_losses.py makes)."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parents[1] / "cli")]
import cases  # noqa: E402
from training_steps import Step  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", HERE.parents[2] / "build" / "bin"))
LOSSES = json.loads((HERE / "losses.json").read_text())


class Losses(unittest.TestCase):
    def test_losses_are_those_of_pytorch(self):
        self.assertEqual(set(LOSSES), {case.name for case in cases.CASES})
        with tempfile.TemporaryDirectory() as folder:
            for case in cases.CASES:
                with self.subTest(case.name):
                    path = Path(folder) / "train.onnx"
                    subprocess.run([BIN_DIR / "train-graph", case.network, *case.arguments(), "-o",
                                    path, "-q"], check=True, stdout=subprocess.DEVNULL)
                    step = Step(path)
                    self.assertEqual({node.domain for node in step.model.graph.node}, {""})
                    data = cases.data_of(step.model, step.notes, case.classes)
                    losses = step.losses(data, case.rate, cases.STEPS)
                    self.assertLess(losses[-1], losses[0])
                    np.testing.assert_allclose(losses, LOSSES[case.name], rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()

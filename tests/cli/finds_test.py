"""What random networks found in the whole command stays mended: the models in finds/."""

import json
import unittest
from pathlib import Path

import onnx
import onnx.parser

import commands
from commands import run

FINDS = sorted((Path(__file__).parent / "finds").glob("*.onnxtxt"))


class Finds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)

    def check(self, find):
        """It ends well, and no result costs more than the model."""
        path = self.space.path / f"{find.stem}.onnx"
        onnx.save(onnx.parser.parse_model(find.read_text()), path)
        done = run("optimize-graph", path, "-o", self.space.path / "faster.onnx", "--costs", "roofline",
                   "--judge", "none", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertLess(report["cost_after_us"], report["cost_before_us"])

    def test_there_are_finds(self):
        self.assertTrue(FINDS)


for each in FINDS:
    setattr(Finds, f"test_{each.stem}", lambda self, find=each: self.check(find))

if __name__ == "__main__":
    unittest.main()

"""Networks that the exporters of torch wrote are read whole, and what is made of them computes the same in onnxruntime.

tests/data/exported holds small ones of each family; export_networks.py writes them, and many more.
"""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.append(str(Path(__file__).parent))
import judge_networks

FILES = Path(__file__).parents[1] / "data" / "exported"
LARGEST_FILE = 300_000


class Exported(unittest.TestCase):
    def test_files_are_small_and_of_many_opsets(self):
        paths = sorted(FILES.glob("*.onnx"))
        self.assertGreaterEqual(len(paths), 6)
        for path in paths:
            self.assertLess(path.stat().st_size, LARGEST_FILE, path.name)
        opsets = {entry.version for path in paths for entry in onnx.load(path).opset_import if not entry.domain}
        self.assertEqual((min(opsets), max(opsets)), (17, 23))
        self.assertGreaterEqual(len(opsets), 5)

    def test_all_is_understood_and_right(self):
        improved = 0
        for path in sorted(FILES.glob("*.onnx")):
            with self.subTest(path.name):
                row = judge_networks.judge(path)
                self.assertEqual(row["opaque"], [])
                self.assertLessEqual(row["error"], judge_networks.TOLERANCE)
                self.assertEqual(row["open"], bool(row["sizes"]))
                improved += row["outcome"] == "improved"
        self.assertGreaterEqual(improved, 5)  # Else what is judged are copies.

    def test_sizes_that_are_fixed_are_right(self):
        fixed = judge_networks.judge(FILES / "distilbert_masked_open.onnx", [*judge_networks.FAST, "--fix-shapes"])
        self.assertLessEqual(fixed["error"], judge_networks.TOLERANCE)
        self.assertEqual(fixed["outcome"], "improved")

    def test_the_judge_sees_other_weights(self):
        path = FILES / "whisper.onnx"
        model = onnx.load(path)
        for weight in model.graph.initializer:
            values = numpy_helper.to_array(weight)
            if values.dtype == np.float32 and values.ndim > 1 and np.abs(values).max() < 100:
                weight.CopyFrom(numpy_helper.from_array(values * np.float32(1.5), weight.name))
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            other = Path(folder) / "other.onnx"
            onnx.save(model, other)
            self.assertEqual(judge_networks.largest_error(path, path, {}, 1), 0)
            self.assertGreater(judge_networks.largest_error(path, other, {}, 1), judge_networks.TOLERANCE)

    def test_the_judge_sees_what_is_no_number(self):
        reference = np.array([1.0, np.nan, np.inf], np.float32)
        self.assertEqual(judge_networks.error_of(reference.copy(), reference), 0)
        self.assertEqual(judge_networks.error_of(np.array([1.0, 0, np.inf], np.float32), reference), np.inf)
        self.assertEqual(judge_networks.error_of(np.array([1.0, np.nan, -np.inf], np.float32), reference), np.inf)


if __name__ == "__main__":
    unittest.main()

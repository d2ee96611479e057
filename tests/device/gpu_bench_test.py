"""tests/bench/gpu.sh without a GPU: on the CPU, in several calls, and what its tables say of made-up results."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
BUILD = Path(os.environ.get("BUILD_DIR", ROOT / "build"))
BENCH = ROOT / "tests" / "bench"
PROGRAMS = BUILD / "tests"


def table_of(folder):
    done = subprocess.run([sys.executable, BENCH / "gpu_table.py", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@unittest.skipUnless((PROGRAMS / "check-device").exists(), "built without CUDA")
class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = Path(folder.name)

    def run_on(self, device, **options):
        environment = {**os.environ, "BIN_DIR": os.environ.get("BIN_DIR", str(BUILD / "bin")),
                       "TEST_DIR": str(PROGRAMS), "PYTHON": sys.executable, "MODELS": "lenet", "BATCHES": "1",
                       "COMPARED": "lenet", "SEARCH_S": "1", "OPERATORS_S": "1", "MIB": "1", **options}
        return subprocess.run(["bash", BENCH / "gpu.sh", self.results, device], env=environment,
                              capture_output=True, text=True)

    def test_without_a_card_it_says_so_and_keeps_nothing(self):
        done = self.run_on("cuda:77")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "no CUDA device" in line]), 1)
        self.assertEqual(list(self.results.glob("*.code")), [])

    def test_it_goes_on_where_it_was(self):
        first = self.run_on("cpu", CALL_S="-1")
        self.assertEqual(first.returncode, 5, first.stderr)
        self.assertIn("check: not yet", first.stdout)
        (self.results / "check.code").write_text("0\n")
        (self.results / "check.txt").write_text("checked before\n")
        second = self.run_on("cpu", CALL_S="600")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn("checked before", second.stdout)
        self.assertIn("% of the copy", second.stdout)
        row, = (line for line in second.stdout.splitlines() if line.startswith("| lenet.1 | "))
        before, predicted = row.split("|")[2:4]
        self.assertGreater(float(before), 0)
        self.assertIn("%", predicted)
        self.assertRegex(second.stdout, r"operators of lenet: [1-5] of 5 kinds timed, 0 beside PyTorch")
        self.assertRegex(second.stdout, r"\ntorch: \w+")


class Tables(unittest.TestCase):
    def test_say_what_is_slower_and_how_much_was_gained(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)

            def keep(step, code, text="", error=""):
                (folder / f"{step}.code").write_text(f"{code}\n")
                (folder / f"{step}.txt").write_text(text)
                (folder / f"{step}.err").write_text(error)

            for model, gain in (("squeezenet", 2), ("bert_base", 0.5), ("resnet50", 8)):
                keep(f"optimize.{model}.1", 0, json.dumps({
                    "latency_before_us": 1000 * gain, "latency_after_us": 1000, "cost_before_us": 1100 * gain,
                    "cost_after_us": 900}))
                keep(f"torch.{model}.1", 4, error="PyTorch with CUDA is not installed\n")
            keep("torch.resnet50.1", 0, json.dumps({"eager_us": 3000, "compiled_us": 1500}))
            keep("optimize.nasrnn.1", 124)
            keep("optimize.inception_v3.1", 7, error="error: no kernel\nhint: none\n")
            keep("operators.resnet50", 0, json.dumps([
                {"operator": "Conv", "dims": [[1], [2]], "count": 1, "ours_us": 10, "torch_us": 10},
                {"operator": "MatMul", "dims": [[3], [4]], "count": 1, "ours_us": 10.6, "torch_us": 10},
                {"operator": "MatMul", "dims": [[5], [6]], "count": 1}]))
            text = table_of(folder)
            self.assertIn("| resnet50.1 | 8.000 | +10 % | 1.000 | -10 % | 8.00 |  | 3.000 | 1.500 | 1.50 |", text)
            self.assertIn("2 of 6 networks at batch 1: 1.000 times as fast as before", text)
            self.assertIn("| nasrnn.1 | out of time |", text)
            self.assertIn("| inception_v3.1 | error: no kernel |", text)
            self.assertIn("2 of 3 kinds timed, 2 beside PyTorch, 1 of them more than 5 % slower", text)
            self.assertIn("MatMul [[3], [4]]: 10.6 us, PyTorch 10.0", text)
            self.assertNotIn("Conv [[1], [2]]", text)


if __name__ == "__main__":
    unittest.main()

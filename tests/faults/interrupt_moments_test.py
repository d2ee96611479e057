"""Ctrl-C at counted moments behind the first gain: the best graph so far is written, checked here and
in ONNX Runtime, and called "not timed" as long as no clock has seen it.

    BIN_DIR=build/bin python tests/faults/interrupt_moments_test.py 20    # instead of 4
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import onnx
import onnxruntime  # noqa: F401  (the runtime that looks at the result)

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))
import sanitizers  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
MOMENTS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 4
LONGEST_S = sanitizers.seconds(120)
MODEL = ["rnntc", "--set", "steps=2", "--set", "hidden=16", "--set", "vocabulary=50"]


def follow(process, trace):
    """The events of a trace, as they are written, until the process ends."""
    while not trace.exists() and process.poll() is None:
        time.sleep(0.002)
    with open(trace) as lines:
        part = ""
        while True:
            part += lines.readline()
            if part.endswith("\n"):
                yield json.loads(part)
                part = ""
            elif process.poll() is not None:
                return
            else:
                time.sleep(0.002)


class Moments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = tempfile.TemporaryDirectory(prefix="soapstone-moments-")
        cls.path = Path(cls.space.name)
        cls.model = cls.path / "model.onnx"
        subprocess.run([BIN_DIR / "build-model", *MODEL, "-o", cls.model, "-q"], check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.space.cleanup()

    def interrupted(self, moment):
        """Runs until so many events behind the first gain. The report, and what was said."""
        out, trace = self.path / f"out{moment}.onnx", self.path / f"trace{moment}"
        report = self.path / f"report{moment}.json"
        errors = open(self.path / f"errors{moment}", "w+")
        process = subprocess.Popen(
            [BIN_DIR / "optimize-graph", self.model, "-o", out, "--costs", "roofline", "--runtime",
             "onnxruntime", "--python", sys.executable, "--cost-db", "none", "--effort", "1",
             "--trace", trace, "--json", report], stdout=subprocess.DEVNULL, stderr=errors)
        count = None
        for event in follow(process, trace):
            if count is not None:
                count += 1
            elif event["event"] == "best":
                count = 0
            if count == moment:
                process.send_signal(signal.SIGINT)
                break
        process.wait(timeout=LONGEST_S)
        errors.seek(0)
        with errors:
            said = errors.read()
        self.assertIn(process.returncode, (0, 130), said)
        return out, json.loads(report.read_text()), said

    def test_the_best_so_far_is_written(self):
        for moment in range(MOMENTS):
            out, report, said = self.interrupted(moment)
            with self.subTest(moment=moment):
                if report["result"] != "original":
                    self.assertTrue(report["equivalence"]["equal"])
                    self.assertTrue(report["judge"]["equal"])
                    onnx.checker.check_model(onnx.load(out))
                if report["trials"] or report["outcome"] != "interrupted":
                    continue  # this process was asleep for so long that the runtime has judged
                self.assertEqual(report["result"], "rewritten")
                self.assertLess(report["cost_after_us"], report["cost_before_us"])
                self.assertIn("not timed", said)
                self.assertTrue(any("not timed" in note for note in report["notes"]))
                self.assertNotEqual(out.read_bytes(), self.model.read_bytes())


if __name__ == "__main__":
    unittest.main()

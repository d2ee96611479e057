"""optimize-graph's objectives: less memory where it is asked for, within a limit where there is one,
the same for any number of threads; and what is foretold is what is allocated."""

import json
import re
import unittest

from commands import Workspace, run, sanitizers

MEBIBYTE = 1024 * 1024


class ObjectiveTest(unittest.TestCase):
    """The answers for speed and for memory are made once."""

    @classmethod
    def setUpClass(cls):
        cls.space = Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.model = cls.space.path / "nasrnn.onnx"
        built = run("build-model", "nasrnn", "--set", "steps=2", "--set", "hidden=256", "-o",
                    cls.model)
        assert built.returncode == 0, built.stderr
        cls.proof = cls.space.path / "proof"
        cls.fast, _, _ = cls.optimize("fast")
        cls.small, cls.small_run, cls.small_output = cls.optimize(
            "small", "--objective", "memory", "--jobs", "1", "--proof", cls.proof)

    @classmethod
    def optimize(cls, name, *options, code=0, costs="roofline", seconds=0):
        report = cls.space.path / f"{name}.json"
        output = cls.space.path / f"{name}.onnx"
        done = run("optimize-graph", cls.model, "-o", output, "--costs", costs, "--time", seconds,
                   "--verify", "2", "--budget", "80", "--effort", "1", "--json", report, *options)
        assert done.returncode == code, done.stderr
        return json.loads(report.read_text()), done, output

    def peaks(self, report):
        return tuple(report[f"predicted_peak_activation_bytes_{at}"] for at in ("before", "after"))

    def test_memory_and_latency_are_different_answers(self):
        self.assertLess(self.fast["cost_after_us"], self.small["cost_after_us"])
        self.assertLess(self.peaks(self.small)[1], self.peaks(self.fast)[1])
        self.assertLess(self.peaks(self.small)[1], self.peaks(self.small)[0])
        self.assertEqual(self.small["outcome"], "improved")
        summary = json.loads(run("inspect-graph", self.small_output, "--json", "-").stdout)
        self.assertEqual(summary["peak_activation_bytes"], self.peaks(self.small)[1])
        self.assertIn("peak activation memory", self.small_run.stdout.splitlines()[0])

    def test_a_limit_lies_between(self):
        limit = (self.peaks(self.small)[1] + self.peaks(self.fast)[1]) / 2
        bounded, _, _ = self.optimize("bounded", "--peak-memory-limit", limit / MEBIBYTE)
        self.assertEqual(bounded["objective"], "latency-under-memory")
        self.assertTrue(bounded["within_limit"])
        self.assertLessEqual(self.peaks(bounded)[1], limit)
        self.assertLessEqual(bounded["cost_after_us"], self.small["cost_after_us"])
        self.assertGreaterEqual(bounded["cost_after_us"], self.fast["cost_after_us"])

    def test_a_limit_out_of_reach(self):
        report, done, output = self.optimize("out_of_reach", "--peak-memory-limit", "0.0001",
                                             code=5)
        self.assertFalse(report["within_limit"])
        self.assertIn("--peak-memory-limit", done.stderr)
        self.assertIn("ABOVE", done.stdout)
        self.assertTrue(output.exists())

    def test_threads_make_no_difference(self):
        def outcome(report, output):
            return report["graphs_expanded"], self.peaks(report), output.read_bytes()
        report, _, output = self.optimize("jobs", "--objective", "memory", "--jobs", "16")
        self.assertEqual(outcome(report, output), outcome(self.small, self.small_output))

    def test_what_is_foretold_is_allocated(self):
        report, _, _ = self.optimize("measured", "--objective", "memory", "--patience", "5",
                                     "--runtime", "soapstone", costs="measured", seconds=5)
        self.assertEqual(
            (report["peak_activation_bytes_before"], report["peak_activation_bytes_after"]),
            self.peaks(report))

    def test_proofs_of_reordered_graphs(self):
        checked = run("compare-graphs", self.model, self.small_output, "--proof", self.proof)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_wrong_usage(self):
        for options in (["--objective", "latency-under-memory"], ["--objective", "speed"],
                        ["--objective", "memory", "--peak-memory-limit", "1"],
                        ["--peak-memory-limit", "-1"],
                        ["--peak-memory-limit", "nan"], ["--peak-memory-limit", "1e300"]):
            self.optimize_fails(options)

    def optimize_fails(self, options):
        done = run("optimize-graph", self.model, "--dry-run", *options)
        self.assertEqual(done.returncode, 2, options)
        self.assertIn("error", done.stderr)


class HugeGraphsTest(unittest.TestCase):
    """Repeated blocks are searched once, and whole graphs are built a bounded number of times."""

    def check(self, gain, *settings):
        space = Workspace()
        self.addCleanup(space.close)
        model, report = space.path / "huge.onnx", space.path / "report.json"
        built = run("build-model", *settings, "-o", model)
        self.assertEqual(built.returncode, 0, built.stderr)
        done = run("optimize-graph", model, "--dry-run", "--costs", "roofline", "--verify", "off",
                   "--time", "0", "--memory-limit", "100", "--effort", "1", "--json", report)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(report.read_text())
        self.assertLess(gain * found["cost_after_us"], found["cost_before_us"])
        self.assertLess(3 * found["regions_searched"], found["regions"])
        self.assertLess(found["peak_rss_mb"], sanitizers.memory(300))
        told = re.search(r"for want of one (\d+) rewrites", done.stdout)
        self.assertEqual(int(told[1]) if told else 0, len(found["proofs_not_found"]))

    def test_transformer(self):
        self.check(1.08, "bert_base", "--set", "layers=16", "--set", "hidden=32", "--set",
                   "heads=4", "--set", "embeddings=0", "--set", "seq=32")

    def test_swin(self):
        self.check(1.04, "swin", "--set", "depth1=1", "--set", "depth2=1", "--set", "depth3=12",
                   "--set", "depth4=1", "--set", "width=12", "--set", "image=64", "--set",
                   "window=2", "--set", "classes=10")

    def test_recurrent_cells(self):
        self.check(1.3, "nasrnn", "--set", "steps=25", "--set", "hidden=32")


if __name__ == "__main__":
    unittest.main()

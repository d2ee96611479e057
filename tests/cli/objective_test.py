"""optimize-graph's objectives: less memory where it is asked for, within a limit where there is one,
the same for any number of threads; and what is foretold is what is allocated."""

import json
import unittest

from commands import Workspace, run

MEBIBYTE = 1024 * 1024


class ObjectiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = Workspace()
        cls.model = cls.space.path / "nasrnn.onnx"
        built = run("build-model", "nasrnn", "--set", "steps=2", "--set", "hidden=256", "-o",
                    cls.model)
        assert built.returncode == 0, built.stderr

    def optimize(self, *options, code=0, costs="roofline"):
        report = self.space.path / "report.json"
        output = self.space.path / "out.onnx"
        done = run("optimize-graph", self.model, "-o", output, "--costs", costs, "--time", "0",
                   "--verify", "2", "--budget", "1500", "--json", report, *options)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(report.read_text()), done, output

    def peaks(self, report):
        return tuple(report[f"predicted_peak_activation_bytes_{at}"] for at in ("before", "after"))

    def test_memory_and_latency_are_different_answers(self):
        fast, _, _ = self.optimize()
        small, done, output = self.optimize("--objective", "memory", "-q")
        self.assertLess(fast["cost_after_us"], small["cost_after_us"])
        self.assertLess(self.peaks(small)[1], self.peaks(fast)[1])
        self.assertLess(self.peaks(small)[1], self.peaks(small)[0])
        self.assertEqual(small["outcome"], "improved")
        summary = json.loads(run("inspect-graph", output, "--json", "-").stdout)
        self.assertEqual(summary["peak_activation_bytes"], self.peaks(small)[1])
        text = run("optimize-graph", self.model, "--dry-run", "--costs", "roofline", "--objective",
                   "memory", "--verify", "2", "-q").stdout
        self.assertIn("peak activation memory", text.splitlines()[0])

    def test_a_limit_lies_between(self):
        fast, _, _ = self.optimize()
        small, _, _ = self.optimize("--objective", "memory")
        limit = (self.peaks(small)[1] + self.peaks(fast)[1]) / 2
        bounded, done, _ = self.optimize("--peak-memory-limit", limit / MEBIBYTE)
        self.assertEqual(bounded["objective"], "latency-under-memory")
        self.assertTrue(bounded["within_limit"])
        self.assertLessEqual(self.peaks(bounded)[1], limit)
        self.assertLessEqual(bounded["cost_after_us"], small["cost_after_us"])
        self.assertGreaterEqual(bounded["cost_after_us"], fast["cost_after_us"])

    def test_a_limit_out_of_reach(self):
        report, done, output = self.optimize("--peak-memory-limit", "0.0001", code=5)
        self.assertFalse(report["within_limit"])
        self.assertIn("--peak-memory-limit", done.stderr)
        self.assertIn("ABOVE", done.stdout)
        self.assertTrue(output.exists())

    def test_threads_make_no_difference(self):
        def outcome(jobs):
            report, _, output = self.optimize("--objective", "memory", "--jobs", jobs)
            return report["graphs_expanded"], self.peaks(report), output.read_bytes()
        one = outcome(1)
        self.assertEqual(outcome(2), one)
        self.assertEqual(outcome(16), one)

    def test_what_is_foretold_is_allocated(self):
        report, _, _ = self.optimize("--objective", "memory", "--patience", "5", costs="measured")
        self.assertEqual(
            (report["peak_activation_bytes_before"], report["peak_activation_bytes_after"]),
            self.peaks(report))

    def test_proofs_of_reordered_graphs(self):
        proof = self.space.path / "proof"
        _, _, output = self.optimize("--objective", "memory", "--proof", proof)
        checked = run("compare-graphs", self.model, output, "--proof", proof)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_wrong_usage(self):
        for options in (["--objective", "latency-under-memory"], ["--objective", "speed"],
                        ["--objective", "memory", "--peak-memory-limit", "1"],
                        ["--peak-memory-limit", "-1"]):
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
                   "--time", "0", "--memory-limit", "100", "--json", report)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(report.read_text())
        self.assertLess(gain * found["cost_after_us"], found["cost_before_us"])
        self.assertLess(3 * found["regions_searched"], found["regions"])
        self.assertLess(found["peak_rss_mb"], 300)

    def test_transformer(self):
        self.check(1.08, "bert_base", "--set", "layers=40", "--set", "hidden=32", "--set",
                   "heads=4", "--set", "embeddings=0", "--set", "seq=32")

    def test_swin(self):
        self.check(1.04, "swin", "--set", "depth3=24", "--set", "width=12", "--set", "image=64",
                   "--set", "window=2", "--set", "classes=10")

    def test_recurrent_cells(self):
        self.check(1.3, "nasrnn", "--set", "steps=50", "--set", "hidden=32")


if __name__ == "__main__":
    unittest.main()

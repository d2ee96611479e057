"""optimize-graph's --explain, --trace and --resume, Ctrl-C, and what is written without a gain."""

import contextlib
import json
import os
import signal
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import commands
from commands import BIN_DIR, run

FAST = ["--costs", "roofline", "--fusion", "activation"]
SHORT = [*FAST, "--effort", "1"]  # It finds what there is to tell of.
LONG = [*FAST, "--budget", "200000", "--time", "0", "--verify", "1", "-j", "1", "--patience", "50"]
LONGER = [*LONG[:-1], "1500"]  # What does not go on behind the interrupt takes no time.


def batch_norm_model(path):
    """A convolution and a batch norm, which the baseline makes one, and nothing for the search."""
    random = np.random.default_rng(0)

    def weight(name, *shape):
        return numpy_helper.from_array(random.uniform(0.5, 1, shape).astype(np.float32), name)

    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"], "norm")]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "normed", [info("x", TensorProto.FLOAT, [1, 8, 64, 64])],
        [info("y", TensorProto.FLOAT, [1, 8, 64, 64])],
        [weight("w", 8, 8, 3, 3), *(weight(name, 8) for name in "sbmv")])
    return commands.save(graph, path)


class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.squeezenet = cls.build("squeezenet")
        cls.bert = cls.build("bert_base", "layers=3", "hidden=32", "heads=4", "seq=16",
                             "vocabulary=50")
        cls.layer = cls.build("bert_base", "layers=1", "hidden=32", "heads=4", "seq=16",
                              "vocabulary=50", file="layer")
        cls.explanation = cls.explained()
        cls.traces = {}

    @classmethod
    def build(cls, name, *settings, file=None):
        path = cls.space.path / f"{file or name}.onnx"
        options = [word for setting in settings for word in ("--set", setting)]
        done = run("build-model", name, "-o", path, *options)
        assert done.returncode == 0, done.stderr
        return path

    def optimize(self, model, *arguments, code=0):
        done = run("optimize-graph", model, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def start(self, model, *arguments):
        return subprocess.Popen(
            [str(BIN_DIR / "optimize-graph"), *map(str, [model, *arguments])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    # --explain

    @classmethod
    def explained(cls):
        """Text and report of one run."""
        path = cls.space.path / "explained.json"
        done = run("optimize-graph", cls.bert, "--dry-run", *SHORT, "--explain", "--json", path)
        assert done.returncode == 0, done.stderr
        return done.stdout, json.loads(path.read_text())

    def test_an_explanation_adds_up(self):
        report = self.explanation[1]
        changes = report["explanation"]["changes"]
        self.assertGreater(len(changes), 0)
        gain = report["cost_before_us"] - report["cost_after_us"]
        self.assertAlmostEqual(sum(change["gain_us"] for change in changes), gain, places=6)
        for change in changes:
            in_each = sum(rule["gain_us"] for rule in change["rules"])
            self.assertAlmostEqual(in_each * len(change["places"]), change["gain_us"], places=6)
        counts = {}
        for change in changes:
            for rule in change["rules"]:
                counts[rule["rule"]] = (counts.get(rule["rule"], 0)
                                        + rule["count"] * len(change["places"]))
        self.assertEqual(counts, {use["rule"]: use["count"] for use in report["rules_applied"]})
        self.assertIn(3, [len(change["places"]) for change in changes], "once for each layer")
        names = {node.name for node in onnx.load(self.bert).graph.node}
        for change in changes:
            self.assertLessEqual({name for place in change["places"] for name in place}, names)

    def test_an_explanation_is_readable(self):
        text = self.explanation[0]
        self.assertIn("in 3 places", text)
        self.assertRegex(text, r"t1 = matmul\(x, A\)  \[1, 16, 32\] +layer0/attention/query")
        self.assertIn("likewise at: layer1/", text)
        self.assertIn("(of weights: once, not in each run)", text)
        self.assertNotIn("explanation", self.optimize(self.space.model, "--dry-run", *SHORT))

    def test_an_explanation_in_a_file(self):
        path = self.space.path / "why.txt"
        report = self.optimize(self.layer, "--dry-run", *SHORT, f"--explain={path}")
        self.assertNotIn("explanation", report)
        self.assertIn("change 1 of", path.read_text())
        rule = self.explanation[1]["rules_applied"][0]["rule"].split(" + ")[0]
        for name in ["why.dot", "why.svg"]:
            path = self.space.path / name
            self.optimize(self.layer, "--dry-run", *SHORT, f"--explain={path}")
            picture = path.read_text()
            for word in ["before", "now", "layer0/attention/query", rule]:
                self.assertIn(word, picture)

    def test_an_explanation_tells_of_the_baseline(self):
        model = batch_norm_model(self.space.path / "explained.onnx")
        text = self.optimize(model, "--dry-run", *FAST, "--explain")
        self.assertIn("1 x fold_batch_norm", text)
        self.assertIn("the search changed nothing", text)

    # --trace

    def trace(self, jobs):
        """Events without what differs from run to run, and the report; made once."""
        if jobs not in self.traces:
            self.traces[jobs] = self.make_trace(jobs)
        return self.traces[jobs]

    def make_trace(self, jobs):
        path = self.space.path / "trace.jsonl"
        report = json.loads(self.optimize(self.squeezenet, "--dry-run", *SHORT, "--time", "0",
                                          "--trace", path, "--json", "-", "-j", jobs))
        events = [json.loads(line) for line in path.read_text().splitlines()]
        for event in events:
            self.assertGreaterEqual(event.pop("time")["at_s"], 0)
        return events, report

    def test_traces_are_the_same_for_any_number_of_threads(self):
        self.assertEqual(self.trace(1)[0], self.trace(2)[0])

    def test_a_trace_agrees_with_the_report(self):
        events, report = self.trace(2)
        kinds = [event["event"] for event in events]
        self.assertEqual((kinds[0], kinds[1], kinds[-1]), ("run", "baseline", "end"))
        regions = [event for event in events if event["event"] == "region"]
        for key, total in [("expanded", "graphs_expanded"), ("expanded_whole", "graphs_expanded_whole"),
                           ("built", "graphs_built"), ("duplicates", "duplicates")]:
            self.assertEqual(sum(region[key] for region in regions), report[total])
            self.assertEqual(events[-1][key], report[total])
        self.assertEqual(len(regions), report["regions_searched"])
        passes = [event for event in events if event["event"] == "pass"]
        self.assertEqual(sum(event["regions"] for event in passes), report["regions"])
        self.assertEqual(sum(event["new_kinds"] for event in passes), len(regions))
        best = [event["cost_us"] for event in events if event["event"] == "best"]
        self.assertEqual(best, sorted(best, reverse=True))
        self.assertAlmostEqual(best[-1], report["cost_after_us"], places=6)
        self.assertEqual(events[-1]["applications"],
                         sum(use["count"] for use in report["rules_applied"]))
        known = {node.name for node in onnx.load(self.squeezenet).graph.node}
        for event in events:
            if event["event"] == "application":
                self.assertLessEqual(set(event["nodes"]), known)

    # --resume

    def wait_for_regions(self, process, checkpoint, count):
        def are_written():
            self.assertIsNone(process.poll(), "it ended before it could be stopped")
            return checkpoint.exists() and checkpoint.read_text().count("\nregion ") >= count
        commands.wait_for(are_written)

    def test_a_run_that_was_stopped_twice_goes_on(self):
        whole = self.space.path / "whole.onnx"
        expected = json.loads(self.optimize(self.squeezenet, "-o", whole, *LONG, "--json", "-"))
        checkpoint = self.space.path / "search.checkpoint"
        output = self.space.path / "resumed.onnx"
        command = [self.squeezenet, "-o", output, *LONG, "--resume", checkpoint, "--json", "-"]
        for stop, regions in [(signal.SIGKILL, 2), (signal.SIGINT, 4)]:
            process = self.start(*command)
            self.wait_for_regions(process, checkpoint, regions)
            process.send_signal(stop)
            process.communicate()
            self.assertNotEqual(process.returncode, 0)
        report = json.loads(self.optimize(*command))
        self.assertEqual(output.read_bytes(), whole.read_bytes())
        self.assertGreater(report["graphs_resumed"], 0)
        self.assertLess(report["graphs_resumed"], report["graphs_expanded"])
        for key in ["graphs_expanded", "graphs_built", "cost_after_us", "rules_applied"]:
            self.assertEqual(report[key], expected[key])
        again = json.loads(self.optimize(*command))
        self.assertEqual(again["graphs_resumed"], expected["graphs_expanded"])

    def test_a_checkpoint_of_something_else_is_refused(self):
        checkpoint = self.space.path / "other.checkpoint"
        command = ["--dry-run", "--resume", checkpoint, "--costs", "roofline", "--effort", "1"]
        self.optimize(self.layer, *command)
        before = checkpoint.read_bytes()
        for arguments, word in [((self.squeezenet, *command), "another model"),
                                ((self.layer, *command, "--alpha", "1.5"), "--alpha 1.5"),
                                ((self.layer, *command, "--fusion", "none"), "fusion none"),
                                ((self.layer, *command, "--only", "nest_concat"), "other rules")]:
            done = run("optimize-graph", *arguments)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(word, done.stderr)
        done = run("optimize-graph", self.layer, "--dry-run", "--resume", self.space.model)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(checkpoint.read_bytes(), before)

    # Ctrl-C

    def test_an_interrupt_leaves_the_best_so_far(self):
        output = self.space.path / "interrupted.onnx"
        trace = self.space.path / "interrupted.jsonl"
        process = self.start(self.squeezenet, "-o", output, *LONGER, "--trace", trace, "--json", "-")
        commands.wait_for(lambda: trace.exists() and '"event":"best"' in trace.read_text())
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, stderr)
        report = json.loads(stdout)
        self.assertEqual((report["outcome"], report["result"]), ("interrupted", "rewritten"))
        self.assertTrue(report["equivalence"]["equal"])
        self.assertLess(report["cost_after_us"], report["cost_before_us"])
        done = run("compare-graphs", self.squeezenet, output)
        self.assertEqual(done.returncode, 0, done.stderr)

    # Nothing gained

    def test_a_faster_baseline_is_written(self):
        model = batch_norm_model(self.space.path / "normed.onnx")
        output, proof = self.space.path / "folded.onnx", self.space.path / "folded.proof"
        report = json.loads(self.optimize(model, "-o", output, *FAST, "--proof", proof, "--json",
                                          "-"))
        self.assertEqual((report["outcome"], report["result"]), ("no_gain_found", "baseline"))
        self.assertGreater(report["baseline_predicted_speedup"], 1)
        self.assertTrue(report["equivalence"]["equal"])
        self.assertEqual([node.op_type for node in onnx.load(output).graph.node], ["Conv"])
        done = run("compare-graphs", model, output, "--proof", proof)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.optimize(model, "-o", output, *FAST)
        self.assertIn("the baseline is kept", text)

    def test_else_the_original_is_copied(self):
        output = self.space.path / "copy.onnx"
        report = json.loads(self.optimize(self.space.model, "-o", output, *FAST, "--json", "-"))
        self.assertEqual((report["outcome"], report["result"]), ("no_gain_found", "original"))
        self.assertEqual(output.read_bytes(), self.space.model.read_bytes())


class OutputFiles(unittest.TestCase):
    """Nothing is destroyed, and what cannot be written shows before the search."""

    def setUp(self):
        space = commands.Workspace()
        self.addCleanup(space.close)
        self.path = space.path
        self.model = commands.linear_model(space.path / "model.onnx")
        self.before = self.model.read_bytes()

    def refuses(self, code, message, *arguments):
        done = run("optimize-graph", self.model, *FAST, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(message, done.stderr)
        self.assertNotIn("predicted latency", done.stdout)
        self.assertEqual(self.model.read_bytes(), self.before)

    def test_the_model_is_not_overwritten(self):
        link = self.path / "link"
        link.symlink_to(self.model)
        for path in (self.model, link, self.path / "." / "model.onnx"):
            self.refuses(2, "--json would overwrite the model", "--dry-run", "--json", path)
            self.refuses(2, "--trace would overwrite the model", "--dry-run", "--trace", path)
            self.refuses(2, "--resume would overwrite the model", "--dry-run", "--resume", path)
            self.refuses(2, "--explain would overwrite the model", "--dry-run", f"--explain={path}")
            self.refuses(2, "--proof would overwrite the model", "-o", self.path / "out", "--proof",
                         path)

    def test_two_outputs_are_two_files(self):
        out = self.path / "out"
        self.refuses(2, "--output and --proof are the same file", "-o", out, "--proof", out)
        self.refuses(2, "--trace and --json are the same file", "-o", out, "--json", "r", "--trace",
                     "./r")
        self.assertFalse(out.exists())
        done = run("optimize-graph", self.model, *FAST, "--dry-run", "--json", "/dev/null",
                   "--trace", "/dev/null")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_folder_that_is_not_there_shows_at_once(self):
        absent = self.path / "no" / "file"
        for option in ("--proof", "--json", "--trace", "--resume"):
            self.refuses(3, f"{option}: cannot be written: No such file", "-o", self.path / "out",
                         option, absent)
        self.refuses(3, "--output: cannot be written: No such file", "-o", absent)
        self.refuses(3, "--output: cannot be written: it is a directory", "-o", self.path)
        self.assertFalse((self.path / "out").exists())

    def test_the_model_may_be_replaced(self):
        done = run("optimize-graph", self.model, *FAST, "-o", self.model, "--overwrite")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_numbers_out_of_range(self):
        for option, value in [("--effort", "0"), ("--effort", "6"), ("--budget", "-1"), ("--patience", "-1"), ("--time", "nan"),
                              ("--alpha", "nan"), ("--memory-limit", "1e300"), ("--rtol", "nan"),
                              ("--require-speedup", "nan")]:
            self.refuses(2, option, "--dry-run", f"{option}={value}")

    def test_options_for_experts(self):
        shown, all_shown = (run("optimize-graph", option).stdout for option in ("--help", "--help-all"))
        for option in ("--strategy", "--patience", "--region", "--eqsat-region", "--e-nodes", "--budget",
                       "--alpha", "--memory-limit"):
            self.assertNotRegex(shown, rf"(?m)^ +{option} ")
            self.assertRegex(all_shown, rf"(?m)^ +{option} ")
        for option in ("--effort", "--time"):
            self.assertRegex(shown, rf"(?m)^ +{option} ")

    def test_a_limit_of_a_strategy_asks_for_it(self):
        patience, e_nodes = ("--patience", "5"), ("--e-nodes", "50")
        for arguments, strategy in [((), "portfolio"), (patience, "backtracking"), (e_nodes, "eqsat"),
                                    ((*patience, *e_nodes), "best"),
                                    ((*patience, "--strategy", "portfolio"), "portfolio")]:
            done = run("optimize-graph", self.model, "--dry-run", *FAST, "--json", "-", *arguments)
            self.assertEqual(json.loads(done.stdout)["strategy"], strategy)


class Effort(unittest.TestCase):
    """On a whole network: more of it is never worse, and proofs are made once."""

    def test_more_is_never_worse(self):
        with contextlib.closing(commands.Workspace()) as space:
            model = space.path / "squeezenet.onnx"
            self.assertEqual(run("build-model", "squeezenet", "-o", model).returncode, 0)
            reports = []
            for effort in (1, 1, 2, 3):
                done = run("optimize-graph", model, "--dry-run", "--costs", "taso", "--verify", "off",
                           "--effort", effort, "--json", "-")
                self.assertEqual(done.returncode, 0, done.stderr)
                reports.append(json.loads(done.stdout))
            costs = [report["cost_after_us"] for report in reports]
            self.assertEqual(costs, sorted(costs, reverse=True))
            self.assertEqual(costs[0], costs[1])
            self.assertGreater(reports[0]["proofs_tried"], 0)
            self.assertEqual(reports[0]["proofs_kept"], 0)
            self.assertEqual(reports[1]["proofs_tried"], 0)
            self.assertEqual(reports[1]["proofs_kept"], reports[0]["proofs_tried"])


if __name__ == "__main__":
    unittest.main()

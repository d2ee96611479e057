"""--runtime of all commands: what reports say of it, and what is said where it does not work."""

import json
import os
import stat
import sys
import unittest
from pathlib import Path

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path
SUPPORT = Path(__file__).parents[1] / "support"
COUNTER = P / "processes"
ONNX_RUNTIME = ["--runtime", "onnxruntime", "--python", sys.executable]
RULE = """
rule associative
  x: [m, k]   a: [k, l]   b: [l, n]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    c = matmul(a, b)
    y = matmul(x, c)
"""


def tearDownModule():
    SPACE.close()


def counting(fault="none"):
    COUNTER.unlink(missing_ok=True)
    return ["--runtime", f"command:{sys.executable} -I -S '{SUPPORT / 'counting_worker.py'}' "
                         f"'{COUNTER}' {fault}"]


def bare_python():
    """A Python without packages."""
    path = P / "bare-python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Bench(unittest.TestCase):
    def bench(self, *arguments, code=0, **options):
        done = run("bench-graph", SPACE.model, "--rounds", "12", "--json", P / "report.json",
                   *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done, json.loads((P / "report.json").read_text())

    def test_onnx_runtime(self):
        done, report = self.bench(*ONNX_RUNTIME, "--breakdown", "--against", SPACE.other)
        self.assertRegex(done.stdout, r"\Atimed in: ONNX Runtime [0-9.]+, 1 thread")
        self.assertRegex(report["runtime"], "^ONNX Runtime ")
        self.assertEqual(report["clock"], "processor")
        self.assertNotIn("device", report)
        self.assertEqual([m["model"] for m in report["models"]],
                         [str(SPACE.model), str(SPACE.other)])
        for model in report["models"]:
            self.assertEqual(model["rounds"], 12)
            low, high = model["latency_interval_us"]
            self.assertLessEqual(low, model["latency_us"])
            self.assertLessEqual(model["latency_us"], high)
            self.assertNotIn("launches", model)
        self.assertGreater(report["speedup"], 0)
        operators = " ".join(kernel["operator"] for kernel in report["breakdown"])
        self.assertRegex(operators, "MatMul|Gemm")
        for kernel in report["breakdown"]:
            self.assertIn(kernel["kernel"], done.stdout)

    def test_auto_is_onnx_runtime(self):
        done, _ = self.bench("--python", sys.executable)
        self.assertIn("timed in: ONNX Runtime", done.stdout)

    def test_options_of_our_executor_mean_it(self):
        for options in (["--runtime", "soapstone"], ["--device", "cpu"], ["--fusion", "none"]):
            done, report = self.bench(*options)
            self.assertIn("timed in: our own executor", done.stdout)
            self.assertEqual(report["runtime"], "soapstone")
            self.assertGreater(report["models"][0]["launches"], 0)

    def test_open_sizes_are_given(self):
        done = run("bench-graph", SPACE.open_batch, "--shape", "batch=3", "--rounds", "3",
                   *ONNX_RUNTIME)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_options_of_the_runtime(self):
        _, report = self.bench(*ONNX_RUNTIME, "--provider", "CPUExecutionProvider",
                               "--runtime-option", "session.intra_op.allow_spinning=0")
        self.assertIn("CPUExecutionProvider, session.intra_op.allow_spinning=0", report["runtime"])
        done, _ = self.bench(*ONNX_RUNTIME, "--runtime-option", "wings=2", code=4)
        self.assertIn("there is no session option wings", done.stderr)

    def test_a_program_of_ones_own(self):
        done, report = self.bench(*counting(), "--breakdown")
        self.assertIn("timed in: Counting 1.0, 1 thread", done.stdout)
        # A matmul, a relu, and one for the model.
        self.assertEqual(report["models"][0]["latency_us"], 102)
        self.assertEqual(report["breakdown"][0]["operator"], "Everything")

    def test_a_runtime_without_a_profile_still_times(self):
        done, report = self.bench(*counting("profile:refuse:0"), "--breakdown")
        self.assertIn("Counting has no profile: no kernel for Relu", done.stderr)
        self.assertNotIn("breakdown", report)

    def test_a_worker_that_fails_once(self):
        for fault in ("crash", "garbage", "exit"):
            for verb in ("load", "prepare", "time", "profile"):
                with self.subTest(f"{verb} {fault}"):
                    self.bench(*counting(f"once:{verb}:{fault}:0"), "--breakdown")
                    self.assertEqual(COUNTER.read_text(), "2")

    def test_a_runtime_that_cannot_run_the_model(self):
        done = run("bench-graph", SPACE.custom, "--python", sys.executable)
        self.assertEqual(done.returncode, 4)
        self.assertIn("timed on our own executor", done.stderr)


class Errors(unittest.TestCase):
    def setUp(self):
        (P / "a.rules").write_text(RULE)
        self.commands = {
            "bench-graph": [SPACE.model],
            "optimize-graph": [SPACE.model, "--dry-run", "--costs", "roofline", "--time", "1"],
            "cost-rules": [P / "a.rules"],
            "generate-rules": ["--ops", "1", "--operators", "relu", "-o", P / "g.rules"]}

    def fails(self, command, code, *messages, arguments=(), **options):
        with self.subTest(f"{command} {arguments}"):
            done = run(command, *arguments, **options)
            self.assertEqual(done.returncode, code, done.stderr)
            for message in messages:
                self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_a_runtime_that_is_not_installed(self):
        python = bare_python()
        for command, arguments in self.commands.items():
            for runtime, package in (("onnxruntime", "onnxruntime"), ("openvino", "openvino")):
                self.fails(command, 7, "cannot be run", f"{python} -m pip install {package}",
                           arguments=[*arguments, "--runtime", runtime, "--python", python])

    def test_no_such_runtime(self):
        for command, arguments in self.commands.items():
            self.fails(command, 2, "there is no runtime 'abacus'",
                       "onnxruntime, openvino or command:PROGRAM",
                       arguments=[*arguments, "--runtime", "abacus"])
            self.fails(command, 2, "not of the form NAME=VALUE",
                       arguments=[*arguments, "--runtime-option", "wings"])

    def test_options_that_contradict_each_other(self):
        for option in (["--device", "cpu"], ["--fusion", "full"]):
            self.fails("bench-graph", 2, f"{option[0]} says how our own executor runs",
                       arguments=[SPACE.model, "--runtime", "onnxruntime", *option])
        self.fails("cost-rules", 2, "a roofline is the same in every --runtime",
                   arguments=[P / "a.rules", "--runtime", "openvino", "--costs", "roofline"])

    def test_auto_goes_on_without_a_runtime(self):
        (P / "no-workers").mkdir(exist_ok=True)
        environment = {**os.environ, "SOAPSTONE_WORKERS_DIR": str(P / "no-workers")}
        done = run("bench-graph", SPACE.model, "--rounds", "6", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("timed in: our own executor", done.stdout)
        self.assertIn("ONNX Runtime cannot be run", done.stderr)

    def test_a_model_that_the_runtime_cannot_load(self):
        for command, arguments in (("bench-graph", []),
                                   ("optimize-graph", ["--dry-run", "--costs", "roofline",
                                                       "--verify", "off"])):
            self.fails(command, 4, "custom.onnx: ONNX Runtime cannot load the model", "Secret",
                       "--runtime to soapstone",
                       arguments=[SPACE.custom, *arguments, *ONNX_RUNTIME])

    def test_programs_that_break_the_protocol(self):
        for command in ("bench-graph", "optimize-graph"):
            arguments = self.commands[command]
            for fault, words in {"hello:garbage:0": "I was told to say so",
                                 "load:garbage:0": "I was told to say so",
                                 "time:exit:0": "the license has run out",
                                 "prepare:crash:0": "signal 11"}.items():
                self.fails(command, 7, words, arguments=[*arguments, *counting(fault)])
            self.fails(command, 7, "docs/workers.md",
                       arguments=[*arguments, "--runtime", "command:echo hello"])
            self.fails(command, 7, "absent-program",
                       arguments=[*arguments, "--runtime", "command:absent-program"])
            self.fails(command, 4, "no kernel for Relu",
                       arguments=[*arguments, *counting("time:refuse:0")])

    def test_rules_at_which_the_runtime_fails(self):
        self.fails("cost-rules", 7, "signal 11",
                   arguments=[P / "a.rules", *counting("time:crash:0")])


class Rules(unittest.TestCase):
    def test_costs_in_a_runtime(self):
        (P / "a.rules").write_text(RULE)
        done = run("cost-rules", P / "a.rules", *counting(), "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["costs"], "Counting 1.0, 1 thread")
        self.assertEqual(report["rules"][0]["speedup"], 201 / 101)
        self.assertTrue(report["rules"][0]["pays"])

    def test_times_in_onnx_runtime(self):
        (P / "a.rules").write_text(RULE)
        done = run("cost-rules", P / "a.rules", *ONNX_RUNTIME, "--time", "--time-limit", "0.2",
                   "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        rule = json.loads(done.stdout)["rules"][0]
        self.assertFalse(rule["estimated"])
        self.assertTrue(rule["pays"])
        self.assertGreater(rule["timed"]["rounds"], 2)

    def test_ranks_in_a_runtime(self):
        out = P / "ranked.rules"
        done = run("generate-rules", "--ops", "2", "--operators", "relu", "--ranks", "2", "-o", out,
                   *counting())
        self.assertEqual(done.returncode, 0, done.stderr)
        text = out.read_text()
        self.assertRegex(text, r"--rank measured --runtime command:")
        self.assertRegex(text, r"# pays: 1\.50x .*\(Counting 1\.0, 1 thread\)")


if __name__ == "__main__":
    unittest.main()

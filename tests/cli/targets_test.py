"""Devices that are not here: costs measured elsewhere, estimates, and what is refused."""

import json
import unittest

import commands
from commands import run

SPACE = commands.Workspace()
P = SPACE.path


def tearDownModule():
    SPACE.close()


class Costs(unittest.TestCase):
    """Measured in one call after another, and used where nothing is timed."""

    def measure(self, file, *arguments):
        done = run("measure-costs", "-o", file, "--json", "-", "-q", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_they_are_measured_once_and_used_elsewhere(self):
        file = P / "costs.jsonl"
        first = self.measure(file, "--models", f"{SPACE.model},lenet")
        self.assertEqual([model["model"] for model in first["models"]], [str(SPACE.model), "lenet"])
        self.assertTrue(first["complete"])
        self.assertGreater(first["launches"], 5)
        self.assertEqual(first["launches"], sum(m["launches_timed"] for m in first["models"]))
        self.assertEqual(len(file.read_text().splitlines()), first["launches"])

        again = self.measure(file, "--models", "lenet")
        self.assertEqual((again["launches_before"], again["launches"]), (first["launches"],) * 2)

        done = run("optimize-graph", SPACE.model, "--target", file, "-o", P / "there.onnx", "--json",
                   "-", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["estimated_share"], 0)
        self.assertEqual(report["costs"], first["device"])
        self.assertIsNone(report["latency_before_us"])

    def test_estimates_do_not_win_where_a_launch_took_long(self):
        """Used elsewhere, costs lead to the graphs that were met where they were measured."""
        file = P / "slow.jsonl"
        self.measure(file, "--models", f"{SPACE.model},lenet")
        records = [json.loads(line) for line in file.read_text().splitlines()]
        slow = [record for record in records if "-> relu" in record["signature"]]
        self.assertEqual(len(slow), 1)
        slow[0]["cost_us"] *= 100
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        done = run("optimize-graph", SPACE.model, "--target", file, "-o", P / "slow.onnx", "--json",
                   "-", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["estimated_share"], 0)

    def test_what_there_was_no_time_for_is_measured_in_the_next_call(self):
        """Each call measures at least one launch, whatever the time."""
        file = P / "little_time.jsonl"
        known = 0
        for _ in range(3):
            report = self.measure(file, "--models", "inception_v3", "--time", "0.01")
            self.assertFalse(report["complete"])
            self.assertEqual(report["launches_before"], known)
            self.assertGreater(report["launches"], known)
            known = report["launches"]
        self.assertLess(known, 20)

    def test_costs_of_another_device_are_refused(self):
        file = P / "mine.jsonl"
        self.measure(file, "--models", SPACE.model)
        other = P / "other.jsonl"
        other.write_text(file.read_text().replace('"device":"', '"device":"Abacus '))
        done = run("measure-costs", "--models", SPACE.model, "-o", other, "-q")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has costs of 'Abacus", done.stderr)
        both = P / "both.jsonl"
        both.write_text(file.read_text() + other.read_text())
        done = run("optimize-graph", SPACE.model, "--target", both, "-o", P / "no.onnx", "-q")
        self.assertEqual(done.returncode, 3)
        self.assertIn("costs of 2 devices", done.stderr)


def has_gpu_library():
    done = run("optimize-graph", SPACE.model, "--target", "nothing", "-o", P / "no.onnx", "-q")
    return "h200" in done.stderr


@unittest.skipUnless(has_gpu_library(), "built without CUDA")
class Gpus(unittest.TestCase):
    def test_what_was_not_measured_is_called_an_estimate(self):
        # For an estimate of a launch its kernel is compiled: that of the model is, not all that a
        # search would look at.
        for target, name in (("h200", "NVIDIA H200"), ("a100", "NVIDIA A100-SXM4-80GB")):
            done = run("optimize-graph", SPACE.model, "--target", target, "-o", P / "gpu.onnx",
                       "--json", "-", "-q", "--cost-db", P / "empty.db", "--budget", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["estimated_share"], 1)
            self.assertEqual(report["costs"], f"{name}, estimated")
            self.assertIsNone(report["speedup"])

    def test_costs_in_the_database_come_first(self):
        """Records under the key of a card are those of the target of its name."""
        database, lines = P / "card.db", P / "card.jsonl"
        done = run("measure-costs", "--models", SPACE.model, "-o", lines, "-q", "--fusion", "none")
        self.assertEqual(done.returncode, 0, done.stderr)
        records = [json.loads(line) for line in lines.read_text().splitlines()]
        for record in records:
            record["device"] = "NVIDIA H200 (sm_90); CUDA driver 13.0; threads 1"
            record["cost_us"] = 1000
        lines.write_text("".join(json.dumps(record) + "\n" for record in records))
        self.assertEqual(
            run("bench-graph", "--cost-db", database, "--import-costs", lines, "-q").returncode, 0)
        done = run("optimize-graph", SPACE.model, "--target", "h200", "-o", P / "gpu.onnx", "--json",
                   "-", "-q", "--cost-db", database, "--fusion", "none")
        report = json.loads(done.stdout)
        # What nobody measured is no faster than what somebody did.
        self.assertGreaterEqual(report["cost_after_us"], 1000)
        self.assertLess(report["estimated_share"], 1)
        self.assertIn("NVIDIA H200 (sm_90)", report["costs"])
        self.assertGreaterEqual(report["cost_before_us"], 1000)


if __name__ == "__main__":
    unittest.main()

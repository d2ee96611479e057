"""cost-rules and generate-rules --rank: which rules pay by themselves, said in the file."""

import json
import re
import unittest

import commands
from commands import run

RULES = """
rule associative
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)

rule relu_twice
  x: [n, m]
  source
    t = relu(x)
    y = relu(t)
  target
    y = relu(x)
"""


class CostRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.rules = cls.space.write("some.rules", RULES.encode())
        cls.noted = cls.space.path / "noted.rules"
        cls.words = ["--ops", "2", "--operators", "relu,transpose,matmul"]
        done = run("generate-rules", "-o", cls.noted, "--json", "-", *cls.words)
        assert done.returncode == 0, done.stderr
        cls.report = json.loads(done.stdout)

    def generate(self, name, *words):
        path = self.space.path / name
        done = run("generate-rules", "-o", path, *self.words, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path.read_text()

    def test_a_comment_and_an_entry_for_each_rule(self):
        comments = re.findall(r"^# (.*)\nrule (\S+)", self.noted.read_text(), re.MULTILINE)
        self.assertEqual([name for _, name in comments], self.report["rules"])
        gains = {g["rule"]: g for g in self.report["gains"]}
        for comment, name in comments:
            self.assertEqual(comment.startswith("pays: "), gains[name]["pays"], comment)
        self.assertEqual({g["pays"] for g in gains.values()}, {True, False})
        twice = next(g for g in gains.values() if g["rule"].startswith("relu_as_relu"))
        self.assertAlmostEqual(twice["speedup"], twice["source_us"] / twice["target_us"])
        self.assertEqual(twice["costs"], "roofline")

    def test_comments_change_no_proof(self):
        done = run("verify-rules", self.noted, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({r["verdict"] for r in json.loads(done.stdout)["rules"]}, {"proved"})
        plain = self.generate("plain.rules", "--rank", "none")
        without = re.sub(r"^# (pays|enables).*\n", "", self.noted.read_text(), flags=re.MULTILINE)
        self.assertEqual(without, plain.replace(" --rank none", ""))

    def test_the_optimizer_shows_them(self):
        listed = run("optimize-graph", "--list-rules", "--only-rules", self.noted, "--json", "-")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        rules = [r for r in json.loads(listed.stdout) if not r["baseline"]]
        self.assertEqual({r["evidence"] for r in rules}, {"proved"})
        for rule in rules:
            self.assertRegex(rule["description"], "^(pays|enables others): ")

    def test_the_same_for_any_number_of_threads(self):
        self.assertEqual(self.generate("one.rules", "--jobs", "1"), self.noted.read_text())

    def measured_and_timed(self):
        done = run("cost-rules", self.rules, "--runtime", "soapstone", "--time", "--time-limit",
                   "0.05", "--rounds", "6", "--cost-db", "none", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertIn("threads 1", report["costs"])
        return {r["rule"]: r for r in report["rules"]}["associative"]

    def test_measured_and_timed(self):
        # A gain within the spread of its measurements does not pay: other work is a reason to
        # measure again.
        attempts = (self.measured_and_timed() for _ in range(5))
        associative = next((a for a in attempts if a["pays"]), None)
        self.assertIsNotNone(associative, "one product instead of two never paid")
        self.assertEqual(associative["equation"],
                         "matmul(matmul(x, a), b) = matmul(x, matmul(a, b))")
        self.assertEqual(associative["constants"], ["a", "b"])
        self.assertFalse(associative["estimated"])
        timed = associative["timed"]
        self.assertLessEqual(timed["low"], timed["ratio"])
        self.assertLessEqual(timed["ratio"], timed["high"])
        self.assertGreater(timed["source_us"], 0)

    def test_text(self):
        done = run("cost-rules", self.rules)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"relu_twice +1  pays: 2\.00x at ")
        self.assertIn("2 rules: 2 pay by themselves, 0 enable others", done.stdout)

    def test_wrong_usage(self):
        self.assertEqual(run("cost-rules").returncode, 2)
        self.assertEqual(run("cost-rules", self.rules, "--time").returncode, 2)
        self.assertEqual(run("cost-rules", self.rules, "--costs", "guessed").returncode, 2)
        self.assertEqual(run("cost-rules", self.space.path / "absent.rules").returncode, 3)
        done = run("generate-rules", "-o", self.space.path / "x", "--rank", "gpu")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()

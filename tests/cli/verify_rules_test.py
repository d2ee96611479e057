"""verify-rules: verdicts, exit codes, reports, and what --write leaves in a file."""

import json
import re
import signal
import subprocess
import unittest

import commands
from commands import run

PROVED = """
# Two layers without anything between them are one.
rule associative
  for A in ranks(0..1)
  x: [A.., m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)

rule negation_of_transpose
  x: [n, n]
  source
    t = transpose(x; perm=[p, q])
    y = neg(t)
  target
    u = neg(x)
    y = transpose(u; perm=[p, q])
"""
REFUTED = """
rule not_commutative
  x: [n, n]   a: [n, n]
  where n >= 2
  source
    y = matmul(x, a)
  target
    y = matmul(a, x)
  proof all-sizes; floats: exact; verifier 1
"""
# No sizes satisfy it, so that it is neither.
UNKNOWN = """
rule impossible
  x: [n, n]   a: [n, n]
  where 2*n = 3
  source
    y = matmul(x, a)
  target
    y = matmul(a, x)
  proof all-sizes; floats: exact; verifier 1
"""


class VerifyRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)

    def file(self, text, name="test.rules"):
        return self.space.write(name, text.encode())

    def verdicts(self, *arguments, code=0):
        done = run("verify-rules", *arguments, "--json", "-")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)["rules"]

    def test_proved(self):
        path = self.file(PROVED)
        first, second = self.verdicts(path)
        self.assertEqual(first["rule"], "associative")
        self.assertEqual((first["file"], first["line"]), (str(path), 3))
        self.assertEqual(first["verdict"], "proved")
        self.assertEqual(first["instances"], 2)
        self.assertEqual(first["floats"], "reassociates")
        self.assertGreater(first["cpu_ms"], 0)
        self.assertNotIn("counterexample", first)
        self.assertNotIn("reason", first)
        self.assertEqual((second["verdict"], second["floats"]), ("proved", "exact"))
        self.assertEqual(second["instances"], 2, "both permutations")

    def test_refuted(self):
        done = run("verify-rules", self.file(REFUTED))
        self.assertEqual(done.returncode, 5)
        self.assertIn("1 of 1 rules are refuted", done.stderr)
        self.assertRegex(done.stdout, r"not_commutative .* refuted")
        self.assertIn("not_commutative is wrong at n=2", done.stdout)
        [verdict] = self.verdicts(self.file(REFUTED), code=5)
        self.assertEqual(verdict["verdict"], "refuted")
        self.assertNotIn("floats", verdict)
        example = verdict["counterexample"]
        self.assertEqual(example["sizes"], {"n": 2})
        self.assertEqual([i["name"] for i in example["inputs"]], ["x", "a"])
        self.assertEqual(example["inputs"][0]["shape"], [2, 2])
        self.assertEqual(len(example["inputs"][0]["values"]), 4)
        self.assertNotEqual(example["values"]["source"], example["values"]["target"])
        self.assertTrue(example["text"])

    def test_unknown(self):
        done = run("verify-rules", self.file(UNKNOWN + PROVED))
        self.assertEqual(done.returncode, 4)
        self.assertIn("1 of 3 rules are neither proved nor refuted", done.stderr)
        verdict = self.verdicts(self.file(UNKNOWN + PROVED), code=4)[0]
        self.assertEqual((verdict["verdict"], verdict["instance"]), ("unknown", "impossible"))
        self.assertTrue(verdict["reason"])

    def test_refuted_weighs_more_than_unknown(self):
        self.verdicts(self.file(UNKNOWN + REFUTED), code=5)

    def test_guard(self):
        [verdict] = self.verdicts(self.file("rule r\n  x: [n]\n  where n >= 3\n  source\n"
                                            "    t = neg(x)\n    y = neg(t)\n  target\n    y = x\n"))
        self.assertEqual((verdict["verdict"], verdict["guard"]), ("proved", "n - 3 >= 0"))

    def test_a_proof_at_some_values_names_them(self):
        """The clip is right for bounds up to 2, the scale for all slopes."""
        path = self.file("rule clips\n  x: [n]\n  source\n    t = clip(x; max=b)\n    y = clip(t; max=2)\n"
                         "  target\n    y = clip(x; max=b)\n\n"
                         "rule slopes\n  x: [n]\n  source\n    t = leaky_relu(x; alpha=a)\n    u = neg(t)\n"
                         "    y = neg(u)\n  target\n    y = leaky_relu(x; alpha=a)\n")
        clips, slopes = self.verdicts(path)
        bounds = [values["b"] for values in clips["values"]]
        self.assertGreater(len(bounds), 2)
        self.assertLessEqual(max(bounds), 2)
        self.assertNotIn("values", slopes)
        table = run("verify-rules", path).stdout
        [row] = [line for line in table.splitlines() if line.split()[:1] == ["clips"]]
        self.assertIn("proved at values", row)
        self.assertRegex(row, r"for b in \{[-0-9., ]+\}")
        self.assertIn("2 proved (1 at values)", table)
        [row] = [line for line in table.splitlines() if line.split()[:1] == ["slopes"]]
        self.assertNotIn("at values", row)
        run("verify-rules", path, "--write")
        self.assertRegex(path.read_text(), r"proof all-sizes; .*; values: b in \{[-0-9., ]+\}; verifier")

    def test_no_value_of_the_source_refutes_nothing(self):
        path = self.file("rule roots\n  x: [n]\n  results y\n  source\n    t = sqrt(x)\n    y = relu(t)\n"
                         "  target\n    t = relu(x)\n    y = sqrt(t)\n")
        [verdict] = json.loads(run("verify-rules", path, "--json", "-").stdout)["rules"]
        self.assertIn(verdict["verdict"], ("proved", "unknown"))

    def test_quiet_shows_what_is_not_proved(self):
        done = run("verify-rules", self.file(PROVED + REFUTED), "-q")
        self.assertNotIn("associative", done.stdout)
        self.assertIn("not_commutative", done.stdout)
        self.assertEqual(run("verify-rules", self.file(PROVED), "-q").stdout, "")

    def test_the_same_for_any_number_of_threads(self):
        paths = [self.file(PROVED + REFUTED), self.file(UNKNOWN + PROVED, "more.rules")]
        reports = []
        for jobs in ["1", "2", "5"]:
            done = run("verify-rules", *paths, "--jobs", jobs, "--json", "-")
            self.assertEqual(done.returncode, 5)
            reports.append(re.sub(r'"cpu_ms": [\d.e+-]+', "", done.stdout))
        self.assertEqual(len(set(reports)), 1)

    def write(self, text, code=0):
        path = self.file(text)
        self.assertEqual(run("verify-rules", path, "--write").returncode, code)
        return path.read_text()

    def test_write(self):
        text = self.write(PROVED)
        lines = re.findall(r"^  proof all-sizes; types: any; floats: (\S+); edges: [^;]+; "
                           r"(?:values: \(p, q\) in \{[^}]*\}; )?verifier \d+; z3 [\d.]+; rule [0-9a-f]{16}$", text, re.MULTILINE)
        self.assertEqual(lines, ["reassociates", "exact"])
        self.assertEqual(self.write(text), text)
        self.assertEqual(re.sub(r"  proof .*\n", "", text), PROVED)

    def test_second_opinion(self):
        def sizes(*options):
            return [v["second_opinion_sizes"] for v in self.verdicts(self.file(PROVED), *options)]

        self.assertEqual(sizes(), [0, 0])
        for options in [["--second-opinion"], ["--write"]]:
            for count in sizes(*options):
                self.assertGreaterEqual(count, 2 * (20 + 50), "for each of two instances")
        self.assertEqual(sizes("--write", "--no-second-opinion"), [0, 0])

    def test_write_takes_proofs_away(self):
        self.assertNotIn("proof", self.write(REFUTED, code=5))
        self.assertNotIn("proof", self.write(UNKNOWN, code=4))

    def test_write_replaces_what_was_checked(self):
        text = self.write(PROVED + "  checked 2^61-1, 5 sizes; floats: exact\n")
        self.assertNotIn("checked", text)

    def test_an_edited_rule_has_no_proof(self):
        for before, after in [("matmul(a, b)", "matmul( a, b )  # same"), ("rule a", "rule b")]:
            text = self.write(PROVED).replace(before, after)
            path = self.file(text)
            listed = run("optimize-graph", "--list-rules", "--only-rules", path, "--trust-proofs", "--json",
                         "-")
            evidence = {r["rule"]: r["evidence"] for r in json.loads(listed.stdout)}
            self.assertEqual(evidence.get("associative"), "proved" if "same" in after else None)
            self.assertEqual(evidence.get("bssociative"), None if "same" in after else "none")

    def test_write_leaves_foreign_files_alone(self):
        done = run("verify-rules", self.file("", "rules.pb"), "--write")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--write cannot put evidence into a file of another system", done.stderr)

    def test_interrupt_shows_what_was_finished(self):
        many = "\n".join(PROVED.replace("rule ", f"rule r{k}_") for k in range(1500))
        report = self.space.path / "report.json"
        process = subprocess.Popen([commands.BIN_DIR / "verify-rules", self.file(many), "--json",
                                    report, "--jobs", "1"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        commands.wait_for_line(process.stderr, "proving")
        # A rule takes about a millisecond; the report shows that some were finished, and not all.
        used_s = commands.processor_seconds(process)
        commands.wait_for(lambda: commands.processor_seconds(process) > used_s + 0.2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        rules = json.loads(report.read_text())["rules"]
        self.assertGreater(len(rules), 0)
        self.assertLess(len(rules), 3000)
        self.assertEqual({r["verdict"] for r in rules}, {"proved"})

    def test_derivable_from(self):
        associative, negation = PROVED.split("\nrule negation")
        negation = "rule negation" + negation
        chain = self.file("""
rule chain
  x: [m, k]   a: [k, n]   b: [n, p]   c: [p, q]
  source
    t = matmul(x, a)
    u = matmul(t, b)
    y = matmul(u, c)
  target
    bc = matmul(b, c)
    abc = matmul(a, bc)
    y = matmul(x, abc)
""" + negation, "chain.rules")
        done = run("verify-rules", chain, "--derivable-from", self.file(associative, "a.rules"),
                   "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["derivable"], report["not_derivable"]), (1, 1))
        self.assertEqual([r["verdict"] for r in report["rules"]], ["derivable", "not derivable"])
        self.assertEqual(report["rules"][1]["instance"], "negation_of_transpose")
        done = run("verify-rules", chain, "--derivable-from", self.file(associative, "a.rules"),
                   "--derivable-from", self.file(negation, "n.rules"), "--require-derivable")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 rules: 2 derivable", done.stdout)
        done = run("verify-rules", chain, "--derivable-from", self.file(negation, "n.rules"),
                   "--require-derivable", "-q")
        self.assertEqual(done.returncode, 5)
        self.assertNotIn("negation_of_transpose", done.stdout)
        self.assertIn("1 of 2 rules are not derivable", done.stderr)
        self.assertEqual(run("verify-rules", chain, "--both-ways").returncode, 2)
        self.assertEqual(run("verify-rules", chain, "--derivable-from", "absent").returncode, 3)

    def test_a_rule_follows_right_to_left_where_that_is_allowed(self):
        back = self.file("""
rule back
  x: [m, k]   a: [k, n]   b: [n, p]   c: [p, q]
  source
    bc = matmul(b, c)
    abc = matmul(a, bc)
    y = matmul(x, abc)
    z = relu(abc)
  target
    ab = matmul(a, b)
    xab = matmul(x, ab)
    y = matmul(xab, c)
    abc2 = matmul(ab, c)
    z = relu(abc2)
""", "back.rules")
        associative = self.file(PROVED.split("\nrule negation")[0], "a.rules")
        one_way = run("verify-rules", back, "--derivable-from", associative, "--json", "-")
        both = run("verify-rules", back, "--derivable-from", associative, "--both-ways",
                   "--json", "-")
        self.assertEqual(json.loads(both.stdout)["derivable"], 1)
        self.assertGreater(json.loads(both.stdout)["from_reversed"], 0)
        self.assertEqual(json.loads(one_way.stdout)["from_reversed"], 0)

    def test_errors(self):
        self.assertEqual(run("verify-rules", self.space.path / "absent.rules").returncode, 3)
        self.assertEqual(run("verify-rules", self.file("rule\n")).returncode, 3)
        self.assertEqual(run("verify-rules", "--sizes", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()

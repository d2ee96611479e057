"""Which proofs of rule files are believed: those of the shipped files, and what is proved here."""

import json
import os
import re
import shutil
import stat
import unittest
from pathlib import Path

import commands
from commands import run

RULES = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2])) / "rules"

TRUE = """
rule associative
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)
"""
FALSE = """
rule not_commutative
  x: [n, n]   a: [n, n]
  where n >= 2
  source
    y = matmul(x, a)
  target
    y = matmul(a, x)
"""
HALF_TRUE = """
rule doubling_moves_in
  for f in {neg, abs, tanh}
  x: [n]
  source
    t = add(x, x)
    y = f(t)
  target
    u = f(x)
    y = add(u, u)
"""
RANKS = """
rule neg_twice
  for A in ranks(0..1)
  x: [A.., n]
  source
    t = neg(x)
    y = neg(t)
  target
    y = x
"""
NAIVE = """
rule naive_softmax
  x: [n, m]
  source
    y = softmax(x; axis=1)
  target
    e = exp(x)
    s = reduce_sum(e; axes=[1], keep_dims=1)
    y = div(e, s)
"""


class Belief(unittest.TestCase):
    def setUp(self):
        self.space = commands.Workspace()
        self.addCleanup(self.space.close)
        self.cache = Path(os.environ["XDG_CACHE_HOME"]) / "soapstone/proofs"
        self.model = commands.linear_model(self.space.path / "model.onnx")

    def file(self, text, name="mine.rules"):
        return self.space.write(name, text.encode())

    def listed(self, file, *arguments):
        done = run("optimize-graph", "--list-rules", "--only-rules", file, *arguments, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        rules = {r["rule"]: r for r in json.loads(done.stdout) if not r["baseline"]}
        return rules, done.stderr

    def optimize(self, file, *arguments):
        return run("optimize-graph", self.model, "--dry-run", "--costs", "roofline", "--verify",
                   "off", "--only-rules", file, *arguments)

    def entries(self):
        return sorted(self.cache.glob("*")) if self.cache.exists() else []

    def written(self, text, name="mine.rules"):
        path = self.file(text, name)
        self.assertEqual(run("verify-rules", "--write", path).returncode, 0)
        return path.read_text()

    # Rules of the user's own.

    def test_a_forged_line_proves_nothing(self):
        digest = re.search(r"rule ([0-9a-f]{16})", self.written(TRUE)).group(1)
        for line in ["proof all-sizes; types: any; floats: exact; edges: none; verifier 3; "
                     f"z3 4.8.12; rule {digest}", "proof all-sizes; floats: exact; verifier 0; z3 0.1"]:
            done = self.optimize(self.file(FALSE + f"  {line}\n"))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("rule not_commutative has no proof (it is wrong: ", done.stderr)

    def test_a_rule_needs_no_line(self):
        self.assertEqual(self.optimize(self.file(TRUE)).returncode, 0)
        rules, _ = self.listed(self.file(TRUE))
        self.assertEqual((rules["associative"]["evidence"], rules["associative"]["floats"]),
                         ("proved", "reassociates"))

    def test_every_instance_is_proved(self):
        done = self.optimize(self.file(TRUE + HALF_TRUE))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("rule doubling_moves_in has no proof (it is wrong: ", done.stderr)
        self.assertEqual(self.optimize(self.file(TRUE + HALF_TRUE), "--allow-unproved").returncode,
                         0)

    def test_a_label_that_claims_less_is_corrected(self):
        text = self.written(TRUE).replace("reassociates", "exact")
        rules, errors = self.listed(self.file(text))
        self.assertEqual(rules["associative"]["floats"], "reassociates")
        self.assertRegex(errors, "mine.rules:2: rule associative is labeled `.*floats: exact.*`; "
                                 "what was found here counts: `.*floats: reassociates")
        _, errors = self.listed(self.file(self.written(TRUE)))
        self.assertNotIn("labeled", errors)

    def test_a_range_change_is_one_whatever_its_label_says(self):
        text = self.written(NAIVE)
        self.assertIn("floats: changes-range", text)
        rules, errors = self.listed(self.file(text.replace("changes-range", "exact")))
        self.assertEqual(rules["naive_softmax"]["floats"], "changes-range")
        self.assertIn("rule naive_softmax is labeled `", errors)

    def test_premises_are_proved_too(self):
        chain = self.file(TRUE.replace("associative", "again"), "chain.rules")
        done = run("verify-rules", chain, "--derivable-from", self.file(TRUE))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("has no proof", done.stderr)
        done = run("verify-rules", chain, "--derivable-from", self.file(FALSE))
        self.assertIn("rule not_commutative has no proof, nor has what follows from it", done.stderr)

    # The cache of what was proved before.

    def test_what_was_found_is_kept(self):
        rules, first = self.listed(self.file(TRUE))
        self.assertIn("proving 1 rules of mine.rules", first)
        self.assertEqual(len(self.entries()), 1)
        again, second = self.listed(self.file("# Another comment.\n" + TRUE, "other.rules"))
        self.assertNotIn("proving", second)
        self.assertEqual(again["associative"]["floats"], rules["associative"]["floats"])
        self.listed(self.file(TRUE.replace("[m, k]", "[1, k]")))
        self.assertEqual(len(self.entries()), 2, "another rule is proved for itself")

    def test_it_is_the_users_own(self):
        self.listed(self.file(TRUE))
        self.assertEqual(stat.S_IMODE(self.cache.stat().st_mode), 0o700)
        [entry] = self.entries()
        self.assertEqual(stat.S_IMODE(entry.stat().st_mode), 0o600)
        entry.chmod(0o644)
        _, errors = self.listed(self.file(TRUE))
        self.assertIn("is damaged or not your own: the rule is proved again", errors)
        self.cache.chmod(0o777)
        _, errors = self.listed(self.file(TRUE))
        self.assertIn("others may write or read there", errors)
        self.assertIn("proving 1 rules", errors)

    def test_a_damaged_entry_is_not_believed(self):
        self.assertEqual(self.optimize(self.file(FALSE)).returncode, 4)
        [entry] = self.entries()
        text = entry.read_text()
        self.assertIn("\nunproved ", text)
        self.listed(self.file(TRUE))
        [other] = [e for e in self.entries() if e != entry]
        for forged in [text[:len(text) // 2], "", other.read_text(),
                       re.sub("unproved .*", "proof all-sizes; floats: exact; verifier 3", text)]:
            entry.write_text(forged)
            done = self.optimize(self.file(FALSE))
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("is damaged or not your own", done.stderr)
        entry.unlink()
        entry.symlink_to(other)
        self.assertEqual(self.optimize(self.file(FALSE)).returncode, 4)

    # Trust.

    def test_lines_may_be_trusted(self):
        text = self.written(TRUE)
        self.assertEqual(self.optimize(self.file(text), "--trust-proofs").returncode, 0)
        self.assertEqual(self.entries(), [])
        for broken in [text.replace("verifier 3", "verifier 2"),
                       text.replace("verifier 3", "verifier 0"),
                       text.replace("matmul(x, u)", "matmul(u, x)"), TRUE]:
            done = self.optimize(self.file(broken), "--trust-proofs")
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("rule associative has no proof", done.stderr)

    def test_shipped_files_are_known_by_their_contents(self):
        copy = self.space.path / "copy.rules"
        shutil.copy(RULES / "pooling.rules", copy)
        _, errors = self.listed(copy)
        self.assertNotIn("proving", errors)
        self.assertEqual(self.entries(), [])
        copy.write_text((RULES / "baseline.rules").read_text() + "\n")
        _, errors = self.listed(copy)
        self.assertIn("rules of copy.rules", errors)
        self.assertNotEqual(self.entries(), [])


class ShippedRules(unittest.TestCase):
    """The reason why shipped files need no proof: the build proves them."""

    def test_all_are_proved_and_say_no_less(self):
        # generate_rules_test makes generated.rules again, and proves its rules on the way.
        files = sorted(set(RULES.glob("*.rules")) - {RULES / "generated.rules"})
        self.assertGreaterEqual(len(files), 7)
        # verify-rules --write tries ten times as many inputs at the edges of types, for labels.
        done = run("verify-rules", *files, "--edge-tries", "300", "--json", "-", timeout=500)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = json.loads(done.stdout)["rules"]
        self.assertEqual({v["file"] for v in verdicts}, {str(f) for f in files})
        self.assertEqual({v["verdict"] for v in verdicts}, {"proved"})
        order = ["exact", "reassociates", "extends-range", "changes-range"]
        said = {}
        for file in files:
            name = None
            for line in file.read_text().splitlines():
                if line.startswith("rule "):
                    name = line.split()[1]
                found = re.match(r"\s+proof .*floats: ([a-z-]+)", line)
                if found:
                    said[(str(file), name)] = found.group(1)
        for v in verdicts:
            claim = said[(v["file"], v["rule"])]
            self.assertGreaterEqual(order.index(claim), order.index(v["floats"]), v["rule"])


class ProofLogs(unittest.TestCase):
    """verify-rules --check ties logs to rules."""

    def setUp(self):
        self.space = commands.Workspace()
        self.addCleanup(self.space.close)
        self.logs = self.space.path / "logs"
        self.rules = self.space.write("mine.rules", (TRUE + RANKS).encode())
        self.assertEqual(run("verify-rules", self.rules, "--proofs", self.logs).returncode, 0)

    def check(self, *files, code=3):
        done = run("verify-rules", *(files or [self.rules]), "--check", self.logs)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_they_hold(self):
        self.assertIn("3 proofs in 2 logs hold", self.check(code=0).stdout)

    def test_of_other_rules_they_prove_nothing(self):
        other = self.space.write("other.rules", TRUE.replace("[m, k]", "[1, k]").encode())
        self.assertIn("associative is not as it stands in the file", self.check(other).stderr)
        done = self.check(self.space.write("none.rules", FALSE.encode()))
        self.assertIn("there is no rule associative in these files", done.stderr)
        self.assertEqual(run("verify-rules", "--check", self.logs).returncode, 3,
                         "they are not logs of the shipped rules")

    def test_each_instance_is_needed(self):
        more = self.space.write("more.rules",
                                (TRUE + RANKS).replace("ranks(0..1)", "ranks(0..2)").encode())
        self.assertIn("there is no proof of neg_twice[A=2]", self.check(more).stderr)

    def test_an_empty_log_proves_nothing(self):
        [log] = self.logs.glob("*associative.proof")
        log.write_text("")
        self.assertIn("this is not a proof log", self.check().stderr)
        [other] = self.logs.glob("*neg_twice.proof")
        shutil.copy(other, log)
        self.check(code=4)

    def test_each_rule_needs_a_log(self):
        [log] = self.logs.glob("*associative.proof")
        log.unlink()
        self.assertIn("1 of 2 rules have no log; the first is associative", self.check(code=4).stderr)
        for log in self.logs.glob("*"):
            log.unlink()
        self.assertIn("there are no proof logs", self.check().stderr)


if __name__ == "__main__":
    unittest.main()

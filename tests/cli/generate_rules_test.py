"""generate-rules: a file of proved rules, the same for any number of threads."""

import json
import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

import commands
from commands import run

SMALL = ["--ops", "2", "--preset", "taso"]
SHIPPED = Path(__file__).parents[2] / "rules" / "generated.rules"
DATA = Path(__file__).parents[1] / "data"


class GenerateRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.space = commands.Workspace()
        cls.addClassCleanup(cls.space.close)
        cls.small = cls.space.path / "small.rules"
        done = run("generate-rules", "-o", cls.small, "--json", "-", "--jobs", "2", *SMALL)
        assert done.returncode == 0, done.stderr
        cls.small_report = json.loads(done.stdout)

    def generate(self, *arguments, name="out.rules"):
        path = self.space.path / name
        done = run("generate-rules", "-o", path, "--json", "-", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path, json.loads(done.stdout)

    def test_all_that_is_written_is_proved(self):
        path, report = self.small, self.small_report
        text = path.read_text()
        self.assertIn("--ops 2 --preset taso --seed 1", text)
        self.assertEqual(len(report["rules"]), len(set(report["rules"])))
        self.assertEqual(re.findall(r"^rule (\S+)", text, re.MULTILINE), report["rules"])
        self.assertEqual(len(re.findall(r"^  proof all-sizes", text, re.MULTILINE)),
                         len(report["rules"]))
        self.assertGreater(report["equalities"], 2 * report["kept"])
        done = run("verify-rules", path, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = json.loads(done.stdout)["rules"]
        self.assertEqual([v["rule"] for v in verdicts], report["rules"])
        self.assertEqual({v["verdict"] for v in verdicts}, {"proved"})

    def test_a_small_set_is_as_it_was(self):
        """What the same command made before. UPDATE_GOLDEN=1 writes what it makes now."""
        golden = Path(__file__).parents[1] / "golden" / "generated_taso_2.rules"
        if os.environ.get("UPDATE_GOLDEN"):
            golden.write_text(self.small.read_text())
        self.assertEqual(self.small.read_text(), golden.read_text())

    def test_all_that_was_found_follows_from_what_is_written(self):
        """As the shipped file is made, but for the costs."""
        path, report = self.generate("--ops", "3", "--preset", "taso", "--check", "--rank", "none")
        self.assertEqual(report["check"]["not_derived"], [])
        self.assertEqual(report["check"]["derived"], report["equalities"])
        self.assertLessEqual(report["kept"], 100)
        rules = re.compile(r"^#.*\n", re.MULTILINE)
        self.assertEqual(rules.sub("", path.read_text()), rules.sub("", SHIPPED.read_text()))

    def test_the_shipped_file_says_how_it_is_made(self):
        text = SHIPPED.read_text()
        self.assertTrue(text.startswith("# Made by `generate-rules --ops 3 --preset taso --check --seed 1`."))
        names = re.findall(r"^rule (\S+)", text, re.MULTILINE)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(re.findall(r"^  proof all-sizes", text, re.MULTILINE)), len(names))
        self.assertEqual(len(re.findall(r"^# (pays|enables others|not costed)", text, re.MULTILINE)),
                         len(names))

    def test_the_right_rules_of_taso_follow_from_the_shipped_file(self):
        sample = Path(__file__).parents[1] / "data" / "taso_rules_sample.pb"
        done = run("verify-rules", sample, "--derivable-from", SHIPPED, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        rules = json.loads(done.stdout)["rules"]
        # taso_50 is wrong.
        self.assertEqual([r["rule"] for r in rules if r["verdict"] != "derivable"], ["taso_50"])
        self.assertEqual(len(rules), 66)

    def test_the_rules_of_before_follow_from_the_shipped_file(self):
        """Fewer rules, but none that imply less."""
        done = run("verify-rules", DATA / "generated_before.rules", "--derivable-from", SHIPPED,
                   "--both-ways", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        rules = json.loads(done.stdout)["rules"]
        self.assertEqual([r["rule"] for r in rules if r["verdict"] != "derivable"], [])
        self.assertEqual(len(rules), 164)

    def test_what_is_known_is_left_out(self):
        words = ["--ops", "2", "--operators", "relu,matmul"]
        path, report = self.generate(*words)
        again, nothing = self.generate(*words, "--known", path, name="again.rules")
        self.assertGreater(report["kept"], 0)
        self.assertEqual((nothing["kept"], nothing["rules"]), (0, []))
        self.assertIn(f"--known {path}", again.read_text())

    def test_known_rules_without_a_proof_are_counted(self):
        known = self.space.write("generated.rules", b"rule wrong\n  x: [n]\n  source\n"
                                 b"    y = relu(x)\n  target\n    y = x\n")
        done = run("generate-rules", "--ops", "1", "--operators", "relu", "--known", known, "-o",
                   self.space.path / "out.rules")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of the known rules have no proof", done.stderr)
        done = run("generate-rules", "--ops", "1", "--operators", "relu", "--known", "absent.rules",
                   "-o", self.space.path / "out.rules")
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_a_folder_of_tiles_that_lost_one(self):
        words = ["--ops", "2", "--operators", "add,relu"]
        whole, _ = self.generate(*words)
        kept = self.space.path / "some"
        self.generate(*words, "--resume", kept, name="first.rules")
        tiles = sorted(kept.glob("*.tile"))
        tiles[0].unlink()
        tiles[-1].write_bytes(tiles[-1].read_bytes()[:-3])
        again, _ = self.generate(*words, "--resume", kept, name="again.rules")
        self.assertEqual(whole.read_text(), again.read_text())

    def test_the_optimizer_takes_them(self):
        path, report = self.generate("--ops", "2", "--operators", "relu,matmul")
        listed = run("optimize-graph", "--list-rules", "--only-rules", path, "--json", "-")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        evidence = {r["rule"]: r["evidence"] for r in json.loads(listed.stdout)}
        self.assertEqual({evidence[name] for name in report["rules"]}, {"proved"})

    def test_the_shipped_ones_are_used_if_asked_for(self):
        counts = {}
        for words in [(), ("--generated",)]:
            listed = run("optimize-graph", "--list-rules", *words, "--json", "-")
            self.assertEqual(listed.returncode, 0, listed.stderr)
            counts[words] = len(json.loads(listed.stdout))
        generated = len(re.findall(r"^rule ", SHIPPED.read_text(), re.MULTILINE))
        self.assertEqual(counts["--generated",] - counts[()], generated)

    def test_the_same_for_any_number_of_threads(self):
        one, _ = self.generate(*SMALL, "--jobs", "1", name="one.rules")
        self.assertEqual(one.read_text(), self.small.read_text())

    def test_goes_on_where_it_was(self):
        words = ["--ops", "2", "--operators", "add,relu"]
        whole, _ = self.generate(*words)
        kept = self.space.path / "tiles"
        for _ in range(2):
            again, _ = self.generate(*words, "--resume", kept, name="again.rules")
            self.assertEqual(whole.read_text(), again.read_text())

    def test_an_interrupt_leaves_what_was_kept(self):
        path = self.space.path / "interrupted.rules"
        process = subprocess.Popen([commands.BIN_DIR / "generate-rules", "--ops", "3", "--preset", "taso",
                                    "--rank", "none", "--jobs", "1", "-v", "-o", path],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Each round is a line; the first rounds are short.
        commands.wait_for_line(process.stderr, "minimizing and proving")
        used_s = commands.processor_seconds(process)
        commands.wait_for(lambda: commands.processor_seconds(process) > used_s + 1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=commands.DEADLINE_S)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("has what was kept till then", stderr)
        text = path.read_text()
        self.assertIn("which was interrupted", text.splitlines()[0])
        rules = re.findall(r"^rule (\S+)", text, re.MULTILINE)
        self.assertGreater(len(rules), 0)
        self.assertLess(len(rules), len(re.findall(r"^rule ", SHIPPED.read_text(), re.MULTILINE)))
        verified = run("verify-rules", path, "--json", "-")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        # What was proved carries its label, too.
        self.assertEqual(len(re.findall(r"^  proof all-sizes.*; edges: ", text, re.MULTILINE)), len(rules))

    def test_wrong_usage(self):
        out = self.space.path / "wrong.rules"
        for words in [["--operators", "relu", "--ranks", "1,2,3,4"],
                      ["--operators", "relu", "--ranks", "40"], ["--preset", "tasso"], ["--operators", "mattmul"], ["--ops", "0"],
                      ["--preset", "taso", "--operators", "add"], ["--frobnicate"]]:
            done = run("generate-rules", "-o", out, *words)
            self.assertEqual(done.returncode, 2, words)
        self.assertEqual(run("generate-rules").returncode, 2)
        self.assertFalse(out.exists())

    def test_a_file_that_cannot_be_written(self):
        done = run("generate-rules", "--ops", "1", "--operators", "relu", "-o",
                   self.space.path / "absent" / "out.rules")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(list(self.space.path.glob("*.part")), [])


if __name__ == "__main__":
    unittest.main()

"""The documents keep what they show: rules in them are proved, commands and options exist."""

import os
import re
import unittest
from pathlib import Path

import commands
from commands import run

ROOT = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
BLOCK = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = ("optimize-graph", "inspect-graph", "compare-graphs", "bench-graph", "build-model",
            "verify-rules", "generate-rules", "cost-rules", "measure-costs", "train-graph",
            "measure-links", "run-plan")


def blocks(name):
    return BLOCK.findall((ROOT / name).read_text())


class Documents(unittest.TestCase):
    def setUp(self):
        self.space = commands.Workspace()
        self.addCleanup(self.space.close)

    def rules_of(self, name):
        """Blocks that are rules and nothing else: no prompt in front of a command."""
        return [block for block in blocks(name)
                if re.search(r"^rule \w+$", block, re.MULTILINE) and "$ " not in block]

    def test_rules_are_proved(self):
        for name, count in (("README.md", 1), ("docs/rules.md", 4), ("CONTRIBUTING.md", 1)):
            found = self.rules_of(name)
            self.assertEqual(len(found), count, name)
            for block in found:
                done = run("verify-rules", self.space.write("shown.rules", block.encode()))
                self.assertEqual(done.returncode, 0, f"{name}:\n{block}{done.stdout}{done.stderr}")

    def test_the_first_program_is_the_one_that_is_tested(self):
        program, = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
        self.assertTrue((ROOT / "tests/install/optimize.cpp").read_text().endswith(program))

    def test_options_exist(self):
        """Each option in docs/commands.md is one of its section's command."""
        text = (ROOT / "docs/commands.md").read_text()
        helps = {command: run(command, "--help-all" if command == "optimize-graph" else "--help").stdout
                 for command in COMMANDS}
        sections = re.split(r"^## ", text, flags=re.MULTILINE)
        looked_at = 0
        for section in sections:
            command = section.split("\n")[0].strip()
            if command not in helps:
                continue
            for shown in re.findall(r"`([^`\n]*)`", BLOCK.sub("", section)):
                if other := next((c for c in COMMANDS if c in shown), None):
                    known = helps[other]
                elif shown.startswith("-"):
                    known = helps[command]
                else:
                    continue
                for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", shown):
                    looked_at += 1
                    if not re.search(rf"{option}(?![\w-])", known):
                        self.assertIn(option, ("--bind-to", "--oversubscribe"), command)
        self.assertGreater(looked_at, 50)

    def test_every_option_is_in_a_document(self):
        """Nothing that --help lists is left out of docs/commands.md."""
        text = (ROOT / "docs/commands.md").read_text()
        options = re.compile(r"^ +(?:-\w,)?(--[a-z][a-z-]*)", re.MULTILINE)
        missing = [(command, option) for command in COMMANDS
                   for option in options.findall(run(command, "--help").stdout)
                   if option not in ("--help", "--version")
                   and not re.search(rf"{option}(?![\w-])", text)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()

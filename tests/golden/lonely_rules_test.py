"""Rules that are applied in one network alone, of TASO's graphs and the built-in networks.

Such a rule may be one network's module written down. A new one in the list has to be general: say in
its commit where else it applies. UPDATE_GOLDEN=1 writes what is found now; that of roofline_test first."""

import json
import os
import re
import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS))
import networks

GOLDEN = Path(__file__).parent / "lonely_rules.txt"
# A network in two sizes, or with and without its norms, is one.
FAMILIES = {"inception_v3": "inception", "bert_base": "bert", "resnet18bn": "resnet50",
            "resnet50bn": "resnet50"}


def written_rules():
    return {name for path in (TESTS.parent / "rules").glob("*.rules")
            for name in re.findall(r"^rule (\w+)", path.read_text(), re.MULTILINE)}


def found():
    """Each graph by the model of costs that it is known for, with the effort that tries least: of the
    built-in networks by what roofline_test finds again."""
    where = {}
    for path in sorted((TESTS / "data" / "taso_models").glob("*.onnx")):
        report = networks.run("optimize-graph", path, "--costs", "taso", "--keep-constants",
                              "--dry-run", "--verify", "off", "--judge", "none", "--effort", "1",
                              "--json", "-")
        for rule in json.loads(report)["rules_applied"]:
            where.setdefault(rule["rule"], set()).add(FAMILIES.get(path.stem, path.stem))
    for name in networks.NETWORKS:
        for rule in json.loads((GOLDEN.parent / f"{name}.json").read_text())["rules_applied"]:
            where.setdefault(rule, set()).add(FAMILIES.get(name, name))
    return where


class LonelyRules(unittest.TestCase):
    maxDiff = None

    def test_are_those_that_are_known(self):
        where = found()
        text = "".join(f"{rule}: {next(iter(where[rule]))}\n"
                       for rule in sorted(written_rules() & set(where)) if len(where[rule]) == 1)
        if os.environ.get("UPDATE_GOLDEN"):
            GOLDEN.write_text(text)
        self.assertEqual(text, GOLDEN.read_text())


if __name__ == "__main__":
    unittest.main()

"""What is found for each built-in network, to the last digit, whatever the number of threads,
and that onnxruntime computes the same from it.

UPDATE_GOLDEN=1 writes what one thread finds now; two threads must find the same, then and in every
run of the test. A change must be meant: read the difference."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import networks
import runtime_results

FOLDER = Path(__file__).parent
KEYS = ["cost_before_us", "cost_after_us", "launches_before", "launches_after", "nodes_before",
        "nodes_after", "graphs_expanded", "stop_reason"]


def golden_text(report):
    kept = {key: report[key] for key in KEYS}
    kept["rules_applied"] = {rule["rule"]: rule["count"] for rule in report["rules_applied"]}
    return json.dumps(kept, indent=2) + "\n"


class Roofline(unittest.TestCase):
    maxDiff = None

    def check(self, name):
        golden = FOLDER / f"{name}.json"
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            model = Path(folder) / "model.onnx"
            networks.build(name, model)
            result = Path(folder) / "result.onnx"
            updates = bool(os.environ.get("UPDATE_GOLDEN"))
            for jobs in [1, 2] if updates else [2]:
                # Nothing else looks at the result, and takes out what is wrong, before onnxruntime.
                found = golden_text(json.loads(networks.optimize(
                    name, model, "-o", result, "--verify", "off", "--judge", "none", "--jobs", jobs,
                    "--json", "-")))
                if jobs == 1:
                    golden.write_text(found)
                self.assertEqual(found, golden.read_text())
            runtime_results.check_same(self, name, model, result)


def add_test(name):
    setattr(Roofline, f"test_{name}", lambda self: self.check(name))


for network in networks.NETWORKS:
    add_test(network)

if __name__ == "__main__":
    unittest.main()

"""plan-graph --simulate: plans that somebody describes, from profiles of an invented cluster."""

import copy
import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from commands import run

ROOT = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
LAYERS = [1.0, 2.0, 2.0, 3.0]


def profiles():
    """Four layers on nodes of four GPUs; links of 1 GB/s between nodes and 10 GB/s in them."""
    sizes = {"parameters": [20e6, 10e6, 10e6, 30e6], "saved_activation_elements": [5e6, 1e8, 1e8, 5e7],
             "output_elements": [25e6, 25e6, 25e6, 1]}
    times = {"tensor_parallel": 2, "microbatch": 1, "forward_s": LAYERS,
             "backward_s": [2 * layer for layer in LAYERS], "update_s": 0.28}
    return {
        "models": {"small": {"layers": 4, "element_bytes": 4, "per_gpu_by_tensor_parallel": {"2": sizes}}},
        "devices": {"fast": {"memory_mb": 16000, "gpus_per_node": 4}},
        "links": {"inter_node": [{"from": "fast", "to": "fast", "pairs": 2, "fit": [0, 0, 1], "max_gb_per_s": 1}],
                  "intra_node": [{"device": "fast", "gpus": 2, "pairs": 1, "fit": [0, 0, 10],
                                  "max_gb_per_s": 10}]},
        "profiles": {"small": {"fast": [times]}},
    }


def described(name, stages=2, microbatches=4):
    layers = [[0, 1], [2, 3]] if stages == 2 else [[0, 1, 2, 3]]
    return {"id": name, "model": "small", "global_batch": microbatches, "microbatch": 1,
            "stages": [{"layers": some, "devices": ["fast"], "tensor_parallel": 2, "data_parallel": 1}
                       for some in layers]}


class DescribedPlans(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.profiles = self.write("profiles.json", profiles())

    def write(self, name, document):
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def simulate(self, document, *arguments, profiles=None):
        return run("plan-graph", "--simulate", self.write("plan.json", document), "--profiles",
                   profiles or self.profiles, *arguments)

    def fails(self, code, text, document, *arguments, profiles=None):
        done = self.simulate(document, *arguments, profiles=profiles)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        return done

    def test_one_plan_has_stages_and_a_timeline(self):
        svg, trace = self.folder / "step.svg", self.folder / "step.json"
        done = self.simulate(described("mine"), "--svg", svg, "--trace", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("mine: small on 4 GPUs, 2 stages x 1 replica, 4 microbatches of 1", "fits 16.0 GB",
                     "F forward", "stage 1: 2 fast"):
            self.assertIn(text, done.stdout)
        rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(": 2 fast")]
        self.assertEqual([len(row) for row in rows], [72, 72])
        self.assertTrue(rows[0].startswith("F") and rows[1].startswith("."), rows)
        classes = [e.get("class") for e in xml.etree.ElementTree.fromstring(svg.read_text()).iter()]
        self.assertEqual(classes.count("lane"), 2)
        events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(sum(e["name"] == "forward" for e in events), 8)

    def test_a_list_has_a_line_and_a_key_for_each(self):
        plans = [described("two"), described("one", stages=1)]
        plans[0]["measured"] = {"iteration_s": 1.0}
        done = self.simulate(plans, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(list(report), ["two", "one"])
        self.assertAlmostEqual(report["one"]["iteration_s"], 4 * 24 + 0.28 * 6 / 7 + 0.28, places=5)
        for entry in report.values():
            parts = [entry[key] for key in ("compute_s", "handover_s", "waiting_s", "gradient_sum_s", "update_s")]
            self.assertAlmostEqual(sum(parts), entry["iteration_s"], places=5)
            for stage in entry["stages"]:
                self.assertAlmostEqual(sum(stage["memory_parts_mb"].values()), stage["memory_mb"], places=5)
            self.assertEqual(entry["peak_memory_mb"], max(s["memory_mb"] for s in entry["stages"]))
        shown = self.simulate(plans).stdout
        self.assertEqual([name for name in ("two", "one") if f"  {name} " in shown], ["two", "one"])
        only = json.loads(self.simulate(plans, "--only", "one", "--json", "-").stdout)
        self.assertEqual(only, {"one": report["one"]})

    def test_a_plan_that_does_not_fit_is_told(self):
        small = profiles()
        small["devices"]["fast"]["memory_mb"] = 1000
        tight = self.write("tight.json", small)
        done = self.simulate(described("mine"), profiles=tight)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not fit: fast has 1.00 GB", done.stdout)
        self.fails(5, "plan 'mine' does not fit", described("mine"), "--require-fit", profiles=tight)
        done = self.simulate(described("mine"), "--require-fit")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(self.simulate(described("mine"), "--json", "-", profiles=tight).stdout)
        self.assertFalse(report["mine"]["fits"])

    def test_what_is_wrong_is_told_with_its_place(self):
        plan = described("mine")
        plan["stages"][1]["layers"] = [3]
        self.fails(3, "plan.json: stages[1].layers[0]: layer 2 is missing", plan)
        plan = described("mine")
        plan["stages"][0]["devices"] = ["faster"]
        self.fails(7, "plan.json: plan 'mine': stages[0].devices[0]: the profiles have no device 'faster'", plan)
        plan = described("mine")
        plan["stages"][0]["tensor_parallel"] = 8
        self.fails(3, "a node of fast has 4", plan)
        plan = described("mine")
        plan["stages"][0] |= {"devices": ["fast"] * 2, "data_parallel": 2}
        self.fails(4, "replicas", plan)
        broken = profiles()
        del broken["profiles"]["small"]["fast"][0]["update_s"]
        self.fails(3, "broken.json: profiles.small.fast[0]: the key 'update_s' is missing", described("mine"),
                   profiles=self.write("broken.json", broken))
        self.fails(2, "did you mean 'mine'?", [described("mine"), described("other")], "--only", "mime")
        self.fails(2, "choose one with --only", [described("mine"), described("other")], "--svg",
                   self.folder / "step.svg")

    def test_the_example_of_the_documents_says_what_they_show(self):
        text = (ROOT / "docs/plans.md").read_text()
        section = re.search(r"^## A plan of your own\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
        plan, described_profiles = re.findall(r"^```json\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        shown = re.search(r"^\$ build/bin/plan-graph .*?\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[1]
        done = self.simulate(json.loads(plan), profiles=self.write("shown.json", json.loads(described_profiles)))
        self.assertEqual(done.stdout, shown, done.stderr)

    def test_profiles_lie_beside_plans(self):
        plan = self.write("plan.json", described("mine"))
        done = run("plan-graph", "--simulate", plan, "--json", "-")
        self.assertEqual(done.stdout, self.simulate(described("mine"), "--json", "-").stdout, done.stderr)
        self.profiles.rename(self.folder / "others.json")
        done = run("plan-graph", "--simulate", plan)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no --profiles: " + str(self.profiles), done.stderr)

    def test_nodes_that_are_others_are_warned_of(self):
        plan = described("mine")
        plan["nodes"] = 1
        self.assertIn("has 1 nodes: it is simulated on 2", self.simulate(plan).stderr)
        plan["nodes"] = 2
        self.assertNotIn("nodes", self.simulate(plan).stderr)

    def test_planning_and_described_plans_do_not_go_together(self):
        self.fails(2, "--topology is for planning", described("mine"), "--topology", "local")
        self.fails(2, "--train is for planning", described("mine"), "--train")
        for arguments, text in ((["gpt"], "--topology is required"), (["--topology", "local"], "model is required"),
                                (["gpt", "--topology", "local", "--profiles", self.profiles], "--simulate")):
            done = run("plan-graph", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)

    def test_the_description_of_the_framework_counts(self):
        plan = described("mine")
        report = json.loads(self.simulate(plan, "--json", "-").stdout)["mine"]
        other = copy.deepcopy(plan)
        other["framework"] = {"handovers": "both_ways", "communicator_mb": 0}
        changed = json.loads(self.simulate(other, "--json", "-").stdout)["mine"]
        self.assertLess(changed["iteration_s"], report["iteration_s"])
        self.assertAlmostEqual(report["peak_memory_mb"] - changed["peak_memory_mb"], 5 * 688, places=5)


if __name__ == "__main__":
    unittest.main()

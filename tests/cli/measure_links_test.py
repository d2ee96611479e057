"""measure-links: topologies of threads and of processes, which plan-graph reads, and what it refuses."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from commands import BIN_DIR, DEADLINE_S, run

QUICK = ["--largest", "4096", "--time", "0.5"]
# For root, and for more ranks than cores, mpirun wants to be told that it is meant.
RANKED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
          "OMPI_MCA_rmaps_base_oversubscribe": "1", "ASAN_OPTIONS": "detect_leaks=0"}


def run_on_ranks(ranks, *arguments):
    command = ["mpirun", "-n", str(ranks), str(BIN_DIR / "measure-links"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **RANKED},
                          timeout=DEADLINE_S)


class MeasureLinks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.out = self.path / "local.json"

    def check_topology(self, ranks):
        topology = json.loads(self.out.read_text())
        self.assertEqual(topology["name"], "local")
        self.assertEqual(topology["devices"], [{"kind": "thread", "count": ranks}])
        operations = {entry["operation"] for entry in topology["collectives"]}
        self.assertEqual(operations, {"send", "all_reduce", "reduce_scatter", "all_gather",
                                      "all_to_all", "broadcast"})
        done = run("plan-graph", "mlp", "--topology", self.out, "-o", self.path / "plan.json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_threads(self):
        done = run("measure-links", "--virtual", "2", *QUICK, "-o", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("0 and 1", done.stdout)
        self.assertIn("times as long", done.stdout)
        self.check_topology(2)

    def test_processes(self):
        for ranks in 2, 3:
            done = run_on_ranks(ranks, *QUICK, "-o", self.out, "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertEqual(report["ranks"], ranks)
            self.assertEqual(len(report["links"]), ranks * (ranks - 1) // 2)
            self.assertGreater(report["flops_per_s"]["alone"], 0)
            self.check_topology(ranks)

    def test_what_cannot_be_is_refused(self):
        for words, code, message in [
                (["-o", self.out], 2, "mpirun -n 2 measure-links starts two"),
                (["--virtual", "1", "-o", self.out], 2, "--virtual"),
                (["--virtual", "2", "--largest", "4", "-o", self.out], 2, "--largest"),
                (["--virtual", "2"], 2, "--output"),
                (["--virtual", "2", *QUICK, "-o", "/nowhere/local.json"], 3, "cannot be written")]:
            done = run("measure-links", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse(self.out.exists())
        done = run_on_ranks(2, "--virtual", "2", "-o", self.out)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("error:"), 1, done.stderr)

    def test_help_has_examples(self):
        text = run("measure-links", "--help").stdout
        self.assertIn("$ mpirun -n 2 measure-links -o local.json", text)


if __name__ == "__main__":
    unittest.main()

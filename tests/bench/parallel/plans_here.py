"""Plans four networks for two ranks of this machine by named strategies, runs each plan over MPI and compares
step and memory with what was foretold:

    python3 plans_here.py [--bin BIN_DIR] [--strategies NAME,...] [--networks NAME,...] [--json FILE]

Plans that cut alike are run once. On a machine that does nothing else, with two cores.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NETWORKS = {
    "resnet50": ["--batch", "8"],
    "inception_v3": ["--batch", "8"],
    "bert_base": ["--batch", "4", "--set", "seq=128"],
    "nmt": ["--batch", "16"],
}
STRATEGIES = ("data", "megatron", "model", "mesh-tensorflow", "one-weird-trick", "bisection", "pipeline", "interleaved",
              "zero-1", "zero-3", "best")
STEPS = {"inference": "10", "training": "6"}
# Planning says these beside the cuts.
FIGURES = {"strategy", "digest", "rehearsed", "lower_bound_us", "estimates", "exchanges", "estimated_share"}


def run(command, folder):
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                "XDG_CACHE_HOME": str(folder)}
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment)


def cuts_of(plan):
    def without_estimates(node):
        return {key: value for key, value in node.items() if key in ("name", "stage", "cuts")}
    cuts = {key: value for key, value in plan.items() if key not in FIGURES and not key.endswith(("_us", "_bytes"))}
    cuts["nodes"] = [without_estimates(node) for node in plan["nodes"]]
    return json.dumps(cuts | {"bucket_bytes": plan["bucket_bytes"]}, sort_keys=True)


class Bench:
    def __init__(self, arguments, folder):
        self.programs, self.folder = Path(arguments.bin), folder
        self.strategies = arguments.strategies.split(",")
        self.topology = folder / "here.json"
        self.rows = []

    def measure_links(self):
        done = run(["mpirun", "-n", "2", self.programs / "measure-links", "-o", self.topology, "-q"], self.folder)
        if done.returncode != 0:
            sys.exit(done.stderr)

    def run_group(self, network, mode):
        model = [network, *NETWORKS[network]]
        ran = {}
        for strategy in self.strategies:
            plan = self.folder / "plan.json"
            planned = run([self.programs / "plan-graph", *model, "--topology", self.topology, "--costs", "measured",
                           "--measure-time", "60", "--strategy", strategy, "-o", plan, "-q",
                           *(["--train", "--optimizer", "momentum"] if mode == "training" else [])], self.folder)
            if planned.returncode != 0:
                print(f"{network} {mode} {strategy}: {planned.stderr.strip()}", flush=True)
                continue
            cuts = cuts_of(json.loads(plan.read_text()))
            if cuts not in ran:
                report = self.folder / "report.json"
                done = run(["mpirun", "-n", "2", self.programs / "run-plan", plan, *model, "--topology",
                            self.topology, "--steps", STEPS[mode], "--json", report, "-q"], self.folder)
                if done.returncode != 0:
                    print(f"{network} {mode} {strategy}: {done.stderr.strip()}", flush=True)
                    continue
                ran[cuts] = json.loads(report.read_text()) | {"names": []}
                self.rows.append(ran[cuts] | {"network": network, "mode": mode})
            ran[cuts]["names"].append(strategy)
            row = ran[cuts]
            print(f"{network:12} {mode:9} {strategy:16} foretold {row['simulated_us'] / 1e3:8.1f} ms, measured "
                  f"{row['step_us'] / 1e3:8.1f} ms ({100 * (row['simulated_us'] / row['step_us'] - 1):+.1f} %); "
                  f"memory {row['foretold_memory_mb']:.0f} and {row['peak_memory_mb']:.0f} MB", flush=True)
        self.tell_best(network, mode, ran.values())

    def tell_best(self, network, mode, rows):
        best = next((row for row in rows if "best" in row["names"]), None)
        if best is None:
            return
        fastest = min(rows, key=lambda row: row["step_us"])
        print(f"{network} {mode}: best is {best['step_us'] / fastest['step_us']:.3f} x the fastest, "
              f"{' = '.join(fastest['names'])}", flush=True)

    def conclude(self):
        errors = [abs(row["simulated_us"] / row["step_us"] - 1) for row in self.rows]
        memory = [abs(row["foretold_memory_mb"] / row["peak_memory_mb"] - 1) for row in self.rows]
        print(f"{len(self.rows)} plans: time is off by {100 * sum(errors) / len(errors):.1f} % on average, "
              f"{100 * max(errors):.1f} % at most; memory by {100 * max(memory):.1f} % at most; "
              f"Kendall's tau {tau(self.rows):.3f}")


def tau(rows):
    pairs = list(itertools.combinations(rows, 2))
    agreeing = sum((a["simulated_us"] < b["simulated_us"]) == (a["step_us"] < b["step_us"]) for a, b in pairs)
    return 2 * agreeing / len(pairs) - 1 if pairs else 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--json", help="writes all reports of run-plan")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, Path(folder))
        bench.measure_links()
        for network in arguments.networks.split(","):
            for mode in STEPS:
                bench.run_group(network, mode)
        bench.conclude()
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(bench.rows))


if __name__ == "__main__":
    main()

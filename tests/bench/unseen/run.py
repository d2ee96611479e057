"""How far the search's result is from an expert's, on networks that no rule was written for.

Both forms of each network are compared by compare-graphs first. The score of a network is the cost of the
optimized graph over that of the best known one: the expert's, or ours where that is cheaper. Half
of the newest set is locked away while rules and the search change: of these only the mean and the number
of networks within 5 % are shown, unless --unlock asks for more."""

import argparse
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import networks
import numpy as np
import onnxruntime

COLUMNS = "| {:42} | {:>8} | {:>8} | {:>9} | {:>6} | {:>8} | {:>5} | {:5} |"


class Bench:
    def __init__(self, bin_dir, arguments, work):
        self.bin, self.arguments, self.work = pathlib.Path(bin_dir), arguments, pathlib.Path(work)

    def run(self, command, *arguments):
        environment = os.environ | {"SOAPSTONE_PYTHON": sys.executable}
        return subprocess.run([self.bin / command, *map(str, arguments), "-q"], env=environment,
                              capture_output=True, text=True, check=False)

    def optimized(self, path, *arguments):
        report = self.work / "report.json"
        done = self.run("optimize-graph", path, "-o", self.work / "optimized.onnx", "--costs",
                        "roofline", "--judge", "none", "--json", report, *arguments)
        if done.returncode != 0:
            raise SystemExit(f"{path.name}: {done.stderr}")
        return json.loads(report.read_text())

    def row(self, name):
        network = networks.build(name)
        given, expert = self.work / f"{name}.onnx", self.work / f"{name}.expert.onnx"
        network.save(network.given, given)
        network.save(network.expert, expert)
        done = self.run("compare-graphs", given, expert, "--samples", "2")
        # What we cannot run, such as a TopK or a scatter that adds, need not read the same in both forms.
        if done.returncode != 0 and not agree_in_runtime(given, expert):
            raise SystemExit(f"{name}: the expert's form is another function: {done.stdout}")
        best = self.optimized(expert, "--budget", "0", "--verify", "off")["cost_after_us"]
        report = self.optimized(given, "--verify", "2", *self.arguments)
        ours = report["cost_after_us"]
        return {"name": name, "before": report["cost_before_us"], "expert": best, "ours": ours,
                "score": ours / min(best, ours), "launches": report["launches_after"],
                "cpu_s": report["total_cpu_s"], "rules": report["rules_applied"]}


def agree_in_runtime(given, expert):
    """Whether ONNX Runtime computes the same from both files, up to rounding."""
    random = np.random.default_rng(1)
    sessions = [onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
                for path in (given, expert)]
    feed = {i.name: random.standard_normal(i.shape).astype(np.float32)
            for i in sessions[0].get_inputs()}
    results = [session.run(None, feed) for session in sessions]
    return all(np.abs(a - b).max() <= 2e-4 * (1e-6 + np.abs(a).max()) for a, b in zip(*results))


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def summary(title, rows, shut):
    far = sum(row["score"] > 1.05 for row in rows)
    text = (f"{title}: {len(rows)} networks, {mean([row['score'] for row in rows]):.3f} times the "
            f"best known cost, {len(rows) - far} within 5 %")
    if not shut:
        could = mean([row["before"] / min(row["expert"], row["ours"]) for row in rows])
        gain = mean([row["before"] / row["ours"] for row in rows])
        text += f"; gain {gain:.3f} of {could:.3f}"
    print(text)


def of_one_network(rows):
    """Rules that are applied in one network alone: they may be made for it."""
    where = {}
    for row in rows:
        for rule in row["rules"]:
            where.setdefault(rule["rule"], []).append(row["name"])
    return {rule: names[0] for rule, names in sorted(where.items()) if len(names) == 1}


def load_networks():
    """Each module of this folder and of the sets' folders registers its networks."""
    here = pathlib.Path(__file__).parent
    for path in sorted(here.rglob("*.py")):
        if path != pathlib.Path(__file__):
            importlib.import_module(".".join(path.relative_to(here).with_suffix("").parts))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="these networks alone")
    parser.add_argument("--set", choices=networks.SETS, help="this set alone")
    parser.add_argument("--unlock", action="store_true", help="show each network that is locked")
    parser.add_argument("--rules", action="store_true",
                        help="show which rules were applied, and which in one network alone")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the files of the networks there")
    options = parser.parse_args()
    for name in options.names:
        if name not in networks.NETWORKS:
            parser.error(f"there is no network {name}")
        if networks.is_locked(name) and not options.unlock:
            parser.error(f"{name} is locked: --unlock shows it")
    return options


def show(row, which, options):
    print(COLUMNS.format(row["name"], *(f"{row[k]:.2f}" for k in ("before", "expert", "ours")),
                         f"{row['score']:.3f}", row["launches"], f"{row['cpu_s']:.1f}", which),
          flush=True)
    if options.rules:
        print("   ", ", ".join(f"{rule['rule']} {rule['count']}" for rule in row["rules"]))


def part_of(which, name):
    """What the summary calls the networks that this one is counted with."""
    if networks.is_locked(name):
        return which + ", locked"
    if which == "first" and name in networks.second_half(which):
        return "first, opened late"
    halves = which == "first" or which in networks.HALF_LOCKED
    return which + (", open from the start" if halves else ", opened")


def main():
    load_networks()
    options = read_options()
    parts, shown = {}, []
    print(COLUMNS.format("network", "given us", "expert", "optimized", "score", "launches", "CPU s",
                         "set"))
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(os.environ["BIN_DIR"], os.environ.get("ARGUMENTS", "").split(),
                      options.keep or folder)
        for which in [options.set] if options.set else networks.SETS:
            for name in networks.members(which):
                shut = networks.is_locked(name) and not options.unlock
                if options.names and name not in options.names:
                    continue
                row = bench.row(name)
                parts.setdefault((part_of(which, name), shut), []).append(row)
                if not shut:
                    shown.append(row)
                    show(row, which, options)
    for (title, shut), rows in parts.items():
        summary(title, rows, shut)
    if options.rules and shown:
        lonely = of_one_network(shown)
        print(f"{len(lonely)} rules are applied in one network alone:")
        for rule, name in lonely.items():
            print(f"    {rule}: {name}")


if __name__ == "__main__":
    main()

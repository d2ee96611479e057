"""What each transform, and each rule file, earns: models are optimized with all of them, then without each one that
the result used, by costs that are the same on any machine:

    python3 ablation.py [--bin BIN_DIR] [--models FOLDER|FILE.onnx ...] [--networks NAME,...] [--files] [--json FILE] [-- OPTIONS]

Networks are built-in ones; OPTIONS go to optimize-graph. Leaving out what a result did not use is not tried: the search
might take another way, but nothing that it found is lost. CPU seconds are those of the search.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

NETWORKS = ("squeezenet", "resnet50", "inception_v3", "bert_base", "gpt", "llama", "moe", "nmt", "rnntc", "vit", "dlrm",
            "nasrnn", "resnext50", "densenet121", "mobilenet_v2")
RULES = Path(__file__).parents[2] / "rules"


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


class Ablation:
    def __init__(self, arguments, folder):
        self.programs, self.folder = Path(arguments.bin), folder
        self.options = arguments.options
        listed = json.loads(run(self.programs / "optimize-graph", "--list-rules", "--json", "-").stdout)
        self.transforms = {entry["transform"]: tuple(entry["rules_begin_with"]) for entry in listed if "transform" in entry}
        self.file_of = {entry["rule"]: entry["file"] for entry in listed if "rule" in entry and not entry["baseline"]}
        self.leaves_out_files = arguments.files
        self.rows = []

    def optimize(self, model, *options):
        """Cost of the result over that of the model, CPU seconds, and the rules that were used; None if it fails."""
        done = run(self.programs / "optimize-graph", model, "--dry-run", "--costs", "roofline", "--verify", "off", "-q",
                   "--json", "-", *self.options, *options)
        if done.returncode != 0:
            print(f"{model} {' '.join(options[:4])}: {done.stderr.strip()}", file=sys.stderr)
            return None
        report = json.loads(done.stdout)
        return (report["cost_after_us"] / report["cost_before_us"], report["search_cpu_s"],
                {entry["rule"] for entry in report["rules_applied"]})

    def try_model(self, name, model):
        whole = self.optimize(model)
        if whole is None:
            return
        cost, cpu_s, used = whole
        print(f"{name}: {cost:.4f} of its cost, {cpu_s:.1f} CPU s, {len(used)} rules", flush=True)
        for part, words in self.parts(used):
            without = self.optimize(model, *words)
            if without is None:
                continue
            self.rows.append({"model": name, "without": part, "cost": without[0] / cost, "cpu_s": without[1] - cpu_s})
            print(f"  without {part:32} {without[0] / cost:.4f} x the cost, {without[1] - cpu_s:+.1f} CPU s", flush=True)

    def parts(self, used):
        """Names of what the result used, or may have where several make rules of one name, and the options that
        leave each out."""
        for name, prefixes in self.transforms.items():
            if any(rule.startswith(prefixes) for rule in used):
                yield name, ("--skip", name)
        if self.leaves_out_files:
            for file in sorted({self.file_of[rule] for rule in used if rule in self.file_of}):
                names = [rule for rule, of in self.file_of.items() if of == file]
                yield file, tuple(word for name in names for word in ("--skip", name))

    def conclude(self):
        by_part = defaultdict(list)
        for row in self.rows:
            by_part[row["without"]].append(row)
        print("\n| left out | models that used it | dearer by more than 0.1 % | mean cost | most | CPU s |\n|---|---:|---:|---:|---:|---:|")
        for part, rows in sorted(by_part.items()):
            costs = [row["cost"] for row in rows]
            worst = max(rows, key=lambda row: row["cost"])
            print(f"| {part} | {len(rows)} | {sum(cost > 1.001 for cost in costs)} | {sum(costs) / len(costs):.4f} | "
                  f"{worst['cost']:.4f} ({worst['model']}) | {sum(row['cpu_s'] for row in rows):+.1f} |")
        unused = [name for name in self.transforms if name not in by_part]
        print(f"\nnever used: {', '.join(unused) or 'none'}")


def models_of(arguments, folder):
    for path in arguments.models:
        files = sorted(Path(path).rglob("*.onnx")) if Path(path).is_dir() else [Path(path)]
        for file in files:
            yield file.stem, file
    for network in filter(None, arguments.networks.split(",")):
        file = folder / f"{network}.onnx"
        done = run(Path(arguments.bin) / "build-model", network, "-o", file)
        if done.returncode == 0:
            yield network, file
        else:
            print(f"{network}: {done.stderr.strip()}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--files", action="store_true", help="leave out rule files, too")
    parser.add_argument("--json", help="writes all rows")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ablation = Ablation(arguments, Path(folder))
        for name, model in models_of(arguments, Path(folder)):
            ablation.try_model(name, model)
        ablation.conclude()
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(ablation.rows))


if __name__ == "__main__":
    main()

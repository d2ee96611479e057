#!/usr/bin/env python3
"""The tables of what tests/bench/gpu.sh has left in a folder, and which aims are reached.

    gpu_table.py RESULTS
"""

import json
import math
import sys
from pathlib import Path

SIX = ("squeezenet", "nasnet_a", "nasrnn", "bert_base", "inception_v3", "resnext50")


class Results:
    def __init__(self, folder):
        self.folder = Path(folder)

    def names(self, kind):
        return sorted(path.name[len(kind) + 1:-5] for path in self.folder.glob(f"{kind}.*.code"))

    def code(self, name):
        path = self.folder / f"{name}.code"
        return int(path.read_text()) if path.exists() else None

    def text(self, name):
        return (self.folder / f"{name}.txt").read_text()

    def why(self, name):
        """What a step said that failed, in a few words."""
        if self.code(name) is None:
            return "not yet"
        if self.code(name) == 124:
            return "out of time"
        lines = (self.folder / f"{name}.err").read_text().splitlines()
        errors = [line for line in lines if line.startswith("error: ")] or lines[-1:]
        return errors[0] if errors else f"exit code {self.code(name)}"

    def json(self, name):
        """None unless the step succeeded."""
        return json.loads(self.text(name)) if self.code(name) == 0 else None


def ms(us):
    return "" if us is None else f"{us / 1e3:.3f}"


def ratio(a, b):
    return "" if a is None or b is None else f"{a / b:.2f}"


def percent(predicted, measured):
    return "" if not predicted or not measured else f"{100 * (predicted / measured - 1):+.0f} %"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def steps(results):
    for name in ("check", "bandwidth", "sanitizer"):
        if results.code(name) is None:
            print(f"{name}: {'compute-sanitizer is not here' if name == 'sanitizer' else 'not yet'}")
            continue
        print(f"{name}: {'ended well' if results.code(name) == 0 else results.why(name)}")
        if name != "sanitizer":
            print("".join(f"    {line}\n" for line in results.text(name).splitlines()[-8:]), end="")


def model_rows(results):
    for name in results.names("optimize"):
        report = results.json(f"optimize.{name}")
        other = results.json(f"onnxruntime.{name}")
        torch = results.json(f"torch.{name}") or {}
        yield name, report, other and other["models"][0]["latency_us"], torch


def models(results):
    rows = list(model_rows(results))
    if not rows:
        return
    print("\n| model, batch | before ms | predicted | after ms | predicted | faster | ONNX Runtime ms | PyTorch eager ms "
          "| compiled ms | compiled / after |\n|---|---|---|---|---|---|---|---|---|---|")
    gains = {}
    for name, report, runtime_us, torch in rows:
        if report is None:
            print(f"| {name} | {results.why(f'optimize.{name}')} |")
            continue
        before, after = report["latency_before_us"], report["latency_after_us"]
        print(f"| {name} | {ms(before)} | {percent(report['cost_before_us'], before)} | {ms(after)} "
              f"| {percent(report['cost_after_us'], after)} | {ratio(before, after)} | {ms(runtime_us)} "
              f"| {ms(torch.get('eager_us'))} | {ms(torch.get('compiled_us'))} "
              f"| {ratio(torch.get('compiled_us'), after)} |")
        if before and after:
            gains[name] = before / after
    at_one = [gains[f"{name}.1"] for name in SIX if f"{name}.1" in gains]
    if at_one:
        print(f"\n{len(at_one)} of {len(SIX)} networks at batch 1: {geometric_mean(at_one):.3f} times as fast as before "
              "(geometric mean; the aim is 1.2)")
    for kind in ("onnxruntime", "torch"):
        missing = {results.why(f"{kind}.{name}") for name, *_ in rows if results.code(f"{kind}.{name}") != 0}
        for why in sorted(missing):
            print(f"{kind}: {why}")


def operators(results):
    for name in results.names("operators"):
        rows = results.json(f"operators.{name}")
        if rows is None:
            print(f"\noperators of {name}: {results.why(f'operators.{name}')}")
            continue
        timed = [row for row in rows if "ours_us" in row]
        both = [row for row in timed if row.get("torch_us")]
        slow = [row for row in both if row["ours_us"] > 1.05 * row["torch_us"]]
        print(f"\noperators of {name}: {len(timed)} of {len(rows)} kinds timed, {len(both)} beside PyTorch, "
              f"{len(slow)} of them more than 5 % slower")
        for row in sorted(slow, key=lambda row: row["torch_us"] / row["ours_us"]):
            print(f"    {row['operator']} {row['dims']}: {row['ours_us']:.1f} us, PyTorch {row['torch_us']:.1f}")


def main():
    results = Results(sys.argv[1])
    steps(results)
    models(results)
    operators(results)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Looks for plans that sizes fixed by hand make better than the best plan of a free search.

Each case is a built-in network of random sizes on a random machine, planned freely and then with one or two random
`--fix`. Prints each fixed plan that is more than 0.1 % faster, or that fits where the best does not, and how many
there were.
Usage: fixed_plans.py [CASES [FIRST_SEED]]. Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")
FIXES_OF_A_CASE = 3
ALLOWED = 1.001


def network(draw):
    name = draw.choice(["gpt", "llama", "moe", "mlp", "resnet50", "alexnet", "dlrm", "rnntc", "nmt", "lenet"])
    sizes = {}
    if name in ("gpt", "llama", "moe"):
        sizes = {"layers": draw.choice([2, 4, 6, 12]), "hidden": draw.choice([256, 512, 1024, 2048]),
                 "heads": draw.choice([4, 8, 16]), "seq": draw.choice([64, 128, 512])}
        if name == "gpt":
            sizes["positions"] = sizes["seq"]
        if name == "moe":
            sizes.update(positions=sizes["seq"], layers=2, hidden=min(sizes["hidden"], 512))
    if name == "mlp":
        sizes = {"layers": draw.choice([2, 4, 8]), "hidden": draw.choice([512, 1024, 4096]),
                 "inputs": draw.choice([256, 1024]), "outputs": draw.choice([64, 1000])}
    return name, sizes


def case(seed):
    draw = random.Random(seed)
    name, sizes = network(draw)
    batch = draw.choice([16, 32, 48, 64, 96, 128, 256, 512])
    machine = draw.choice(["k80x4-ib", "p100x4-nvlink", "dgx-a100x1", "dgx-a100x2", "dgx-h100x2", "v100-p100"])
    options = ["--batch", str(batch), "--topology", machine]
    for key, value in sizes.items():
        options += ["--set", f"{key}={value}"]
    if draw.random() < 0.75:
        options.append("--train")
    if draw.random() < 0.5:
        options += ["--precision", "f16"]
    if draw.random() < 0.25:
        options += ["--memory-limit", str(draw.choice([0.25, 0.5, 1, 2]))]
    if draw.random() < 0.3:
        options += ["--devices", str(draw.choice([2, 4, 8]))]
    fixes = []
    for _ in range(FIXES_OF_A_CASE):
        kinds = {"model": [1, 2, 4, 8], "any": [1, 2, 4, 8], "stages": [1, 2, 4], "microbatches": [1, 2, 3, 4, 6, 8, 16],
                 "chunks": [1, 2]}
        if "--train" in options:
            kinds["recompute"] = [0, 1]
        chosen = draw.sample(sorted(kinds), draw.choice([1, 2]))
        fixes.append([f"{kind}={draw.choice(kinds[kind])}" for kind in chosen])
    return [name] + options, fixes


def plan(options):
    done = subprocess.run([PLAN] + options + ["-q", "--jobs", "1", "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 5, 7) or not done.stdout.startswith("{"):
        return None, done
    report = json.loads(done.stdout)
    return (report["fits"], report["simulated_us"], report["peak_memory_mb"]), done


def worse(best, fixed):
    """Whether the best plan loses to the fixed one; and by how much."""
    if best[0] != fixed[0]:
        return fixed[0], float("inf")
    ratio = best[1] / fixed[1] if best[0] else best[2] / fixed[2]
    return ratio > ALLOWED, ratio


def judge(seed):
    options, fixes = case(seed)
    best, done = plan(options)
    lines, compared = [], 0
    if best is None:
        return [f"{seed}: {' '.join(options)}: {done.stderr.strip()}"] if done.returncode != 4 else [], 0
    for fix in fixes:
        fixed, _ = plan(options + [word for size in fix for word in ("--fix", size)])
        if fixed is None:
            continue
        compared += 1
        is_worse, ratio = worse(best, fixed)
        if is_worse:
            lines.append(f"{seed}: plan-graph {' '.join(options)}: best {best[1]:.1f} us, {best[2]:.0f} MB; "
                         f"--fix {' '.join(fix)} {fixed[1]:.1f} us, {fixed[2]:.0f} MB ({ratio:.4f})")
    return lines, compared


def main():
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    compared, found = 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines, count in pool.map(judge, range(first, first + cases)):
            compared += count
            found += len(lines)
            for line in lines:
                print(line, flush=True)
    print(f"{cases} cases, {compared} fixed plans: {found} better than the best plan")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Plans the steps of table 5 of arXiv 2205.05198 (GPT on A100) with the sizes published there.

Prints the seconds estimated and published of each, the mean error and the worst.
Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import subprocess
import sys

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")

# Parameters; nodes of eight GPUs; layers, hidden, heads; batch, stages, chunks; seconds of a step with everything
# computed again, and with attention computed again and the sequence cut.
STEPS = [
    ("22B", 1, 48, 6144, 64, 4, 1, 1, 1.42, 1.10),
    ("175B", 8, 96, 12288, 96, 64, 8, 3, 18.13, 13.75),
    ("530B", 35, 105, 20480, 128, 280, 35, 3, 49.05, 37.83),
    ("1T", 64, 128, 25600, 160, 512, 64, 1, 94.42, 71.49),
]


def step_seconds(step, recomputes_all):
    _, nodes, layers, hidden, heads, batch, stages, chunks, *_ = step
    microbatches = batch if stages > 1 else 1
    command = [PLAN, "gpt", "--topology", f"dgx-a100x{nodes}", "--train", "--precision", "f16", "--json", "-",
               "--batch", str(batch)]
    for key, value in [("layers", layers), ("hidden", hidden), ("heads", heads), ("seq", 2048),
                       ("positions", 2048), ("vocabulary", 51200)]:
        command += ["--set", f"{key}={value}"]
    for key, value in [("model", 8), ("stages", stages), ("chunks", chunks), ("microbatches", microbatches),
                       ("recompute", 1 if recomputes_all else 0)]:
        command += ["--fix", f"{key}={value}"]
    command += ["--strategy", "megatron"] if recomputes_all else ["--strategy", "megatron-sp",
                                                                  "--attention", "recomputed"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["simulated_us"] / 1e6


def main():
    errors = []
    print(f"{'model':6} {'recomputed':10} {'estimated':>10} {'published':>10} {'error':>7}")
    for step in STEPS:
        for recomputes_all, published in ((True, step[8]), (False, step[9])):
            estimated = step_seconds(step, recomputes_all)
            errors.append(abs(estimated / published - 1))
            print(f"{step[0]:6} {'all' if recomputes_all else 'attention':10} {estimated:8.2f} s {published:8.2f} s "
                  f"{100 * (estimated / published - 1):+6.1f}%")
    print(f"mean error {100 * sum(errors) / len(errors):.2f} %, worst {100 * max(errors):.2f} %")


if __name__ == "__main__":
    main()

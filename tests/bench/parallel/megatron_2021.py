#!/usr/bin/env python3
"""Plans the steps of table 1 of arXiv 2104.04473 (GPT on A100, up to 1,008 billion parameters), to which no number of
the planner was fitted, and compares the teraflop/s of a GPU with those published.

The paper counts 96·B·s·l·h²·(1 + s/6h + V/16lh) operations a step, everything being computed again, and does not say
how large microbatches were, which its authors tuned: they are searched, and so is the number of pieces of a stage.
Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import subprocess
import sys

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")
TOKENS, VOCABULARY = 2048, 51200

# Billions of parameters, heads, hidden, layers, tensor parallel, stages, GPUs, batch, teraflop/s published.
STEPS = [
    (1.7, 24, 2304, 24, 1, 1, 32, 512, 137),
    (3.6, 32, 3072, 30, 2, 1, 64, 512, 138),
    (7.5, 32, 4096, 36, 4, 1, 128, 512, 142),
    (18.4, 48, 6144, 40, 8, 1, 256, 1024, 135),
    (39.1, 64, 8192, 48, 8, 2, 512, 1536, 138),
    (76.1, 80, 10240, 60, 8, 4, 1024, 1792, 140),
    (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148),
    (310.1, 128, 16384, 96, 8, 16, 1920, 2160, 155),
    (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163),
    (1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 163),
]


def planned(step):
    _, heads, hidden, layers, tensor, stages, gpus, batch, _ = step
    command = [PLAN, "gpt", "--topology", f"dgx-a100x{gpus // 8}", "--train", "--precision", "f16", "--json", "-", "-q",
               "--batch", str(batch)]
    for key, value in [("layers", layers), ("hidden", hidden), ("heads", heads), ("seq", TOKENS),
                       ("positions", TOKENS), ("vocabulary", VOCABULARY)]:
        command += ["--set", f"{key}={value}"]
    sizes = {"stages": stages, "recompute": 1}
    if tensor > 1:
        sizes["model"] = tensor
    for key, value in sizes.items():
        command += ["--fix", f"{key}={value}"]
    command += ["--strategy", "megatron" if tensor > 1 else "zero-1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def teraflops(step, seconds):
    _, _, hidden, layers, _, _, gpus, batch, _ = step
    operations = 96 * batch * TOKENS * layers * hidden**2 * (
        1 + TOKENS / (6 * hidden) + VOCABULARY / (16 * layers * hidden))
    return operations / seconds / gpus / 1e12


def main():
    errors = []
    print(f"{'parameters':>10} {'estimated':>12} {'published':>12} {'error':>7}  memory")
    for step in STEPS:
        report = planned(step)
        reached = teraflops(step, report["simulated_us"] / 1e6)
        errors.append(abs(reached / step[-1] - 1))
        fits = "fits" if report["fits"] else "does not fit"
        print(f"{step[0]:8.1f} B {reached:7.1f} TF/s {step[-1]:7.1f} TF/s {100 * (reached / step[-1] - 1):+6.1f}%  "
              f"{report['peak_memory_mb'] / 1e3:.1f} GB, {fits}")
    print(f"mean error {100 * sum(errors) / len(errors):.2f} %, worst {100 * max(errors):.2f} %")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Plans the steps of Llama 3 that TorchTitan's authors report for 64 A100 (sequences of 8,192, one for each GPU).

Fully sharded data parallelism in bfloat16 with a fused kernel for attention; 8B computes every second product of a block
again, 70B everything. Nothing is fitted to them. Prints tokens a second of a GPU, planned and published, and the memory
of a device.
Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import subprocess
import sys

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")
TOKENS, DEVICES = 8192, 64
# Layers, hidden, heads, hidden of the feed-forward part; what is computed again; tokens a second of a GPU, as published.
MODELS = {"8B": (32, 4096, 32, 14336, "half", 2904), "70B": (80, 8192, 64, 28672, "all", 331)}


def planned(layers, hidden, heads, feed, recompute):
    command = [PLAN, "llama", "--batch", str(DEVICES), "--topology", "dgx-a100x8", "--train", "--precision", "bf16",
               "--strategy", "fsdp", "--attention", "fused", "--fix", "microbatches=1", "--fix", f"recompute={recompute}",
               "-q", "--json", "-"]
    for key, value in [("layers", layers), ("hidden", hidden), ("heads", heads), ("kv_heads", 8), ("feed", feed),
                       ("vocabulary", 128256), ("seq", TOKENS)]:
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    print(f"{'model':6} {'planned':>10} {'published':>10} {'error':>7}  memory")
    for name, (layers, hidden, heads, feed, recompute, published) in MODELS.items():
        report = planned(layers, hidden, heads, feed, recompute)
        tokens = TOKENS / (report["simulated_us"] / 1e6)
        fits = "fits" if report["fits"] else "does not fit"
        print(f"{name:6} {tokens:10.0f} {published:10} {100 * (tokens / published - 1):+6.1f}%  "
              f"{report['peak_memory_mb'] / 1e3:.1f} GB, {fits}")


if __name__ == "__main__":
    main()

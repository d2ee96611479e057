"""Runs small networks by each named strategy on virtual ranks and counts whose results are those of one device:

    python3 run_plans.py [BIN_DIR]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TOKENS = "layers=2 hidden=64 heads=4 seq=16 vocabulary=96"
NETWORKS = {
    "mlp": (8, ""), "lenet": (8, ""), "resnet18": (4, "image=64 width=16"),
    "gpt": (4, TOKENS + " positions=16"), "llama": (4, TOKENS + " feed=96"),
    "dlrm": (8, "tables=4 rows=64"), "squeezenet": (2, "image=64"), "bert_base": (4, TOKENS),
    "vit": (4, "layers=2 hidden=64 heads=4"), "moe": (4, "layers=2 hidden=64 heads=4 seq=16"),
}
STRATEGIES = ("data", "model", "megatron", "megatron-sp", "pipeline", "mesh-tensorflow", "one-weird-trick",
              "bisection", "expert", "best")


def main():
    programs = Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin")
    plans = wrong = 0
    other_bits = []
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        for name, (batch, sizes) in NETWORKS.items():
            model = [name, "--batch", str(batch)]
            for size in sizes.split():
                model += ["--set", size]
            for devices in ("2", "4"):
                for strategy in STRATEGIES:
                    planned = subprocess.run(
                        [programs / "plan-graph", *model, "--topology", "k80x4-ib", "--devices", devices,
                         "--strategy", strategy, "-o", plan, "-q"], capture_output=True, check=False)
                    if planned.returncode != 0:
                        continue  # The network does not admit the strategy.
                    ran = subprocess.run(
                        [programs / "run-plan", plan, *model, "--virtual", "--steps", "1", "--check",
                         "--json", "-"], capture_output=True, text=True, check=False)
                    plans += 1
                    results = json.loads(ran.stdout).get("results", []) if ran.returncode in (0, 6) else []
                    if ran.returncode != 0:
                        wrong += 1
                        print(name, devices, strategy, ran.stderr)
                    other_bits += [(name, devices, strategy) for result in results
                                   if result["different_bits"] and not result["sums_are_cut"]]
    print(f"{plans} plans, {wrong} with other results than one device")
    print(f"{len(other_bits)} results without a cut sum have other bits: {other_bits}")


if __name__ == "__main__":
    main()

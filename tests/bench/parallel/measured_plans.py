#!/usr/bin/env python3
"""Simulates training plans that were measured elsewhere and prints how far off times and memory are.

    measured_plans.py FOLDER [--each] [--plans FILE ...]

FOLDER holds profiles.json and plans.json in the format of docs/plans.md ("A plan of your own"); each plan has
`measured` with `iteration_s` and `peak_memory_mb`, and may have `suspect`, an object whose keys name measured figures
that cannot be right: these are left out. `cluster` names the group that a plan is counted in, with its model.
--plans names other lists of plans of the same profiles. Prints |simulated / measured - 1| in per cent as
mean / median / max.
Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")
FIGURES = ("iteration_s", "peak_memory_mb")


def simulated(plans, profiles):
    done = subprocess.run([PLAN, "--simulate", str(plans), "--profiles", str(profiles), "--json", "-", "-q"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plans", type=Path, nargs="+")
    parser.add_argument("--each", action="store_true", help="also print every plan")
    args = parser.parse_args()

    errors = {}
    for path in args.plans or [args.folder / "plans.json"]:
        reports = simulated(path, args.folder / "profiles.json")
        plans = json.loads(path.read_text())
        for plan in plans if isinstance(plans, list) else [plans]:
            report = reports[plan["id"]]
            for figure in FIGURES:
                measured = plan.get("measured", {}).get(figure)
                if measured is None or figure in plan.get("suspect", {}):
                    continue
                error = 100 * (report[figure] / measured - 1)
                errors.setdefault((plan.get("cluster", ""), plan["model"], figure), []).append(error)
                if args.each:
                    print(f"{plan['id']:30} {figure:15} {report[figure]:12.5g} {measured:12.5g} {error:+7.1f} %")
    print(f"{'cluster':10} {'model':14} {'figure':15} {'plans':>5}   mean median    max")
    for (cluster, model, figure), found in sorted(errors.items()):
        sizes = [abs(error) for error in found]
        print(f"{cluster:10} {model:14} {figure:15} {len(sizes):5} {statistics.mean(sizes):6.1f} "
              f"{statistics.median(sizes):6.1f} {max(sizes):6.1f}")


if __name__ == "__main__":
    main()

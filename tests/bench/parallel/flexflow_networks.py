#!/usr/bin/env python3
"""Plans the six networks of FlexFlow (arXiv 1807.05358, figure 7) on both of its clusters.

Prints, for each, samples per second of data parallelism, of the best named strategy and of the plan that is
found: with gradients summed in buckets beside the backward pass, as frameworks do today, and each by itself behind it,
as in 2018. Beside them stands how many times faster than the state of the art FlexFlow's authors measured it to be.
All figures but theirs are simulated: kernels are estimated, and they report the largest gain over all numbers of devices.

    python3 flexflow_networks.py [NETWORK...]

Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import resource
import subprocess
import sys

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")

# Samples a device; sizes; how many times faster than the state of the art, as published.
NETWORKS = {
    "alexnet": (64, [], 3.3),
    "inception_v3": (64, [], 1.6),
    "resnet101": (64, [], 1.1),
    "rnntc": (64, ["steps=40"], 1.7),
    "rnnlm": (64, ["steps=40"], 1.9),
    "nmt": (64, ["steps=40"], 2.4),
}
CLUSTERS = {"p100x4-nvlink": (4, 16), "k80x4-ib": (4, 16, 64)}


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# When gradients are summed: options, and how the table calls them.
SUMS = {"beside": [], "behind": ["--sums", "behind", "--fix", "bucket=1"]}


def planned(network, cluster, devices, sums):
    samples, sizes, _ = NETWORKS[network]
    command = [PLAN, network, "--topology", cluster, "--devices", str(devices), "--batch", str(samples * devices),
               "--train", "--optimizer", "sgd", "--compare", "--json", "-", "-q", *SUMS[sums]]
    for size in sizes:
        command += ["--set", size]
    start = cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout), cpu_seconds() - start


def row(network, cluster, devices, sums):
    report, seconds = planned(network, cluster, devices, sums)
    samples = NETWORKS[network][0] * devices
    rate = {each["name"]: samples / each["simulated_us"] * 1e6
            for each in report["strategies"] if each.get("fits")}
    ours = samples / report["simulated_us"] * 1e6
    best = max(rate, key=rate.get)
    gap = report["simulated_us"] / report["lower_bound_us"] - 1
    data = rate.get("data")
    columns = (network, cluster, str(devices), sums, f"{data:.0f}" if data else "no room",
               f"{rate[best]:.0f} ({best})", f"{ours:.0f}", f"{ours / data:.2f}" if data else "", f"{gap:.0%}",
               f"{NETWORKS[network][2]}", f"{seconds:.1f}")
    return "| " + " | ".join(columns) + " |"


def main():
    print("| network | cluster | devices | sums | data parallel | best named | found | times data parallel "
          "| above the bound | published gain | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for network in sys.argv[1:] or NETWORKS:
        for cluster, counts in CLUSTERS.items():
            for devices in counts:
                for sums in SUMS:
                    print(row(network, cluster, devices, sums), flush=True)


if __name__ == "__main__":
    main()

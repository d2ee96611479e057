"""The built-in networks at sizes that keep tests short, and the commands that they go through."""

import os
import subprocess
from pathlib import Path

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[1] / "build" / "bin"))

# Network: its parameters, and how many graphs to expand for it.
NETWORKS = {
    "squeezenet": ({"image": 96}, 2000),
    "inception_v3": ({"image": 96, "width_percent": 50}, 2000),
    "resnet50": ({"image": 64, "width": 32}, 2000),
    "resnext50": ({"image": 64, "width": 32}, 2000),
    "bert_base": ({"layers": 2, "seq": 32, "vocabulary": 1000}, 2000),
    "nasrnn": ({"hidden": 64, "steps": 2}, 100),
}


def run(command, *arguments):
    """What the command writes to stdout. It must succeed."""
    done = subprocess.run([str(BIN_DIR / command), *map(str, arguments), "--quiet"],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise AssertionError(f"{command} ends with {done.returncode}: {done.stderr}")
    return done.stdout


def build(name, path, opset=17, **others):
    """At the size of the table, but for the parameters that are given."""
    parameters = NETWORKS[name][0] | others
    settings = [part for key, value in parameters.items() for part in ("--set", f"{key}={value}")]
    run("build-model", name, "-o", path, "--opset", opset, *settings)


def optimize(name, path, *arguments):
    """On a device of fixed numbers, and as far as a count of graphs: the same everywhere."""
    _, budget = NETWORKS[name]
    return run("optimize-graph", path, "--costs", "roofline", "--budget", budget, "--time", 0,
               *arguments)

"""Our own executor beside ONNX Runtime on the same files, and where it loses by kind of kernel.

    python3 executor_kernels.py MODEL... [--repeat N] [--loss X] [--table FILE]

One thread. bench-graph times each file in both, by turns, and shows the kernels of both; of the
repeated runs the fastest counts, as our executor is timed by the clock on the wall. Kernels are added up by what they do, as the two divide a network in
their own ways: conversions of layouts are one kind. Of models on which we take --loss times as long or
more, the kinds on which we lose are listed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from export_models import BIN_DIR
from time_in_runtimes import markdown

# What both call differently. Other operators are compared by their names without case and underscores.
KINDS = {"gemm": "matmul", "reorderinput": "conversion", "reorderoutput": "conversion",
         "convert": "conversion", "batchnormalization": "batchnorm", "reducemean": "mean",
         "layernormalization": "layernorm", "skiplayernormalization": "layernorm",
         "averagepool": "avgpool"}
RUNTIMES = ("soapstone", "onnxruntime")


def kind_of(kernel):
    """`conv [1, 64, 56, 56] …` of ours and com.microsoft.FusedConv of theirs are both conv."""
    name = kernel["operator"] if "operator" in kernel else kernel["launch"].split()[0]
    name = name.split(".")[-1].replace("_", "").lower().removeprefix("fused")
    return KINDS.get(name, name)


def kinds_of(breakdown):
    """Microseconds by kind."""
    found = {}
    for kernel in breakdown:
        kind = kind_of(kernel)
        found[kind] = found.get(kind, 0) + kernel["cost_us"]
    return found


def measured(model, runtime):
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run([BIN_DIR / "bench-graph", model, "--runtime", runtime, "--breakdown", "-q",
                        "--json", report], check=True, stdout=subprocess.DEVNULL,
                       env={"SOAPSTONE_PYTHON": sys.executable, **os.environ})
        found = json.loads(report.read_text())
    return found["models"][0]["latency_us"], kinds_of(found["breakdown"])


def losses(ours, theirs):
    """Kinds on which ours takes longer, with both times, the largest loss first."""
    found = [(kind, us, theirs.get(kind, 0)) for kind, us in ours.items()]
    return sorted((row for row in found if row[1] > row[2]), key=lambda row: row[2] - row[1])


def rows_of(model, options):
    runs = {runtime: [] for runtime in RUNTIMES}
    for _ in range(options.repeat):
        for runtime in RUNTIMES:
            runs[runtime].append(measured(model, runtime))
    (ours_us, ours), (theirs_us, theirs) = (min(runs[runtime], key=lambda run: run[0])
                                            for runtime in RUNTIMES)
    ratio = ours_us / theirs_us
    yield model.stem, "all", f"{ours_us / 1e3:.2f}", f"{theirs_us / 1e3:.2f}", f"{ratio:.2f}"
    if ratio < options.loss:
        return
    for kind, us, their_us in losses(ours, theirs)[:options.kinds]:
        times = f"{us / their_us:.2f}" if their_us else ""
        yield "", kind, f"{us / 1e3:.2f}", f"{their_us / 1e3:.2f}", times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--loss", type=float, default=1.1)
    parser.add_argument("--kinds", type=int, default=4, help="of kernels, at most")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    rows = []
    for model in options.models:
        try:
            rows += rows_of(model, options)
        except subprocess.CalledProcessError as error:
            rows.append((model.stem, f"bench-graph ended with {error.returncode}", "", "", ""))
    table = markdown(("model", "kernels", "ours ms", "ONNX Runtime ms", "times as long"), rows) + "\n"
    if options.table:
        options.table.write_text(table)
    print(table, end="")


if __name__ == "__main__":
    main()

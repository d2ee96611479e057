"""Optimizes models and times the results where people deploy them.

    python3 run.py FOLDER [MODEL...] [--runtime NAME] [--threads N] [-- ARGUMENT...]

FOLDER holds ONNX files, e.g. those of export_models.py; MODEL is a name in it. What follows -- goes
to optimize-graph. A result that is the original, byte for byte, is not timed: nothing changed.
"""

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ratios
import time_in_runtimes
from export_models import BIN_DIR
from time_in_runtimes import CONTROL, interval

TITLES = ("model", "runtime", "original ms", "times faster", "by medians", "control",
          "largest difference", "optimization")
RESULT = "result"


def optimize(model, result, arguments):
    """Its report, in short. Failing is an outcome, too."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [BIN_DIR / "optimize-graph", model, "-o", result, "-q", "--json", report, *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={"SOAPSTONE_PYTHON": sys.executable, **os.environ})
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            return {"exit_code": done.returncode, "error": " ".join(last)}
        found = json.loads(report.read_text())
    return {key: found.get(key) for key in ("outcome", "speedup", "total_wall_s", "total_cpu_s")}


def row(name, entry, report):
    """A line of the table: of a report of time_in_runtimes, or of none if nothing was timed."""
    optimization = entry["optimization"]
    said = optimization.get("error") or (
        f"{optimization['outcome']} in {optimization['total_wall_s']:.0f} s")
    if report is None:
        return name, "", "", "not timed", "", "", "", said
    where = f"{report['runtime']} {report['version']}, {report['threads']}"
    if report["errors"]:
        label, error = next(iter(report["errors"].items()))
        return name, where, "", f"{label}: {error}", "", "", "", said
    found, control = report["files"][RESULT], report["files"][CONTROL]
    return (name, where, f"{report['original_ms']:.2f}", interval(found["low"]),
            interval(found["median"]), interval(control["low"]),
            f"{found['difference']['relative']:.1e}", said)


def measure_model(name, options, work):
    model = options.folder / f"{name}.onnx"
    result = work / f"{name}.onnx"
    result.unlink(missing_ok=True)  # of an earlier run
    entry = {"optimization": optimize(model, result, options.arguments), "reports": []}
    entry["unchanged"] = result.exists() and filecmp.cmp(model, result, shallow=False)
    if result.exists() and not entry["unchanged"]:
        entry["reports"] = list(time_in_runtimes.measure_all(model, {RESULT: result}, options))
    if not options.results:
        result.unlink(missing_ok=True)
    return entry


def summaries(entries):
    """For each runtime and number of threads, where a file that was left as it is counts as 1."""
    found = {}
    for name, entry in entries.items():
        for report in entry["reports"]:
            ratio = report["files"].get(RESULT)
            if ratio:
                where = f"{report['runtime']} {report['version']}, threads {report['threads']}"
                found.setdefault(where, {})[name] = ratio["low"]
    unchanged = {name: (1, 1, 1) for name, entry in entries.items() if entry["unchanged"]}
    failed = sum("error" in entry["optimization"] or any(each["errors"] for each in entry["reports"])
                 for entry in entries.values())
    for where, values in found.items():
        yield f"{where}: {ratios.summary(values | unchanged)}"
    yield f"{len(unchanged)} files were left as they are, {failed} failed"


def main():
    arguments = sys.argv[1:]
    own, rest = arguments, []
    if "--" in arguments:
        cut = arguments.index("--")
        own, rest = arguments[:cut], arguments[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", help="all in the folder, if none is named")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="keep the optimized files")
    time_in_runtimes.add_arguments(parser)
    options = parser.parse_args(own)
    options.arguments = rest
    names = options.models or sorted(path.stem for path in options.folder.glob("*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        work = options.results or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        time_in_runtimes.measure_models(names, lambda name: measure_model(name, options, work), row,
                                        TITLES, summaries, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How soon optimize-graph ends after Ctrl-C, with what: a table for README.

    BIN_DIR=build/bin python tests/bench/interrupt.py
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[2] / "build" / "bin"))
# Model, its settings, the costs, and after how many seconds of searching.
RUNS = [("inception_v3", [], "roofline", 1.0), ("inception_v3", [], "measured", 5.0),
        ("bert_base", [], "roofline", 0.3), ("bert_base", [], "measured", 5.0),
        ("nasrnn", ["steps=400"], "roofline", 8.0)]


def interrupt(model, output, costs, after_s):
    """Seconds from the signal to the end, and the report."""
    report = output.with_suffix(".json")
    process = subprocess.Popen(
        [BIN_DIR / "optimize-graph", model, "-o", output, "--costs", costs, "--cost-db", "none",
         "--json", report], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("searching"):
            break
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    process.communicate()
    return time.monotonic() - begin, process.returncode, json.loads(report.read_text())


def main():
    print("| model | nodes | MB | costs | Ctrl-C after s | ends within s | exit code | result | "
          "best so far | equal |\n|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, settings, costs, after_s in RUNS:
            model, output = Path(folder, f"{name}.onnx"), Path(folder, "out.onnx")
            options = [word for setting in settings for word in ("--set", setting)]
            subprocess.run([BIN_DIR / "build-model", name, "-o", model, "-q", *options],
                           check=True, stdout=subprocess.DEVNULL)
            output.unlink(missing_ok=True)
            seconds, code, report = interrupt(model, output, costs, after_s)
            checked = report["equivalence"]
            print(f"| {' '.join([name, *settings])} | {report['nodes_before']} "
                  f"| {model.stat().st_size / 1e6:.0f} | {costs} | {after_s} | {seconds:.1f} | {code} "
                  f"| {report['result'] if output.exists() else 'none'} "
                  f"| {report['cost_before_us'] / report['cost_after_us']:.3f} "
                  f"| {'yes' if checked and checked['equal'] else 'not checked'} |", flush=True)


if __name__ == "__main__":
    main()

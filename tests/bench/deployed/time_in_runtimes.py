"""Times ONNX files that compute the same in ONNX Runtime and OpenVINO, in turn.

    python3 time_in_runtimes.py ORIGINAL RESULT [RESULT...] [--runtime NAME...] [--threads N...]

Each load is a process that reads all files afresh, and the original twice: the second one is the
control, which shows what the method calls a difference where there is none. In each turn each file
runs once, after a run that is not timed; the order changes from turn to turn. With one thread the
times are CPU seconds, since others may use the machine; with more they are wall time. The ratio says
how many times faster than the original a file is: by the times that a fifth of the turns stay below,
and by medians. The largest difference is one of outputs, relative to the largest of their elements.
"""

import argparse
import itertools
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import model_inputs
import ratios
import runtimes

CONTROL = "control"
LEAST_TURNS, MOST_TURNS = 8, 400


def orders(count):
    """Endless orders of so many files: all rotations, forward and backward."""
    forward = list(range(count))
    rotations = [forward[k:] + forward[:k] for k in forward]
    return itertools.cycle([order for each in rotations for order in (each, each[::-1])])


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def clocks():
    return time.process_time(), time.perf_counter()


def timed(run, inputs):
    cpu, wall = clocks()
    run(inputs)
    cpu_end, wall_end = clocks()
    return cpu_end - cpu, wall_end - wall


def load_and_time(runtime, threads, files, seconds, shift):
    """One load, in a process of its own. files: label to path; the first is the original. They are
    loaded in an order that is rotated by `shift`."""
    names = list(files)
    inputs = model_inputs.draw(files[names[0]])
    loaded, differences, errors, outputs = {}, {}, {}, None
    start = shift % len(names)
    for name in names[start:] + names[:start]:
        try:
            loaded[name] = runtimes.LOADERS[runtime](files[name], threads)
        except Exception as error:  # The runtime's own types; the others are timed nonetheless.
            errors[name] = first_line(error)
    names = [name for name in names if name in loaded]
    for name in list(names):
        try:
            found = [output.copy() for output in loaded[name](inputs)]
            outputs = found if outputs is None else outputs
            differences[name] = model_inputs.difference(outputs, found)
        except Exception as error:
            errors[name] = first_line(error)
            names.remove(name)
    times = take_turns({name: loaded[name] for name in names}, inputs, seconds)
    return {"times": times, "differences": differences, "errors": errors}


def take_turns(loaded, inputs, seconds):
    """Label to the CPU seconds and wall seconds of its runs, turn by turn."""
    names = list(loaded)
    times = {name: {"cpu": [], "wall": []} for name in names}
    end = time.perf_counter() + seconds
    for turn, order in enumerate(orders(len(names))):
        if turn == MOST_TURNS or turn >= LEAST_TURNS and time.perf_counter() > end:
            return times
        for position in order:
            name = names[position]
            loaded[name](inputs)  # Caches hold this model now, not the one before.
            cpu, wall = timed(loaded[name], inputs)
            times[name]["cpu"].append(cpu)
            times[name]["wall"].append(wall)


def in_own_process(function, *arguments):
    """What the function returns there. A crash of the runtime is an error like others."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            raise RuntimeError("the process of the runtime has crashed") from None


def measure(original, results, runtime, threads, seconds=20, loads=5):
    """What was measured, as it goes into JSON. results: label to path. "times" are the seconds that
    ratios come from, by label: lists of loads, whose positions are turns."""
    files = {"original": str(original), CONTROL: str(original),
             **{label: str(path) for label, path in results.items()}}
    done = []
    for load in range(loads):
        try:
            done.append(in_own_process(load_and_time, runtime, threads, files, seconds / loads, load))
        except RuntimeError as error:
            done = [{"times": {}, "differences": {}, "errors": dict.fromkeys(results, str(error))}]
        if "original" not in done[0]["times"]:
            break
    report = {"runtime": runtime, "version": runtimes.version(runtime), "threads": threads,
              "clock": "cpu" if threads == 1 else "wall", "errors": done[0]["errors"], "files": {},
              "times": {}}
    if "original" not in done[0]["times"]:
        return report
    timed_labels = [label for label in files if all(label in each["times"] for each in done)]
    series = {label: [each["times"][label][report["clock"]] for each in done]
              for label in timed_labels}
    report["times"] = series
    report["original_ms"] = ratios.low_ms(series["original"])
    for label in timed_labels[1:]:
        speedups = {kind: ratios.speedup(series["original"], series[label], quantile)
                    for kind, quantile in ratios.QUANTILES.items()}
        report["files"][label] = {**speedups, "ms": ratios.low_ms(series[label]),
                                  "difference": done[0]["differences"][label]}
    return report


def interval(values):
    ratio, low, high = values
    return f"{ratio:.3f} ({low:.3f} to {high:.3f})"


def rows(report):
    """A row of the table for each result."""
    where = f"{report['runtime']} {report['version']}, {report['threads']} thread" + (
        "s" if report["threads"] > 1 else "")
    for label, found in report["files"].items():
        if label != CONTROL:
            yield (where, label, f"{report['original_ms']:.2f}", interval(found["low"]),
                   interval(found["median"]), interval(report["files"][CONTROL]["low"]),
                   f"{found['difference']['relative']:.1e}")
    for label, error in report["errors"].items():
        yield where, label, "", error, "", "", ""


TITLES = ("runtime", "file", "original ms", "times faster", "by medians", "control",
          "largest difference")


def markdown(titles, lines):
    table = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                     for line in table)


def add_arguments(parser):
    """Options that other programs share, which time files as this one does."""
    parser.add_argument("--runtime", action="append", choices=runtimes.LOADERS,
                        help="may be repeated (onnxruntime)")
    parser.add_argument("--threads", action="append", type=int, metavar="N",
                        help="may be repeated (1)")
    parser.add_argument("--seconds", type=float, default=20, help="for each runtime (%(default)s)")
    parser.add_argument("--loads", type=int, default=5, help="processes of it (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table there, too")


def measure_all(original, results, options):
    """A report for each runtime and number of threads."""
    for runtime in options.runtime or ["onnxruntime"]:
        for threads in options.threads or [1]:
            yield measure(original, results, runtime, threads, options.seconds, options.loads)


def measure_models(names, measure_model, row, titles, summaries, options):
    """What the programs that time many models share: the table grows as models are done, and its
    end are the summaries. measure_model: name to an entry with "reports"; row: name, entry and
    report to a line of the table, where the report is None if nothing was timed."""
    entries, lines = {}, []
    for name in names:
        entry = entries[name] = measure_model(name)
        added = [row(name, entry, report) for report in entry["reports"] or [None]]
        for line in added:
            print(" | ".join(line), file=sys.stderr, flush=True)
        lines += added
        text = markdown(titles, lines) + "\n\n" + "\n".join(f"- {each}" for each in
                                                           summaries(entries)) + "\n"
        if options.json:
            options.json.write_text(json.dumps(entries, indent=1))
        if options.table:
            options.table.write_text(text)
    print(text, end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("original", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    add_arguments(parser)
    options = parser.parse_args()
    results = {str(path): path for path in options.results}
    reports = list(measure_all(options.original, results, options))
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1))
    table = markdown(TITLES, [row for report in reports for row in rows(report)]) + "\n"
    if options.table:
        options.table.write_text(table)
    print(table, end="")
    return 1 if any(report["errors"] for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main())

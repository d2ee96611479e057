#!/usr/bin/env python3
"""How the house is kept: sizes of folders, sources and functions, what a build costs, and what the
commands of that build find and take. With a second tree, both side by side.

    python3 tests/bench/house.py TREE BUILD [--before TREE BUILD] [--only SECTION...]

Each tree needs a build of its own: BUILD/bin has the commands and BUILD/.ninja_log the seconds. The
CPU seconds are user and system time of one process with one thread, the smallest of --rounds.
Commands of both builds take turns. Equal digests mean that results are equal byte for byte.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

SOURCES = (".cpp", ".cu")
NETWORKS = ["squeezenet", "inception_v3", "resnet50", "resnext50", "bert_base", "nasrnn"]
# A definition at the left margin: its first line, continuations, its body and the brace.
FUNCTION = re.compile(r"^(?![ /#}{]|namespace |struct |class |enum |using |extern )[^\n]*"
                      r"(?:\n[ )][^\n]*|\n(?=\n))*\n}$", re.MULTILINE)
RAW_STRING = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)
VAGUE_COMMENT = re.compile(r"^\s*///?<? (Of|Those|What|Where)\b")
# Operators whose names are also words of reports and of the rule language.
ALSO_WORDS = {"equal", "where"}
# Places where an operator may be named: it is built, computed by its own kernel, or tested there.
NAMES_ARE_FINE = ("ops/", "cpu/", "gpu/", "models/networks/", "tests/")


def sections():
    return {"folders": folders, "sources": sources, "names": names, "build": build,
            "proofs": proofs, "searches": searches, "models": models}


def files_of(tree):
    listed = subprocess.run(["git", "-C", tree, "ls-files"], capture_output=True, text=True,
                            check=True).stdout
    return [Path(line) for line in listed.splitlines()]


def spread(values):
    """Median, 95 % and the largest."""
    values = sorted(values)
    return f"{statistics.median(values):.0f} / {values[len(values) * 95 // 100]} / {values[-1]}"


def folders(tree, _):
    paths = files_of(tree)
    count = Counter(str(path.parent) for path in paths if path.suffix in (*SOURCES, ".h", ".py"))
    for rank, (folder, files) in enumerate(count.most_common(5), 1):
        yield f"files of code per folder, number {rank}", f"{files} {folder}"
    yield "folders with more than 20 files of code", sum(files > 20 for files in count.values())
    folder, files = Counter(str(path.parent) for path in paths).most_common(1)[0]
    yield "files of any kind in the largest folder", f"{files} {folder}"


def code(tree, endings):
    for path in files_of(tree):
        if path.suffix in endings and path.parts[0] != "tests":
            yield path, (Path(tree) / path).read_text()


def function_lengths(text):
    text = RAW_STRING.sub(lambda found: '""' + " \\\n" * found[2].count("\n"), text)
    return [found[0].count("\n") + 1 for found in FUNCTION.finditer(text) if "(" in found[0]]


def sources(tree, _):
    texts = dict(code(tree, SOURCES))
    headers = dict(code(tree, (".h",)))
    functions = [(length, path) for path, text in texts.items() for length in function_lengths(text)]
    yield "sources, headers", f"{len(texts)}, {len(headers)}"
    for name, found in [("sources", texts), ("headers", headers)]:
        lines = [text.count("\n") for text in found.values()]
        yield f"lines of {name} (median / 95 % / longest)", spread(lines)
    yield f"lines of functions (median / 95 % / longest)", spread([length for length, _ in functions])
    yield "longest function is in", str(max(functions)[1])
    vague = 0
    for text in [*texts.values(), *headers.values()]:
        lines = text.splitlines()
        vague += sum(bool(VAGUE_COMMENT.match(line)) and not above.lstrip().startswith("//")
                     for above, line in zip(["", *lines], lines))
    yield "comments that begin with Of, Those, What, Where", vague


def names(tree, _):
    operators = set()
    for path, text in code(tree, SOURCES):
        if path.parts[0] == "ops":
            operators |= set(re.findall(r'\.name = "(\w+)"', text))
    operators -= ALSO_WORDS
    places = Counter()
    for path, text in code(tree, (*SOURCES, ".h")):
        if not str(path).startswith(NAMES_ARE_FINE):
            found = sum(name in operators for name in re.findall(r'"(\w+)"', text))
            places.update({str(path): found} if found else {})
    yield "operators", len(operators | ALSO_WORDS)
    yield "their names outside ops/ and kernels", f"{places.total()} in {len(places)} files"


def build(_, build_dir):
    """Seconds of the last build of each target: of the compiler if the cache had nothing."""
    seconds = {}
    for line in (Path(build_dir) / ".ninja_log").read_text().splitlines()[1:]:
        start, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(start)) / 1000
    objects = {output: took for output, took in seconds.items() if output.endswith(".o")}
    tests = sum(took for output, took in objects.items() if output.startswith("tests/"))
    yield "objects", len(objects)
    yield "seconds in all steps, of it tests", f"{sum(seconds.values()):.0f}, {tests:.0f}"
    slowest = max(objects, key=objects.get)
    yield "slowest object", f"{objects[slowest]:.1f} s {slowest.split('/CMakeFiles/')[-1]}"


def run(build_dir, command, *arguments):
    """CPU seconds of the command, which may have a verdict as its exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(Path(build_dir) / "bin" / command), *map(str, arguments), "-q"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "SOAPSTONE_PYTHON": "none"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 4, 5):
        raise SystemExit(f"{command} {' '.join(map(str, arguments))}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest(*contents):
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


class Measured:
    """The smallest CPU seconds by subject, and what was found, which must not change."""

    def __init__(self):
        self.seconds, self.found = {}, {}

    def add(self, subject, seconds, found):
        assert self.found.setdefault(subject, found) == found, f"{subject} differs between runs"
        self.seconds[subject] = min(seconds, self.seconds.get(subject, seconds))

    def rows(self):
        for subject, found in self.found.items():
            yield subject, f"{found}; {self.seconds[subject]:.2f} s"
        whole = digest(*(str(found).encode() for found in self.found.values()))
        yield "all of them", f"{whole}; {sum(self.seconds.values()):.2f} s"


def in_turn(houses, rounds, step):
    """step(measured, tree, build) for each house in turn."""
    measured = [Measured() for _ in houses]
    for _ in range(rounds):
        for each, (tree, build_dir) in zip(measured, houses):
            with tempfile.TemporaryDirectory() as work:
                step(each, Path(tree), build_dir, Path(work))
    return [list(each.rows()) for each in measured]


def proofs(houses, options):
    """The rule files of the first tree, by the prover of each."""
    files = sorted((Path(houses[0][0]) / "rules").glob("*.rules"))

    def step(measured, _, build_dir, work):
        for file in files:
            took = run(build_dir, "verify-rules", file, "--jobs", 1, "--json", work / "report.json")
            rules = json.loads((work / "report.json").read_text())["rules"]
            kinds = Counter(rule["verdict"] for rule in rules)
            for rule in rules:
                del rule["cpu_ms"]
            said = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            measured.add(f"verify-rules {file.name}", took,
                         f"{said}, {digest(json.dumps(rules).encode())}")

    return in_turn(houses, options.rounds, step)


def searches(houses, options):
    """The graphs on which TASO's search was measured, with its cost."""
    graphs = sorted((Path(houses[0][0]) / "tests/data/taso_models").glob("*.onnx"))

    def step(measured, _, build_dir, work):
        for graph in graphs:
            took = run(build_dir, "optimize-graph", graph, "-o", work / "out.onnx", "--costs", "taso",
                       "--keep-constants", "--verify", "off", "--judge", "none", "--jobs", 1,
                       "--time", 0, "--budget", options.budget, "--json", work / "report.json")
            report = json.loads((work / "report.json").read_text())
            cost = f"{report['cost_before_us'] / 1e3:.4f} to {report['cost_after_us'] / 1e3:.4f} ms"
            measured.add(f"search {graph.stem}", took,
                         f"{cost}, {digest((work / 'out.onnx').read_bytes())}")

    return in_turn(houses, options.rounds, step)


def models(houses, options):
    """Milliseconds of the built-in models, one thread, the smallest of all rounds."""
    best = [{} for _ in houses]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in NETWORKS:
            run(houses[0][1], "build-model", name, "-o", work / "model.onnx")
            for _ in range(max(2, options.rounds)):
                for latency, (_, build_dir) in zip(best, houses):
                    run(build_dir, "bench-graph", work / "model.onnx", "--time", 3, "--cost-db",
                        "none", "--device", "cpu", "--json", work / "report.json")
                    report = json.loads((work / "report.json").read_text())["models"][0]
                    now_ms = report["latency_us"] / 1e3
                    latency[name] = min(now_ms, latency.get(name, now_ms))
    return [[(f"bench-graph {name}", f"{ms:.2f} ms") for name, ms in each.items()] for each in best]


def print_table(titles, rows):
    """rows: a list of (name, value) for each house, in one order."""
    columns = [dict(each) for each in rows]
    order = list(dict.fromkeys(name for each in columns for name in each))
    table = [["", *titles], *([name, *(str(each.get(name, "")) for each in columns)]
                              for name in order)]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    for number, row in enumerate(table):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |",
              flush=True)
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", help="the repository")
    parser.add_argument("build", help="its build")
    parser.add_argument("--before", nargs=2, metavar=("TREE", "BUILD"),
                        help="the repository and a build of it as they were")
    parser.add_argument("--only", nargs="+", choices=sections(), default=list(sections()),
                        help="sections of the table")
    parser.add_argument("--budget", type=int, default=2000, help="graphs to expand (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="how often to measure (%(default)s)")
    options = parser.parse_args()

    houses = [(options.tree, options.build)]
    titles = ["now"]
    if options.before:
        houses.insert(0, tuple(options.before))
        titles.insert(0, "before")
    rows = [[] for _ in houses]
    for name in options.only:
        section = sections()[name]
        if name in ("proofs", "searches", "models"):  # commands of all houses in turn
            found = section(houses, options)
        else:
            found = [list(section(*house)) for house in houses]
        for each, more in zip(rows, found):
            each.extend(more)
    print_table(titles, rows)


if __name__ == "__main__":
    main()

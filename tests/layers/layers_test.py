"""Checks every #include against the floors and parts that each folder's CMakeLists.txt states, that a
foreign library's headers appear only where the table below allows, and that a namespace has one type of
each name (two would share their implicit members, and no linker says so)."""

import os
import re
import sys
from pathlib import Path

# Library: the headers that are its, and where they may be included: folders, or single files.
FOREIGN = {
    "CLI11": (r"CLI/", {"cli/options/*.cpp"}),
    "nlohmann_json": (r"nlohmann/(?!json_fwd)", {"cli/*/*.cpp", "*/*_json.cpp"}),
    "nlohmann_json, declared": (r"nlohmann/json_fwd", {"cli"}),
    "nanobind": (r"nanobind/", {"python"}),
    "TBB": (r"(oneapi/)?tbb/|oneapi/tbb\.h", {"core/tasks"}),
    "SQLite": (r"sqlite3", {"cost/database"}),
    "ONNX": (r"onnx/", {"models/onnx"}),
    "protobuf": (r"google/protobuf/|.*\.pb\.h$", {"models/onnx", "rules/taso/*.cpp"}),
    "libzip": (r"zip\.h$", {"models/files"}),
    "OpenMP": (r"omp\.h$", {"cpu"}),
    "oneDNN": (r"dnnl|oneapi/dnnl/", {"cpu"}),
    "Z3": (r"z3", {"verifier/questions"}),
    "CUDA": (r"cuda|cudnn|cublas|nccl|nvrtc|nvtx", {"gpu"}),
    "MPI": (r"mpi\.h$", {"parallel/ranks/*.cpp"}),
    "hwloc": (r"hwloc", {"parallel/topology/processors.cpp"}),
}
# At most this many files of a folder may see the library.
AT_MOST = {("rules", "protobuf"): 1, ("verifier", "Z3"): 2, ("parallel", "MPI"): 1,
           ("cli", "CLI11"): 1, ("core", "TBB"): 1}

# Walls within floors: what a part shares with none of these, so that each can judge the other.
WALLS = {
    "verifier/refutation": {"verifier"},
    "search/equivalence": {"rules", "verifier"},
}

# Libraries print nothing: only commands do, and the line of a broken invariant.
PRINTS = re.compile(r"\b(fmt::print|std::(cout|cerr|clog|printf|fprintf|puts|fputs))\b")
MAY_PRINT = {"cli", "core/base/check.cpp"}

# These may be used everywhere, but the folders' own headers stay free of them.
SOURCES_ONLY = {"fmt": r"fmt/", "xxHash": r"xxhash|xxh3"}
FREE_HEADERS = {"core", "ops", "rules", "runtime"}

# What `cmake --preset gpu-only` has: these folders without what their CMakeLists.txt leave out, and of
# the libraries above these alone.
BARE_FOLDERS = {"core", "ops", "rules", "runtime", "gpu"}
BARE_LEAVES_OUT = {"core/tasks/crew.cpp", "rules/taso/taso_file.cpp", "rules/taso/import_taso.cpp"}
BARE_LIBRARIES = {"CUDA"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


class Floors:
    """Who may include whom, as the folders' CMakeLists.txt say."""

    FOLDER = re.compile(r"soapstone_add_folder\(([^)]*)\)")
    PART = re.compile(r"^soapstone_add_(?:part\(\w+ |command\()(\w+)", re.MULTILINE)
    WORDS = {"LIBRARY", "FLOOR", "PARTS", "FOLDERS", "LINK"}

    def __init__(self, root):
        self.floor, self.parts = {}, {}
        for path in sorted(root.glob("*/CMakeLists.txt")):
            text = path.read_text()
            for call in self.FOLDER.findall(text):
                self.add(call.split())
                self.parts[path.parent.name] += self.PART.findall(text)

    def add(self, words):
        folder, key = words[0], None
        self.parts[folder] = []
        for word in words[1:]:
            if word in self.WORDS:
                key = word
            elif key == "FLOOR":
                self.floor[folder] = int(word)
            elif key == "PARTS":
                self.parts[folder].append(word)

    def part_of(self, path):
        """The part that holds a file, "" for the folder itself, None for a place without a name."""
        folder, *rest = Path(path).parts
        part = "/".join(rest[:-1])
        return part if part in ["", *self.parts[folder]] else None

    def level(self, path):
        folder, part = Path(path).parts[0], self.part_of(path)
        parts = self.parts[folder]
        return parts.index(part) if part else len(parts)

    def problem_with(self, name, header):
        folder, owner = name.parts[0], header.split("/")[0]
        if owner != folder:
            if self.floor[owner] >= self.floor[folder]:
                return (f"{folder}/ (floor {self.floor[folder]}) may not include "
                        f"{owner}/ (floor {self.floor[owner]})")
        elif self.level(header) > self.level(name):
            return f"the part {self.part_of(header) or owner} is not below {self.part_of(name)}"
        here = str(name.parent)
        if header.rsplit("/", 1)[0] != here and any(
                header.startswith(other + "/") for other in WALLS.get(here, ())):
            return f"there is a wall between {here} and {header.rsplit('/', 1)[0]}"
        return None


def is_in(path, place):
    """`place`: a folder, or a pattern of files."""
    return path.match(place) if "." in place else str(path).startswith(place + "/")


def problem_with(floors, path, header):
    """What is wrong with `header` being included by `path`, or None."""
    folder = path.parts[0]
    if header.split("/")[0] in floors.floor and "/" in header:
        return floors.problem_with(path, header)
    for library, (pattern, places) in FOREIGN.items():
        if re.match(pattern, header) and not any(is_in(path, place) for place in places):
            return f"{library} belongs to {', '.join(sorted(places))}"
    for library, pattern in SOURCES_ONLY.items():
        if re.match(pattern, header) and path.suffix == ".h" and folder in FREE_HEADERS:
            return f"{library} may not be in a header of {folder}/"
    return None


def reach(root, name, seen):
    """All foreign libraries whose headers `name` includes, also through headers of ours."""
    if name in seen or not (root / name).is_file():
        return set()
    seen.add(name)
    found = set()
    for _, header in INCLUDE.findall((root / name).read_text()):
        found |= {library for library, (pattern, _) in FOREIGN.items() if re.match(pattern, header)}
        found |= reach(root, header, seen)
    return found


def check_bare(root):
    """What of the gpu-only folders would not build on a machine with a compiler and CUDA alone."""
    problems, left_out = [], set()
    for folder in sorted(BARE_FOLDERS):
        excluded = re.findall(r"\bEXCLUDE ([^)#]+)\)", (root / folder / "CMakeLists.txt").read_text())
        left_out |= {f"{folder}/{file}" for files in excluded for file in files.split()}
        for path in sorted((root / folder).rglob("*.cpp")):
            name = str(path.relative_to(root))
            missing = reach(root, name, set()) - BARE_LIBRARIES
            if missing and name not in left_out:
                problems.append(f"{name}: gpu-only has no {', '.join(sorted(missing))}")
    if left_out != BARE_LEAVES_OUT:
        problems.append(f"gpu-only leaves out {sorted(left_out)}, not {sorted(BARE_LEAVES_OUT)}")
    return problems


NAMESPACE = re.compile(r"^(?:namespace (?P<name>[\w:]*) ?\{|(?P<end>\}  // namespace)"
                       r"|(?:class|struct) (?P<type>\w+)(?: final)?(?: :[^:].*)? \{)", re.MULTILINE)


def types_of(path, text):
    """The types that a file defines, with their namespaces; an unnamed one is the file's own."""
    within = []
    for match in NAMESPACE.finditer(text):
        if match["type"]:
            yield "::".join([*within, match["type"]])
        elif not match["end"]:
            within.append(match["name"] or f"(unnamed, {path})")
        elif within:
            within.pop()


def check_types(sources):
    """`sources`: texts by file. Types that two files define."""
    places = {}
    for path, text in sources.items():
        for name in types_of(path, text):
            places.setdefault(name, set()).add(str(path))
    return [f"{name} is defined in {' and in '.join(sorted(files))}"
            for name, files in places.items() if len(files) > 1]


def check(root):
    """All problems of the tree at `root`, as lines `file:line: what`."""
    floors, problems, users, sources = Floors(root), [], {}, {}
    for folder in floors.floor:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
                continue
            text, name = path.read_text(), path.relative_to(root)
            sources[name] = text
            if floors.part_of(name) is None:
                problems.append(f"{name}: {folder}/CMakeLists.txt has no such part")
                continue
            if folder not in MAY_PRINT and str(name) not in MAY_PRINT:
                for match in PRINTS.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    problems.append(f"{name}:{line}: {match[0]}: a library prints nothing")
            for match in INCLUDE.finditer(text):
                header = match[2]
                line = text.count("\n", 0, match.start(1)) + 1
                if problem := problem_with(floors, name, header):
                    problems.append(f"{name}:{line}: {header}: {problem}")
                for library, (pattern, _) in FOREIGN.items():
                    if re.match(pattern, header):
                        users.setdefault((folder, library), set()).add(str(name))
    for place, limit in AT_MOST.items():
        if len(files := users.get(place, ())) > limit:
            problems.append(f"{place[1]} is in {len(files)} files of {place[0]}/, not {limit}: "
                            + ", ".join(sorted(files)))
    return problems + check_types(sources) + check_bare(root)


def self_test(root):
    """The rules above refuse what they are there to refuse."""
    floors = Floors(root)
    assert len(floors.floor) >= 12, f"too few folders state a floor: {floors.floor}"
    for name, header, allowed in [
        ("ops/operators/conv.cpp", "core/graph/graph.h", True),
        ("core/graph/graph.cpp", "ops/definition/registry.h", False),
        ("core/base/hash.cpp", "core/graph/graph.h", False),
        ("core/graph/graph.cpp", "core/base/hash.h", True),
        ("rules/rule/rule.cpp", "runtime/launches/backend.h", False),
        ("core/graph/graph.cpp", "fmt/format.h", True),
        ("core/graph/graph.h", "fmt/format.h", False),
        ("cost/database/sqlite.h", "sqlite3.h", True),
        ("cost/models/measured_cost.cpp", "sqlite3.h", False),
        ("search/search.cpp", "search/passes/kinds.h", True),
        ("search/passes/kinds.h", "search/search.h", False),
        ("core/tasks/tasks.h", "oneapi/tbb.h", True),
        ("search/search.cpp", "oneapi/tbb.h", False),
        ("search/equivalence/equivalence.cpp", "rules/rule/rule.h", False),
        ("search/equivalence/equivalence.cpp", "runtime/execution/executor.h", True),
        ("verifier/refutation/refute.cpp", "verifier/refutation/replay.h", True),
        ("verifier/refutation/refute.cpp", "verifier/forms/arena.h", False),
        ("verifier/proof/attempt.cpp", "verifier/forms/arena.h", True),
        ("verifier/proof/attempt.cpp", "z3++.h", False),
        ("verifier/checking/checker.cpp", "verifier/laws/laws.h", False),
        ("verifier/laws/maxima.cpp", "verifier/checking/equality.h", True),
        ("models/onnx/reading/onnx_import.cpp", "onnx/onnx_pb.h", True),
        ("models/layers/network.cpp", "onnx/onnx_pb.h", False),
        ("cli/bench/bench_report.cpp", "nlohmann/json.hpp", True),
        ("cli/bench/bench_report.h", "nlohmann/json.hpp", False),
        ("cli/reports/json_text.h", "nlohmann/json_fwd.hpp", True),
        ("cli/options/command_line.cpp", "CLI/CLI.hpp", True),
        ("cli/options/command_line.h", "CLI/CLI.hpp", False),
        ("cli/inspect/inspect_graph.cpp", "CLI/CLI.hpp", False),
        ("jobs/optimize/trace_writer_json.cpp", "nlohmann/json.hpp", True),
        ("jobs/optimize/optimize.cpp", "nlohmann/json.hpp", False),
        ("jobs/optimize/optimize.h", "nlohmann/json_fwd.hpp", False),
        ("jobs/optimize/optimize.cpp", "cli/session/run_main.h", False),
        ("search/optimize.cpp", "jobs/optimize/optimize.h", False),
        ("workers/answers_json.cpp", "nlohmann/json.hpp", True),
        ("workers/runtime_worker.h", "nlohmann/json.hpp", False),
        ("workers/runtime_worker.cpp", "models/onnx/onnx_model.h", False),
        ("search/equivalence/judge.h", "workers/runtime_worker.h", True),
        ("rules/taso/import_taso.cpp", "google/protobuf/message.h", True),
        ("rules/taso/import_taso.h", "google/protobuf/message.h", False),
        ("cpu/backend.cpp", "oneapi/dnnl/dnnl.hpp", True),
        ("cost/timing/timing.cpp", "oneapi/dnnl/dnnl.hpp", False),
        ("gpu/compile/nvrtc.cpp", "nvrtc.h", True),
        ("runtime/device/queue.h", "cuda.h", False),
        ("parallel/ranks/mpi.cpp", "mpi.h", True),
        ("parallel/ranks/mpi.h", "mpi.h", False),
        ("cli/generate/generate_rules.cpp", "mpi.h", False),
        ("parallel/topology/topology_json.cpp", "nlohmann/json.hpp", True),
        ("parallel/topology/topology.cpp", "nlohmann/json.hpp", False),
        ("parallel/topology/topology.h", "parallel/ranks/mpi.h", True),
        ("parallel/ranks/mpi.cpp", "parallel/topology/topology.h", False),
    ]:
        found = problem_with(floors, Path(name), header)
        assert (found is None) == allowed, f"{name} including {header}: {found}"
    one = "namespace a::b {\nnamespace {\nstruct T {};\n}  // namespace\nclass U final : public V {\n"
    two = "namespace a::b {\nnamespace {\nstruct T {\n};\n}  // namespace\nstruct U {\n};\n"
    assert check_types({"one.h": one, "two.h": two}) == ["a::b::U is defined in one.h and in two.h"]
    assert reach(root, "core/tasks/crew.cpp", set()) == {"TBB"}
    assert "CUDA" in reach(root, "gpu/driver/driver.cpp", set())


def main():
    root = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
    self_test(root)
    problems = check(root)
    print("\n".join(problems) or "Every include is on a lower floor or allowed there.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

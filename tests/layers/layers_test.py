"""Checks every #include against the table of folders in the architecture: a folder includes itself
and folders on lower floors, and a foreign library's headers appear only where the table allows."""

import os
import re
import sys
from pathlib import Path

FLOOR = {
    "core": 0,
    "ops": 1,
    "rules": 2, "runtime": 2,
    "models": 3, "cpu": 3, "gpu": 3, "cost": 3, "workers": 3, "generator": 3, "verifier": 3,
    "search": 4, "parallel": 4,
    "cli": 5, "python": 5,
}

# Library: the headers that are its, and where they may be included: folders, or single files.
FOREIGN = {
    "CLI11": (r"CLI/", {"cli"}),
    "nlohmann_json": (r"nlohmann/", {"cli", "workers/*_json.cpp"}),
    "nanobind": (r"nanobind/", {"python"}),
    "TBB": (r"(oneapi/)?tbb/|oneapi/tbb\.h", {"search", "generator", "parallel"}),
    "SQLite": (r"sqlite3", {"cost"}),
    "ONNX": (r"onnx/", {"models"}),
    "protobuf": (r"google/protobuf/|.*\.pb\.h$", {"models", "rules/*.cpp"}),
    "libzip": (r"zip\.h$", {"models"}),
    "OpenMP": (r"omp\.h$", {"cpu"}),
    "oneDNN": (r"dnnl|oneapi/dnnl/", {"cpu"}),
    "Z3": (r"z3", {"verifier"}),
    "CUDA": (r"cuda|cudnn|cublas|nccl|nvtx", {"gpu"}),
    "MPI": (r"mpi\.h$", {"parallel/*.cpp"}),
}
# At most this many files of a folder may see the library.
AT_MOST = {("rules", "protobuf"): 1, ("verifier", "Z3"): 2, ("parallel", "MPI"): 1}

# These may be used everywhere, but the folders' own headers stay free of them.
SOURCES_ONLY = {"fmt": r"fmt/", "xxHash": r"xxhash|xxh3"}
FREE_HEADERS = {"core", "ops", "rules", "runtime"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def problem_with(path, folder, header):
    """What is wrong with `header` being included by `path`, or None."""
    owner = header.split("/")[0]
    if owner in FLOOR and "/" in header:
        if owner != folder and FLOOR[owner] >= FLOOR[folder]:
            return f"{folder}/ (floor {FLOOR[folder]}) may not include {owner}/ (floor {FLOOR[owner]})"
        return None
    for library, (pattern, places) in FOREIGN.items():
        if re.match(pattern, header) and not any(path.match(p) or p == folder for p in places):
            return f"{library} belongs to {', '.join(sorted(places))}"
    for library, pattern in SOURCES_ONLY.items():
        if re.match(pattern, header) and path.suffix == ".h" and folder in FREE_HEADERS:
            return f"{library} may not be in a header of {folder}/"
    return None


def check(root):
    """All problems of the tree at `root`, as lines `file:line: what`."""
    problems, users = [], {}
    for folder in FLOOR:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".cu", ".cuh"}:
                continue
            text, name = path.read_text(), path.relative_to(root)
            for match in INCLUDE.finditer(text):
                header = match[2]
                line = text.count("\n", 0, match.start(1)) + 1
                if problem := problem_with(name, folder, header):
                    problems.append(f"{name}:{line}: {header}: {problem}")
                for library, (pattern, _) in FOREIGN.items():
                    if re.match(pattern, header):
                        users.setdefault((folder, library), set()).add(str(name))
    for place, limit in AT_MOST.items():
        if len(files := users.get(place, ())) > limit:
            problems.append(f"{place[1]} is in {len(files)} files of {place[0]}/, not {limit}: "
                            + ", ".join(sorted(files)))
    return problems


def self_test():
    """The rules above refuse what they are there to refuse."""
    for name, header, allowed in [
        ("ops/conv.cpp", "core/graph/graph.h", True),
        ("core/graph/graph.cpp", "ops/definition/registry.h", False),
        ("rules/rule.cpp", "runtime/launches/backend.h", False),
        ("core/graph/graph.cpp", "fmt/format.h", True),
        ("core/graph/graph.h", "fmt/format.h", False),
        ("cost/database.h", "sqlite3.h", True),
        ("search/search.cpp", "sqlite3.h", False),
        ("search/search.cpp", "oneapi/tbb.h", True),
        ("models/import.cpp", "onnx/onnx_pb.h", True),
        ("cli/report.h", "nlohmann/json.hpp", True),
        ("workers/messages_json.cpp", "nlohmann/json.hpp", True),
        ("workers/runtime_worker.h", "nlohmann/json.hpp", False),
        ("workers/runtime_worker.cpp", "models/onnx/format/onnx_model.h", False),
        ("search/equivalence/judge.h", "workers/runtime_worker.h", True),
        ("rules/taso/import_taso.cpp", "google/protobuf/message.h", True),
        ("rules/taso/import_taso.h", "google/protobuf/message.h", False),
        ("cpu/backend.cpp", "oneapi/dnnl/dnnl.hpp", True),
        ("cost/timing/timing.cpp", "oneapi/dnnl/dnnl.hpp", False),
        ("parallel/mpi.cpp", "mpi.h", True),
        ("parallel/mpi.h", "mpi.h", False),
        ("parallel/mpi.h", "parallel/communicator.h", True),
        ("cli/generate_rules.cpp", "mpi.h", False),
    ]:
        found = problem_with(Path(name), name.split("/")[0], header)
        assert (found is None) == allowed, f"{name} including {header}: {found}"


def main():
    self_test()
    problems = check(Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2])))
    print("\n".join(problems) or "Every include is on a lower floor or allowed there.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

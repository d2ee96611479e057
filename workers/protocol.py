"""The worker protocol (docs/workers.md), for workers in Python: streams, tensors in files, verbs, the
loop that times models in turn, kinds of errors. A worker is a subclass of Runtime that loads models,
and of Model, and a call of serve(). Needs numpy.

Importing this module sends what others print to standard error, so it is the first to be imported."""

import contextlib
import gc
import json
import math
import os
import re
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

try:
    import numpy as np
except ImportError:
    np = None  # Then the runtime cannot be imported either, which the worker says when asked.

# Libraries may print; only answers go to the real standard output.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

PROTOCOL = 2
ELEMENTS = {"f32": "float32", "f64": "float64", "f16": "float16", "i64": "int64", "i32": "int32",
            "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16",
            "u8": "uint8", "bool": "bool"}
NAMES = {element: name for name, element in ELEMENTS.items()}
OUT_OF_MEMORY = re.compile(r"bad[ _]alloc|failed to allocate|out of memory", re.IGNORECASE)
FEWEST_ROUNDS = 3
SAMPLE_US = 1000  # Shorter runs are repeated until a sample takes about so long.
MOST_REPEATS = 1000
WARMED_US = 30000  # Longer runs fill the caches by themselves.
MOST_PROFILER_US = 3


class Refusal(Exception):
    """What the runtime, or this program, will not do. Kinds: see docs/workers.md."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Model:
    """A model that a runtime has loaded."""

    def run(self, inputs):
        """A dictionary of arrays by name in; a list of (name, array) out, in the model's order."""
        raise NotImplementedError

    def prepare(self, inputs):
        """Makes `execute` run on these inputs from now on."""
        raise NotImplementedError

    def execute(self):
        """Runs once on the prepared inputs. This is what is timed, so it does nothing else."""
        raise Refusal("protocol", "no inputs were prepared")

    def profile(self, runs, folder):
        """The Totals of plain_and_profiled, and a list of kernel(...) in the order in which they run.
        `folder` is for files on the way; it is emptied afterwards."""
        raise Refusal("runtime", "this runtime tells nothing of its kernels")


class Runtime:
    """What serve() needs to know of a runtime."""

    name = ""

    def version(self):
        """A text. Whoever cannot run here raises Refusal("missing", why)."""
        raise NotImplementedError

    def providers(self):
        """Names of what it can run on, the best first."""
        return []

    def load(self, path, optimizations, threads, provider, options):
        """A Model. `provider` is empty for the default on the CPU; `options` is a list of pairs."""
        raise NotImplementedError


class Totals(NamedTuple):
    """The time of one run without profiling, by the clock on the wall and of all threads."""

    wall_us: float
    cpu_us: float


def kernel(name, op, us, inputs=(), outputs=(), origins=()):
    """One kernel of a profile; `us` is the time of its calls in one run of the model."""
    return {"name": name, "op": op, "us": us, "inputs": list(inputs), "outputs": list(outputs),
            "origins": list(origins)}


def typical(times, error_us=1):
    """The mean of times that are hardly longer than their lower quartile, where each may be wrong by
    the error. Clocks that count whole microseconds are averaged, and what was interrupted is left
    out, even if most were."""
    most = 1.25 * sorted(times)[len(times) // 4] + error_us
    return statistics.fmean(us for us in times if us <= most)


def without_profiler(kernel_us, totals):
    """Times of kernels without the time that the profiler itself adds to each: by how much they
    exceed, per kernel, a run without it, up to a few microseconds. On a busy machine one thread
    waits for the processor in runs, but hardly in the typical call of a kernel: so the lesser of
    both totals counts."""
    if not kernel_us:
        return kernel_us
    own = min(max((sum(kernel_us) - min(totals)) / len(kernel_us), 0), MOST_PROFILER_US)
    return [max(us - own, us / 10) for us in kernel_us]


@contextlib.contextmanager
def quiet():
    """Without the garbage collector of Python."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_tensor(tensor, folder):
    if tensor["type"] not in ELEMENTS:
        raise Refusal("run", f"tensors of {tensor['type']} cannot be passed")
    elements = np.fromfile(folder / tensor["file"], ELEMENTS[tensor["type"]])
    return elements.reshape(tensor["dims"])


def write_tensor(name, value, folder, file):
    if not isinstance(value, np.ndarray) or value.dtype.name not in NAMES:
        raise Refusal("run", f"output {name} is no tensor of numbers")
    np.ascontiguousarray(value).tofile(folder / file)
    return {"name": name, "type": NAMES[value.dtype.name], "dims": list(value.shape), "file": file}


def sample(model, repeats):
    """The time of one run, in microseconds: by the clock on the wall, and of all threads."""
    execute = model.execute
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    for _ in range(repeats):
        execute()
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return wall / repeats / 1000, cpu / repeats / 1000


def repeats_of(model):
    """How many runs make a sample that is long enough. Runs twice at least, which warms it up."""
    sample(model, 1)
    return max(1, min(MOST_REPEATS, math.ceil(SAMPLE_US / sample(model, 1)[0])))


def plain_and_profiled(model, profiled, runs):
    """The Totals of the model, medians over its runs, and what `profiled` returns from as many runs as are
    asked for, which alternate with the others so that both see the same machine."""
    repeats = min(repeats_of(model), max(1, runs // FEWEST_ROUNDS))
    totals, results = [], []
    for _ in range(math.ceil(runs / repeats)):
        totals.append(sample(model, repeats))
        results += [profiled() for _ in range(repeats)]
    return Totals(*(statistics.median(times) for times in zip(*totals))), results


def order_of(count, turn):
    """Every model is first, and last, as often as any other, and none always follows the same one."""
    order = [(turn + index) % count for index in range(count)]
    return order if turn // count % 2 == 0 else order[::-1]


def time_in_turn(models, rounds, budget_us):
    """A list of samples for each model, with its weights in the caches as if it ran alone. Models that are
    the same object are timed each time."""
    samples = [{"wall_us": [], "cpu_us": []} for _ in models]
    with quiet():
        repeats = [repeats_of(model) for model in models]
        warms = len(models) > 1 and any(sample(model, 1)[0] < WARMED_US for model in models)
        begin = time.perf_counter()
        for turn in range(max(rounds, FEWEST_ROUNDS)):
            if turn >= FEWEST_ROUNDS and (time.perf_counter() - begin) * 1e6 >= budget_us:
                break
            for index in order_of(len(models), turn):
                if warms:
                    models[index].execute()
                wall, cpu = sample(models[index], repeats[index])
                samples[index]["wall_us"].append(wall)
                samples[index]["cpu_us"].append(cpu)
    return samples


class Server:
    """The verbs."""

    def __init__(self, runtime):
        self.runtime, self.models, self.loaded = runtime, {}, 0

    def hello(self, request):
        if request.get("protocol") != PROTOCOL:
            raise Refusal("protocol", f"this program speaks protocol {PROTOCOL}")
        return {"protocol": PROTOCOL, "version": self.runtime.version(),
                "runtime": self.runtime.name, "providers": self.runtime.providers()}

    def load(self, request):
        model = self.runtime.load(request["path"], request["optimizations"], request["threads"],
                                  request["provider"], request["options"])
        self.loaded += 1
        self.models[self.loaded] = model
        return {"model": self.loaded}

    def model(self, number):
        if number not in self.models:
            raise Refusal("protocol", f"there is no model {number}")
        return self.models[number]

    def inputs(self, request):
        folder = Path(request["folder"])
        return {tensor["name"]: read_tensor(tensor, folder) for tensor in request["inputs"]}

    def run(self, request):
        results = self.model(request["model"]).run(self.inputs(request))
        folder = Path(request["folder"])
        return {"outputs": [write_tensor(name, value, folder, f"out{index}.bin")
                            for index, (name, value) in enumerate(results)]}

    def prepare(self, request):
        self.model(request["model"]).prepare(self.inputs(request))
        return {}

    def time(self, request):
        models = [self.model(number) for number in request["models"]]
        return {"samples": time_in_turn(models, request["rounds"], request["budget_us"])}

    def profile(self, request):
        model, runs = self.model(request["model"]), request["runs"]
        folder = Path(request["folder"])
        with quiet():
            totals, kernels = model.profile(runs, folder)
        text = json.dumps({"total_us": totals.wall_us, "total_cpu_us": totals.cpu_us,
                           "kernels": kernels})
        (folder / "profile.json").write_text(text, encoding="utf-8")
        return {"file": "profile.json"}

    def close(self, request):
        self.models.pop(request["model"], None)
        return {}

    def answer(self, request):
        """The verb's result, or why there is none."""
        try:
            verb = request["verb"]
            if verb not in ("hello", "load", "run", "prepare", "time", "profile", "close"):
                raise Refusal("protocol", f"there is no verb {verb}")
            return {"id": request["id"], "ok": getattr(self, verb)(request)}
        except Refusal as refusal:
            kind, message = refusal.kind, str(refusal)
        except MemoryError as error:
            kind, message = "memory", str(error) or "MemoryError"
        except Exception as error:  # noqa: BLE001: a runtime's own classes are many
            message = f"{error}" or type(error).__name__
            kind = "memory" if OUT_OF_MEMORY.search(message) else "runtime"
        return {"id": request.get("id"), "error": {"kind": kind, "message": message}}


def serve(runtime, server_type=Server):
    """Answers requests until there are no more."""
    server = server_type(runtime)
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), file=ANSWERS, flush=True)

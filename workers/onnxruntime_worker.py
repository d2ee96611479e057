"""ONNX Runtime behind the worker protocol (docs/workers.md). Needs numpy and onnxruntime; with onnx,
profiles name the tensors that kernels read and write."""

import json

from protocol import (Model, Refusal, Runtime, kernel, plain_and_profiled, serve, typical,
                      without_profiler)

try:
    import onnxruntime
    MISSING = None
except Exception as error:  # noqa: BLE001: a broken installation fails in many ways
    MISSING = f"cannot import onnxruntime: {error}"
try:
    import onnx
except Exception:  # noqa: BLE001
    onnx = None

PREFERRED = "CPUExecutionProvider"
CONTROL_FLOW = {"If", "Loop", "Scan"}
WEIGHTS = "weights.bin"


def value_as(current, name, text):
    """The text as a value of the type that the option has now."""
    try:
        if isinstance(current, bool):
            return {"0": False, "false": False, "1": True, "true": True}[text.lower()]
        if isinstance(current, (int, float, str)):
            return type(current)(text)
        return getattr(type(current), text)  # an enumeration
    except (KeyError, ValueError, AttributeError):
        raise Refusal("load", f"session option {name} cannot be '{text}'") from None


def set_option(options, name, text):
    """Entries of ONNX Runtime's session configuration have dots in their names; other options are
    attributes of its SessionOptions."""
    if "." in name:
        options.add_session_config_entry(name, text)
    elif name.startswith("_") or callable(getattr(options, name, callable)):
        raise Refusal("load", f"there is no session option {name}")
    else:
        setattr(options, name, value_as(getattr(options, name), name, text))


class Session(Model):
    def __init__(self, path, make_options, provider):
        self.path, self.make_options, self.provider = path, make_options, provider
        self.session = self.open(make_options())
        self.inputs = None

    def open(self, options):
        return onnxruntime.InferenceSession(self.path, options, providers=[self.provider])

    def run(self, inputs):
        results = self.session.run(None, inputs)
        return [(value.name, result)
                for value, result in zip(self.session.get_outputs(), results)]

    def bound(self, session):
        """A function that runs on the prepared inputs. Inputs and outputs stay where the provider
        has them, so nothing is converted from or to Python's arrays."""
        binding = session.io_binding()
        for name, value in self.inputs.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value))
        for value in session.get_outputs():
            binding.bind_output(value.name)
        return lambda: session.run_with_iobinding(binding)

    def prepare(self, inputs):
        self.inputs = inputs
        self.execute = self.bound(self.session)

    def profile(self, runs, folder):
        options = self.make_options()
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "events")
        write_graph(options, folder)
        session = self.open(options)
        (folder / WEIGHTS).unlink(missing_ok=True)
        profiled = self.bound(session)
        profiled()
        total_us, _ = plain_and_profiled(self, profiled, runs)
        events = kernels_by_run(session.end_profiling())[1:]
        return total_us, kernels_of(events, optimized_nodes(folder), total_us)


def write_graph(options, folder):
    """Asks for the graph after optimizations, with its weights in a file of their own, since one
    file cannot have more than 2 GiB."""
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    for name, value in (("file_name", WEIGHTS), ("min_size_in_bytes", "64")):
        options.add_session_config_entry(
            f"session.optimized_model_external_initializers_{name}", value)


def optimized_nodes(folder):
    """In the order in which they run; None: not known here."""
    path = folder / "optimized.onnx"
    if onnx is None or not path.exists():
        return None
    return onnx.load(path, load_external_data=False).graph.node


def kernels_by_run(path):
    """For each run the events of its kernels, without those inside If, Loop and Scan, whose own
    events cover them. The file has an event a line and may be large."""
    runs, events = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if "_kernel_time" not in line and '"model_run"' not in line:
                continue
            event = json.loads(line.strip().rstrip(","))
            if event["name"] == "model_run":
                runs.append(events)
                events = []
            elif event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
                if event["args"]["op_name"] in CONTROL_FLOW:
                    events = [other for other in events if other["ts"] < event["ts"]]
                events.append(event)
    return runs


def same_kernels(events, others):
    return len(events) == len(others) and all(
        event["name"] == other["name"] for event, other in zip(events, others))


def kernels_of(runs, nodes, total_us):
    """The kernels of a run, with typical times. Runs that differ from the last (an If that went
    another way) are left out."""
    last = runs[-1]
    runs = [events for events in runs if same_kernels(events, last)]
    times = without_profiler([typical([event["dur"] for event in events]) for events in zip(*runs)],
                             total_us)
    names = [event["name"].removesuffix("_kernel_time") for event in last]
    ops = [event["args"]["op_name"] for event in last]
    found = nodes_of(names, ops, nodes or [])
    kernels = []
    for name, op, us, node in zip(names, ops, times, found):
        if node is None:
            kernels.append(kernel(name, op, us))
        else:
            domain = "" if node.domain in ("", "ai.onnx") else node.domain + "."
            kernels.append(kernel(name, domain + op, us, node.input, node.output))
    return kernels


def nodes_of(names, ops, nodes):
    """The node of each kernel, or None. Nodes run in the order of the file; if that cannot be, they
    are told by their names."""
    if [node.op_type for node in nodes] == ops:
        return list(nodes)
    by_name = {}
    for node in nodes:
        by_name.setdefault(node.name, []).append(node)
    found = [by_name.get(name, []) for name in names]
    return [same[0] if len(same) == 1 else None for same in found]


class OnnxRuntime(Runtime):
    name = "ONNX Runtime"

    def version(self):
        if MISSING:
            raise Refusal("missing", MISSING)
        return onnxruntime.__version__

    def providers(self):
        return onnxruntime.get_available_providers()

    def load(self, path, optimizations, threads, provider, options):
        provider = provider or PREFERRED
        if provider not in self.providers():
            raise Refusal("load", f"this ONNX Runtime has no {provider}, only "
                                  + ", ".join(self.providers()))
        levels = onnxruntime.GraphOptimizationLevel

        def make_options():
            made = onnxruntime.SessionOptions()
            made.graph_optimization_level = (
                levels.ORT_ENABLE_ALL if optimizations else levels.ORT_DISABLE_ALL)
            made.intra_op_num_threads = threads
            made.inter_op_num_threads = 1
            made.log_severity_level = 3
            # The threads of one session would otherwise spin while another one is timed.
            made.add_session_config_entry("session.force_spinning_stop", "1")
            for name, value in options:
                set_option(made, name, value)
            return made

        return Session(path, make_options, provider)


if __name__ == "__main__":
    serve(OnnxRuntime())

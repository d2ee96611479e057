"""OpenVINO behind the worker protocol (docs/workers.md). Needs numpy and openvino."""

from protocol import (Model, Refusal, Runtime, kernel, plain_and_profiled, serve, typical,
                      without_profiler)

try:
    import openvino
    MISSING = None
except Exception as error:  # noqa: BLE001: a broken installation fails in many ways
    MISSING = f"cannot import openvino: {error}"


class Compiled(Model):
    def __init__(self, outputs, compile_with):
        """`compile_with` compiles the model, with these settings besides those that are asked for.
        Compiled models may have other names for `outputs`."""
        self.outputs, self.compile_with = outputs, compile_with
        self.compiled = compile_with({})
        self.inputs = None

    def bound(self, compiled, inputs):
        """A request that has its inputs. The arrays are used where they are."""
        request = compiled.create_infer_request()
        for name, value in inputs.items():
            request.set_tensor(name, openvino.Tensor(value, shared_memory=value.size > 0))
        return request

    def run(self, inputs):
        request = self.bound(self.compiled, inputs)
        request.infer(share_outputs=True)
        return [(name, request.get_output_tensor(index).data.copy())
                for index, name in enumerate(self.outputs)]

    def prepare(self, inputs):
        self.inputs = inputs
        self.request = self.bound(self.compiled, inputs)

    def execute(self):
        self.request.infer(share_outputs=True)  # else each result is copied

    def profile(self, runs, folder):
        compiled = self.compile_with({"PERF_COUNT": "YES"})
        request = self.bound(compiled, self.inputs)

        def profiled():
            request.infer(share_outputs=True)
            return [info for info in request.profiling_info
                    if info.status == openvino.ProfilingInfo.Status.EXECUTED]

        profiled()
        total_us, runs_infos = plain_and_profiled(self, profiled, runs)
        return total_us, kernels_of(runs_infos, nodes_of(compiled), total_us)


def nodes_of(compiled):
    return {node.get_friendly_name(): node for node in compiled.get_runtime_model().get_ops()}


def tensor_name(output):
    """Tensors in the runtime's graph have no names, so that of the node that makes them is taken."""
    node = output.get_node()
    name = node.get_friendly_name()
    return name if output.get_index() == 0 else f"{name}:{output.get_index()}"


def origins_of(node):
    """Names of nodes of the model, or of what they make where they have none."""
    info = node.get_rt_info()
    if "originalLayersNames" not in info:
        return []
    names = info["originalLayersNames"]
    names = str(getattr(names, "value", names)).split(",")
    # The reader makes two operations of a convolution with a bias.
    return [name.removesuffix("/WithoutBiases") for name in names if name]


def kernels_of(runs, nodes, total_us):
    last = [info.node_name for info in runs[-1]]
    runs = [infos for infos in runs if [info.node_name for info in infos] == last]
    times = [typical([info.real_time.total_seconds() * 1e6 for info in infos])
             for infos in zip(*runs)]
    kernels = []
    for info, us in zip(runs[-1], without_profiler(times, total_us)):
        node = nodes.get(info.node_name)
        tensors = ((), (), ()) if node is None else (
            [tensor_name(port.get_source_output()) for port in node.inputs()],
            [tensor_name(port) for port in node.outputs()], origins_of(node))
        kernels.append(kernel(info.node_name, info.node_type, us, *tensors))
    return kernels


class OpenVino(Runtime):
    name = "OpenVINO"

    def __init__(self):
        self.core = None if MISSING else openvino.Core()

    def version(self):
        if MISSING:
            raise Refusal("missing", MISSING)
        return openvino.__version__

    def providers(self):
        return self.core.available_devices

    def load(self, path, optimizations, threads, provider, options):
        device = provider or "CPU"
        if device.split(".")[0] not in {name.split(".")[0] for name in self.providers()}:
            raise Refusal("load", f"this OpenVINO has no device {device}, only "
                                  + ", ".join(self.providers()))
        settings = {"NUM_STREAMS": "1"}
        if device == "CPU":
            settings["INFERENCE_NUM_THREADS"] = str(threads)
            # Where the processor can, the default is bf16, whose results are not the model's.
            settings["INFERENCE_PRECISION_HINT"] = "f32"
        if not optimizations:
            # The plugin always optimizes: this keeps it from what changes rounding.
            settings["EXECUTION_MODE_HINT"] = "ACCURACY"
        settings.update(options)
        model = self.core.read_model(path)
        return Compiled([output.get_any_name() for output in model.outputs],
                        lambda more: self.core.compile_model(model, device, {**settings, **more}))


if __name__ == "__main__":
    serve(OpenVino())

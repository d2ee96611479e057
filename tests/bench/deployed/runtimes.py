"""Runtimes that people deploy: each loads a file into a function from inputs to outputs.

Options are those of somebody who cares about latency: all optimizations, one stream, float32.
"""

from importlib import metadata


def load_onnxruntime(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads of a session that has ended its run would take the cores of the next one.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def load_openvino(path, threads):
    import openvino

    compiled = openvino.Core().compile_model(str(path), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        # Pinned threads of two models would sit on different cores, one of which may be busy.
        "ENABLE_CPU_PINNING": False})
    request = compiled.create_infer_request()
    ports = {port.get_any_name(): port for port in compiled.inputs}

    def run(inputs):
        results = request.infer({ports[name]: value for name, value in inputs.items()
                                 if name in ports}, share_inputs=True, share_outputs=True)
        return [results[port] for port in compiled.outputs]

    return run


LOADERS = {"onnxruntime": load_onnxruntime, "openvino": load_openvino}


def version(runtime):
    return metadata.version(runtime)

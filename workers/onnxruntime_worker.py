"""ONNX Runtime behind the worker protocol: one JSON object a line on standard input, one answer a
line on standard output (docs/workers.md). Needs numpy and onnxruntime."""

import json
import os
import sys
from pathlib import Path

# Libraries may print; only answers go to the real standard output.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

try:
    import numpy as np
    import onnxruntime
    MISSING = None
except Exception as error:  # noqa: BLE001: a broken installation fails in many ways
    MISSING = f"cannot import onnxruntime: {error}"

PROTOCOL = 1
ELEMENTS = {"f32": "float32", "f64": "float64", "f16": "float16", "i64": "int64", "i32": "int32",
            "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16",
            "u8": "uint8", "bool": "bool"}
NAMES = {element: name for name, element in ELEMENTS.items()}


class Refusal(Exception):
    """What the runtime, or this program, will not do."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Worker:
    def __init__(self):
        self.sessions = {}
        self.loaded = 0

    def hello(self, request):
        if request.get("protocol") != PROTOCOL:
            raise Refusal("protocol", f"this program speaks protocol {PROTOCOL}")
        if MISSING:
            raise Refusal("missing", MISSING)
        return {"protocol": PROTOCOL, "runtime": "ONNX Runtime",
                "version": onnxruntime.__version__,
                "providers": onnxruntime.get_available_providers()}

    def load(self, request):
        levels = onnxruntime.GraphOptimizationLevel
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = (
            levels.ORT_ENABLE_ALL if request["optimizations"] else levels.ORT_DISABLE_ALL)
        options.intra_op_num_threads = request["threads"]
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        provider = request["provider"]
        if provider not in onnxruntime.get_available_providers():
            raise Refusal("load", f"this ONNX Runtime has no {provider}, only "
                                  + ", ".join(onnxruntime.get_available_providers()))
        session = onnxruntime.InferenceSession(request["path"], options, providers=[provider])
        self.loaded += 1
        self.sessions[self.loaded] = session
        return {"model": self.loaded}

    def run(self, request):
        session = self.sessions[request["model"]]
        folder = Path(request["folder"])
        feeds = {tensor["name"]: read_tensor(tensor, folder) for tensor in request["inputs"]}
        results = session.run(None, feeds)
        outputs = [write_tensor(value.name, result, folder, f"out{index}.bin")
                   for index, (value, result) in enumerate(zip(session.get_outputs(), results))]
        return {"outputs": outputs}

    def close(self, request):
        self.sessions.pop(request["model"], None)
        return {}


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


def answer(worker, request):
    """The verb's result, or why there is none."""
    try:
        verbs = {"hello": worker.hello, "load": worker.load, "run": worker.run,
                 "close": worker.close}
        verb = request["verb"]
        if verb not in verbs:
            raise Refusal("protocol", f"there is no verb {verb}")
        return {"id": request["id"], "ok": verbs[verb](request)}
    except Refusal as refusal:
        kind, message = refusal.kind, str(refusal)
    except MemoryError as error:
        kind, message = "memory", str(error) or "MemoryError"
    except Exception as error:  # noqa: BLE001: the runtime's own classes are many
        message = f"{error}"
        kind = "memory" if "bad allocation" in message or "bad_alloc" in message else "runtime"
    return {"id": request.get("id"), "error": {"kind": kind, "message": message}}


def main():
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(answer(worker, json.loads(line))), file=ANSWERS, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What PyTorch takes on a GPU, for tests/bench/gpu.sh; exits with 4 where it is not installed.

    gpu_torch.py model NAME BATCH                        whole: eager in a CUDA graph, and compiled
    gpu_torch.py operators FILE BENCH DEVICE COSTS TIME  each different convolution and product of a model, beside ours

The second one times ours in any case. Both print JSON; times are microseconds, medians by CUDA events.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ("Conv", "MatMul", "Gemm")


def torch_or_none():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def time_us(torch, run, rounds=50):
    """Of a run that is captured as a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        run()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / 5)
    return sorted(times)[rounds // 2]


def exact(torch):
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False


# torchvision's names for the networks that it has in the form of ours.
TORCHVISION = {"resnet50": 224, "inception_v3": 299, "resnext50_32x4d": 224, "squeezenet1_0": 224}
NAMES = {"resnext50": "resnext50_32x4d", "squeezenet": "squeezenet1_0"}


def whole_model(name, batch):
    torch = torch_or_none()
    name = NAMES.get(name, name)
    if torch is None:
        absent("PyTorch with CUDA is not installed")
    if name not in TORCHVISION:
        absent(f"torchvision has no {name}")
    try:
        import torchvision
    except ImportError:
        absent("torchvision is not installed")
    exact(torch)
    options = {"init_weights": False} if name == "inception_v3" else {}
    model = getattr(torchvision.models, name)(**options).cuda().eval()
    image = torch.rand(batch, 3, TORCHVISION[name], TORCHVISION[name], device="cuda")
    eager = time_us(torch, lambda: model(image))
    compiled_model = torch.compile(model, mode="max-autotune-no-cudagraphs")
    compiled = time_us(torch, lambda: compiled_model(image))
    print(json.dumps({"eager_us": eager, "compiled_us": compiled}))


def absent(why):
    print(why, file=sys.stderr)
    sys.exit(4)


def operators_of(path):
    """Different convolutions and products, as nodes with the shapes of their operands."""
    import onnx
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    graph = model.graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in (*graph.input, *graph.value_info, *graph.output)}
    shapes.update({t.name: list(t.dims) for t in graph.initializer})
    seen = {}
    for node in graph.node:
        if node.op_type in KINDS and all(name in shapes for name in node.input[:2]):
            key = (node.op_type, str([shapes[name] for name in node.input[:2]]),
                   str(sorted(str(a) for a in node.attribute)))
            seen.setdefault(key, [node, [shapes[name] for name in node.input[:2]], 0])[2] += 1
    weights = {t.name for t in graph.initializer}
    return [(node, dims, count, [name in weights for name in node.input[:2]])
            for node, dims, count in seen.values()], model.opset_import


def write_alone(node, dims, constant, opsets, path):
    """A model of one node, its weights as in the whole one."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    del alone.input[:]
    alone.input.extend(["a", "b"])
    del alone.output[:]
    alone.output.append("y")
    values = [("a", dims[0], constant[0]), ("b", dims[1], constant[1])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d, c in values if not c]
    weights = [numpy_helper.from_array(numpy.random.default_rng(0).random(d, dtype=numpy.float32), n)
               for n, d, c in values if c]
    graph = helper.make_graph([alone], "alone", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets))
    onnx.save(model, path)


def attributes_of(node):
    import onnx
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def torch_us(torch, node, dims):
    a, b = (torch.rand(d, device="cuda") for d in dims)
    attributes = attributes_of(node)
    if node.op_type == "Conv":
        pads = attributes.get("pads", [0, 0, 0, 0])
        if pads[0] != pads[2] or pads[1] != pads[3]:
            return None
        return time_us(torch, lambda: torch.nn.functional.conv2d(
            a, b, stride=attributes.get("strides", [1, 1]), padding=pads[:2],
            dilation=attributes.get("dilations", [1, 1]), groups=attributes.get("group", 1)))
    if attributes.get("transA"):
        a = a.transpose(-1, -2)
    if attributes.get("transB"):
        b = b.transpose(-1, -2)
    return time_us(torch, lambda: torch.matmul(a, b))


def bench_operators(path, bench, device, costs, limit_s):
    torch = torch_or_none()
    if torch:
        exact(torch)
    begun, rows = time.monotonic(), []
    operators, opsets = operators_of(path)
    with tempfile.TemporaryDirectory() as folder:
        for node, dims, count, constant in operators:
            row = {"operator": node.op_type, "dims": dims, "count": count}
            rows.append(row)
            if time.monotonic() - begun > float(limit_s):
                continue
            alone = Path(folder) / "alone.onnx"
            write_alone(node, dims, constant, opsets, alone)
            # Candidates are measured for --breakdown and kept; the second call runs the fastest.
            for extra in (["--breakdown"], []):
                done = subprocess.run([bench, alone, "--runtime", "soapstone", "--device", device, "--cost-db", costs,
                                       "--time", "1", "-q", "--json", "-", *extra], capture_output=True, text=True)
            if done.returncode == 7:
                print(done.stderr, file=sys.stderr, end="")
                sys.exit(7)
            if done.returncode == 0:
                row["ours_us"] = json.loads(done.stdout)["models"][0]["latency_us"]
            if torch:
                row["torch_us"] = torch_us(torch, node, dims)
    print(json.dumps(rows))


def main():
    if sys.argv[1:2] == ["model"] and len(sys.argv) == 4:
        whole_model(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["operators"] and len(sys.argv) == 7:
        bench_operators(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

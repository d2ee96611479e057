"""ONNX's own node tests, which come with the onnx package, on each backend."""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
from onnx.backend.test.loader import load_model_tests

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
RUNNER = BUILD_DIR / "tests" / "run-onnx-cases"
BACKENDS = ["reference", "cpu"]

# Cases of these operators, and of nothing else, must pass if they apply.
OPERATORS = set("""
    Conv MatMul Gemm MaxPool AveragePool GlobalAveragePool BatchNormalization LayerNormalization
    Softmax Relu LeakyRelu Clip Sigmoid Tanh Gelu Erf HardSigmoid HardSwish Exp Log Sqrt Pow Neg
    Reciprocal Add Sub Mul Div Min Max Where Concat Split Slice Pad Transpose Reshape Flatten
    ConvTranspose CumSum Einsum
    Squeeze Unsqueeze Expand Gather ReduceSum ReduceMean ReduceMax Cast Constant Identity Dropout
    """.split())

# Case: why it may fail.
KNOWN_DEVIATIONS = {}

# The cases that passed on each backend when this was written. Fewer mean that something that was
# understood no longer is.
LEAST_PASSED = 1109
LEAST_PASSED_OF_OPERATORS = 389

# The opsets that are read.
OLDEST_OPSET, NEWEST_OPSET = 7, 23
# Newer opsets gave these nothing but element types.
SAME_IN_NEWER_OPSETS = OPERATORS | {"ConstantOfShape", "Shape", "Size"}

INTEGERS = {onnx.TensorProto.INT64, onnx.TensorProto.INT32}
# The inputs that become constants. Shapes, axes and limits are inputs in these tests, where a
# compiler needs constants: what is not applicable as it is comes again in the next form.
FORMS = [
    lambda index, tensor: False,
    lambda index, tensor: tensor.data_type in INTEGERS,
    lambda index, tensor: index > 0,
]


def use_known_opset(model):
    """Writes the nearest opset that is read, where that makes no difference."""
    for opset in model.opset_import:
        near = min(max(opset.version, OLDEST_OPSET), NEWEST_OPSET)
        if opset.domain == "" and all(same_in(op, opset.version, near) for op in operators(model)):
            opset.version = near


def same_in(op, version, other_version):
    if op in SAME_IN_NEWER_OPSETS and version > other_version:
        return True
    try:
        return (onnx.defs.get_schema(op, version, "").since_version ==
                onnx.defs.get_schema(op, other_version, "").since_version)
    except onnx.defs.SchemaError:
        return False


def drop_statistics(model):
    """Mean and deviation, which layer normalization computes for training."""
    for node in model.graph.node:
        if node.op_type == "LayerNormalization" and len(node.output) > 1:
            del node.output[1:], model.graph.output[1:]


def make_constants(model, data, chosen):
    """Takes the chosen inputs out of the interface. Returns the bytes of the others."""
    inputs, left = list(model.graph.input), []
    del model.graph.input[:]
    for index, value in enumerate(inputs):
        content = (data / f"input_{index}.pb").read_bytes()
        if value.type.HasField("tensor_type"):
            tensor = onnx.TensorProto.FromString(content)
            if chosen(index, tensor):
                tensor.name = value.name
                model.graph.initializer.append(tensor)
                continue
        model.graph.input.append(value)
        left.append(content)
    return left


def write_case(case, chosen, folder):
    """Writes the case with the chosen inputs as constants. Returns its folder."""
    data = Path(case.model_dir) / "test_data_set_0"
    model = onnx.load(Path(case.model_dir) / "model.onnx")
    use_known_opset(model)
    drop_statistics(model)
    inputs = make_constants(model, data, chosen)
    new_data = folder / case.name / "test_data_set_0"
    new_data.mkdir(parents=True)
    onnx.save(model, folder / case.name / "model.onnx")
    for index, content in enumerate(inputs):
        (new_data / f"input_{index}.pb").write_bytes(content)
    for index in range(len(model.graph.output)):
        (new_data / f"output_{index}.pb").write_bytes((data / f"output_{index}.pb").read_bytes())
    return folder / case.name


def run(backend, cases, folders):
    """Verdicts by name. A case that ends the runner has failed; the others go on without it."""
    verdicts = {}
    while left := [case for case in cases if case.name not in verdicts]:
        lines = [f"{case.name}\t{folders[case.name]}\t{case.rtol}\t{case.atol}\n" for case in left]
        done = subprocess.run([RUNNER, backend], input="".join(lines), capture_output=True,
                              text=True, timeout=500)
        for line in done.stdout.splitlines():
            verdict = json.loads(line)
            verdicts[verdict["case"]] = verdict
        if crashed := next((case.name for case in left if case.name not in verdicts), None):
            error = " ".join(done.stderr.split()) or "no message"
            verdicts[crashed] = {"status": "failed",
                                 "reason": f"ends with {done.returncode}: {error}"}
    return verdicts


def run_all_forms(cases):
    """Verdicts by backend and name: of the first form that applies, else of the first."""
    verdicts = {backend: {} for backend in BACKENDS}
    for chosen in FORMS:
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            folders = {case.name: write_case(case, chosen, Path(folder)) for case in cases}
            for backend in BACKENDS:
                for name, verdict in run(backend, cases, folders).items():
                    if chosen is FORMS[0] or verdict["status"] != "not_applicable":
                        verdicts[backend][name] = verdict
        cases = [case for case in cases if any(
            verdicts[backend][case.name]["status"] == "not_applicable" for backend in BACKENDS)]
    return verdicts


def operators(model):
    """Operators of the model."""
    return {node.op_type for node in model.graph.node}


def family(model):
    names = sorted(operators(model) - {"Constant"}) or ["Constant"]
    return names[0] if len(names) == 1 else "(several)"


def print_table(verdicts, families):
    counts = collections.defaultdict(collections.Counter)
    for backend in BACKENDS:
        for name, verdict in verdicts[backend].items():
            counts[families[name]][backend, verdict["status"]] += 1
            counts["total"][backend, verdict["status"]] += 1
    statuses = ["passed", "failed", "not_applicable"]
    print(f"{'':26}" + "".join(f"{backend + ': passed / failed / not applicable':>48}"
                                for backend in BACKENDS))
    total = counts.pop("total")
    idle = [name for name in counts if not any(counts[name][b, s] for b in BACKENDS
                                               for s in statuses[:2])]
    for name in sorted(set(counts) - set(idle)) + ["total"]:
        row = total if name == "total" else counts[name]
        cells = ["".join(f"{row[backend, status]:>10}" for status in statuses)
                 for backend in BACKENDS]
        print(f"{name:26}" + "".join(f"{cell:>48}" for cell in cells))
    print(f"not applicable in any case: {' '.join(sorted(idle))}\n")


def main():
    cases = load_model_tests(kind="node")
    models = {case.name: onnx.load(Path(case.model_dir) / "model.onnx") for case in cases}
    verdicts = run_all_forms(cases)
    print_table(verdicts, {name: family(model) for name, model in models.items()})

    gating = {name for name, model in models.items() if operators(model) <= OPERATORS}
    problems = []
    for backend in BACKENDS:
        passed = {name for name, verdict in verdicts[backend].items()
                  if verdict["status"] == "passed"}
        for what, found, least in [("cases", len(passed), LEAST_PASSED),
                                   ("cases of the operators that must pass", len(passed & gating),
                                    LEAST_PASSED_OF_OPERATORS)]:
            print(f"{backend}: {found} {what} passed")
            if found < least:
                problems.append(f"{backend}: {found} {what} passed, {least} did before")
        for name, verdict in sorted(verdicts[backend].items()):
            if verdict["status"] != "failed":
                continue
            line = f"{backend}: {name}: {verdict['reason']}"
            if name in KNOWN_DEVIATIONS:
                print(f"known deviation ({KNOWN_DEVIATIONS[name]}): {line}")
            elif name in gating:
                problems.append(line)
            else:
                print(f"failed, but need not pass: {line}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

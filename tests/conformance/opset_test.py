"""Operators at every opset: what is read and written again, as it was read and by our own mappings,
computes what it did, in ONNX Runtime without optimizations and else in ONNX's reference."""

import collections
import sys
import tempfile
from pathlib import Path

import numpy as np

from opset_cases import KEPT, models_of
from opset_runs import Runner, complaint, difference, write


def check_copies(folder, runner, problems):
    cases = list(models_of(folder))
    answers = write(["copies"], [path for _, _, path, _ in cases])
    counts = collections.Counter()
    for (name, op, path, inputs), answer in zip(cases, answers, strict=True):
        counts["models"] += 1
        if answer["read"]["status"] != "written":
            problems.append(f"{name}: not read: {answer['read']['reason']}")
            continue
        if answer["opaque"]:
            counts["kept whole"] += 1
            if op not in KEPT:
                problems.append(f"{name}: kept whole: {answer['opaque']}")
        if answer["kept"]["status"] != "written":
            problems.append(f"{name}: {answer['kept']['reason']}")
            continue
        where, expected = runner.run(path, inputs)
        for form in ("kept", "mapped"):
            if answer[form]["status"] == "failed":
                problems.append(f"{name}: {form}: {answer[form]['reason']}")
            if answer[form]["status"] != "written":
                counts[f"refused, {form}"] += 1
                continue
            wrong = complaint(f"{path}.{form}")
            if wrong and not complaint(path):
                problems.append(f"{name}: {form}: {wrong}")
                continue
            if expected is None:
                counts["run nowhere"] += 1
                continue
            there, actual = runner.run(f"{path}.{form}", inputs)
            counts[f"compared, {form}"] += 1
            if actual is None:
                problems.append(f"{name}: {form}: runs {there}, but the original in {where}")
                continue
            if wrong := difference(expected, actual):
                problems.append(f"{name}: {form} ({where}, {there}): {wrong}")
    print(dict(counts))
    return counts


DTYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_, "f16": np.float16}


def arrays(types, values):
    """`x: f32[2, 3]  i: i64[2]` and lists of numbers, as arrays by name."""
    feeds = {}
    for text, numbers in zip([each for each in types.split("  ") if each], values, strict=True):
        name, kind = text.split(": ")
        dtype, shape = kind.rstrip("]").split("[")
        shape = [int(size) for size in shape.split(",") if size.strip()]
        feeds[name] = np.array(numbers).astype(DTYPES[dtype]).reshape(shape)
    return feeds


# The first opset that can express the example of an operator, if that is not the oldest opset that
# is read.
FIRST_OPSETS = {"cumsum": 11, "einsum": 12, "erf": 9, "gather_elements": 11, "gelu": 9,
                "resize": 11, "round": 11, "top_k": 11, "where": 9,
                "is_inf": 10, "is_nan": 9}


def check_examples(folder, runner, problems):
    counts = collections.Counter()
    for line in write(["examples", str(folder)]):
        counts["examples"] += 1
        name = f"{line['call']} of {line['types']}, opset {line['opset']}"
        written = line["written"]
        if written["status"] == "failed":
            problems.append(f"{name}: {written['reason']}")
        if written["status"] != "written":
            counts["refused"] += 1
            op = line["call"].split("(")[0]
            integers = "i64" in line["types"] or "i32" in line["types"]
            if line["opset"] >= FIRST_OPSETS.get(op, 13 if integers else 8) and "dilations" not in name:
                problems.append(f"{name}: {written['reason']}")
            continue
        if wrong := complaint(line["path"]):
            problems.append(f"{name}: {wrong}")
            continue
        where, actual = runner.run(line["path"], arrays(line["types"], line["inputs"]))
        if actual is None:
            counts["run nowhere"] += 1
            continue
        counts["compared"] += 1
        for k, (got, wanted) in enumerate(zip(actual, line["outputs"], strict=True)):
            got = np.asarray(got).astype(float).ravel()
            if not np.allclose(got, np.array(wanted), rtol=1e-4, atol=1e-5):
                problems.append(f"{name}: output {k} differs in {where}: {got} {wanted}")
    print(dict(counts))
    return counts


def main():
    runner, problems = Runner(), []
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        copies = check_copies(Path(name), runner, problems)
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        examples = check_examples(Path(name), runner, problems)
    print(f"run in: {dict(runner.how)}")
    # A test that compares little says little.
    if copies["compared, mapped"] < 0.9 * copies["models"]:
        problems.append("too few models were compared")
    if examples["compared"] < 0.9 * examples["examples"]:
        problems.append("too few examples were compared")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

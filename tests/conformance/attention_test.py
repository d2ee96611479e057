"""ONNX's own Attention in its forms: written as what it is read as, it computes what ONNX Runtime computes of it.

A place from which a mask hides everything is part of that: it gets 0, not a number that is none.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from opset_nodes import real
from opset_runs import Runner, difference, write

OPSET = 23
INPUTS = ["q", "k", "v", "mask", "past_k", "past_v"]
RESULTS = ["y", "all_k", "all_v", "products"]
HIDDEN = np.float32(-np.inf)


class Case:
    """One node. `mask_known`: the mask is in the file. `kept`: it is no composition of ours."""

    def __init__(self, *inputs, results=1, mask_known=False, kept=False, **attributes):
        self.feeds = {name: value for name, value in zip(INPUTS, inputs) if value is not None}
        self.results, self.kept, self.attributes = RESULTS[:results], kept, attributes
        self.known = ["mask"] if mask_known else []

    def name(self):
        shapes = {name: f"{value.dtype}{value.shape}" for name, value in self.feeds.items()}
        return f"{shapes}, {self.attributes}, known {self.known}, results {self.results}"

    def given(self):
        return {name: value for name, value in self.feeds.items() if name not in self.known}

    def model(self):
        names = [name if name in self.feeds else "" for name in INPUTS]
        while not names[-1]:
            names.pop()
        node = helper.make_node("Attention", names, self.results, **self.attributes)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                  for name, value in self.given().items()]
        outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in self.results]
        weights = [numpy_helper.from_array(self.feeds[name], name) for name in self.known]
        return helper.make_model(helper.make_graph([node], "g", inputs, outputs, weights), ir_version=10,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


def masks(queries, keys):
    """Of booleans and of numbers: some that hide all from a place, some that do not."""
    seen = np.tri(queries, keys, 1, dtype=bool)
    blind = seen.copy()
    blind[1] = False
    for mask in (seen, blind):
        yield mask
        yield np.where(mask, np.float32(0.25), HIDDEN)
    yield real(queries, keys)


def cases():
    q, k, v = real(2, 4, 3, 8), real(2, 4, 5, 8), real(2, 4, 5, 6)
    few_k, few_v = real(2, 2, 5, 8), real(2, 2, 5, 6)
    past = real(2, 4, 2, 8), real(2, 4, 2, 6)
    yield Case(q, k, v)
    yield Case(q, k, v, is_causal=1)
    yield Case(q, few_k, few_v, scale=0.75)
    yield Case(q, k, v, softcap=0.5)
    for mask in masks(3, 5):
        for known in (False, True):
            yield Case(q, k, v, mask, mask_known=known)
        yield Case(q, k, v, np.broadcast_to(mask, (2, 1, 3, 5)).copy(), softcap=2.0)
        yield Case(real(2, 3, 32), real(2, 5, 16), real(2, 5, 12), mask, q_num_heads=4, kv_num_heads=2)
        yield Case(real(2, 4, 5, 8), k, v, np.broadcast_to(mask[:1], (5, 5)).copy(), is_causal=1)
    yield Case(q, k, v, None, *past, results=3)
    yield Case(q, k, v, None, *past, results=3, is_causal=1)
    for mask in masks(3, 7):
        yield Case(q, k, v, mask, *past, results=3)
    yield Case(real(2, 3, 32), real(2, 5, 16), real(2, 5, 12), None, real(2, 2, 4, 8), real(2, 2, 4, 6), results=3,
               q_num_heads=4, kv_num_heads=2, is_causal=1)
    yield Case(q, k, v, results=3)
    yield Case(q, k, v, results=4, kept=True)
    yield Case(q, k, v, scale=4.0, kept=True)


def check(folder, runner, problems):
    all_cases = list(cases())
    paths = [folder / f"{number}.onnx" for number in range(len(all_cases))]
    for case, path in zip(all_cases, paths):
        onnx.save(case.model(), path)
    for case, path, answer in zip(all_cases, paths, write(["copies"], paths), strict=True):
        if answer["read"]["status"] != "written":
            problems.append(f"{case.name()}: not read: {answer['read']['reason']}")
            continue
        if bool(answer["opaque"]) != case.kept:
            problems.append(f"{case.name()}: kept whole: {answer['opaque']}")
        where, expected = runner.run(path, case.given())
        if where != "ONNX Runtime":
            problems.append(f"{case.name()}: runs {where}")
            continue
        if answer["mapped"]["status"] != "written":
            problems.append(f"{case.name()}: {answer['mapped']['reason']}")
            continue
        _, actual = runner.run(f"{path}.mapped", case.given())
        if wrong := difference(expected, actual, 1e-5, 1e-5):
            problems.append(f"{case.name()}: {wrong}")
    return len(all_cases)


def main():
    runner, problems = Runner(), []
    with tempfile.TemporaryDirectory(prefix="soapstone-") as name:
        count = check(Path(name), runner, problems)
    print(f"{count} forms compared")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

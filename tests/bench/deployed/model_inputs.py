"""Random inputs for any ONNX model, from what its file says about them."""

import numpy as np
import onnx
from onnx import helper


def declared(path):
    """Input: its element type as NumPy's, and its shape, in which an open size is 1."""
    graph = onnx.load(path, load_external_data=False).graph
    weights = {each.name for each in graph.initializer}
    found = {}
    for each in graph.input:
        if each.name in weights:
            continue
        tensor = each.type.tensor_type
        shape = [size.dim_value or 1 for size in tensor.shape.dim]
        found[each.name] = (helper.tensor_dtype_to_np_dtype(tensor.elem_type), shape)
    return found


def draw(path, seed=0):
    """Normal numbers, or truth values; as integers, too, since each table has a row 0 and a row 1."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, (dtype, shape) in declared(path).items():
        if np.issubdtype(dtype, np.floating):
            found[name] = rng.normal(size=shape).astype(dtype)
        else:
            found[name] = rng.integers(0, 2, shape).astype(dtype)
    return found


def difference(expected, found):
    """How far the outputs of two runs differ: the largest difference of two elements, and the
    same relative to the largest element of that output. A NaN on one side alone is infinite."""
    if len(expected) != len(found):
        raise ValueError(f"{len(found)} outputs in place of {len(expected)}")
    absolute = relative = 0.0
    for a, b in zip(expected, found):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if a.shape != b.shape:
            raise ValueError(f"an output of shape {b.shape} in place of {a.shape}")
        if not a.size:
            continue
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):
            largest = float(np.max(np.where(same, 0, np.abs(a - b))))
        largest = np.inf if np.isnan(largest) else largest
        scale = float(np.max(np.abs(a), where=np.isfinite(a), initial=0))
        absolute = max(absolute, largest)
        relative = max(relative, largest / scale if scale else largest)
    return {"absolute": absolute, "relative": relative}

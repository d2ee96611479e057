"""Steps of training that PyTorch has made, too: networks, sizes, losses, optimizers and data."""

import json
from dataclasses import dataclass

import numpy as np
import onnx

STEPS = 20


@dataclass(frozen=True)
class Case:
    network: str
    optimizer: str
    rate: float
    sets: str = ""
    loss: str = "cross_entropy"
    classes: int = 4  # integers of the data are below

    @property
    def name(self):
        return f"{self.network} {self.optimizer}"

    def settings(self):
        return [word for setting in self.sets.split() for word in ("--set", setting)]

    def arguments(self):
        return [*self.settings(), "--optimizer", self.optimizer, "--loss", self.loss]


CASES = [
    Case("mlp", "sgd", 0.1, "batch=8 inputs=12 hidden=16 outputs=4"),
    Case("mlp", "momentum", 0.05, "batch=8 inputs=12 hidden=16 outputs=4"),
    Case("mlp", "adam", 0.01, "batch=8 inputs=12 hidden=16 outputs=4"),
    Case("mlp", "adamw", 0.01, "batch=8 inputs=12 hidden=16 outputs=4"),
]


def notes_of(model):
    return json.loads(next(entry.value for entry in model.metadata_props
                           if entry.key == "soapstone.training_step"))


def data_of(model, notes, classes):
    """Values for the inputs that have no default, whatever the order of the inputs: reals of a
    normal distribution, integers below `classes`."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    data = {}
    for value in model.graph.input:
        if value.name in defaults or value.name == notes["learning_rate"]:
            continue
        rng = np.random.default_rng([7, *value.name.encode()])
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        data[value.name] = (rng.standard_normal(shape) if np.issubdtype(kind, np.floating)
                            else rng.integers(0, classes, shape)).astype(kind)
    return data

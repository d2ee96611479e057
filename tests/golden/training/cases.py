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
    seed: int = 0  # of the weights

    @property
    def name(self):
        return f"{self.network} {self.loss} {self.optimizer}"

    def settings(self):
        return ["--seed", str(self.seed),
                *(word for setting in self.sets.split() for word in ("--set", setting))]

    def arguments(self):
        return [*self.settings(), "--optimizer", self.optimizer, "--loss", self.loss]


TOKENS = "batch=2 seq=5 layers=2 hidden=8 heads=2 vocabulary=7"
TEXT = "batch=2 steps=3 layers=2 hidden=8 vocabulary=7"

CASES = [
    *(Case("mlp", optimizer, rate, "batch=8 inputs=12 hidden=16 outputs=4")
      for optimizer, rate in (("sgd", 0.1), ("momentum", 0.05), ("adam", 0.01), ("adamw", 0.01))),
    Case("mlp", "sgd", 0.1, "batch=8 inputs=12 hidden=16 outputs=4", "mse"),
    Case("lenet", "momentum", 0.01, "batch=4 classes=4"),
    Case("alexnet", "sgd", 0.01, "batch=2 image=64 classes=5 width=8 hidden=16"),
    Case("vgg", "momentum", 0.003, "batch=2 layers=11 image=32 classes=5 width=4 hidden=8"),
    Case("squeezenet", "adam", 0.0003, "batch=2 image=64 classes=5 width_percent=13", seed=1),
    Case("resnet18", "sgd", 0.01, "batch=4 image=64 classes=5 width=8"),
    # With batch norm, losses of these depths with few samples depend on rounding, in PyTorch as well.
    Case("resnet50", "momentum", 0.001, "batch=4 image=64 classes=5 width=4 fold_bn=1"),
    Case("resnext50", "sgd", 0.00001,
         "batch=4 image=64 classes=5 groups=2 group_width=4 fold_bn=1", seed=1),
    Case("inception_v3", "sgd", 0.001, "batch=4 image=75 classes=5 width_percent=7 fold_bn=1"),
    Case("nasnet_a", "sgd", 0.0003, "batch=4 image=64 classes=5 repeats=1 width=8 stem=8", seed=1),
    Case("unet", "adam", 0.001, "batch=2 image=16 width=8 norm_groups=2 blocks=1", "mse"),
    Case("vit", "adamw", 0.003, "batch=2 image=32 patch=8 layers=2 hidden=8 heads=2 classes=5"),
    Case("swin", "adamw", 0.001, "batch=2 image=64 window=2 width=8 heads=2 classes=5"),
    Case("bert", "adam", 0.003, TOKENS, classes=2),
    Case("gpt", "adamw", 0.003, "batch=2 seq=5 layers=2 hidden=8 heads=2 vocabulary=7"),
    Case("llama", "adamw", 0.003,
         "batch=2 seq=5 layers=2 hidden=8 heads=2 kv_heads=1 feed=12 vocabulary=7"),
    Case("nmt", "sgd", 0.3, TEXT),
    Case("gnmt", "adam", 0.003, TEXT),
    Case("rnnlm", "momentum", 0.1, TEXT),
    Case("rnntc", "adam", 0.003, TEXT + " classes=3", classes=3),
    Case("nasrnn", "sgd", 0.1, "batch=2 steps=3 hidden=8", "mse"),
    Case("dlrm", "sgd", 0.1, "batch=4 rows=30 lookups=2 width=4 hidden=8", "mse", classes=2),
    Case("moe", "adam", 0.003, "batch=2 seq=4 layers=2 hidden=8 heads=2 vocabulary=7 feed=12"),
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

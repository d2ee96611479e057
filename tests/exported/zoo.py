"""What networks of other libraries are exported from: a module, example inputs, and which sizes may be left open.

Weights are random. So are the statistics and scales of norms, which libraries set to 0 and 1: a file whose norms do
nothing would hide what becomes of them.
"""

from dataclasses import dataclass, field

import torch

VOCABULARY = 96
BATCH, SEQUENCE = "batch", "sequence"


@dataclass
class Network:
    """A module that maps tensors to tensors, and example inputs with the names of dimensions that may be open."""

    module: torch.nn.Module
    inputs: dict[str, torch.Tensor]
    open: dict[str, dict[int, str]] = field(default_factory=dict)


class FirstOf(torch.nn.Module):
    """A model of `transformers` as a function of tensors: its most telling result alone."""

    RESULTS = ("logits", "last_hidden_state", "reconstruction", "prediction_outputs", "image_embeds",
               "predicted_depth", "audio_values")

    def __init__(self, model, names, options):
        super().__init__()
        self.model, self.names, self.options = model, names, options

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs)), **self.options)
        for name in self.RESULTS:
            value = getattr(result, name, None)
            if value is not None:
                return value
        return result[0] if isinstance(result, (tuple, list)) or hasattr(result, "to_tuple") else result


def with_telling_numbers(module):
    """The module for inference, with random statistics and scales where libraries set neutral ones."""
    generator = torch.Generator().manual_seed(1)

    def positive(tensor):
        tensor.data.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)

    def small(tensor):
        tensor.data.copy_(torch.randn(tensor.shape, generator=generator) * 0.1)

    for part in module.modules():
        mean, variance = getattr(part, "running_mean", None), getattr(part, "running_var", None)
        if mean is not None and variance is not None:
            small(mean)
            positive(variance)
        if "norm" in type(part).__name__.lower():
            for name, parameter in part.named_parameters(recurse=False):
                small(parameter) if name == "bias" else positive(parameter)
    for name, parameter in module.named_parameters():
        if any(word in name for word in ("gamma", "layer_scale", "lambda_", "relative_position_bias_table")):
            positive(parameter)
    return module.eval()


def images(size, count=2):
    return torch.randn(count, 3, size, size)


def tokens(length=12, count=2, vocabulary=VOCABULARY):
    return torch.randint(3, vocabulary, (count, length))


def vision(module, size):
    return Network(with_telling_numbers(module), {"x": images(size)}, {"x": {0: BATCH}})


def of_tensors(model, inputs, open_dims=None, **options):
    """A model of `transformers` that takes these inputs by name."""
    module = FirstOf(with_telling_numbers(model), list(inputs), options)
    return Network(module.eval(), inputs, open_dims or {})


def of_tokens(model, length=12, masked=False, count=2, **options):
    """A model of text: tokens, and which of them count if `masked`. A batch of one is never open."""
    inputs = {"input_ids": tokens(length, count)}
    if masked:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["attention_mask"][-1, length - 3:] = 0
    sizes = {0: BATCH, 1: SEQUENCE} if count > 1 else {1: SEQUENCE}
    return of_tensors(model, inputs, {name: sizes for name in inputs}, **options)

"""Exports networks with random weights from PyTorch.

    python3 torch_networks.py NETWORK FILE.onnx      (no arguments: lists the networks)

It runs in a Python that has torch and torchvision (Debian: python3-torch, python3-torchvision) and
needs nothing else, so the runtimes may live in another one.
"""

import sys
import warnings

import torch
import torchvision.models as vision
from torch import nn

import torch_modules as own

OPSET = 17


def image(size):
    return (torch.randn(1, 3, size, size),)


def tokens(length, *bounds):
    return tuple(torch.randint(0, bound, (1, length)) for bound in bounds)


def small_vit():
    return vision.VisionTransformer(image_size=224, patch_size=16, num_layers=6, num_heads=6,
                                    hidden_dim=384, mlp_dim=1536)


# Network: how to make it, and its inputs.
NETWORKS = {
    "tiny": (own.Tiny, lambda: image(8)),
    "resnet18_bn": (vision.resnet18, lambda: image(224)),
    "mobilenet_v2": (vision.mobilenet_v2, lambda: image(224)),
    "mobilenet_v3_small": (vision.mobilenet_v3_small, lambda: image(224)),
    "mobilenet_v3_large": (vision.mobilenet_v3_large, lambda: image(224)),
    "efficientnet_b0": (vision.efficientnet_b0, lambda: image(224)),
    "regnet_y_400mf": (vision.regnet_y_400mf, lambda: image(224)),
    "convnext_tiny": (vision.convnext_tiny, lambda: image(224)),
    "vit_small": (small_vit, lambda: image(224)),
    "vit_b_16": (vision.vit_b_16, lambda: image(224)),
    "swin_t": (vision.swin_t, lambda: image(224)),
    "densenet121": (vision.densenet121, lambda: image(224)),
    "googlenet": (lambda: vision.googlenet(aux_logits=False, init_weights=False),
                  lambda: image(224)),
    "shufflenet_v2": (vision.shufflenet_v2_x1_0, lambda: image(224)),
    "unet": (own.UNet, lambda: image(128)),
    "gpt2_small": (lambda: own.Gpt2(hidden=256, heads=4), lambda: tokens(128, 5000)),
    "gpt2": (lambda: own.Gpt2(hidden=768, heads=12), lambda: tokens(128, 5000)),
    "bert_masked": (own.Bert, lambda: tokens(128, 5000, 2, 2)),
    "lstm": (own.Lstm, lambda: (torch.randn(1, 32, 128),)),
    "lstm_unrolled": (own.UnrolledLstm, lambda: (torch.randn(1, 8, 256),)),
}
# Batch norm stays a node of its own; exporters fold it into the convolution otherwise.
KEEP_BATCH_NORM = {"tiny", "resnet18_bn", "unet"}


def draw_constant_parameters(module):
    """Random numbers for what starts as zeros or ones, as training would have left no such thing."""
    for parameter in module.parameters():
        first = parameter.flatten()[0].item()
        if not (parameter == first).all():
            continue
        if first == 0:
            parameter.normal_(std=0.05)
        else:  # a scale: of a norm, or of a whole branch
            parameter.uniform_(0.75, 1.25) if first == 1 else parameter.uniform_(0.1, 0.3)


def calibrate_batch_norms(module, inputs):
    """Statistics of real activations, so that these neither vanish nor grow from layer to layer."""
    norms = [each for each in module.modules() if isinstance(each, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    if norms:
        module.train()
        module(*(torch.randn(4, *each.shape[1:]) for each in inputs))


def build(name):
    """The network, ready to be exported, and its inputs."""
    torch.manual_seed(0)
    make, make_inputs = NETWORKS[name]
    module, inputs = make(), make_inputs()
    draw_constant_parameters(module)
    calibrate_batch_norms(module, inputs)
    module.eval()
    for each in module.modules():
        if isinstance(each, nn.MultiheadAttention):
            each.train()  # Its path for inference is one operator, which ONNX lacks.
            assert each.dropout == 0
    return module, inputs


def export(name, path):
    with torch.no_grad():
        module, inputs = build(name)
        keep = name in KEEP_BATCH_NORM
        # PRESERVE leaves each module in the mode that `build` chose, and nothing is folded there.
        attention = any(isinstance(each, nn.MultiheadAttention) for each in module.modules())
        mode = torch.onnx.TrainingMode.PRESERVE if keep or attention else torch.onnx.TrainingMode.EVAL
        torch.onnx.export(module, inputs, path, opset_version=OPSET, training=mode,
                          do_constant_folding=not keep,
                          input_names=[f"input_{number}" for number in range(len(inputs))])


def main():
    if len(sys.argv) == 1:
        print("\n".join(NETWORKS))
        return
    if len(sys.argv) != 3 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")  # Tracing warns of sizes that become constants, as they shall.
    export(*sys.argv[1:])


if __name__ == "__main__":
    main()

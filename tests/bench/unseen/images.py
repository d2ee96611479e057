"""Gates, shuffles and changes of resolution: squeeze-and-excitation (Hu et al. 2018; Howard et al. 2019),
ShuffleNet (Zhang et al. 2018), feature pyramids (Lin et al. 2017), transposed convolutions (Radford
et al. 2016), sub-pixel convolutions (Shi et al. 2016)."""

import numpy as np

from networks import folded, network
from reparameterized import SAME


@network(x=(1, 64, 14, 14))
def excitation_by_hard_sigmoid(random):
    w1, b1, w2, b2 = random(16, 64, 1, 1), random(16), random(64, 16, 1, 1), random(64)

    def given(g, x):
        t = g.ReduceMean(x, [2, 3])
        t = g.Conv(g.Relu(g.Conv(t, w1, b1)), w2, b2)
        return g.Mul(x, g.Div(g.Clip(g.Add(t, 3.0), np.float32(0), np.float32(6)), 6.0))

    def expert(g, x):
        t = g.Relu(g.Conv(g.GlobalAveragePool(x), w1, b1))
        return g.Mul(x, g.HardSigmoid(g.Conv(t, w2, b2), alpha=1 / 6, beta=0.5))
    return given, expert


def shuffled(g, x, groups, width, size):
    t = g.Reshape(x, [1, groups, width // groups, size, size])
    return g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3, 4]), [1, width, size, size])


@network(x=(1, 48, 28, 28))
def shuffle_between_convolutions(random):
    """Channels of groups are mixed before a convolution of all of them."""
    w1, w2, norm = random(48, 12, 1, 1), random(48, 48, 3, 3), random.norm(48)

    def given(g, x):
        t = g.Relu(g.BatchNormalization(g.Conv(x, w1, group=4), *norm))
        return g.Relu(g.Conv(shuffled(g, t, 4, 48, 28), w2, **SAME))

    def expert(g, x):
        order = np.arange(48).reshape(4, 12).T.reshape(48)
        weight = np.zeros_like(w2)
        weight[:, order] = w2
        t = g.Relu(g.Conv(x, *folded(w1, norm), group=4))
        return g.Relu(g.Conv(t, weight, **SAME))
    return given, expert


@network(x=(1, 128, 14, 14))
def pointwise_behind_upsampling(random):
    w, b = random(32, 128, 1, 1), random(32)

    def resized(g, x):
        return g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                        coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def given(g, x):
        return g.Relu(g.Conv(resized(g, x), w, b))

    def expert(g, x):
        return resized(g, g.Relu(g.Conv(x, w, b)))
    return given, expert


@network(x=(1, 128, 7, 7), lateral=(1, 64, 14, 14))
def feature_pyramid(random):
    w, wl, ws, bl = random(32, 128, 1, 1), random(32, 64, 1, 1), random(32, 32, 3, 3), random(32)

    def resized(g, x):
        return g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="linear",
                        coordinate_transformation_mode="half_pixel")

    def given(g, x, lateral):
        t = g.Add(g.Conv(lateral, wl, bl), g.Conv(resized(g, x), w))
        return g.Conv(t, ws, **SAME)

    def expert(g, x, lateral):
        t = g.Add(g.Conv(lateral, wl, bl), resized(g, g.Conv(x, w)))
        return g.Conv(t, ws, **SAME)
    return given, expert


@network(x=(1, 64, 8, 8))
def transposed_convolution_with_batch_norm(random):
    w, norm, wp, b = random(64, 32, 4, 4), random.norm(32), random(16, 32, 1, 1), random(16)

    def given(g, x):
        t = g.ConvTranspose(x, w, strides=[2, 2], pads=[1, 1, 1, 1])
        return g.Relu(g.Conv(g.BatchNormalization(t, *norm), wp, b))

    def expert(g, x):
        weight, bias = folded(w.transpose(1, 0, 2, 3), norm)
        mixed = np.einsum("om,mihw->iohw", wp[:, :, 0, 0], weight)
        t = g.ConvTranspose(x, mixed, b + wp[:, :, 0, 0] @ bias, strides=[2, 2], pads=[1, 1, 1, 1])
        return g.Relu(t)
    return given, expert


@network(x=(1, 64, 8, 8))
def generator_of_two_layers(random):
    w = [random(64, 32, 4, 4), random(32, 16, 4, 4)]
    norms = [random.norm(32), random.norm(16)]

    def given(g, x):
        for weight, norm in zip(w, norms):
            t = g.ConvTranspose(x, weight, strides=[2, 2], pads=[1, 1, 1, 1])
            x = g.Relu(g.BatchNormalization(t, *norm))
        return x

    def expert(g, x):
        for weight, norm in zip(w, norms):
            kernel, bias = folded(weight.transpose(1, 0, 2, 3), norm)
            t = g.ConvTranspose(x, kernel.transpose(1, 0, 2, 3), bias, strides=[2, 2],
                                pads=[1, 1, 1, 1])
            x = g.Relu(t)
        return x
    return given, expert


@network(x=(1, 32, 28, 28))
def activation_behind_pixel_shuffle(random):
    w, b, scale = random(48, 32, 3, 3), random(48), random.positive(1)

    def given(g, x):
        t = g.DepthToSpace(g.Conv(x, w, b, **SAME), blocksize=4)
        return g.Clip(g.Mul(t, scale), np.float32(0), np.float32(1))

    def expert(g, x):
        t = g.Conv(x, w * scale, b * scale, **SAME)
        return g.DepthToSpace(g.Clip(t, np.float32(0), np.float32(1)), blocksize=4)
    return given, expert

"""Signals: cepstral features from products with cosines (Povey et al. 2011, Kaldi), a layer of a Fourier
operator whose transforms are products (Li et al. 2021)."""

import numpy as np

from networks import network


@network(x=(1, 1, 8000))
def cepstral_features_of_frames(random):
    """Pre-emphasis, frames, offsets, a window and a transform, bands, logarithms, a cosine transform, and
    features less their means over time."""
    size, hop, bins = 256, 128, 129
    frames = (7999 - size) // hop + 1
    n, k = np.arange(size), np.arange(bins)
    angles = 2 * np.pi * np.outer(k, n) / size
    window = np.hamming(size)
    real, imaginary = np.cos(angles), np.sin(angles)
    bands = np.maximum(0, 1 - np.abs(np.linspace(0, 21, bins)[:, None] - np.arange(1, 21)) / 1.5)
    transform = np.cos(np.pi / 20 * np.outer(np.arange(20) + 0.5, np.arange(13))) / 10 ** 0.5
    lifter = 1 + 11 * np.sin(np.pi * np.arange(13) / 22)

    def given(g, x):
        now, past = g.Slice(x, [1], [8000], [2]), g.Slice(x, [0], [7999], [2])
        t = g.Sub(now, g.Mul(past, 0.97))
        t = g.Transpose(g.Conv(t, np.eye(size)[:, None], strides=[hop]), perm=[0, 2, 1])
        t = g.Mul(g.Sub(t, g.ReduceMean(t, [2])), window)
        re, im = g.MatMul(t, real.T), g.MatMul(t, imaginary.T)
        power = g.Div(g.Add(g.Pow(re, 2.0), g.Pow(im, 2.0)), float(size))
        t = g.Log(g.Add(g.MatMul(power, bands), 1e-6))
        t = g.Mul(g.MatMul(t, transform), lifter)
        return g.Sub(t, g.ReduceMean(t, [1]))

    def expert(g, x):
        # All that comes before the squares is one convolution.
        kernel = np.concatenate([real, imaginary]) * window
        kernel = kernel - kernel.mean(1, keepdims=True)
        kernel = np.pad(kernel, ((0, 0), (1, 0))) - 0.97 * np.pad(kernel, ((0, 0), (0, 1)))
        t = g.Conv(x, kernel[:, None] / size ** 0.5, strides=[hop])
        t = g.MatMul(np.concatenate([bands, bands]).T, g.Mul(t, t))
        t = g.Log(g.Add(t, 1e-6))
        t = g.MatMul(g.Transpose(t, perm=[0, 2, 1]), transform * lifter)
        return g.Sub(t, g.ReduceMean(t, [1]))
    assert frames == 61
    return given, expert


@network(x=(8, 16, 128))
def layer_of_fourier_operator(random):
    """All frequencies are computed, twelve are kept and weighted, and the others are zeros."""
    modes, bins, n = 12, 65, 128
    angles = 2 * np.pi * np.outer(np.arange(n), np.arange(bins)) / n
    twice = np.where((np.arange(bins) % 64) == 0, 1.0, 2.0)[:, None] / n
    wr, wi = random(16, 16, modes), random(16, 16, modes)
    w, b = random(16, 16, 1), random(16)

    def given(g, x):
        re, im = g.MatMul(x, np.cos(angles)), g.MatMul(x, -np.sin(angles))
        re, im = (g.Slice(t, [0], [modes], [2]) for t in (re, im))

        def mixed(t, weight):
            return g.Einsum(t, weight, equation="bix,iox->box")
        first = g.Sub(mixed(re, wr), mixed(im, wi))
        second = g.Add(mixed(re, wi), mixed(im, wr))
        first, second = (g.Concat(t, np.zeros((8, 16, bins - modes)), axis=2)
                         for t in (first, second))
        t = g.Sub(g.MatMul(first, np.cos(angles).T * twice), g.MatMul(second, np.sin(angles).T * twice))
        t = g.Add(t, g.Conv(x, w, b))
        return g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)

    def expert(g, x):
        a = angles[:, :modes]
        to = np.concatenate([np.cos(a), -np.sin(a)], axis=1)
        fro = np.concatenate([(np.cos(a) * twice[:modes].T).T, -(np.sin(a) * twice[:modes].T).T])
        weight = np.zeros((modes, 2, 16, 2, 16))
        for i, o, part in ((0, 0, wr), (1, 0, -wi), (0, 1, wi), (1, 1, wr)):
            weight[:, i, :, o] = part.transpose(2, 0, 1)
        t = g.Reshape(g.MatMul(x, to), [8, 16, 2, modes])
        t = g.Einsum(t, weight, equation="bipm,mpiqo->boqm")
        t = g.MatMul(g.Reshape(t, [8, 16, 2 * modes]), fro)
        return g.Gelu(g.Add(t, g.Conv(x, w, b)))
    return given, expert

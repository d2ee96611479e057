"""Feed-forward layers with norms and activations as exporters write them out: layer norm (Ba et al. 2016),
RMS norm (Zhang and Sennrich 2019), GELU (Hendrycks and Gimpel 2016), SwiGLU and GEGLU (Shazeer 2020),
Mish (Misra 2019), hard-swish (Howard et al. 2019), layer scale (Touvron et al. 2021)."""

import numpy as np

from networks import folded, network

POSITIONS, WIDTH, WIDE = 64, 128, 512


def layer_norm_written_out(g, x, gain, offset, epsilon=1e-5):
    d = g.Sub(x, g.ReduceMean(x, [-1]))
    variance = g.ReduceMean(g.Pow(d, 2.0), [-1])
    return g.Add(g.Mul(g.Div(d, g.Sqrt(g.Add(variance, epsilon))), gain), offset)


def rms_norm_written_out(g, x, gain, epsilon=1e-6):
    root = g.Sqrt(g.Add(g.ReduceMean(g.Pow(x, 2.0), [-1]), epsilon))
    return g.Mul(g.Mul(x, g.Reciprocal(root)), gain)


def gelu_by_erf(g, x):
    """As PyTorch exports it."""
    return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, 2 ** 0.5)), 1.0)), 0.5)


def gelu_by_erf_halved_first(g, x):
    return g.Mul(g.Mul(x, 0.5), g.Add(g.Erf(g.Mul(x, 0.5 ** 0.5)), 1.0))


def gelu_by_tanh(g, x):
    inner = g.Add(x, g.Mul(g.Pow(x, 3.0), 0.044715))
    return g.Mul(g.Mul(x, 0.5), g.Add(g.Tanh(g.Mul(inner, (2 / np.pi) ** 0.5)), 1.0))


def gelu_by_tanh_of_products(g, x):
    cube = g.Mul(g.Mul(x, x), x)
    inner = g.Mul(g.Add(x, g.Mul(cube, 0.044715)), (2 / np.pi) ** 0.5)
    return g.Mul(x, g.Mul(g.Add(g.Tanh(inner), 1.0), 0.5))


def block(random, activation, approximate):
    gain, offset = random.positive(WIDTH), random(WIDTH)
    w1, b1, w2, b2 = random(WIDTH, WIDE), random(WIDE), random(WIDE, WIDTH), random(WIDTH)

    def given(g, x):
        t = layer_norm_written_out(g, x, gain, offset)
        return g.Add(x, g.linear(activation(g, g.linear(t, w1, b1)), w2, b2))

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-5)
        t = g.Gelu(g.linear(t, w1, b1), approximate=approximate)
        return g.Add(x, g.linear(t, w2, b2))
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def feed_forward_with_gelu(random):
    return block(random, gelu_by_erf, "none")


@network(x=(1, POSITIONS, WIDTH))
def feed_forward_with_gelu_halved_first(random):
    return block(random, gelu_by_erf_halved_first, "none")


@network(x=(1, POSITIONS, WIDTH))
def feed_forward_with_gelu_by_tanh(random):
    return block(random, gelu_by_tanh, "tanh")


@network(x=(1, POSITIONS, WIDTH))
def feed_forward_with_gelu_of_products(random):
    return block(random, gelu_by_tanh_of_products, "tanh")


@network(x=(1, POSITIONS, WIDTH))
def feed_forward_normalized_behind(random):
    """As in BERT: the norm is behind the sum."""
    gain, offset = random.positive(WIDTH), random(WIDTH)
    w1, b1, w2, b2 = random(WIDTH, WIDE), random(WIDE), random(WIDE, WIDTH), random(WIDTH)

    def total(g, x, activation):
        return g.Add(g.linear(activation(g.linear(x, w1, b1)), w2, b2), x)

    def given(g, x):
        t = total(g, x, lambda t: gelu_by_erf(g, t))
        return layer_norm_written_out(g, t, gain, offset, 1e-12)

    def expert(g, x):
        return g.LayerNormalization(total(g, x, g.Gelu), gain, offset, axis=-1, epsilon=1e-12)
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def swiglu_with_rms_norm(random):
    gain, gate, up = random.positive(WIDTH), random(WIDTH, WIDE), random(WIDTH, WIDE)
    down = random(WIDE, WIDTH)

    def layer(g, x, t):
        a = g.MatMul(t, gate)
        wide = g.Mul(g.Mul(a, g.Sigmoid(a)), g.MatMul(t, up))
        return g.Add(x, g.MatMul(wide, down))

    def given(g, x):
        return layer(g, x, rms_norm_written_out(g, x, gain))

    def expert(g, x):
        return layer(g, x, g.RMSNormalization(x, gain, axis=-1, epsilon=1e-6))
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def two_rms_norms_and_projections(random):
    """A block of Llama without attention: both its norms, divided instead of multiplied."""
    gains = [random.positive(WIDTH) for _ in range(2)]
    w = [random(WIDTH, WIDTH) for _ in range(2)]

    def norm(g, x, gain):
        square = g.ReduceMean(g.Mul(x, x), [-1])
        return g.Mul(gain, g.Div(x, g.Sqrt(g.Add(square, 1e-5))))

    def given(g, x):
        for i in range(2):
            x = g.Add(x, g.MatMul(norm(g, x, gains[i]), w[i]))
        return x

    def expert(g, x):
        for i in range(2):
            t = g.RMSNormalization(x, gains[i], axis=-1, epsilon=1e-5)
            x = g.Add(x, g.MatMul(t, w[i]))
        return x
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def geglu(random):
    w1, b1, w2 = random(WIDTH, 2 * WIDE), random(2 * WIDE), random(WIDE, WIDTH)

    def given(g, x):
        value, gate = g.Split(g.linear(x, w1, b1), [WIDE, WIDE], axis=-1, results=2)
        return g.MatMul(g.Mul(value, gelu_by_erf(g, gate)), w2)

    def expert(g, x):
        gate = g.Gelu(g.linear(x, w1[:, WIDE:], b1[WIDE:]))
        return g.MatMul(g.Mul(g.linear(x, w1[:, :WIDE], b1[:WIDE]), gate), w2)
    return given, expert


@network(x=(1, 32, 28, 28))
def mish_block(random):
    w = [random(32, 32, 3, 3) for _ in range(2)]

    def layers(g, x, softplus):
        for weight in w:
            t = g.Conv(x, weight, pads=[1, 1, 1, 1])
            x = g.Mul(t, g.Tanh(softplus(t)))
        return x

    def given(g, x):
        return layers(g, x, lambda t: g.Log(g.Add(g.Exp(t), 1.0)))

    def expert(g, x):
        return layers(g, x, g.Softplus)
    return given, expert


@network(x=(1, 16, 28, 28))
def inverted_residual_with_hard_swish(random):
    w1, wd, w2 = random(64, 16, 1, 1), random(64, 1, 3, 3), random(16, 64, 1, 1)
    norms = [random.norm(64), random.norm(64), random.norm(16)]

    def written_out(g, x):
        return g.Div(g.Mul(x, g.Clip(g.Add(x, 3.0), np.float32(0), np.float32(6))), 6.0)

    def given(g, x):
        t = written_out(g, g.BatchNormalization(g.Conv(x, w1), *norms[0]))
        t = g.Conv(t, wd, pads=[1, 1, 1, 1], group=64)
        t = written_out(g, g.BatchNormalization(t, *norms[1]))
        return g.Add(x, g.BatchNormalization(g.Conv(t, w2), *norms[2]))

    def expert(g, x):
        t = g.HardSwish(g.Conv(x, *folded(w1, norms[0])))
        t = g.HardSwish(g.Conv(t, *folded(wd, norms[1]), pads=[1, 1, 1, 1], group=64))
        return g.Add(x, g.Conv(t, *folded(w2, norms[2])))
    return given, expert


@network(x=(64, WIDTH))
def perceptron_with_batch_norms(random):
    w = [random(WIDTH, WIDTH) for _ in range(3)]
    b, norms = [random(WIDTH) for _ in range(3)], [random.norm(WIDTH) for _ in range(3)]

    def given(g, x):
        for i in range(3):
            x = g.Relu(g.BatchNormalization(g.linear(x, w[i], b[i]), *norms[i]))
        return x

    def expert(g, x):
        for i in range(3):
            weight, bias = folded(w[i].T, norms[i], bias=b[i])
            x = g.Relu(g.linear(x, weight.T, bias))
        return x
    return given, expert


@network(x=(1, POSITIONS, WIDTH))
def layer_scale_behind_norm_and_projection(random):
    """A residual branch as in CaiT and ConvNeXt: scaled by a learned factor for each channel."""
    gain, offset, scale = random.positive(WIDTH), random(WIDTH), random(WIDTH)
    w1, b1, w2, b2 = random(WIDTH, WIDE), random(WIDE), random(WIDE, WIDTH), random(WIDTH)

    def given(g, x):
        t = layer_norm_written_out(g, x, gain, offset, 1e-6)
        t = gelu_by_erf_halved_first(g, g.linear(t, w1, b1))
        return g.Add(x, g.Mul(scale, g.linear(t, w2, b2)))

    def expert(g, x):
        t = g.LayerNormalization(x, gain, offset, axis=-1, epsilon=1e-6)
        t = g.Gelu(g.linear(t, w1, b1))
        return g.Add(x, g.linear(t, w2 * scale, b2 * scale))
    return given, expert

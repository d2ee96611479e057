"""Two networks for each of six classes of changes: written-out norms and activations (a), equal
siblings (b), slices, gathers and reductions that move (c), re-parameterization (d), scales and
permutations (e), orders that block each other (f)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


# (a) Norms and activations written out by exporters.

@network(x=(1, 12, 12, 64))
def residual_block_of_flax_vqgan(random):
    """VQGAN (Esser et al. 2021) in Flax by jax2tf: group norms from squares, written swish."""
    norms = [(random.positive(64), random(64)) for _ in range(2)]
    kernels, biases = [random(64, 64, 3, 3) for _ in range(2)], [random(64) for _ in range(2)]
    epsilon = np.full(1, 1e-6, np.float32)

    def given(g, x):
        def per_channel(t):
            return g.Reshape(g.Expand(t, [1, 1, 1, 8, 8]), [1, 1, 1, 64])

        def part(t, k):
            groups = g.Reshape(t, [1, 12, 12, 8, 8])
            mean, square = (g.ReduceMean(u, [1, 2, 4]) for u in (groups, g.Mul(groups, groups)))
            variance = g.Max(g.Sub(square, g.Mul(mean, mean)), 0.0)
            factor = g.Reciprocal(g.Sqrt(g.Add(per_channel(variance), epsilon)))
            factor = g.Mul(factor, norms[k][0])
            t = g.Add(g.Mul(g.Sub(t, per_channel(mean)), factor), norms[k][1])
            t = g.Mul(t, g.Div(1.0, g.Add(g.Exp(g.Neg(t)), 1.0)))
            t = g.Conv(g.Transpose(t, perm=[0, 3, 1, 2]), kernels[k], pads=[1, 1, 1, 1])
            return g.Add(g.Transpose(t, perm=[0, 2, 3, 1]), biases[k])
        return g.Add(x, part(part(x, 0), 1))

    def expert(g, x):
        # A variance is never negative. A group norm is a layer norm over channels and pixels of a
        # group with a broadcast scale, 1 / (1 + exp(-t)) a sigmoid; one layout serves all.
        def part(t, k):
            scale, offset = (value.reshape(8, 8, 1) for value in norms[k])
            t = g.Reshape(t, [1, 8, 8, 144])
            t = g.LayerNormalization(t, scale, offset, axis=2, epsilon=1e-6)
            t = g.Reshape(t, [1, 64, 12, 12])
            return g.Conv(g.Mul(t, g.Sigmoid(t)), kernels[k], biases[k], pads=[1, 1, 1, 1])
        x = g.Transpose(x, perm=[0, 3, 1, 2])
        return g.Transpose(g.Add(x, part(part(x, 0), 1)), perm=[0, 2, 3, 1])
    return given, expert


@network(x=(1, 16, 64))
def image_tokens_enter_pali_gemma(random):
    """PaliGemma 2 (Steiner et al. 2024) in Keras by tf2onnx: image encoder's end, gated layer."""
    w1, b1, w2, b2 = random(64, 128), random(128), random(128, 64), random(64)
    (s1, o1), (s2, o2) = ((random.positive(64), random(64)) for _ in range(2))
    wp, bp, gate, up = random(64, 48), random(48), random(48, 96), random(48, 96)
    down = random(96, 48)
    before, behind = ((random(48) * 0.5).astype(np.float16) for _ in range(2))
    epsilon = np.full((1, 1, 1), 1e-6, np.float32)

    def given(g, x):
        def layer_norm(t, scale, offset):
            mean = g.ReduceMean(t, [2])
            moved = g.Sub(t, mean)
            variance = g.ReduceMean(g.Mul(moved, moved), [2])
            factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, epsilon))), scale)
            return g.Add(g.Mul(t, factor), g.Sub(offset, g.Mul(mean, factor)))

        def rms_norm(t, scale):
            square = g.ReduceMean(g.Pow(t, 2.0), [2])
            t = g.Mul(t, g.Pow(g.Add(square, epsilon), -0.5))
            return g.Mul(t, g.Add(1.0, g.Cast(scale, to=1)))
        t = g.linear(layer_norm(x, s1, o1), w1, b1)
        t = g.Mul(g.Mul(0.5, t), g.Sub(1.0, g.Erf(g.Mul(g.Neg(t), 0.5 ** 0.5))))
        t = layer_norm(g.Add(x, g.linear(t, w2, b2)), s2, o2)
        x = g.linear(t, wp, bp)
        t = rms_norm(x, before)
        u = g.MatMul(t, gate)
        inner = g.Mul((2 / np.pi) ** 0.5, g.Add(u, g.Mul(0.044715, g.Mul(g.Mul(u, u), u))))
        u = g.Mul(u, g.Mul(0.5, g.Add(1.0, g.Tanh(inner))))
        return g.Add(x, rms_norm(g.MatMul(g.Mul(u, g.MatMul(t, up)), down), behind))

    def expert(g, x):
        # Each norm and each GELU is an operator, gate and value are one product.
        def rms_norm(t, scale):
            return g.RMSNormalization(t, 1 + scale.astype(np.float64), axis=-1, epsilon=1e-6)
        t = g.LayerNormalization(x, s1, o1, axis=-1, epsilon=1e-6)
        t = g.MatMul(g.Gelu(g.linear(t, w1, b1)), w2)
        t = g.LayerNormalization(g.Add(t, g.Add(x, b2)), s2, o2, axis=-1, epsilon=1e-6)
        x = g.linear(t, wp, bp)
        t = g.MatMul(rms_norm(x, before), side_by_side(gate, up))
        u, v = g.Split(t, [96, 96], axis=2, results=2)
        t = g.MatMul(g.Mul(g.Gelu(u, approximate="tanh"), v), down)
        return g.Add(x, rms_norm(t, behind))
    return given, expert


# (b) Independent siblings of equal shapes.

@network(state=(16, 17), action=(16, 6))
def ten_residual_critics(random):
    """Critics of REDQ (Chen et al. 2021) with blocks of BRO (Nauman et al. 2024), torch.onnx."""
    critics = [dict(w=[random(23, 32), random(32, 32), random(32, 32), random(32, 1)],
                    b=[random(32), random(32), random(32), random(1)],
                    scale=[random.positive(32) for _ in range(3)],
                    offset=[random(32) for _ in range(3)]) for _ in range(10)]

    def given(g, state, action):
        values, x = [], g.Concat(state, action, axis=1)
        for critic in critics:
            def layer(t, k):
                t = g.linear(t, critic["w"][k], critic["b"][k])
                return g.LayerNormalization(t, critic["scale"][k], critic["offset"][k], axis=-1)
            t = g.Relu(layer(x, 0))
            t = g.Add(layer(g.Relu(layer(t, 1)), 2), t)
            values.append(g.linear(t, critic["w"][3], critic["b"][3]))
        return g.ReduceMin(g.Concat(*values, axis=1), [1])

    def expert(g, state, action):
        # Critics are items of a batch: scale and offset of a norm have an item for each, too.
        def stacked(kind, k):
            whole = np.stack([critic[kind][k] for critic in critics])
            return whole if kind == "w" else whole[:, None]

        def layer(t, k):
            t = g.linear(t, stacked("w", k), stacked("b", k))
            return g.LayerNormalization(t, stacked("scale", k), stacked("offset", k), axis=-1)
        t = g.Relu(layer(g.Concat(state, action, axis=1), 0))
        t = g.Add(layer(g.Relu(layer(t, 1)), 2), t)
        return g.ReduceMin(g.linear(t, stacked("w", 3), stacked("b", 3)), [0], keepdims=0)
    return given, expert


@network(x=(2, 12, 96))
def branch_for_each_lead_of_a_cardiogram(random):
    """A branch for each of 12 leads as in MLBF-Net (Zhang et al. 2021), by torch.onnx."""
    first, c1 = [random(6, 1, 7) for _ in range(12)], [random(6) for _ in range(12)]
    second, c2 = [random(6, 6, 5) for _ in range(12)], [random(6) for _ in range(12)]
    norms, scales = [random.norm(6) for _ in range(12)], [random.positive(6) for _ in range(12)]
    offsets, weight, bias = [random(6) for _ in range(12)], random(72, 5), random(5)

    def given(g, x):
        means = []
        for k, t in enumerate(g.Split(x, [1] * 12, axis=1, results=12)):
            t = g.BatchNormalization(g.Conv(t, first[k], c1[k], pads=[3, 3]), *norms[k])
            t = g.Div(g.Mul(t, g.Clip(g.Add(t, 3.0), 0.0, 6.0)), 6.0)
            u = g.Conv(t, second[k], c2[k], pads=[2, 2])
            u = g.Relu(g.Add(g.InstanceNormalization(u, scales[k], offsets[k]), t))
            means.append(g.ReduceMean(u, [2], keepdims=0))
        return g.linear(g.Concat(*means, axis=1), weight, bias)

    def expert(g, x):
        # Leads are groups. Norms that follow are in the kernels; a bias before an instance norm is
        # taken away with the mean.
        pairs = [folded(w, n, bias=b) for w, n, b in zip(first, norms, c1)]
        t = g.Conv(x, *(np.concatenate(part) for part in zip(*pairs)), group=12, pads=[3, 3])
        t = g.HardSwish(t)
        u = g.Conv(t, np.concatenate(second), group=12, pads=[2, 2])
        u = g.InstanceNormalization(u, np.concatenate(scales), np.concatenate(offsets))
        u = g.ReduceMean(g.Relu(g.Add(u, t)), [2], keepdims=0)
        return g.linear(u, weight, bias)
    return given, expert


# (c) Slices, gathers and reductions that move.

@network(x=(1, 49, 64))
def averaged_patches_beside_registers(random):
    """End of a ViT with 16 registers (Darcet et al. 2023), global_pool=avg in timm, torch.onnx."""
    wqkv, bqkv, wo, bo = random(64, 192), random(192), random(64, 64), random(64)
    w1, b1, w2, b2, head, last = *(random(64, 256), random(256)), *(random(256, 64), random(64)), \
        random(64, 20), random(20)
    norms = [(random.positive(64), random(64)) for _ in range(3)]
    g1, g2 = random.positive(64), random.positive(64)

    def given(g, x):
        def norm(t, k):
            t = g.Sub(t, g.ReduceMean(t, [-1]))
            t = g.Div(t, g.Sqrt(g.Add(g.ReduceMean(g.Pow(t, 2.0), [-1]), 1e-6)))
            return g.Add(g.Mul(t, norms[k][0]), norms[k][1])
        t = g.Reshape(g.linear(norm(x, 0), wqkv, bqkv), [1, 49, 3, 4, 16])
        t = g.Transpose(t, perm=[2, 0, 3, 1, 4])
        q, k, v = (g.Squeeze(part, [0]) for part in g.Split(t, [1, 1, 1], axis=0, results=3))
        p = g.MatMul(g.Mul(q, 0.25), g.Transpose(k, perm=[0, 1, 3, 2]))
        o = g.Transpose(g.MatMul(g.Softmax(p, axis=-1), v), perm=[0, 2, 1, 3])
        x = g.Add(x, g.Mul(g.linear(g.Reshape(o, [1, 49, 64]), wo, bo), g1))
        t = g.linear(norm(x, 1), w1, b1)
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
        x = g.Add(x, g.Mul(g.linear(t, w2, b2), g2))
        x = g.ReduceMean(g.Slice(x, [17], [49], [1]), [1], keepdims=0)
        return g.linear(norm(x, 2), head, last)

    def expert(g, x):
        # Prefix tokens are keys and values only. The mean goes up through the second layer, then
        # of one row. A bias of keys changes no softmax, that of values passes it.
        def norm(t, k):
            return g.LayerNormalization(t, *norms[k], axis=-1, epsilon=1e-6)
        weight = np.concatenate([wqkv[:, :64] / 4, wqkv[:, 64:]], axis=1)
        q, k, v = g.Split(g.MatMul(norm(x, 0), weight), [64] * 3, axis=2, results=3)
        q = g.Add(g.Slice(q, [17], [49], [1]), bqkv[:64] / 4)
        q, k, v = g.Reshape(q, [32, 4, 16]), g.Reshape(k, [49, 4, 16]), g.Reshape(v, [49, 4, 16])
        p = g.Softmax(g.Einsum(q, k, equation="qhd,khd->hqk"), axis=-1)
        o = g.MatMul(g.Reshape(g.Einsum(p, v, equation="hqk,khd->qhd"), [1, 32, 64]), wo * g1)
        bias = (bqkv[128:] @ wo + bo) * g1
        x = g.Add(o, g.Add(g.Slice(x, [17], [49], [1]), bias))
        t = g.ReduceMean(g.Gelu(g.linear(norm(x, 1), w1, b1)), [1], keepdims=0)
        x = g.Add(g.linear(t, w2 * g2, b2 * g2), g.ReduceMean(x, [1], keepdims=0))
        return g.linear(norm(x, 2), head, last)
    return given, expert


@network(x=(96, 48))
def seeds_of_sampled_pin_sage(random):
    """PinSage (Ying et al. 2018) on a tree sampled by PyG for five seeds, by torch.onnx."""
    wide, hops = [48, 64, 64], [5, 37, 96]
    pick = random.generator
    target = np.repeat(np.arange(37), 8)
    source = np.concatenate([pick.permutation(np.r_[5:37, pick.integers(5, 37, 8)]),
                             pick.integers(0, 96, 256)])
    alpha = pick.uniform(0.1, 1.0, (296, 1))
    total = np.full((96, 1), 1e-8)
    np.add.at(total, target, alpha)
    messages = [(random(wide[k], 64), random(64)) for k in range(2)]
    updates = [(random(wide[k] + 64, 64), random(64)) for k in range(2)]
    (w1, b1), w2 = (random(64, 64), random(64)), random(64, 32)

    def given(g, x):
        for message, update in zip(messages, updates):
            t = g.Mul(g.Relu(g.linear(g.Gather(x, source, axis=0), *message)), alpha)
            index = np.repeat(target[:, None], 64, axis=1)
            t = g.ScatterElements(np.zeros((96, 64)), index, t, axis=0, reduction="add")
            x = g.Relu(g.linear(g.Concat(x, g.Div(t, total), axis=1), *update))
            x = g.Div(x, g.Sqrt(g.Add(g.ReduceSum(g.Mul(x, x), [1]), 1e-6)))
        return g.MatMul(g.Relu(g.linear(g.Slice(x, [0], [5], [0]), w1, b1)), w2)

    def expert(g, x):
        # Messages depend on their source alone: they are computed for nodes and mixed by a matrix,
        # each layer only for nodes that are read. Dividing by a length is an RMS norm.
        mix = np.zeros((96, 96))
        np.add.at(mix, (target, source), alpha[:, 0])
        mix = mix / total
        for k in range(2):
            own, count = hops[1 - k], hops[2 - k]
            t = g.MatMul(mix[:own, :count], g.Relu(g.linear(x, *messages[k])))
            x = g.Concat(g.Slice(x, [0], [own], [0]), t, axis=1)
            x = g.Relu(g.linear(x, *updates[k]))
            x = g.RMSNormalization(x, np.full(64, 1 / 8), axis=-1, epsilon=1e-6 / 64)
        return g.MatMul(g.Relu(g.linear(x, w1, b1)), w2)
    return given, expert


# (d) Re-parameterization.

@network(x=(1, 16, 8, 14, 14))
def branches_in_space_and_time(random):
    """Branches of a Diverse Branch Block (Ding et al. 2021) in a video network, by torch.onnx."""
    main, bias, point, behind = random(16, 16, 5, 3, 3), random(16), random(24, 16, 1, 1, 1), \
        random(16, 24, 3, 3, 3)
    space, time, front = random(8, 16, 1, 3, 3), random(16, 8, 5, 1, 1), random(16, 16, 1, 1, 1)
    dilated, norms = random(16, 1, 3, 1, 1), [random.norm(16) for _ in range(6)]

    def given(g, x):
        parts = [g.Conv(x, main, bias, pads=[2, 1, 1] * 2)]
        parts.append(g.Conv(g.Conv(x, point), behind, pads=[1] * 6))
        parts.append(g.Conv(g.Conv(x, space, pads=[0, 1, 1] * 2), time, pads=[2, 0, 0] * 2))
        parts.append(g.AveragePool(g.Conv(x, front), kernel_shape=[3, 3, 3], pads=[1] * 6,
                                   count_include_pad=1))
        parts.append(g.Conv(x, dilated, group=16, dilations=[2, 1, 1], pads=[2, 0, 0] * 2))
        parts.append(x)
        t = g.BatchNormalization(parts[0], *norms[0])
        for part, norm in zip(parts[1:], norms[1:]):
            t = g.Add(t, g.BatchNormalization(part, *norm))
        return g.Relu(t)

    def expert(g, x):
        # All branches are linear, have no bias before padding and fit into the main kernel.
        def fitted(kernel):
            rest = [(whole - size) // 2 for whole, size in zip((5, 3, 3), kernel.shape[2:])]
            return np.pad(kernel, ((0, 0), (0, 0), *((size, size) for size in rest)))
        spread, same = np.zeros((16, 16, 5, 1, 1)), np.eye(16)
        spread[range(16), range(16), ::2] = dilated[:, 0]
        kernels = [main, np.einsum("omtyx,mi->oityx", behind, point[..., 0, 0, 0]),
                   np.einsum("omt,miyx->oityx", time[..., 0, 0], space[:, :, 0]),
                   np.broadcast_to(front / 27, (16, 16, 3, 3, 3)), spread,
                   same[..., None, None, None]]
        pairs = [folded(fitted(kernel), norm, bias=bias if k == 0 else 0.0)
                 for k, (kernel, norm) in enumerate(zip(kernels, norms))]
        return g.Relu(g.Conv(x, *(sum(part) for part in zip(*pairs)), pads=[2, 1, 1] * 2))
    return given, expert


@network(x=(2, 16, 7, 7))
def locality_inside_of_matrices_of_rep_mlp(random):
    """RepMLPNet (Ding et al. 2022) before its local kernels are merged, by torch.onnx."""
    full, one, three = random(196, 49, 1, 1), random(4, 1, 1, 1), random(4, 1, 3, 3)
    norms, before, behind = [random.norm(4) for _ in range(3)], random.norm(16), random.norm(16)
    down, bd, up, bu = random(4, 16, 1, 1), random(4), random(16, 4, 1, 1), random(16)
    w1, n1, w2, n2 = random(48, 16, 1, 1), random.norm(48), random(16, 48, 1, 1), random.norm(16)

    def given(g, x):
        t = g.BatchNormalization(x, *before)
        gate = g.Relu(g.Conv(g.GlobalAveragePool(t), down, bd))
        gate = g.Sigmoid(g.Conv(gate, up, bu))
        t = g.Reshape(t, [8, 4, 7, 7])
        u = g.Conv(g.Reshape(t, [8, 196, 1, 1]), full, group=4)
        u = g.BatchNormalization(g.Reshape(u, [8, 4, 7, 7]), *norms[0])
        near = g.BatchNormalization(g.Conv(t, one, group=4), *norms[1])
        wide = g.BatchNormalization(g.Conv(t, three, group=4, pads=[1, 1, 1, 1]), *norms[2])
        u = g.Reshape(g.Add(g.Add(u, near), wide), [2, 16, 7, 7])
        x = g.Add(x, g.Mul(u, gate))
        t = g.BatchNormalization(g.Conv(g.BatchNormalization(x, *behind), w1), *n1)
        return g.Add(x, g.BatchNormalization(g.Conv(g.Gelu(t), w2), *n2))

    def expert(g, x):
        # A local kernel on 7 by 7 places is a 49 by 49 matrix, padding included, added to the full
        # one. The norm in front differs by channel, so that each channel gets its own matrix.
        (k1, c1), (k3, c3), (matrix, c0) = (
            folded(w, n) for w, n in ((one, norms[1]), (three, norms[2]),
                                      (full.reshape(4, 49, 49), norms[0])))
        local = np.zeros((4, 7, 7, 9, 9))
        for row, column in np.ndindex(7, 7):
            local[:, row, column, row:row + 3, column:column + 3] = k3[:, 0]
        matrix = matrix + local[..., 1:8, 1:8].reshape(4, 49, 49) + k1[:, 0] * np.eye(49)
        (s1, o1), (s2, o2) = (folded(np.ones((16, 1)), norm) for norm in (before, behind))
        matrix, offset = np.tile(matrix, (4, 1, 1)), np.tile(c0 + c1 + c3, 4)[:, None]
        offset = offset + matrix.sum(axis=2) * o1[:, None]
        matrix = (matrix * s1[:, :, None]).reshape(784, 49, 1, 1)
        gate = g.GlobalAveragePool(x)
        gate = g.Conv(gate, down * s1[None, ..., None], bd + down[..., 0, 0] @ o1)
        gate = g.Sigmoid(g.Conv(g.Relu(gate), up, bu))
        t = g.Conv(g.Reshape(x, [2, 784, 1, 1]), matrix, offset.ravel(), group=16)
        x = g.Add(x, g.Mul(g.Reshape(t, [2, 16, 7, 7]), gate))
        wide = folded(w1 * s2[None, ..., None], n1, bias=w1[..., 0, 0] @ o2)
        return g.Add(x, g.Conv(g.Gelu(g.Conv(x, *wide)), *folded(w2, n2)))
    return given, expert


# (e) Scales of rows and columns, permuted channels, Resize and transposed convolutions.

@network(x=(96, 64), chances=(96, 12))
def two_layers_of_hypergraph_network(random):
    """HGNN (Feng et al. 2019) with soft incidence, by torch.onnx, as diagonal matrices."""
    edge, w1, b1 = random.positive(12), random(64, 32), random(32)
    w2, b2 = random(32, 16), random(16)

    def given(g, x, chances):
        h = g.Sigmoid(chances)
        turned, weights = g.Transpose(h, perm=[1, 0]), np.diag(edge)
        nodes = g.Pow(g.ReduceSum(g.Mul(h, edge), [1]), -0.5)
        nodes = g.Mul(np.eye(96), nodes)
        edges = g.Mul(np.eye(12), g.Reciprocal(g.ReduceSum(h, [0])))
        t = g.MatMul(g.MatMul(g.MatMul(nodes, h), weights), edges)
        matrix = g.MatMul(g.MatMul(t, turned), nodes)
        x = g.Relu(g.Add(g.MatMul(matrix, g.MatMul(x, w1)), b1))
        return g.Add(g.MatMul(matrix, g.MatMul(x, w2)), b2)

    def expert(g, x, chances):
        # Diagonal matrices are scales of a thin matrix. No matrix of nodes by nodes is built:
        # features are summed on 12 edges, meet the weights there, and are spread again.
        h = g.Sigmoid(chances)
        scaled = g.Mul(h, g.Pow(g.MatMul(h, edge[:, None]), -0.5))
        spread = g.Mul(scaled, g.Div(edge, g.ReduceSum(h, [0])))

        def layer(t, weight, bias):
            t = g.MatMul(spread, g.MatMul(g.Gemm(scaled, t, transA=1), weight))
            return g.Add(t, bias)
        return layer(g.Relu(layer(x, w1, b1)), w2, b2)
    return given, expert


@network(x=(1, 48, 10, 10))
def enlarging_decoder_with_shuffled_channels(random):
    """Decoder of key points like LPN (Zhang et al. 2019) with shuffled groups, by torch.onnx."""
    enlarge, behind, side = random(48, 1, 2, 2), random(32, 48, 1, 1), random(32, 48, 1, 1)
    grouped, deep, last = random(32, 8, 1, 1), random(32, 1, 3, 3), random(17, 32, 1, 1)
    ne, nb, ns, ng, nd, bias = *(random.norm(n) for n in (48, 32, 32, 32, 32)), random(17)

    def given(g, x):
        def shuffle(t, channels):
            t = g.Reshape(t, [1, 4, channels // 4, 20, 20])
            return g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3, 4]), [1, channels, 20, 20])
        t = g.BatchNormalization(g.ConvTranspose(x, enlarge, group=48, strides=[2, 2]), *ne)
        t = g.BatchNormalization(g.Conv(shuffle(t, 48), behind), *nb)
        scales = np.array([1, 1, 2, 2], np.float32)
        u = g.Resize(x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
        t = g.Relu(g.Add(t, g.BatchNormalization(g.Conv(u, side), *ns)))
        t = g.BatchNormalization(g.Conv(shuffle(t, 32), grouped, group=4), *ng)
        t = g.Conv(shuffle(t, 32), deep, group=32, pads=[1, 1, 1, 1])
        return g.Conv(g.Relu(g.BatchNormalization(t, *nd)), last, bias)

    def expert(g, x):
        # A shuffle is an order of rows or columns of weights around it. The depthwise layer and
        # the one behind are one transposed convolution; the side branch is mapped, then enlarged.
        def order(channels):
            return np.arange(channels).reshape(4, -1).T.ravel()
        first, second = np.argsort(order(48)), order(32)
        dense, shift = folded(behind, nb)
        scale, offset = folded(np.ones((48, 1)), ne)
        dense, shift = dense[:, first, 0, 0], shift + dense[:, first, 0, 0] @ offset
        kernel = np.einsum("oi,iyx->ioyx", dense * scale[:, 0], enlarge[:, 0])
        beside, more = folded(side, ns)
        t = g.ConvTranspose(x, kernel[:, second], (shift + more)[second], strides=[2, 2])
        scales = np.array([1, 1, 2, 2], np.float32)
        u = g.Resize(g.Conv(x, beside[second]), "", scales, mode="linear",
                     coordinate_transformation_mode="half_pixel")
        t = g.Conv(g.Relu(g.Add(t, u)), *folded(grouped, ng), group=4)
        back = np.argsort(second)
        kernel, shift = folded(deep, nd)
        t = g.Conv(t, kernel[back], shift[back], group=32, pads=[1, 1, 1, 1])
        return g.Conv(g.Relu(t), last[:, back], bias)
    return given, expert


# (f) Orders that block each other, and unrolled cells.

@network(x=(1, 24, 48))
def attention_with_rotated_inputs_of_oft(random):
    """Orthogonal fine-tuning (Qiu et al. 2023) as in PEFT, rotations by a series, torch.onnx."""
    free = [0.3 * random(6, 8, 8) for _ in range(4)]
    weights, biases = [random(48, 48) for _ in range(4)], [random(48) for _ in range(4)]
    scale, offset = random.positive(48), random(48)

    def given(g, x):
        def projected(t, k):
            skew = g.Sub(free[k], g.Transpose(free[k], perm=[0, 2, 1]))
            power, turn = skew, g.Add(np.eye(8), g.Mul(skew, 2.0))
            for _ in range(2):
                power = g.MatMul(power, skew)
                turn = g.Add(turn, g.Mul(power, 2.0))
            turn = g.Add(turn, g.MatMul(power, skew))
            t = g.Einsum(g.Reshape(t, [1, 24, 6, 8]), turn, equation="btrk,rkc->btrc")
            return g.linear(g.Reshape(t, [1, 24, 48]), weights[k], biases[k])

        def heads(t, perm):
            return g.Transpose(g.Reshape(t, [1, 24, 4, 12]), perm=perm)
        t = g.LayerNormalization(x, scale, offset, axis=-1)
        q, k = heads(projected(t, 0), [0, 2, 1, 3]), heads(projected(t, 1), [0, 2, 3, 1])
        v = heads(projected(t, 2), [0, 2, 1, 3])
        p = g.Softmax(g.Div(g.MatMul(q, k), 12 ** 0.5), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(p, v), perm=[0, 2, 1, 3]), [1, 24, 48])
        return g.Add(x, projected(o, 3))

    def expert(g, x):
        # Constant rotations go into their projections first, only then three projections are one.
        # A bias of keys changes nothing, that of values is one of the result.
        def turned(k):
            skew = free[k] - free[k].transpose(0, 2, 1)
            two = skew @ skew
            turn = np.eye(8) + 2 * skew + 2 * two + 2 * two @ skew + two @ two
            return block_diagonal(list(turn)) @ weights[k]
        t = g.LayerNormalization(x, scale, offset, axis=-1)
        t = g.MatMul(t, side_by_side(turned(0) / 12 ** 0.5, turned(1), turned(2)))
        q, k, v = g.Split(t, [48] * 3, axis=2, results=3)
        q = g.Reshape(g.Add(q, biases[0] / 12 ** 0.5), [24, 4, 12])
        k, v = g.Reshape(k, [24, 4, 12]), g.Reshape(v, [24, 4, 12])
        p = g.Softmax(g.Einsum(q, k, equation="qhd,khd->hqk"), axis=-1)
        o = g.Reshape(g.Einsum(p, v, equation="hqk,khd->qhd"), [1, 24, 48])
        out = turned(3)
        return g.Add(g.MatMul(o, out), g.Add(x, biases[2] @ out + biases[3]))
    return given, expert


@network(x=(8, 4, 24))
def eight_steps_of_light_gated_unit(random):
    """Li-GRU (Ravanelli et al. 2018) as in SpeechBrain, eight steps unrolled by torch.onnx."""
    wz, wc, nz, nc = random(24, 32), random(24, 32), random.norm(32), random.norm(32)
    uz, uc = random(32, 32), random(32, 32)

    def given(g, x):
        h, states = np.zeros((4, 32)), []
        for step in range(8):
            now = g.Gather(x, step, axis=0)
            z = g.Add(g.BatchNormalization(g.MatMul(now, wz), *nz), g.MatMul(h, uz))
            c = g.Add(g.BatchNormalization(g.MatMul(now, wc), *nc), g.MatMul(h, uc))
            z = g.Sigmoid(z)
            h = g.Add(g.Mul(z, h), g.Mul(g.Sub(1.0, z), g.Relu(c)))
            states.append(g.Unsqueeze(h, [0]))
        return g.Concat(*states, axis=0)

    def expert(g, x):
        # The input's products are one for all steps and gates, norms included; the state's is one
        # for both gates. With the gate's sign turned, z h + (1 - z) c is h + z' (c - h).
        scale, offset, mean, variance = nz
        first, bz = folded(wz.T, (-scale, -offset, mean, variance))
        second, bc = folded(wc.T, nc)
        t = g.linear(x, side_by_side(first.T, second.T), np.concatenate([bz, bc]))
        h, states, both = None, [], side_by_side(-uz, uc)
        for t in g.Split(t, [1] * 8, axis=0, results=8):
            if h is not None:
                t = g.Add(t, g.MatMul(h, both))
            z, c = g.Split(t, [32, 32], axis=2, results=2)
            z, c = g.Sigmoid(z), g.Relu(c)
            h = g.Mul(z, c) if h is None else g.Add(h, g.Mul(z, g.Sub(c, h)))
            states.append(h)
        return g.Concat(*states, axis=0)
    return given, expert

"""As exporters write them: tf2onnx (DeepLab, Chen et al. 2017; SSD, Liu et al. 2016, as in the object detection API),
JAX (Perceiver, Jaegle et al. 2021), PaddlePaddle (differentiable binarization, Liao et al. 2020), torch.onnx (EGNN,
Satorras et al. 2021; DGCNN, Wang et al. 2019; MeshGraphNets, Pfaff et al. 2021; Swin, Liu et al. 2021)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


@network(x=(1, 32, 32, 48))
def dilated_convolution_of_tensorflow(random):
    """Dilation as space to batch, an undilated convolution, and batch to space; channels last."""
    w1, w2, w3 = random(32, 48, 1, 1), random(32, 32, 3, 3), random(48, 32, 1, 1)
    n1, n2, n3 = random.norm(32), random.norm(32), random.norm(48)

    def given(g, x):
        t = g.Transpose(x, perm=[0, 3, 1, 2])
        t = g.Relu(g.BatchNormalization(g.Conv(t, w1), *n1, epsilon=1e-3))
        t = g.Pad(t, [0, 0, 2, 2, 0, 0, 2, 2])
        t = g.Transpose(g.Reshape(t, [1, 32, 18, 2, 18, 2]), perm=[3, 5, 0, 1, 2, 4])
        t = g.Conv(g.Reshape(t, [4, 32, 18, 18]), w2)
        t = g.Transpose(g.Reshape(t, [2, 2, 1, 32, 16, 16]), perm=[2, 3, 4, 0, 5, 1])
        t = g.Reshape(t, [1, 32, 32, 32])
        t = g.Relu(g.BatchNormalization(t, *n2, epsilon=1e-3))
        t = g.BatchNormalization(g.Conv(t, w3), *n3, epsilon=1e-3)
        return g.Relu(g.Add(g.Transpose(t, perm=[0, 2, 3, 1]), x))

    def expert(g, x):
        (f1, b1), (f2, b2), (f3, b3) = (folded(w, n, 1e-3) for w, n in ((w1, n1), (w2, n2), (w3, n3)))
        t = g.MatMul(f1.reshape(32, 48), g.Transpose(g.Reshape(x, [1, 1024, 48]), perm=[0, 2, 1]))
        t = g.Reshape(g.Relu(g.Add(t, b1[:, None])), [1, 32, 32, 32])
        t = g.Relu(g.Conv(t, f2, b2, pads=[2, 2, 2, 2], dilations=[2, 2]))
        t = g.Transpose(g.Reshape(t, [1, 32, 1024]), perm=[0, 2, 1])
        t = g.Reshape(g.linear(t, f3.reshape(48, 32).T, b3), [1, 32, 32, 48])
        return g.Relu(g.Add(t, x))
    return given, expert


@network(x=(1, 19, 19, 64))
def box_predictor_of_tensorflow(random):
    """Two 1 × 1 kernels over channels last, then boxes from three anchors at each place."""
    wb, wc, bb, bc = random(12, 64, 1, 1), random(21, 64, 1, 1), random(12), random(21)
    y, x0 = np.meshgrid(np.arange(19) + 0.5, np.arange(19) + 0.5, indexing="ij")
    centers = np.repeat(np.stack([y, x0], axis=-1).reshape(361, 2), 3, axis=0) / 19
    sizes = np.tile(np.array([[0.1, 0.1], [0.2, 0.14], [0.14, 0.2]]), (361, 1))
    coder = (10.0, 10.0, 5.0, 5.0)

    def given(g, x):
        t = g.Transpose(x, perm=[0, 3, 1, 2])
        box = g.Reshape(g.Transpose(g.Conv(t, wb, bb), perm=[0, 2, 3, 1]), [1, 1083, 1, 4])
        cls = g.Reshape(g.Transpose(g.Conv(t, wc, bc), perm=[0, 2, 3, 1]), [1, 1083, 7])
        score = g.Slice(g.Sigmoid(cls), [1], [7], [2])
        t = g.Transpose(g.Reshape(g.Squeeze(box, [2]), [1083, 4]), perm=[1, 0])
        ty, tx, th, tw = (g.Squeeze(t, [0]) for t in g.Split(t, axis=0, num_outputs=4, results=4))
        ty, tx, th, tw = (g.Div(t, c) for t, c in zip((ty, tx, th, tw), coder))
        h, w = g.Mul(g.Exp(th), sizes[:, 0].copy()), g.Mul(g.Exp(tw), sizes[:, 1].copy())
        yc = g.Add(g.Mul(ty, sizes[:, 0].copy()), centers[:, 0].copy())
        xc = g.Add(g.Mul(tx, sizes[:, 1].copy()), centers[:, 1].copy())
        hh, hw = g.Div(h, 2.0), g.Div(w, 2.0)
        parts = [g.Sub(yc, hh), g.Sub(xc, hw), g.Add(yc, hh), g.Add(xc, hw)]
        t = g.Transpose(g.Concat(*[g.Unsqueeze(t, [0]) for t in parts], axis=0), perm=[1, 0])
        return g.Unsqueeze(t, [0]), score

    def expert(g, x):
        # Per place: three centers, three halves of sizes, three times six classes.
        def part(w, b, chosen, width):
            return (w.reshape(3, width, 64)[:, chosen].reshape(-1, 64).T, b.reshape(3, width)[:, chosen].ravel())
        size = sizes[:3].ravel()
        (w1, b1), (w2, b2) = part(wb, bb, slice(0, 2), 4), part(wb, bb, slice(2, 4), 4)
        w3, b3 = part(wc, bc, slice(1, 7), 7)
        weight = side_by_side(w1 / 10 * size, w2 / 5, w3)
        bias = side_by_side(b1 / 10 * size, b2 / 5 + np.log(size / 2), b3)
        t = g.linear(g.Reshape(x, [361, 64]), weight, bias)
        c, s, score = g.Split(t, [6, 6, 18], axis=1, results=3)
        c, s = (g.Reshape(t, [1, 1083, 2]) for t in (g.Add(c, centers.reshape(361, 6)), g.Exp(s)))
        return (g.Concat(g.Sub(c, s), g.Add(c, s), axis=2),
                g.Reshape(g.Sigmoid(score), [1, 1083, 6]))
    return given, expert


@network(x=(2, 784, 64))
def latents_that_read_pixels(random):
    """JAX: the queries are weights; sixteen latents and two heads read all pixels."""
    latents = random(16, 64) * 8
    scale, offset, ql, qo = random.positive(64), random(64), random.positive(64), random(64)
    w, b = [random(64, 64) for _ in range(4)], [random(64) for _ in range(4)]

    def given(g, x):
        def norm(t, scale, offset, n):
            mean = g.Reshape(g.Div(g.ReduceSum(t, [2], keepdims=0), 64.0), [2, n, 1])
            square = g.Reshape(g.Div(g.ReduceSum(g.Mul(t, t), [2], keepdims=0), 64.0), [2, n, 1])
            variance = g.Max(0.0, g.Sub(square, g.Mul(mean, mean)))
            factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, 1e-6))), g.Reshape(scale, [1, 1, 64]))
            return g.Add(g.Mul(g.Sub(t, mean), factor), g.Reshape(offset, [1, 1, 64]))

        def layer(t, i):
            t = g.Einsum(t, w[i].reshape(64, 2, 32), equation="bnc,chd->bnhd")
            return g.Add(t, g.Reshape(b[i], [1, 1, 2, 32]))
        t = norm(x, scale, offset, 784)
        z = g.Expand(g.Reshape(latents, [1, 16, 64]), [2, 16, 64])
        q, k, v = layer(norm(z, ql, qo, 16), 0), layer(t, 1), layer(t, 2)
        q = g.Div(q, g.Sqrt(32.0))
        s = g.Einsum(q, k, equation="bqhd,bkhd->bhqk")
        e = g.Exp(g.Sub(s, g.ReduceMax(s, [3])))
        p = g.Div(e, g.ReduceSum(e, [3]))
        o = g.Einsum(p, v, equation="bhqk,bkhd->bqhd")
        o = g.Einsum(o, w[3].reshape(2, 32, 64), equation="bqhd,hde->bqe")
        return g.Add(z, g.Add(o, b[3]))

    def expert(g, x):
        z = latents - latents.mean(1, keepdims=True)
        z = z / np.sqrt((z ** 2).mean(1, keepdims=True) + 1e-6) * ql + qo
        q = (z @ w[0] + b[0]).reshape(16, 2, 32)
        # Rows are pairs of a latent and a head; what all keys share leaves the softmax as it is.
        rows = np.einsum("qhd,chd->qhc", q, w[1].reshape(64, 2, 32)).reshape(32, 64) * scale / 32 ** 0.5
        out = np.einsum("chd,hde->hce", w[2].reshape(64, 2, 32), w[3].reshape(2, 32, 64))
        bias = b[3] + b[2] @ w[3] + np.einsum("c,hce->e", offset, out)
        out = (out * scale[:, None]).reshape(128, 64)
        t = g.LayerNormalization(x, np.ones(64), axis=-1, epsilon=1e-6)
        p = g.Softmax(g.MatMul(rows, g.Transpose(t, perm=[0, 2, 1])), axis=-1)
        o = g.Reshape(g.MatMul(p, t), [2, 16, 128])
        return g.linear(o, out, latents + bias)
    return given, expert


@network(x=(1, 64, 40, 40))
def text_detector_of_paddle(random):
    """Two heads of two transposed convolutions each, and the step between their results."""
    heads = [dict(w=random(16, 64, 3, 3), n=random.norm(16), v=random(16, 16, 2, 2), c=random(16),
                  m=random.norm(16), u=random(16, 1, 2, 2) * 2, e=random(1)) for _ in range(2)]

    def given(g, x):
        maps = []
        for p in heads:
            t = g.Conv(x, p["w"], pads=[1, 1, 1, 1])
            t = g.Relu(g.BatchNormalization(t, *p["n"], epsilon=1e-5))
            t = g.ConvTranspose(t, p["v"], strides=[2, 2])
            t = g.Add(t, g.Reshape(p["c"], [1, 16, 1, 1]))
            t = g.Relu(g.BatchNormalization(t, *p["m"], epsilon=1e-5))
            t = g.Add(g.ConvTranspose(t, p["u"], strides=[2, 2]), g.Reshape(p["e"], [1, 1, 1, 1]))
            maps.append(g.Sigmoid(t))
        t = g.Exp(g.Mul(g.Sub(maps[0], maps[1]), -8.0))
        step = g.Reciprocal(g.Add(t, 1.0))
        return g.Concat(*maps, step, axis=1)

    def expert(g, x):
        (f1, b1), (f2, b2) = (folded(p["w"], p["n"]) for p in heads)
        t = g.Conv(x, np.concatenate([f1, f2]), np.concatenate([b1, b2]), pads=[1, 1, 1, 1])
        t = g.Relu(t)
        # A kernel as large as its stride is a 1 × 1 kernel before the pixels are moved.
        first, second, c, e = [], [], [], []
        for p in heads:
            weight, bias = folded(p["v"].transpose(1, 0, 2, 3), p["m"], bias=p["c"])
            first.append(weight.transpose(2, 3, 0, 1).reshape(64, 16))
            c.append(np.tile(bias, 4))
            part = np.zeros((2, 2, 2, 2, 2, 2, 16))  # rows of 4 × 4 pixels, then columns of 2 × 2
            for i in range(2):
                for k in range(2):
                    part[i, :, k, :, i, k] = p["u"][:, 0].transpose(1, 2, 0)
            second.append(part.reshape(16, 64))
            e.append(np.tile(p["e"], 16))
        t = g.Reshape(t, [32, 1600])
        t = g.Relu(g.linear(block_diagonal(first), t, np.concatenate(c)[:, None]))
        t = g.Sigmoid(g.linear(block_diagonal(second), t, np.concatenate(e)[:, None]))
        a, b = g.Split(t, [16, 16], axis=0, results=2)
        step = g.Sigmoid(g.Mul(g.Sub(a, b), 8.0))
        t = g.Reshape(g.Concat(t, step, axis=0), [1, 48, 40, 40])
        return g.DepthToSpace(t, blocksize=4, mode="CRD")
    return given, expert


@network(h=(64, 32), x=(64, 3))
def equivariant_layer_of_torch(random):
    """Messages between all pairs of atoms from both features and the distance."""
    w1, b1, w2, b2 = random(65, 32), random(32), random(32, 32), random(32)
    w3, b3, w4 = random(32, 32), random(32), random(32, 1)
    w5, b5, w6, b6 = random(64, 32), random(32), random(32, 32), random(32)

    def silu(g, t):
        return g.Mul(t, g.Sigmoid(t))

    def given(g, h, x):
        difference = g.Sub(g.Unsqueeze(x, [1]), g.Unsqueeze(x, [0]))
        distance = g.ReduceSum(g.Pow(difference, 2.0), [2])
        rows = g.Expand(g.Unsqueeze(h, [1]), [64, 64, 32])
        columns = g.Expand(g.Unsqueeze(h, [0]), [64, 64, 32])
        m = silu(g, g.linear(g.Concat(rows, columns, distance, axis=2), w1, b1))
        m = silu(g, g.linear(m, w2, b2))
        factor = g.MatMul(silu(g, g.linear(m, w3, b3)), w4)
        move = g.ReduceMean(g.Mul(difference, factor), [1], keepdims=0)
        total = g.ReduceSum(m, [1], keepdims=0)
        t = silu(g, g.linear(g.Concat(h, total, axis=1), w5, b5))
        return g.Add(h, g.linear(t, w6, b6)), g.Add(x, move)

    def expert(g, h, x):
        difference = g.Sub(g.Unsqueeze(x, [1]), g.Unsqueeze(x, [0]))
        distance = g.Unsqueeze(g.Einsum(difference, difference, equation="ijd,ijd->ij"), [2])
        # What each row adds is written for all columns by its product, to which the rest is added.
        columns = g.Unsqueeze(g.linear(h, w1[32:64], b1), [0])
        rows = np.repeat(w1[:32, None], 64, axis=1)
        m = g.Add(g.Einsum(h, rows, equation="ic,cje->ije"), columns)
        m = g.Add(g.MatMul(distance, w1[64:]), m)
        m = silu(g, g.linear(silu(g, m), w2, b2))
        factor = g.MatMul(silu(g, g.linear(m, w3, b3)), w4 / 64)
        move = g.Einsum(difference, g.Squeeze(factor, [2]), equation="ijd,ij->id")
        own = g.linear(h, w5[:32], b5)
        t = silu(g, g.Add(g.Einsum(m, w5[32:], equation="ijc,ce->ie"), own))
        return g.Add(h, g.linear(t, w6, b6)), g.Add(x, move)
    return given, expert


@network(x=(512, 32))
def edges_to_nearest_points_of_torch(random):
    """A layer of each of eight differences to the nearest points, of which the largest are kept."""
    w, norm = random(64, 64, 1, 1), random.norm(64)

    def given(g, x):
        products = g.Mul(g.MatMul(x, g.Transpose(x, perm=[1, 0])), -2.0)
        square = g.ReduceSum(g.Pow(x, 2.0), [1])
        near = g.Sub(g.Sub(g.Neg(square), products), g.Transpose(square, perm=[1, 0]))
        _, index = g.TopK(near, [8], axis=1, results=2)
        feature = g.Reshape(g.Gather(x, g.Reshape(index, [4096]), axis=0), [1, 512, 8, 32])
        own = g.Expand(g.Reshape(x, [1, 512, 1, 32]), [1, 512, 8, 32])
        t = g.Transpose(g.Concat(g.Sub(feature, own), own, axis=3), perm=[0, 3, 1, 2])
        t = g.LeakyRelu(g.BatchNormalization(g.Conv(t, w), *norm, epsilon=1e-5), alpha=0.2)
        return g.ReduceMax(t, [3], keepdims=0)

    def expert(g, x):
        square = g.ReduceSum(g.Mul(x, x), [1])
        near = g.Sub(g.Gemm(x, x, transB=1, alpha=2.0), square)
        near = g.Sub(near, g.Reshape(square, [1, 512]))
        _, index = g.TopK(near, [8], axis=1, results=2)
        f, b = folded(w, norm)
        f = f.reshape(64, 64).T
        t = g.linear(x, side_by_side(f[:32], f[32:] - f[:32]), np.concatenate([0 * b, b]))
        far, own = g.Split(t, [64, 64], axis=1, results=2)
        # A maximum can be taken before what is added to all and before what never falls.
        t = g.Add(g.ReduceMax(g.Gather(far, index, axis=0), [1], keepdims=0), own)
        return g.Reshape(g.Transpose(g.LeakyRelu(t, alpha=0.2), perm=[1, 0]), [1, 64, 512])
    return given, expert


@network(nodes=(1024, 128), edges=(6144, 128))
def step_of_mesh_simulation_of_torch(random):
    """Edges read both of their nodes, nodes read the sum of their edges; the mesh is fixed."""
    sender, receiver = (random.generator.integers(0, 1024, 6144) for _ in range(2))
    w1, b1, w2, b2 = random(384, 128), random(128), random(128, 128), random(128)
    w3, b3, w4, b4 = random(256, 128), random(128), random(128, 128), random(128)

    def given(g, nodes, edges):
        t = g.Concat(g.Gather(nodes, sender, axis=0), g.Gather(nodes, receiver, axis=0), edges, axis=1)
        t = g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2)
        index = np.tile(receiver[:, None], (1, 128))
        total = g.ScatterElements(np.zeros((1024, 128)), index, t, axis=0, reduction="add")
        y = g.linear(g.Relu(g.linear(g.Concat(nodes, total, axis=1), w3, b3)), w4, b4)
        return g.Add(nodes, y), g.Add(edges, t)

    def expert(g, nodes, edges):
        # Nodes are mapped once, not once an edge; a layer and a sum over edges are both linear.
        both = np.stack([w1[:128], w1[128:256]]).transpose(1, 0, 2).reshape(128, 256)
        t = g.Reshape(g.linear(nodes, both, np.concatenate([b1, 0 * b1])), [2048, 128])
        first, second = g.Gather(t, 2 * sender, axis=0), g.Gather(t, 2 * receiver + 1, axis=0)
        t = g.Relu(g.Add(g.Add(g.MatMul(edges, w1[256:]), first), second))
        t = g.linear(t, w2, b2)
        index = np.tile(receiver[:, None], (1, 128))
        total = g.ScatterElements(np.zeros((1024, 128)), index, t, axis=0, reduction="add")
        y = g.linear(g.Relu(g.linear(g.Concat(nodes, total, axis=1), w3, b3)), w4, b4)
        return g.Add(nodes, y), g.Add(edges, t)
    return given, expert


@network(x=(1, 3136, 32))
def merging_of_patches_of_torch(random):
    """Four strided slices, a norm of four patches and a layer that halves the channels."""
    scale, offset, w = random.positive(128), random(128), random(128, 64)

    def given(g, x):
        t = g.Reshape(x, [1, 56, 56, 32])

        def part(row, column):
            u = g.Slice(t, [row], [56], [1], [2])
            return g.Slice(u, [column], [56], [2], [2])
        t = g.Concat(part(0, 0), part(1, 0), part(0, 1), part(1, 1), axis=3)
        t = g.Reshape(t, [1, 784, 128])
        d = g.Sub(t, g.ReduceMean(t, [2]))
        variance = g.ReduceMean(g.Pow(d, 2.0), [2])
        t = g.Div(d, g.Sqrt(g.Add(variance, 1e-5)))
        return g.MatMul(g.Add(g.Mul(t, scale), offset), w)

    def expert(g, x):
        order = np.arange(128).reshape(2, 2, 32).transpose(1, 0, 2).ravel()
        t = g.Transpose(g.Reshape(x, [28, 2, 28, 64]), perm=[0, 2, 1, 3])
        t = g.LayerNormalization(g.Reshape(t, [1, 784, 128]), np.ones(128), axis=-1, epsilon=1e-5)
        return g.linear(t, scale[order, None] * w[order], offset @ w)
    return given, expert

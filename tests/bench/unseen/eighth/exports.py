"""As exporters write them. torch.onnx: FCOS (Tian et al. 2019), Conformer (Gulati et al. 2020), CaiT
(Touvron et al. 2021), DiffPool (Ying et al. 2018). tf2onnx: EfficientDet (Tan et al. 2020), xDeepFM (Lian et
al. 2018), Attention U-Net (Oktay et al. 2018), StyleGAN2 (Karras et al. 2020). numpy and JAX: GPT-2 (Radford
et al. 2019, as in picoGPT), slot attention (Locatello et al. 2020), RetNet (Sun et al. 2023), prototypical
networks (Snell et al. 2017)."""

import numpy as np

from networks import folded, network, side_by_side


@network(x=(1, 64, 32, 32))
def fcos_head_of_mmdetection(random):
    """FCOS (Tian et al. 2019), mmdetection: towers with group norm; the runtime decodes distances."""
    wc, wr, bc, br = random(64, 64, 3, 3), random(64, 64, 3, 3), random(64), random(64)
    sc, oc, sr, o_r = random.positive(64), random(64), random.positive(64), random(64)
    vc, vr, vt = random(20, 64, 3, 3), random(4, 64, 3, 3), random(1, 64, 3, 3)
    ec, er, et = random(20), random(4), random(1)

    def given(g, x):
        def tower(w, b, scale, offset):
            t = g.Conv(x, w, b, pads=[1, 1, 1, 1])
            t = g.InstanceNormalization(g.Reshape(t, [0, 16, -1]), np.ones(16), np.zeros(16), epsilon=1e-5)
            t = g.Reshape(t, [1, 64, 32, 32])
            return g.Relu(g.Add(g.Mul(t, scale.reshape(64, 1, 1)), offset.reshape(64, 1, 1)))

        def rows(t, shape):
            return g.Reshape(g.Transpose(t, perm=[0, 2, 3, 1]), shape)
        c, r = tower(wc, bc, sc, oc), tower(wr, br, sr, o_r)
        score = g.Conv(c, vc, ec, pads=[1, 1, 1, 1])
        box = g.Mul(g.Conv(r, vr, er, pads=[1, 1, 1, 1]), 1.3)
        center = g.Conv(r, vt, et, pads=[1, 1, 1, 1])
        box = g.Mul(g.Relu(box), 8.0)
        score = g.Sigmoid(rows(score, [1, -1, 20]))
        center = g.Sigmoid(rows(center, [1, -1]))
        box = rows(box, [1, -1, 4])
        return box, g.Mul(score, g.Unsqueeze(center, [-1]))

    def expert(g, x):
        t = g.Conv(x, np.concatenate([wc, wr]), np.concatenate([bc, br]), pads=[1, 1, 1, 1])
        t = g.InstanceNormalization(g.Reshape(t, [1, 32, 4096]), np.ones(32), np.zeros(32), epsilon=1e-5)
        scale, offset = (np.concatenate(pair).reshape(128, 1, 1) for pair in ((sc, sr), (oc, o_r)))
        t = g.Add(g.Mul(g.Reshape(t, [1, 128, 32, 32]), scale), offset)
        c, r = g.Split(g.Relu(t), [64, 64], axis=1, results=2)
        score = g.Conv(c, vc, ec, pads=[1, 1, 1, 1])
        t = g.Conv(r, np.concatenate([vr * 10.4, vt]), np.concatenate([er * 10.4, et]), pads=[1, 1, 1, 1])
        box, center = g.Split(t, [4, 1], axis=1, results=2)
        score = g.Mul(g.Sigmoid(score), g.Sigmoid(center))

        def rows(t, width):
            return g.Transpose(g.Reshape(t, [1, width, 1024]), perm=[0, 2, 1])
        return rows(g.Relu(box), 4), rows(score, 20)
    return given, expert


@network(x=(1, 128, 144))
def relative_attention_of_conformer(random):
    """Conformer (Gulati et al. 2020), as in transformers and fairseq: positions are shifted by a view."""
    scale, offset = random.positive(144), random(144)
    wq, wk, wv, wp, wo = (random(144, 144) for _ in range(5))
    bq, bk, bv, bo = (random(144) for _ in range(4))
    u, v = random(4, 36), random(4, 36)
    place = np.arange(127, -128, -1)[:, None] * np.exp(np.arange(0, 144, 2) * -(np.log(10000.0) / 144))
    table = np.stack([np.sin(place), np.cos(place)], axis=-1).reshape(1, 255, 144)

    def given(g, x):
        n = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)
        q = g.Reshape(g.Add(bq, g.MatMul(n, wq)), [1, -1, 4, 36])
        k = g.Transpose(g.Reshape(g.Add(bk, g.MatMul(n, wk)), [1, -1, 4, 36]), perm=[0, 2, 3, 1])
        value = g.Transpose(g.Reshape(g.Add(bv, g.MatMul(n, wv)), [1, -1, 4, 36]), perm=[0, 2, 1, 3])
        p = g.Transpose(g.Reshape(g.MatMul(table, wp), [1, -1, 4, 36]), perm=[0, 2, 3, 1])
        qu = g.Transpose(g.Add(q, u), perm=[0, 2, 1, 3])
        qv = g.Transpose(g.Add(q, v), perm=[0, 2, 1, 3])
        ac, bd = g.MatMul(qu, k), g.MatMul(qv, p)
        bd = g.Reshape(g.Concat(np.zeros((1, 4, 128, 1)), bd, axis=-1), [1, 4, 256, 128])
        bd = g.Reshape(g.Slice(bd, [1], [2 ** 62], [2], [1]), [1, 4, 128, 255])
        bd = g.Slice(bd, [0], [128], [3], [1])
        s = g.Softmax(g.Div(g.Add(ac, bd), 6.0), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(s, value), perm=[0, 2, 1, 3]), [1, -1, 144])
        return g.Add(x, g.Add(bo, g.MatMul(o, wo)))

    def expert(g, x):
        n = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)
        # What all keys share leaves the softmax as it is; a bias of values passes through it.
        bias = side_by_side((bq + u.ravel()) / 6, 0 * bk, 0 * bv)
        t = g.Reshape(g.linear(n, side_by_side(wq / 6, wk, wv), bias), [128, 3, 4, 36])
        q, k, value = g.Split(g.Transpose(t, perm=[1, 2, 0, 3]), [1, 1, 1], axis=0, results=3)
        p = (table[0] @ wp).reshape(255, 4, 36).transpose(1, 2, 0)
        p = np.pad(p, ((0, 0), (0, 0), (0, 1)))  # the column that makes the shift a view
        bd = g.MatMul(g.Add(q, (v - u).reshape(1, 4, 1, 36) / 6), p[None])
        bd = g.Slice(g.Reshape(bd, [4, 128 * 256]), [127], [127 + 128 * 255], [1])
        bd = g.Slice(g.Reshape(bd, [1, 4, 128, 255]), [0], [128], [3])
        s = g.Softmax(g.Add(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), bd), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(s, value), perm=[0, 2, 1, 3]), [1, 128, 144])
        return g.Add(x, g.linear(o, wo, bo + bv @ wo))
    return given, expert


@network(x=(2, 196, 192), cls=(2, 1, 192))
def class_attention_of_cait(random):
    """CaiT (Touvron et al. 2021), timm: only the class token asks; layers are scaled."""
    s1, o1, s2, o2 = random.positive(192), random(192), random.positive(192), random(192)
    wq, wk, wv, wo = (random(192, 192) for _ in range(4))
    bq, bk, bv, bo, g1, g2 = (random(192) for _ in range(6))
    w1, b1, w2, b2 = random(192, 768), random(768), random(768, 192), random(192)

    def given(g, x, cls):
        n = g.LayerNormalization(g.Concat(cls, x, axis=1), s1, o1, axis=-1, epsilon=1e-6)
        q = g.Unsqueeze(g.Gemm(g.Gather(n, 0, axis=1), wq.T.copy(), bq, transB=1), [1])
        q = g.Transpose(g.Reshape(q, [2, 1, 4, 48]), perm=[0, 2, 1, 3])
        k = g.Transpose(g.Reshape(g.Add(bk, g.MatMul(n, wk)), [2, 197, 4, 48]), perm=[0, 2, 3, 1])
        q = g.Mul(q, 48 ** -0.5)
        v = g.Transpose(g.Reshape(g.Add(bv, g.MatMul(n, wv)), [2, 197, 4, 48]), perm=[0, 2, 1, 3])
        p = g.Softmax(g.MatMul(q, k), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(p, v), perm=[0, 2, 1, 3]), [2, 1, 192])
        y = g.Add(cls, g.Mul(g1, g.Add(bo, g.MatMul(o, wo))))
        t = g.LayerNormalization(y, s2, o2, axis=-1, epsilon=1e-6)
        t = g.Add(b1, g.MatMul(t, w1))
        t = g.Mul(g.Mul(t, g.Add(g.Erf(g.Div(t, 2 ** 0.5)), 1.0)), 0.5)
        return g.Add(y, g.Mul(g2, g.Add(b2, g.MatMul(t, w2))))

    def expert(g, x, cls):
        # A row for each head reads the tokens themselves.
        heads = wk.reshape(192, 4, 48) * 48 ** -0.5
        ask = np.einsum("chd,ehd->che", wq.reshape(192, 4, 48), heads).reshape(192, 768)
        bias = np.einsum("hd,ehd->he", bq.reshape(4, 48), heads).ravel()
        out = np.einsum("chd,hde->hce", wv.reshape(192, 4, 48), (wo * g1).reshape(4, 48, 192))
        n = g.LayerNormalization(g.Concat(cls, x, axis=1), s1, o1, axis=-1, epsilon=1e-6)
        q = g.Reshape(g.linear(g.Gather(n, 0, axis=1), ask, bias), [2, 4, 192])
        p = g.Softmax(g.MatMul(q, g.Transpose(n, perm=[0, 2, 1])), axis=-1)
        o = g.Reshape(g.MatMul(p, n), [2, 1, 768])
        y = g.Add(cls, g.linear(o, out.reshape(768, 192), (bo + bv @ wo) * g1))
        t = g.LayerNormalization(y, s2, o2, axis=-1, epsilon=1e-6)
        t = g.Gelu(g.linear(t, w1, b1))
        return g.Add(y, g.linear(t, w2 * g2, b2 * g2))
    return given, expert


@network(x=(4, 128, 32), adj=(4, 128, 128))
def pooling_of_dense_graphs(random):
    """DiffPool (Ying et al. 2018), torch_geometric: two DenseSAGEConv, then dense_diff_pool."""
    layers = [(random(32, c), random(c), random(32, c), random.norm(c)) for c in (32, 64)]

    def given(g, x, adj):
        def layer(rel, bias, root, norm):
            c = bias.shape[0]
            t = g.MatMul(adj, x)
            degree = g.Clip(g.ReduceSum(adj, [-1], keepdims=1), 1.0)
            t = g.Add(g.MatMul(g.Div(t, degree), rel), g.Add(bias, g.MatMul(x, root)))
            t = g.Reshape(g.Relu(t), [-1, c])
            return g.Reshape(g.BatchNormalization(t, *norm, epsilon=1e-5), [4, 128, c])
        s, y = layer(*layers[0]), layer(*layers[1])
        s = g.Softmax(s, axis=-1)
        st = g.Transpose(s, perm=[0, 2, 1])
        return g.MatMul(st, y), g.MatMul(g.MatMul(st, adj), s)

    def expert(g, x, adj):
        degree = g.Max(g.ReduceSum(adj, [2], keepdims=1), 1.0)
        t = g.Concat(g.Div(g.MatMul(adj, x), degree), x, axis=2)
        weight = np.concatenate([side_by_side(*(p[k] for p in layers)) for k in (0, 2)])
        t = g.Relu(g.linear(t, weight, side_by_side(*(p[1] for p in layers))))
        scale, offset, mean, variance = (side_by_side(*(p[3][k] for p in layers)) for k in range(4))
        factor = scale / np.sqrt(variance + 1e-5)
        t = g.Add(g.Mul(t, factor), offset - mean * factor)
        s, y = g.Split(t, [32, 64], axis=2, results=2)
        s = g.Softmax(s, axis=-1)
        st = g.Transpose(s, perm=[0, 2, 1])
        return g.MatMul(st, y), g.MatMul(g.MatMul(st, adj), s)
    return given, expert


@network(p3=(1, 64, 64, 64), p4=(1, 32, 32, 112), p5=(1, 16, 16, 320))
def fusion_nodes_of_efficientdet(random):
    """EfficientDet (Tan et al. 2020), TensorFlow: the two nodes of a BiFPN at one level, channels last."""
    w4, w4b, w5 = random(64, 112, 1, 1), random(64, 112, 1, 1), random(64, 320, 1, 1)
    n4, n4b, n5 = random.norm(64), random.norm(64), random.norm(64)
    nodes = [dict(d=random(64, 1, 3, 3), w=random(64, 64, 1, 1), b=random(64), n=random.norm(64))
             for _ in range(2)]
    e1, e2 = (0.9, 1.2), (1.1, 0.7, 0.8)
    c4, c4b, c5 = random(64), random(64), random(64)

    def given(g, p3, p4, p5):
        def first(t):
            return g.Transpose(t, perm=[0, 3, 1, 2])

        def lateral(t, w, b, n):
            return g.BatchNormalization(g.Conv(t, w, b), *n, epsilon=1e-3)

        def fuse(parts, edges):
            total = sum(edges) + 1e-4
            parts = [g.Div(g.Mul(t, e), total) for t, e in zip(parts, edges)]
            return g.Sum(*parts)

        def node(t, p):
            t = g.Mul(t, g.Sigmoid(t))
            t = g.Conv(g.Conv(t, p["d"], group=64, pads=[1, 1, 1, 1]), p["w"], p["b"])
            return g.BatchNormalization(t, *p["n"], epsilon=1e-3)
        t4 = first(p4)
        t = g.Resize(lateral(first(p5), w5, c5, n5), "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        inner = node(fuse([lateral(t4, w4, c4, n4), t], e1), nodes[0])
        pooled = g.MaxPool(first(p3), kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
        t = node(fuse([lateral(t4, w4b, c4b, n4b), inner, pooled], e2), nodes[1])
        return g.Transpose(t, perm=[0, 2, 3, 1])

    def expert(g, p3, p4, p5):
        def scaled(w, n, b, factor):
            weight, bias = folded(w, n, 1e-3, b)
            return weight.reshape(weight.shape[:2]) * factor, bias[:, None] * factor

        def swish(t):
            return g.Mul(t, g.Sigmoid(t))
        a = [e / (sum(e1) + 1e-4) for e in e1]
        c = [e / (sum(e2) + 1e-4) for e in e2]
        (f4, b4), (f4b, b4b), (f5, b5) = (scaled(w4, n4, c4, a[0]), scaled(w4b, n4b, c4b, c[0]),
                                          scaled(w5, n5, c5, a[1]))
        (fi, bi), (fo, bo) = (scaled(p["w"], p["n"], p["b"], k) for p, k in zip(nodes, (c[1], 1.0)))
        # Products whose second operand is transposed give channels first at once.
        t = g.Gemm(np.concatenate([f4, f4b]), g.Reshape(p4, [1024, 112]), np.concatenate([b4 + b5, b4b + bi]),
                   transB=1)
        inner, outer = g.Split(t, [64, 64], axis=0, results=2)
        up = g.Reshape(g.Gemm(f5, g.Reshape(p5, [256, 320]), transB=1), [64, 16, 1, 16, 1])
        t = g.Reshape(swish(g.Add(g.Reshape(inner, [64, 16, 2, 16, 2]), up)), [1, 64, 32, 32])
        t = g.Conv(t, nodes[0]["d"], group=64, pads=[1, 1, 1, 1])
        t = g.Gemm(fi, g.Reshape(t, [64, 1024]), outer)
        pooled = g.MaxPool(g.Transpose(p3, perm=[0, 3, 1, 2]), kernel_shape=[3, 3], strides=[2, 2],
                           pads=[0, 0, 1, 1])
        t = swish(g.Add(g.Reshape(t, [1, 64, 32, 32]), g.Mul(pooled, c[2])))
        t = g.Conv(t, nodes[1]["d"], group=64, pads=[1, 1, 1, 1])
        t = g.Gemm(g.Reshape(t, [64, 1024]), fo.T.copy(), bo.ravel(), transA=1)
        return g.Reshape(t, [1, 32, 32, 64])
    return given, expert


@network(x=(256, 26, 8))
def compressed_interactions_of_xdeepfm(random):
    """xDeepFM (Lian et al. 2018), DeepCTR in TensorFlow: outer products of fields for each dimension."""
    w1, b1, w2, b2 = random(32, 676, 1, 1), random(32), random(32, 416, 1, 1), random(32)

    def given(g, x):
        def stack(t):
            parts = g.Split(t, [1] * 8, axis=2, results=8)
            return g.Concat(*[g.Unsqueeze(t, [0]) for t in parts], axis=0)

        def layer(a, b, w, bias, size):
            t = g.MatMul(a, g.Transpose(b, perm=[0, 1, 3, 2]))
            t = g.Transpose(g.Reshape(t, [8, -1, size]), perm=[1, 2, 0])
            return g.Relu(g.Squeeze(g.Conv(g.Unsqueeze(t, [2]), w, bias), [2]))
        first = stack(x)
        t = layer(first, first, w1, b1, 676)
        hidden, direct = g.Split(t, [16, 16], axis=1, results=2)
        t = layer(first, stack(hidden), w2, b2, 416)
        return g.ReduceSum(g.Concat(direct, t, axis=1), [-1], keepdims=0)

    def expert(g, x):
        def layer(a, b, w, bias, size):
            return g.Relu(g.linear(g.Reshape(g.Mul(a, b), [2048, size]), w.reshape(32, size).T, bias))
        rows = g.Transpose(x, perm=[0, 2, 1])
        a = g.Reshape(rows, [2048, 26, 1])
        t = layer(a, g.Reshape(rows, [2048, 1, 26]), w1, b1, 676)
        hidden, direct = g.Split(t, [16, 16], axis=1, results=2)
        t = layer(a, g.Reshape(hidden, [2048, 1, 16]), w2, b2, 416)
        parts = [g.ReduceSum(g.Reshape(t, [256, 8, c]), [1], keepdims=0) for t, c in ((direct, 16), (t, 32))]
        return g.Concat(*parts, axis=1)
    return given, expert


@network(x=(1, 64, 64, 64), gate=(1, 32, 32, 128))
def attention_gate_of_unet(random):
    """Attention U-Net (Oktay et al. 2018), Keras: a map of weights, repeated for each channel by a Concat."""
    wt, bt, wp, bp = random(64, 64, 2, 2), random(64), random(64, 128, 1, 1), random(64)
    wu, bu, ws, bs = random(64, 64, 3, 3), random(64), random(1, 64, 1, 1), random(1)
    wr, br, norm = random(64, 64, 1, 1), random(64), random.norm(64)

    def given(g, x, gate):
        t = g.Conv(g.Transpose(x, perm=[0, 3, 1, 2]), wt, bt, strides=[2, 2])
        p = g.Conv(g.Transpose(gate, perm=[0, 3, 1, 2]), wp, bp)
        p = g.Add(g.ConvTranspose(p, wu, pads=[1, 1, 1, 1]), bu.reshape(1, 64, 1, 1))
        t = g.Sigmoid(g.Conv(g.Relu(g.Add(p, t)), ws, bs))
        t = g.Resize(t, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        t = g.Transpose(t, perm=[0, 2, 3, 1])
        t = g.Mul(g.Concat(*[t] * 64, axis=3), x)
        t = g.Conv(g.Transpose(t, perm=[0, 3, 1, 2]), wr, br)
        return g.Transpose(g.BatchNormalization(t, *norm, epsilon=1e-3), perm=[0, 2, 3, 1])

    def expert(g, x, gate):
        p = g.Gemm(wp.reshape(64, 128), g.Reshape(gate, [1024, 128]), bp[:, None], transB=1)
        kernel = wu.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1].copy()
        p = g.Conv(g.Reshape(p, [1, 64, 32, 32]), kernel, bu + bt, pads=[1, 1, 1, 1])
        # Each 2 × 2 patch is a row, of which a product is added to the other branch.
        t = g.Transpose(g.Reshape(x, [32, 2, 32, 128]), perm=[0, 2, 1, 3])
        t = g.Gemm(wt.transpose(0, 2, 3, 1).reshape(64, 256), g.Reshape(t, [1024, 256]),
                   g.Reshape(p, [64, 1024]), transB=1)
        t = g.Sigmoid(g.linear(ws.reshape(1, 64), g.Relu(t), bs))
        t = g.Mul(g.Reshape(x, [32, 2, 32, 2, 64]), g.Reshape(t, [32, 1, 32, 1, 1]))
        f, b = folded(wr, norm, 1e-3, br)
        return g.Reshape(g.linear(g.Reshape(t, [4096, 64]), f.reshape(64, 64).T, b), [1, 64, 64, 64])
    return given, expert


@network(x=(2, 64, 32, 32), y=(2, 256))
def modulated_convolution_of_stylegan2(random):
    """StyleGAN2 (Karras et al. 2020), TensorFlow with fused_modconv: a layer and its ToRGB."""
    w, v = random(3, 3, 64, 64) * 8, random(1, 1, 64, 3)
    a1, c1, a2, c2 = random(256, 64), random(64), random(256, 64), random(64)
    noise, bias, shade = random(1, 1, 32, 32), random(64), random(3)

    def given(g, x, y):
        def style(a, c):
            return g.Add(g.Add(g.MatMul(y, a), c), 1.0)

        def convolve(x, t, size, out):
            t = g.Transpose(g.Reshape(g.Transpose(t, perm=[1, 2, 3, 0, 4]), [size, size, 64, 2 * out]),
                            perm=[3, 2, 0, 1])
            t = g.Conv(g.Reshape(x, [1, -1, 32, 32]), t, group=2, pads=[size // 2] * 4)
            return g.Reshape(t, [-1, out, 32, 32])
        t = g.Mul(w[None], g.Reshape(style(a1, c1), [-1, 1, 1, 64, 1]))
        d = g.Add(g.ReduceSum(g.Mul(t, t), [1, 2, 3], keepdims=0), 1e-8)
        d = g.Reciprocal(g.Sqrt(d))
        t = convolve(x, g.Mul(t, g.Reshape(d, [-1, 1, 1, 1, 64])), 3, 64)
        t = g.Add(g.Add(t, noise), bias.reshape(1, 64, 1, 1))
        t = g.Mul(g.LeakyRelu(t, alpha=0.2), 2 ** 0.5)
        u = g.Mul(v[None], g.Reshape(style(a2, c2), [-1, 1, 1, 64, 1]))
        return t, g.Add(convolve(t, u, 1, 3), shade.reshape(1, 3, 1, 1))

    def expert(g, x, y):
        styles = g.linear(y, side_by_side(a1, a2), side_by_side(c1, c2) + 1)
        s1, s2 = g.Split(styles, [64, 64], axis=1, results=2)
        # Squares of weights are summed once for all; the factor behind the activation is in the norm.
        d = g.Sqrt(g.linear(g.Mul(s1, s1), np.square(w).sum((0, 1)) / 2, 0.5e-8))
        factor = g.Div(g.Reshape(s1, [2, 1, 64]), g.Reshape(d, [2, 64, 1]))
        kernel = w.transpose(3, 2, 0, 1).reshape(1, 64, 64, 9)
        weight = g.Mul(kernel, g.Reshape(factor, [2, 64, 64, 1]))
        t = g.Conv(g.Reshape(x, [1, 128, 32, 32]), g.Reshape(weight, [128, 64, 3, 3]),
                   np.tile(bias * 2 ** 0.5, 2), group=2, pads=[1, 1, 1, 1])
        t = g.LeakyRelu(g.Add(t, noise * 2 ** 0.5), alpha=0.2)
        u = g.Mul(v.reshape(1, 64, 3).transpose(0, 2, 1).copy(), g.Reshape(s2, [2, 1, 64]))
        rgb = g.Add(g.MatMul(u, g.Reshape(t, [2, 64, 1024])), shade[:, None])
        return g.Reshape(t, [2, 64, 32, 32]), g.Reshape(rgb, [2, 3, 32, 32])
    return given, expert


@network(x=(256, 128))
def causal_heads_of_numpy(random):
    """GPT-2 (Radford et al. 2019), as picoGPT writes it in numpy: one head after the other."""
    scale, offset = random.positive(128), random(128)
    w, b, v, c = random(128, 384), random(384), random(128, 128), random(128)
    mask = (1 - np.tri(256)) * -1e10

    def given(g, x):
        mean = g.ReduceMean(x, [-1], keepdims=1)
        deviation = g.Sub(x, g.ReduceMean(x, [-1], keepdims=1))
        variance = g.ReduceMean(g.Mul(deviation, deviation), [-1], keepdims=1)
        t = g.Div(g.Sub(x, mean), g.Sqrt(g.Add(variance, 1e-5)))
        t = g.linear(g.Add(g.Mul(scale, t), offset), w, b)
        q, k, value = (g.Split(t, [64, 64], axis=-1, results=2)
                       for t in g.Split(t, [128, 128, 128], axis=-1, results=3))
        heads = []
        for i in range(2):
            s = g.Add(g.Div(g.MatMul(q[i], g.Transpose(k[i], perm=[1, 0])), 8.0), mask)
            e = g.Exp(g.Sub(s, g.ReduceMax(s, [-1], keepdims=1)))
            heads.append(g.MatMul(g.Div(e, g.ReduceSum(e, [-1], keepdims=1)), value[i]))
        return g.linear(g.Concat(*heads, axis=-1), v, c)

    def expert(g, x):
        t = g.LayerNormalization(x, scale, offset, axis=-1, epsilon=1e-5)
        factor = np.repeat([0.125, 1, 1], 128)
        bias = np.concatenate([b[:128] / 8, np.zeros(256)])
        t = g.Transpose(g.Reshape(g.linear(t, w * factor, bias), [256, 6, 64]), perm=[1, 0, 2])
        q, k, value = g.Split(t, [2, 2, 2], axis=0, results=3)
        s = g.Softmax(g.Add(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), mask), axis=-1)
        o = g.Reshape(g.Transpose(g.MatMul(s, value), perm=[1, 0, 2]), [256, 128])
        return g.linear(o, v, c + b[256:] @ v)
    return given, expert


@network(x=(4, 1024, 64), slots=(4, 7, 64))
def update_of_slots(random):
    """Slot attention (Locatello et al. 2020), JAX: slots compete for pixels and take their mean."""
    s1, o1, s2, o2 = random.positive(64), random(64), random.positive(64), random(64)
    wq, wk, wv = random(64, 64), random(64, 64), random(64, 64)

    def given(g, x, slots):
        def norm(t, scale, offset):
            mean = g.ReduceMean(t, [2], keepdims=1)
            square = g.ReduceMean(g.Mul(t, t), [2], keepdims=1)
            variance = g.Max(0.0, g.Sub(square, g.Mul(mean, mean)))
            factor = g.Mul(g.Reciprocal(g.Sqrt(g.Add(variance, 1e-5))), scale.reshape(1, 1, 64))
            return g.Add(g.Mul(g.Sub(t, mean), factor), offset.reshape(1, 1, 64))
        n = norm(x, s1, o1)
        k, v = (g.Einsum(n, w, equation="bnc,cd->bnd") for w in (wk, wv))
        q = g.Mul(g.Einsum(norm(slots, s2, o2), wq, equation="bsc,cd->bsd"), 0.125)
        s = g.Einsum(k, q, equation="bnd,bsd->bns")
        e = g.Exp(g.Sub(s, g.ReduceMax(s, [2], keepdims=1)))
        p = g.Add(g.Div(e, g.ReduceSum(e, [2], keepdims=1)), 1e-8)
        p = g.Div(p, g.ReduceSum(p, [1], keepdims=1))
        return g.Einsum(p, v, equation="bns,bnd->bsd")

    def expert(g, x, slots):
        n = g.LayerNormalization(x, s1, o1, axis=-1, epsilon=1e-5)
        q = g.MatMul(g.LayerNormalization(slots, s2, o2, axis=-1, epsilon=1e-5), wq @ wk.T / 8)
        p = g.Softmax(g.MatMul(n, g.Transpose(q, perm=[0, 2, 1])), axis=-1)
        p = g.Transpose(g.Add(p, 1e-8), perm=[0, 2, 1])
        t = g.Div(g.MatMul(p, n), g.ReduceSum(p, [2], keepdims=1))
        return g.MatMul(t, wv)
    return given, expert


@network(x=(1, 256, 128))
def retention_in_parallel(random):
    """RetNet (Sun et al. 2023), JAX: products of turned queries and keys, decayed, without a softmax."""
    wq, wk, wv, wg, wo = (random(128, 128) for _ in range(5))
    angle = np.arange(256)[:, None] * 10000.0 ** -np.linspace(0, 1, 16)
    cosine, sine = (np.tile(f(angle), (1, 2))[None, None] for f in (np.cos, np.sin))
    far = np.arange(256)[:, None] - np.arange(256)
    gamma = 1 - 2.0 ** (-5 - np.arange(4))
    decay = np.where(far >= 0, gamma[:, None, None] ** np.maximum(far, 0), 0)
    decay = (decay / np.sqrt(decay.sum(-1, keepdims=True)))[None]

    def given(g, x):
        def heads(w):
            return g.Einsum(x, w.reshape(128, 4, 32), equation="bnc,chd->bhnd")

        def turn(t):
            other = g.Concat(g.Neg(g.Slice(t, [16], [32], [3])), g.Slice(t, [0], [16], [3]), axis=3)
            return g.Add(g.Mul(t, cosine), g.Mul(other, sine))
        q, k, v = turn(heads(wq)), turn(g.Mul(heads(wk), 32 ** -0.5)), heads(wv)
        s = g.Mul(g.Einsum(q, k, equation="bhnd,bhmd->bhnm"), decay)
        s = g.Div(s, g.Max(g.ReduceSum(g.Abs(s), [-1], keepdims=1), 1.0))
        o = g.Einsum(s, v, equation="bhnm,bhmd->bnhd")
        d = g.Sub(o, g.ReduceMean(o, [-1], keepdims=1))
        variance = g.ReduceMean(g.Mul(d, d), [-1], keepdims=1)
        o = g.Reshape(g.Div(d, g.Sqrt(g.Add(variance, 1e-5))), [1, 256, 128])
        gate = g.Einsum(x, wg, equation="bnc,cd->bnd")
        return g.Einsum(g.Mul(g.Mul(gate, g.Sigmoid(gate)), o), wo, equation="bnc,cd->bnd")

    def expert(g, x):
        t = g.MatMul(x, side_by_side(wq, wk * 32 ** -0.5, wv, wg))
        t, gate = g.Split(t, [384, 128], axis=2, results=2)
        t = g.Transpose(g.Reshape(t, [256, 12, 32]), perm=[1, 0, 2])
        both, v = g.Split(t, [8, 4], axis=0, results=2)
        a, b = g.Split(both, [16, 16], axis=2, results=2)  # queries and keys are turned together
        other = g.Mul(g.Concat(b, a, axis=2), np.concatenate([-sine[0, ..., :16], sine[0, ..., 16:]], axis=2))
        q, k = g.Split(g.Add(g.Mul(both, cosine[0]), other), [4, 4], axis=0, results=2)
        s = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), decay[0])
        o = g.Div(g.MatMul(s, v), g.Max(g.ReduceL1(s, [2], keepdims=1), 1.0))
        o = g.LayerNormalization(o, np.ones(32), axis=-1, epsilon=1e-5)
        o = g.Reshape(g.Transpose(o, perm=[1, 0, 2]), [1, 256, 128])
        return g.MatMul(g.Mul(g.Mul(gate, g.Sigmoid(gate)), o), wo)
    return given, expert


@network(support=(25, 784), query=(75, 784))
def distances_to_prototypes(random):
    """Prototypical networks (Snell et al. 2017), numpy: class means by a one-hot product, all differences."""
    w1, b1, w2, b2 = random(784, 256), random(256), random(256, 128) / 2, random(128)
    hot = np.eye(5)[np.arange(25) % 5]

    def given(g, support, query):
        def embed(t):
            return g.linear(g.Max(g.linear(t, w1, b1), 0.0), w2, b2)
        z, q = embed(support), embed(query)
        total = g.Einsum(hot, z, equation="sn,sd->nd")
        means = g.Div(total, g.Unsqueeze(g.ReduceSum(hot, [0], keepdims=0), [1]))
        d = g.Sub(g.Unsqueeze(q, [1]), g.Unsqueeze(means, [0]))
        s = g.Neg(g.ReduceSum(g.Pow(d, 2.0), [-1], keepdims=0))
        s = g.Sub(s, g.ReduceMax(s, [-1], keepdims=1))
        return g.Sub(s, g.Log(g.ReduceSum(g.Exp(s), [-1], keepdims=1)))

    def expert(g, support, query):
        t = g.Relu(g.linear(g.Concat(support, query, axis=0), w1, b1))
        z, q = g.Split(t, [25, 75], axis=0, results=2)
        # The bias is in no difference; what all classes share leaves the softmax as it is.
        means = g.MatMul(g.MatMul(hot.T / 5, z), w2)
        square = g.ReduceSumSquare(means, [1], keepdims=0)
        s = g.MatMul(q, g.Gemm(w2 * 2, means, transB=1))
        return g.LogSoftmax(g.Sub(s, square), axis=-1)
    return given, expert

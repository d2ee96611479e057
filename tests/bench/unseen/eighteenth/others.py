"""Networks for sound, signals, series, recommendations, control, molecules and text, published from 2019 to
2024: each as an exporter writes it, and as an expert in performance would."""

import numpy as np

from networks import network, side_by_side


@network(x=(1, 2, 64, 48))
def split_into_bands_of_bs_rnn(random):
    """Band split of BSRNN (Luo and Yu 2023) by torch.onnx, a loop over six bands of a complex spectrogram:
    each is cut out, normalized as one group and mapped to 64 features."""
    widths = [8, 8, 8, 8, 16, 16]
    starts = np.cumsum([0] + widths)
    layers = [(random.positive(2 * w, 1), random(2 * w)[:, None], random(64, 2 * w, 1), random(64))
              for w in widths]

    def given(g, x):
        parts = []
        for width, start, (scale, offset, weight, bias) in zip(widths, starts, layers):
            t = g.Slice(x, [start], [start + width], [2])
            t = g.Reshape(g.Reshape(t, [1, 2 * width, 48]), [1, 1, -1])
            t = g.Reshape(g.InstanceNormalization(t, np.ones(1), np.zeros(1)), [1, 2 * width, 48])
            t = g.Conv(g.Add(g.Mul(t, scale), offset), weight, bias)
            parts.append(g.Unsqueeze(t, [1]))
        return g.Concat(*parts, axis=1)

    def expert(g, x):
        # Bands of one width are items of a batch of norms and products, in whose weights scales and offsets
        # are.
        parts = []
        for width, first, last in ((8, 0, 4), (16, 4, 6)):
            count = last - first
            t = g.Slice(x, [starts[first]], [starts[last]], [2])
            t = g.Transpose(g.Reshape(t, [2, count, width * 48]), perm=[1, 0, 2])
            t = g.InstanceNormalization(g.Reshape(t, [1, count, -1]), np.ones(count), np.zeros(count))
            weight = np.stack([w[..., 0] * s.T for s, _, w, _ in layers[first:last]])
            bias = np.stack([w[..., 0] @ o + b[:, None] for _, o, w, b in layers[first:last]])
            t = g.Add(g.MatMul(weight, g.Reshape(t, [count, 2 * width, 48])), bias)
            parts.append(g.Unsqueeze(t, [0]))
        return g.Concat(*parts, axis=1)
    return given, expert


@network(b=(32, 250))
def iterations_of_alista(random):
    """ALISTA for sparse codes (Liu et al. 2019), five iterations unrolled by hand in numpy's way: steps and
    thresholds are learned, matrices the same in all, and codes start from zeros."""
    a = random(250, 500)
    w, d = a + 0.3 * random(250, 500), random(500, 64)
    steps, thresholds = 0.12 + 0.05 * random.positive(5), 0.02 + 0.05 * random.positive(5)

    def given(g, b):
        x = np.zeros((32, 500))
        for step, threshold in zip(steps, thresholds):
            r = g.Sub(g.MatMul(x, a.T), b)
            u = g.Sub(x, g.Mul(g.MatMul(r, w), step))
            x = g.Mul(g.Sign(u), g.Relu(g.Sub(g.Abs(u), threshold)))
        return g.MatMul(x, d)

    def expert(g, b):
        # Steps and signs are factors of products, to which measurements and codes are added as they are. To
        # multiply both matrices beforehand would not pay, since they have half as many rows as columns. The
        # first iteration has no codes to read, and a soft threshold takes away what is clipped.
        for k, (step, threshold) in enumerate(zip(steps, thresholds)):
            if k:
                u = g.Gemm(g.Gemm(x, a.T, b, beta=-1.0), w, x, alpha=-float(step))
            else:
                u = g.Gemm(b, w, alpha=float(step))
            x = g.Sub(u, g.Clip(u, -threshold, threshold))
        return g.MatMul(x, d)
    return given, expert


@network(x=(1, 96, 64))
def star_of_series_of_softs(random):
    """SOFTS for time series (Han et al. 2024), one layer between reversible norms, by torch.onnx: series are
    pooled into a core by a softmax over channels, which is repeated and joined to each of them."""
    we, be, w1, b1 = random(96, 128), random(128), random(128, 128), random(128)
    w2, b2, w3, b3 = random(128, 64), random(64), random(192, 128), random(128)
    w4, b4, wp, bp = random(128, 128), random(128), random(128, 48), random(48)
    norms = [(random.positive(128), random(128)) for _ in range(2)]
    k1, c1, k2, c2 = random(192, 128, 1), random(192), random(128, 192, 1), random(128)

    def given(g, x):
        mean = g.ReduceMean(x, [1])
        x = g.Sub(x, mean)
        spread = g.Sqrt(g.Add(g.ReduceMean(g.Pow(x, 2.0), [1]), 1e-5))
        t = g.linear(g.Transpose(g.Div(x, spread), perm=[0, 2, 1]), we, be)
        core = g.linear(g.Gelu(g.linear(t, w1, b1)), w2, b2)
        core = g.ReduceSum(g.Mul(core, g.Softmax(core, axis=1)), [1])
        u = g.Concat(t, g.Expand(core, [1, 64, 64]), axis=2)
        u = g.linear(g.Gelu(g.linear(u, w3, b3)), w4, b4)
        t = g.LayerNormalization(g.Add(t, u), *norms[0], axis=-1)
        u = g.Conv(g.Gelu(g.Conv(g.Transpose(t, perm=[0, 2, 1]), k1, c1)), k2, c2)
        t = g.Add(t, g.Transpose(u, perm=[0, 2, 1]))
        t = g.linear(g.LayerNormalization(t, *norms[1], axis=-1), wp, bp)
        return g.Add(g.Mul(g.Transpose(t, perm=[0, 2, 1]), spread), mean)

    def expert(g, x):
        # A norm of layers also gives mean and spread. The core is mapped once, as a bias of what reads it
        # together with series; kernels of 1 are products.
        t = g.Transpose(g.Squeeze(x, [0]), perm=[1, 0])
        t, mean, inverse = g.LayerNormalization(t, np.ones(96), np.zeros(96), axis=-1, results=3)
        t = g.Gemm(t, we, be)
        core = g.Gemm(g.Gelu(g.Gemm(t, w1, b1)), w2, b2)
        core = g.ReduceSum(g.Mul(core, g.Softmax(core, axis=0)), [0])
        u = g.Gelu(g.Gemm(t, w3[:128], g.Gemm(core, w3[128:], b3)))
        t = g.LayerNormalization(g.Add(g.Gemm(u, w4, b4), t), *norms[0], axis=-1)
        u = g.Gemm(g.Gelu(g.Gemm(t, k1[..., 0].T, c1)), k2[..., 0].T, c2)
        t = g.LayerNormalization(g.Add(t, u), *norms[1], axis=-1)
        t = g.Add(g.Div(g.Gemm(t, wp, bp), inverse), mean)
        return g.Unsqueeze(g.Transpose(t, perm=[1, 0]), [0])
    return given, expert


@network(x=(256, 128))
def transfer_between_tasks_of_aitm(random):
    """AITM (Xi et al. 2021), chances of a click, an order and a credit, by torch.onnx: each task attends
    to two vectors, what the task before hands on and its own."""
    towers = [(random(128, 64), random(64), random(64, 32), random(32)) for _ in range(3)]
    hands = [(random(32, 32), random(32)) for _ in range(2)]
    pairs = [[(random(32, 32) * 2, random(32)) for _ in range(3)] for _ in range(2)]
    heads = [(random(32, 1), random(1)) for _ in range(3)]

    def given(g, x):
        def tower(k):
            w1, b1, w2, b2 = towers[k]
            return g.Relu(g.Gemm(g.Relu(g.Gemm(x, w1, b1)), w2, b2))
        t, results = tower(0), []
        for k in range(3):
            if k:
                p = g.Relu(g.Gemm(t, *hands[k - 1]))
                t = g.Concat(g.Unsqueeze(p, [1]), g.Unsqueeze(tower(k), [1]), axis=1)
                v, key, q = (g.linear(t, *layer) for layer in pairs[k - 1])
                a = g.Softmax(g.Div(g.ReduceSum(g.Mul(key, q), [2], keepdims=0), 32 ** 0.5), axis=1)
                t = g.ReduceSum(g.Mul(g.Unsqueeze(a, [2]), v), [1], keepdims=0)
            results.append(g.Sigmoid(g.Squeeze(g.Gemm(t, *heads[k]), [1])))
        return results

    def expert(g, x):
        # Towers have one first layer. Of two scores only the difference counts: scores are a quadratic form
        # of one symmetric matrix, whose difference is one product, of the sum of both vectors, with their
        # difference, and the softmax a sigmoid. Shares add to 1, so that values are mapped behind the sum,
        # by weights that are in those of what reads them.
        t = g.Relu(g.Gemm(x, *(side_by_side(*parts) for parts in list(zip(*towers))[:2])))
        parts = g.Split(t, [64] * 3, axis=1, results=3)
        t, *own = (g.Relu(g.Gemm(part, *layers[2:])) for part, layers in zip(parts, towers))
        hand, head, results = hands[0], heads[0], []
        for k in range(3):
            results.append(g.Sigmoid(g.Squeeze(g.Gemm(t, *head), [1])))
            if k == 2:
                return results
            p, q = g.Relu(g.Gemm(t, *hand)), own[k]
            (wv, bv), (wk, bk), (wq, bq) = pairs[k]
            both = (wk @ wq.T + wq @ wk.T) / 2 / 32 ** 0.5
            less = g.Sub(p, q)
            s = g.Mul(g.Gemm(g.Add(p, q), both, (wk @ bq + wq @ bk) / 32 ** 0.5), less)
            t = g.Add(q, g.Mul(less, g.Sigmoid(g.ReduceSum(s, [1]))))
            head = wv @ heads[k + 1][0], bv @ heads[k + 1][0] + heads[k + 1][1]
            hand = wv @ hands[1][0], bv @ hands[1][0] + hands[1][1]
    return given, expert


@network(z=(1, 128), first=(256, 8), second=(256, 8))
def value_of_a_plan_of_td_mpc2(random):
    """TD-MPC2 (Hansen et al. 2024), what 256 plans of two actions are worth, by torch.onnx: the latent state
    is repeated for all, goes through reward and dynamics, and an ensemble of five critics, mapped together,
    of which two that were drawn are averaged."""
    reward = random(136, 64), random(64), random.positive(64), random(64), random(64, 41), random(41)
    model = random(136, 64), random(64), random.positive(64), random(64), random(64, 128), random(128)
    simplex = random.positive(128), random(128)
    w1, b1, s1, o1 = random(5, 136, 64) * 7, random(5, 1, 64), random.positive(5, 1, 64), random(5, 1, 64)
    w2, b2, bins, drawn = random(5, 64, 41) * 4, random(5, 1, 41), np.linspace(-3, 3, 41), np.array([1, 4])

    def given(g, z, first, second):
        def mish(t):
            return g.Mul(t, g.Tanh(g.Softplus(t)))

        def expected(t):
            t = g.ReduceSum(g.Mul(g.Softmax(t, axis=-1), bins), [-1])
            return g.Mul(g.Sign(t), g.Sub(g.Exp(g.Abs(t)), 1.0))
        t = g.Concat(g.Expand(z, [256, 128]), first, axis=1)
        w, b, s, o, wl, bl = reward
        r = expected(g.Gemm(mish(g.LayerNormalization(g.Gemm(t, w, b), s, o, axis=-1)), wl, bl))
        w, b, s, o, wl, bl = model
        t = g.Gemm(mish(g.LayerNormalization(g.Gemm(t, w, b), s, o, axis=-1)), wl, bl)
        t = g.Reshape(g.LayerNormalization(t, *simplex, axis=-1), [256, 16, 8])
        t = g.Concat(g.Reshape(g.Softmax(t, axis=-1), [256, 128]), second, axis=1)
        t = g.LayerNormalization(g.Add(g.MatMul(t, w1), b1), np.ones(64), np.zeros(64), axis=-1)
        q = g.Add(g.MatMul(mish(g.Add(g.Mul(t, s1), o1)), w2), b2)
        q = g.ReduceMean(expected(g.Gather(q, drawn, axis=0)), [0], keepdims=0)
        return g.Add(r, g.Mul(q, 0.99))

    def expert(g, z, first, second):
        # The state is mapped once, for reward and dynamics together, and is a bias of actions. Of five
        # critics only two are computed, and what they and the reward expect is found in one go. Mish is a
        # quotient of polynomials of one exponential, and the softmax of short rows, put into an order in
        # which rows lie side by side, exponentials and a sum: behind norms, nothing is large.
        def mish(t):
            e = g.Exp(t)
            e = g.Mul(e, g.Add(e, 2.0))
            return g.Mul(t, g.Div(e, g.Add(e, 2.0)))
        order, both = np.arange(128).reshape(16, 8).T.ravel(), side_by_side(reward[0], model[0])
        t = g.Gemm(first, both[128:], g.Gemm(z, both[:128], side_by_side(reward[1], model[1])))
        r, t = g.Split(t, [64, 64], axis=1, results=2)
        r = mish(g.LayerNormalization(r, *reward[2:4], axis=-1))
        t = mish(g.LayerNormalization(t, *model[2:4], axis=-1))
        r, t = g.Gemm(r, *reward[4:]), g.Gemm(t, model[4][:, order], model[5][order])
        t = g.Exp(g.LayerNormalization(t, *(part[order] for part in simplex), axis=-1))
        t = g.Reshape(t, [256, 8, 16])
        t = g.Concat(g.Reshape(g.Div(t, g.ReduceSum(t, [1])), [256, 128]), second, axis=1)
        order = np.concatenate([order, np.arange(128, 136)])
        t = g.Gemm(t, side_by_side(*w1[drawn])[order], side_by_side(*b1[drawn])[0])
        logits = [r]
        for k, t in zip(drawn, g.Split(t, [64, 64], axis=1, results=2)):
            t = mish(g.LayerNormalization(t, s1[k, 0], o1[k, 0], axis=-1))
            logits.append(g.Gemm(t, w2[k], b2[k]))
        t = g.MatMul(g.Softmax(g.Concat(*logits, axis=0), axis=-1), bins[:, None])
        t = g.Mul(g.Sign(t), g.Sub(g.Exp(g.Abs(t)), 1.0))
        return g.Reshape(g.MatMul(np.array([[1.0, 0.495, 0.495]]), g.Reshape(t, [3, 256])), [256, 1])
    return given, expert


@network(q=(32, 64), mu=(32, 3, 64), places=(32, 3))
def messages_of_vectors_of_painn(random):
    """PaiNN (Schuett et al. 2021), messages of scalars and of vectors between 32 atoms, by torch.onnx from
    SchNetPack: all 992 pairs are a list whose results are added by index."""
    w1, b1, w2, b2 = random(64, 64), random(64), random(64, 192), random(192)
    wf, bf, cut = random(20, 192), random(192), 4.0
    waves = np.arange(1, 21) * np.pi / cut
    to, source = (part.astype(np.int64) for part in np.nonzero(1 - np.eye(32)))

    def given(g, q, mu, places):
        r = g.Sub(g.Gather(places, source, axis=0), g.Gather(places, to, axis=0))
        d = g.Sqrt(g.Add(g.ReduceSum(g.Pow(r, 2.0), [1]), 1e-6))
        toward = g.Unsqueeze(g.Div(r, d), [2])
        f = g.linear(g.Div(g.Sin(g.Mul(d, waves)), d), wf, bf)
        near = g.Mul(g.Add(g.Cos(g.Mul(d, np.pi / cut)), 1.0), 0.5)
        f = g.Mul(f, g.Mul(near, g.Cast(g.Less(d, cut), to=1)))
        t = g.linear(q, w1, b1)
        t = g.linear(g.Mul(t, g.Sigmoid(t)), w2, b2)
        t = g.Mul(f, g.Gather(t, source, axis=0))
        dq, dr, dm = g.Split(t, [64] * 3, axis=1, results=3)
        dm = g.Mul(g.Unsqueeze(dm, [1]), g.Gather(mu, source, axis=0))
        dm = g.Add(g.Mul(g.Unsqueeze(dr, [1]), toward), dm)
        one = np.broadcast_to(to[:, None], (992, 64)).copy()
        three = np.broadcast_to(to[:, None, None], (992, 3, 64)).copy()
        dq = g.ScatterElements(np.zeros((32, 64)), one, dq, axis=0, reduction="add")
        dm = g.ScatterElements(np.zeros((32, 3, 64)), three, dm, axis=0, reduction="add")
        return g.Add(q, dq), g.Add(mu, dm)

    def expert(g, q, mu, places):
        # All pairs of atoms are a matrix, so that nothing is gathered or added by index and sums over
        # sources are products; an atom is cut off from itself. The cutoff is in 20 waves, not in 192
        # filters, and is the wave of the bias. Filters of vectors come in the order of their products, and
        # those of scalars are applied to waves behind the sum over sources.
        t = g.Transpose(places, perm=[1, 0])
        r = g.Sub(g.Unsqueeze(t, [1]), g.Unsqueeze(t, [2]))  # of 3, to, source
        d = g.Sqrt(g.Add(g.ReduceSumSquare(r, [0], keepdims=0), 1e-6))
        near = g.Add(g.Mul(g.Cos(g.Mul(d, np.pi / cut)), 0.5), 0.5)
        near = g.Where(g.Less(d, np.where(np.eye(32), 0.0, cut)), near, 0.0)
        f = g.Mul(g.Sin(g.Mul(d, waves[:, None, None])), g.Div(near, d))
        f = g.Reshape(g.Concat(f, g.Unsqueeze(near, [0]), axis=0), [21, 1024])
        t = g.Gemm(q, w1, b1)
        t = g.Gemm(g.Mul(t, g.Sigmoid(t)), w2, b2)
        tq, tr, tm = g.Split(t, [64] * 3, axis=1, results=3)
        fq, fr, fm = np.split(np.concatenate([wf, bf[None]]), 3, axis=1)
        dq = g.Mul(g.Reshape(g.MatMul(g.Reshape(f, [672, 32]), tq), [21, 32, 64]), fq[:, None])
        dr = g.Mul(g.Reshape(g.Gemm(f, fr, transA=1), [32, 32, 64]), tr)
        dr = g.MatMul(g.Transpose(g.Div(r, d), perm=[1, 0, 2]), dr)
        dm = g.Transpose(g.Mul(g.Unsqueeze(tm, [1]), mu), perm=[2, 0, 1])
        dm = g.MatMul(g.Reshape(g.MatMul(fm.T, f), [64, 32, 32]), dm)
        dm = g.Add(dr, g.Transpose(dm, perm=[1, 2, 0]))
        return g.Add(q, g.ReduceSum(dq, [0], keepdims=0)), g.Add(mu, dm)
    return given, expert


@network(x=(1, 144, 64), time=(1, 64))
def single_modulation_of_pixart(random):
    """PixArt-alpha (Chen et al. 2024), self-attention and perceptron of a block, by torch.onnx from
    diffusers: six shifts, scales and gates are a table of the block plus what one layer for all blocks
    gives."""
    wt, bt, table = random(64, 384), random(384), random(1, 6, 64)
    (wq, wk, wv, wo), (bq, bk, bv, bo) = [random(64, 64) for _ in range(4)], [random(64) for _ in range(4)]
    w1, b1, w2, b2 = random(64, 256), random(256), random(256, 64), random(64)
    one, zero = np.ones(64), np.zeros(64)

    def given(g, x, time):
        t = g.Reshape(g.Gemm(g.Mul(time, g.Sigmoid(time)), wt, bt), [1, 6, 64])
        shift, scale, gate, shift2, scale2, gate2 = g.Split(g.Add(t, table), [1] * 6, axis=1, results=6)

        def heads(u, w, b):
            return g.Transpose(g.Reshape(g.linear(u, w, b), [1, 144, 4, 16]), perm=[0, 2, 1, 3])
        t = g.LayerNormalization(x, one, zero, axis=-1, epsilon=1e-6)
        t = g.Add(g.Mul(t, g.Add(scale, 1.0)), shift)
        q, k, v = heads(t, wq, bq), heads(t, wk, bk), heads(t, wv, bv)
        p = g.Softmax(g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), 0.25), axis=-1)
        t = g.Reshape(g.Transpose(g.MatMul(p, v), perm=[0, 2, 1, 3]), [1, 144, 64])
        x = g.Add(g.Mul(gate, g.linear(t, wo, bo)), x)
        t = g.LayerNormalization(x, one, zero, axis=-1, epsilon=1e-6)
        t = g.Add(g.Mul(t, g.Add(scale2, 1.0)), shift2)
        t = g.linear(g.Gelu(g.linear(t, w1, b1), approximate="tanh"), w2, b2)
        return g.Add(g.Mul(gate2, t), x)

    def expert(g, x, time):
        # The batch is one, so that scale and shift are those of the norms' own; the table and 1 are in a
        # bias. The bias of keys leaves a softmax as it is, and that of values is in the layer behind.
        bias = bt + table.ravel() + np.concatenate([zero, one, zero, zero, one, zero])
        t = g.Reshape(g.Gemm(g.Mul(time, g.Sigmoid(time)), wt, bias), [384])
        shift, scale, gate, shift2, scale2, gate2 = g.Split(t, [64] * 6, axis=0, results=6)
        x = g.Reshape(x, [144, 64])
        t = g.LayerNormalization(x, scale, shift, axis=-1, epsilon=1e-6)
        t = g.Gemm(t, side_by_side(wq / 4, wk, wv), np.concatenate([bq / 4, np.zeros(128)]))
        t = g.Transpose(g.Reshape(t, [144, 12, 16]), perm=[1, 0, 2])
        q, k, v = g.Split(t, [4, 4, 4], axis=0, results=3)
        p = g.Softmax(g.MatMul(q, g.Transpose(k, perm=[0, 2, 1])), axis=-1)
        t = g.Reshape(g.Transpose(g.MatMul(p, v), perm=[1, 0, 2]), [144, 64])
        x = g.Add(g.Mul(gate, g.Gemm(t, wo, bo + bv @ wo)), x)
        t = g.LayerNormalization(x, scale2, shift2, axis=-1, epsilon=1e-6)
        t = g.Gemm(g.Gelu(g.Gemm(t, w1, b1), approximate="tanh"), w2, b2)
        return g.Unsqueeze(g.Add(g.Mul(gate2, t), x), [0])
    return given, expert


@network(x=(1, 256, 64))
def landmarks_of_nystromformer(random):
    """Attention of Nystromformer (Xiong et al. 2021), by torch.onnx with two iterations for the
    pseudoinverse: landmarks are means of queries and of keys, and values are also convolved."""
    wq, wk, wv, wo = (random(64, 64) * 1.5 for _ in range(4))
    bq, bk, bv, bo = (random(64) for _ in range(4))
    kernel, norm = random(4, 1, 33, 1), (random.positive(64), random(64))

    def given(g, x):
        def heads(w, b):
            return g.Transpose(g.Reshape(g.linear(x, w, b), [1, 256, 4, 16]), perm=[0, 2, 1, 3])
        q, k, v = g.Div(heads(wq, bq), 2.0), g.Div(heads(wk, bk), 2.0), heads(wv, bv)
        ql, kl = (g.ReduceMean(g.Reshape(t, [1, 4, 32, 8, 16]), [3], keepdims=0) for t in (q, k))
        kl = g.Transpose(kl, perm=[0, 1, 3, 2])
        first, a = g.Softmax(g.MatMul(q, kl), axis=-1), g.Softmax(g.MatMul(ql, kl), axis=-1)
        third = g.Softmax(g.MatMul(ql, g.Transpose(k, perm=[0, 1, 3, 2])), axis=-1)
        most = g.ReduceMax(g.ReduceSum(a, [2], keepdims=0), [2])
        z = g.Mul(g.Unsqueeze(g.Div(1.0, most), [3]), g.Transpose(a, perm=[0, 1, 3, 2]))
        for _ in range(2):
            m = g.MatMul(a, z)
            t = g.Sub(15 * np.eye(32), g.MatMul(m, g.Sub(7 * np.eye(32), m)))
            z = g.MatMul(g.Mul(z, 0.25), g.Sub(13 * np.eye(32), g.MatMul(m, t)))
        t = g.MatMul(g.MatMul(first, z), g.MatMul(third, v))
        t = g.Add(t, g.Conv(v, kernel, group=4, pads=[16, 0, 16, 0]))
        t = g.Reshape(g.Transpose(t, perm=[0, 2, 1, 3]), [1, 256, 64])
        return g.LayerNormalization(g.Add(g.linear(t, wo, bo), x), *norm, axis=-1)

    def expert(g, x):
        # Landmarks are mapped means of what comes in. The inverse is applied, from right to left, to what the
        # third softmax gives, of 16 columns, and not to the first softmax, of 256 rows: with m = a z and its
        # polynomial p, the second m is m p / 4, and the second step, in Horner's scheme, of thin products.
        # The bias of keys leaves all three softmaxes as they are, and the shortcut is in the last product.
        x = g.Reshape(x, [256, 64])
        weight = side_by_side(wq / 4, wk, wv)
        bias = np.concatenate([bq / 4, np.zeros(64), bv])
        t = g.Transpose(g.Reshape(g.Gemm(x, weight, bias), [256, 12, 16]), perm=[1, 0, 2])
        q, k, v = g.Split(t, [4, 4, 4], axis=0, results=3)
        t = g.ReduceMean(g.Reshape(x, [32, 8, 64]), [1], keepdims=0)
        t = g.Reshape(g.Gemm(t, weight[:, :128], bias[:128]), [32, 8, 16])
        ql, kl = g.Split(g.Transpose(t, perm=[1, 0, 2]), [4, 4], axis=0, results=2)
        kl = g.Transpose(kl, perm=[0, 2, 1])
        first, a = g.Softmax(g.MatMul(q, kl), axis=-1), g.Softmax(g.MatMul(ql, kl), axis=-1)
        third = g.Softmax(g.MatMul(ql, g.Transpose(k, perm=[0, 2, 1])), axis=-1)
        z = g.Div(g.Transpose(a, perm=[0, 2, 1]), g.ReduceMax(g.ReduceSum(a, [1]), [2]))
        m = g.MatMul(a, z)
        t = g.Sub(15 * np.eye(32), g.MatMul(m, g.Sub(7 * np.eye(32), m)))
        p = g.Mul(g.Sub(13 * np.eye(32), g.MatMul(m, t)), 0.25)
        m, y = g.MatMul(m, p), g.MatMul(third, v)
        t = g.Sub(g.Mul(y, 7 / 4), g.MatMul(m, g.Mul(y, 1 / 4)))
        t = g.Sub(g.Mul(y, 15 / 4), g.MatMul(m, t))
        t = g.Sub(g.Mul(y, 13 / 4), g.MatMul(m, t))
        t = g.MatMul(first, g.MatMul(z, g.MatMul(p, t)))
        c = g.Conv(g.Unsqueeze(v, [0]), kernel, group=4, pads=[16, 0, 16, 0])
        t = g.Transpose(g.Add(t, g.Squeeze(c, [0])), perm=[1, 0, 2])
        t = g.Gemm(g.Reshape(t, [256, 64]), wo, g.Add(x, bo))
        return g.Unsqueeze(g.LayerNormalization(t, *norm, axis=-1), [0])
    return given, expert

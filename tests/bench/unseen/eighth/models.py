"""Layers of models of 2016-2024: RAFT (Teed and Deng 2020), capsules (Sabour et al. 2017), Glow (Kingma
and Dhariwal 2018), SR-GNN (Wu et al. 2019), ComplEx (Trouillon et al. 2016), Mamba-2 (Dao and Gu 2024), MMoE
(Ma et al. 2018), Online Decision Transformer without an embedding of order (Zheng et al. 2022), integral pose
regression (Sun et al. 2018), SimCLR (Chen et al. 2020), ProteinMPNN (Dauparas et al. 2022)."""

import numpy as np

from networks import block_diagonal, folded, network, side_by_side


@network(net=(1, 128, 16, 24), flow=(1, 2, 16, 24))
def flow_convex_upsampling(random):
    """Each of 8 x 8 fine pixels is a convex combination of the 3 x 3 coarse flows around it."""
    w1, b1, w2, b2 = random(256, 128, 3, 3), random(256), random(576, 256, 1, 1), random(576)

    def given(g, net, flow):
        m = g.Conv(g.Relu(g.Conv(net, w1, b1, pads=[1, 1, 1, 1])), w2, b2)
        m = g.Reshape(g.Mul(m, 0.25), [1, 1, 9, 8, 8, 16, 24])
        m = g.Softmax(m, axis=2)
        t = g.Pad(g.Mul(flow, 8.0), [0, 0, 1, 1, 0, 0, 1, 1])
        t = g.Gather(t, np.arange(3)[:, None] + np.arange(16), axis=2)
        t = g.Gather(t, np.arange(3)[:, None] + np.arange(24), axis=4)
        t = g.Reshape(g.Transpose(t, perm=[0, 1, 2, 4, 3, 5]), [1, 18, 384])
        t = g.Reshape(t, [1, 2, 9, 1, 1, 16, 24])
        t = g.ReduceSum(g.Mul(m, t), [2], keepdims=0)
        return g.Reshape(g.Transpose(t, perm=[0, 1, 4, 2, 5, 3]), [1, 2, 128, 192])

    def expert(g, net, flow):
        m = g.Relu(g.Conv(net, w1, b1, pads=[1, 1, 1, 1]))
        m = g.Reshape(g.Conv(m, w2 / 4, b2 / 4), [9, 8, 8, 16, 24])
        m = g.Softmax(m, axis=0)
        taps = np.zeros((18, 2, 3, 3))
        for c in range(2):
            for k in range(9):
                taps[9 * c + k, c, k // 3, k % 3] = 8
        t = g.Reshape(g.Conv(flow, taps, pads=[1, 1, 1, 1]), [2, 9, 16, 24])
        t = g.Einsum(m, t, equation="kabhw,ckhw->chawb")
        return g.Reshape(t, [1, 2, 128, 192])
    return given, expert


@network(u=(8, 1152, 8))
def capsule_routing_by_agreement(random):
    """Three rounds of routing from 1152 capsules to 10."""
    w = random(10, 1152, 16, 8) * 30

    def given(g, u):
        t = g.Tile(g.Unsqueeze(u, [1, 4]), [1, 10, 1, 1, 1])
        hat = g.Squeeze(g.MatMul(w, t), [4])
        logits = np.zeros((8, 10, 1, 1152))
        for i in range(3):
            s = g.MatMul(g.Softmax(logits, axis=1), hat)
            n = g.ReduceSum(g.Mul(s, s), [3])
            scale = g.Div(g.Div(n, g.Add(n, 1.0)), g.Sqrt(g.Add(n, 1e-7)))
            v = g.Mul(scale, s)
            if i < 2:
                logits = g.Add(logits, g.MatMul(v, g.Transpose(hat, perm=[0, 1, 3, 2])))
        return v

    def expert(g, u):
        hat = g.Einsum(u, w, equation="bik,jidk->bjid")

        def squash(s):
            n = g.ReduceSumSquare(s, [3])
            return g.Mul(s, g.Div(n, g.Mul(g.Add(n, 1.0), g.Sqrt(g.Add(n, 1e-7)))))

        def routed(v):
            # Logits are products with the sum of all outputs so far; 1152 are the rows here.
            c = g.Softmax(g.Einsum(hat, v, equation="bjid,bjkd->bjki"), axis=1)
            return squash(g.MatMul(c, hat))
        v = squash(g.Mul(g.ReduceSum(hat, [2]), 0.1))
        return routed(g.Add(v, routed(v)))
    return given, expert


@network(x=(4, 48, 16, 16))
def glow_flow_step(random):
    """Activation norm, an invertible 1 x 1 convolution, an affine coupling; and the log of the Jacobian."""
    bias, logs = random(48, 1, 1) / 5, random(48, 1, 1) / 5
    mix = np.linalg.qr(random.generator.standard_normal((48, 48)))[0].reshape(48, 48, 1, 1)
    w1, c1, l1 = random(128, 24, 3, 3), random(128, 1, 1) / 5, random(128, 1, 1) / 5
    w2, c2, l2 = random(128, 128, 1, 1), random(128, 1, 1) / 5, random(128, 1, 1) / 5
    w3, c3, l3 = random(48, 128, 3, 3), random(48), random(48, 1, 1) / 15
    log_det = np.log(np.abs(np.linalg.det(mix[:, :, 0, 0])))

    def given(g, x):
        t = g.Mul(g.Add(x, bias), g.Exp(logs))
        log_jacobian = g.Mul(g.ReduceSum(logs, [0, 1, 2], keepdims=0), 256.0)
        t = g.Conv(t, mix)
        log_jacobian = g.Add(log_jacobian, log_det * 256)
        z1, z2 = g.Split(t, [24, 24], axis=1, results=2)
        h = g.Relu(g.Mul(g.Add(g.Conv(z1, w1, pads=[1, 1, 1, 1]), c1), g.Exp(l1)))
        h = g.Relu(g.Mul(g.Add(g.Conv(h, w2), c2), g.Exp(l2)))
        h = g.Mul(g.Conv(h, w3, c3, pads=[1, 1, 1, 1]), g.Exp(g.Mul(l3, 3.0)))
        shift = g.Slice(h, [0], [48], [1], [2])
        scale = g.Sigmoid(g.Add(g.Slice(h, [1], [48], [1], [2]), 2.0))
        z2 = g.Mul(g.Add(z2, shift), scale)
        log_jacobian = g.Add(g.ReduceSum(g.Log(scale), [1, 2, 3], keepdims=0), log_jacobian)
        return g.Concat(z1, z2, axis=1), log_jacobian

    def expert(g, x):
        first = mix[:, :, 0, 0] * np.exp(logs[:, 0, 0])
        t = g.Conv(x, first[:, :, None, None], first @ bias[:, 0, 0])
        z1, z2 = g.Split(t, [24, 24], axis=1, results=2)
        e1, e2 = np.exp(l1), np.exp(l2)
        h = g.Relu(g.Conv(z1, w1 * e1[..., None], (c1 * e1).ravel(), pads=[1, 1, 1, 1]))
        h = g.Relu(g.Conv(h, w2 * e2[..., None], (c2 * e2).ravel()))
        # Shifts first, scales behind.
        e3, order = np.exp(3 * l3), np.r_[0:48:2, 1:48:2]
        w, c = (w3 * e3[..., None])[order], (c3 * e3.ravel())[order] + 2 * (np.arange(48) >= 24)
        shift, scale = g.Split(g.Conv(h, w, c, pads=[1, 1, 1, 1]), [24, 24], axis=1, results=2)
        scale = g.Sigmoid(scale)
        z2 = g.Mul(g.Add(z2, shift), scale)
        total = g.Add(g.ReduceSum(g.Log(scale), [1, 2, 3], keepdims=0), (logs.sum() + log_det) * 256)
        return g.Concat(z1, z2, axis=1), total
    return given, expert


@network(a=(64, 16, 32), hidden=(64, 16, 96))
def session_graph_gated_cell(random):
    """Items of a session read those before and behind them, then a gated unit."""
    wi, wo, bi, bo = random(96, 96), random(96, 96), random(96), random(96)
    ci, co = random(96), random(96)
    w_ih, w_hh, b_ih, b_hh = random(192, 288), random(96, 288), random(288), random(288)

    def given(g, a, hidden):
        before = g.MatMul(g.Slice(a, [0], [16], [2]), g.linear(hidden, wi, bi))
        behind = g.MatMul(g.Slice(a, [16], [32], [2]), g.linear(hidden, wo, bo))
        t = g.Concat(g.Add(before, ci), g.Add(behind, co), axis=2)
        ir, ii, new = g.Split(g.linear(t, w_ih, b_ih), [96, 96, 96], axis=2, results=3)
        hr, hi, hn = g.Split(g.linear(hidden, w_hh, b_hh), [96, 96, 96], axis=2, results=3)
        reset, update = g.Sigmoid(g.Add(ir, hr)), g.Sigmoid(g.Add(ii, hi))
        new = g.Tanh(g.Add(new, g.Mul(reset, hn)))
        return g.Add(new, g.Mul(update, g.Sub(hidden, new)))

    def expert(g, a, hidden):
        # Both sums of neighbours side by side; the layers ahead of them are part of the gates' weights.
        t = g.Reshape(g.MatMul(g.Reshape(a, [64, 32, 16]), hidden), [64, 16, 192])
        degree = g.ReduceSum(g.Reshape(a, [64, 16, 2, 16]), [3], keepdims=0)
        top, low = w_ih[:96], w_ih[96:]
        t = g.MatMul(t, np.concatenate([wi @ top, wo @ low]))
        t = g.Add(t, g.MatMul(degree, np.stack([bi @ top, bo @ low])))
        own = b_ih + ci @ top + co @ low
        own[:192] += b_hh[:192]
        ri, new = g.Split(g.Add(t, own), [192, 96], axis=2, results=2)
        h = g.MatMul(hidden, w_hh)
        hri, hn = g.Split(h, [192, 96], axis=2, results=2)
        reset, update = g.Split(g.Sigmoid(g.Add(ri, hri)), [96, 96], axis=2, results=2)
        new = g.Tanh(g.Add(new, g.Mul(reset, g.Add(hn, b_hh[192:]))))
        return g.Add(new, g.Mul(update, g.Sub(hidden, new)))
    return given, expert


@network(s_real=(128, 100), s_img=(128, 100), r_real=(128, 100), r_img=(128, 100))
def complex_link_scores(random):
    """Scores of all 4000 entities as objects."""
    e_real, e_img = random.generator.standard_normal((2, 4000, 100)) / 10

    def given(g, s_real, s_img, r_real, r_img):
        def scores(s, r, e):
            return g.MatMul(g.Mul(s, r), g.Transpose(e, perm=[1, 0]))
        rrr, rii = scores(s_real, r_real, e_real), scores(s_real, r_img, e_img)
        iri, iir = scores(s_img, r_real, e_img), scores(s_img, r_img, e_real)
        return g.Sigmoid(g.Sub(g.Add(g.Add(rrr, rii), iri), iir))

    def expert(g, s_real, s_img, r_real, r_img):
        real = g.Sub(g.Mul(s_real, r_real), g.Mul(s_img, r_img))
        img = g.Add(g.Mul(s_real, r_img), g.Mul(s_img, r_real))
        return g.Sigmoid(g.MatMul(g.Concat(real, img, axis=1), np.concatenate([e_real.T, e_img.T])))
    return given, expert


@network(x=(2, 256, 8, 32), b=(2, 256, 1, 64), c=(2, 256, 1, 64), dt=(2, 256, 8))
def state_space_dual_chunk(random):
    """One chunk of 8 heads that share the input and output matrices."""
    bias, a, d = random(8) - 3, -random.positive(8), random.positive(8)
    causal = np.tril(np.ones((256, 256), bool))

    def given(g, x, b, c, dt):
        dt = g.Transpose(g.Softplus(g.Add(dt, bias)), perm=[0, 2, 1])
        total = g.CumSum(g.Mul(dt, a[:, None]), np.array(2))

        def repeated(t):
            t = g.Expand(g.Unsqueeze(t, [3]), [2, 256, 1, 8, 64])
            return g.Reshape(t, [2, 256, 8, 64])
        cb = g.Einsum(repeated(c), repeated(b), equation="blhn,bshn->bhls")
        decay = g.Exp(g.Sub(g.Unsqueeze(total, [3]), g.Unsqueeze(total, [2])))
        scores = g.Where(np.logical_not(causal), np.float32(0), g.Mul(cb, decay))
        scores = g.Mul(scores, g.Unsqueeze(dt, [2]))
        y = g.Einsum(scores, x, equation="bhls,bshp->blhp")
        return g.Add(y, g.Mul(x, d[:, None]))

    def expert(g, x, b, c, dt):
        dt = g.Softplus(g.Add(dt, bias))
        total = g.Transpose(g.CumSum(g.Mul(dt, a), np.array(1)), perm=[0, 2, 1])
        cb = g.Einsum(c, b, equation="blgn,bsgn->bgls")
        gaps = g.Sub(g.Unsqueeze(total, [3]), g.Unsqueeze(total, [2]))
        scores = g.Where(causal, g.Mul(cb, g.Exp(gaps)), np.float32(0))
        y = g.Einsum(scores, g.Mul(x, g.Unsqueeze(dt, [3])), equation="bhls,bshp->blhp")
        return g.Add(y, g.Mul(x, d[:, None]))
    return given, expert


@network(x=(1024, 256))
def multi_gate_experts_of_two_tasks(random):
    """Four shared experts; each task has a gate and a tower."""
    w, b = [random(256, 64) for _ in range(4)], [random(64) for _ in range(4)]
    gates = [random(256, 4) for _ in range(2)]
    w1, b1 = [random(64, 16) for _ in range(2)], [random(16) for _ in range(2)]
    w2, b2 = [random(16, 1) for _ in range(2)], [random(1) for _ in range(2)]

    def given(g, x):
        t = [g.Unsqueeze(g.Relu(g.linear(x, w[i], b[i])), [1]) for i in range(4)]
        t = g.Concat(*t, axis=1)
        results = []
        for i in range(2):
            p = g.Unsqueeze(g.Softmax(g.MatMul(x, gates[i]), axis=1), [2])
            h = g.ReduceSum(g.Mul(p, t), [1], keepdims=0)
            h = g.Relu(g.linear(h, w1[i], b1[i]))
            results.append(g.Sigmoid(g.linear(h, w2[i], b2[i])))
        return results

    def expert(g, x):
        t, p = g.Split(g.MatMul(x, side_by_side(*w, *gates)), [256, 8], axis=1, results=2)
        t = g.Reshape(g.Relu(g.Add(t, side_by_side(*b))), [1024, 4, 64])
        p = g.Softmax(g.Reshape(p, [1024, 2, 4]), axis=2)
        h = g.Reshape(g.MatMul(p, t), [1024, 128])
        h = g.Relu(g.Gemm(h, block_diagonal(w1), side_by_side(*b1)))
        h = g.Sigmoid(g.Gemm(h, block_diagonal(w2), side_by_side(*b2)))
        return g.Split(h, [1, 1], axis=1, results=2)
    return given, expert


@network(returns=(8, 20, 1), states=(8, 20, 17), actions=(8, 20, 6))
def online_decision_transformer_action(random):
    """Returns, states and actions take turns as tokens; actions are predicted at those of states."""
    widths = (1, 17, 6)
    we, be = [random(n, 128) for n in widths], [random(128) for _ in widths]
    s0, o0, s1, o1 = random.positive(128), random(128), random.positive(128), random(128)
    wa, ba, wp, bp = random(128, 384), random(384), random(128, 128), random(128)
    wt, bt = random(128, 6), random(6)
    causal = np.tril(np.ones((60, 60), bool))
    lowest = np.finfo(np.float32).min

    def given(g, returns, states, actions):
        tokens = [g.linear(x, w, b) for x, w, b in zip((returns, states, actions), we, be)]
        x = g.Concat(*[g.Unsqueeze(t, [1]) for t in tokens], axis=1)
        x = g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), [8, 60, 128])
        x = g.LayerNormalization(x, s0, o0, axis=-1, epsilon=1e-5)
        t = g.LayerNormalization(x, s1, o1, axis=-1, epsilon=1e-5)
        q, k, v = g.Split(g.linear(t, wa, ba), [128, 128, 128], axis=2, results=3)

        def heads(t, perm):
            return g.Transpose(g.Reshape(t, [8, 60, 4, 32]), perm=perm)
        s = g.Div(g.MatMul(heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1])), 32 ** 0.5)
        p = g.Softmax(g.Where(causal, s, lowest), axis=-1)
        o = g.Transpose(g.MatMul(p, heads(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = g.Add(g.linear(g.Reshape(o, [8, 60, 128]), wp, bp), x)
        x = g.Transpose(g.Reshape(x, [8, 20, 3, 128]), perm=[0, 2, 1, 3])
        return g.Tanh(g.linear(g.Gather(x, np.array(1), axis=1), wt, bt))

    def expert(g, returns, states, actions):
        x = g.MatMul(g.Concat(returns, states, actions, axis=2), block_diagonal(we))
        x = g.Reshape(g.Add(x, side_by_side(*be)), [8, 60, 128])
        x = g.LayerNormalization(x, s0, o0, axis=-1, epsilon=1e-5)
        t = g.LayerNormalization(x, s1, o1, axis=-1, epsilon=1e-5)

        def of_states(t):
            return g.Gather(g.Reshape(t, [8, 20, 3, 128]), np.array(1), axis=2)
        # Only the tokens of states ask; all answer. Behind the weights there are but 160 rows.
        q = g.linear(of_states(t), wa[:, :128] * 32 ** -0.5, ba[:128] * 32 ** -0.5)
        k, v = g.Split(g.linear(t, wa[:, 128:], ba[128:]), [128, 128], axis=2, results=2)
        q = g.Reshape(q, [8, 20, 4, 32])
        k, v = (g.Reshape(t, [8, 60, 4, 32]) for t in (k, v))
        s = g.Einsum(q, k, equation="bqhd,bkhd->bhqk")
        p = g.Softmax(g.Where(causal[1::3].copy(), s, lowest), axis=-1)
        o = g.Reshape(g.Einsum(p, v, equation="bhqk,bkhd->bqhd"), [8, 20, 128])
        # The layer behind the attention and the last one are one; so the old tokens need the last alone.
        t = g.Add(g.MatMul(o, wp @ wt), g.linear(of_states(x), wt, bp @ wt + bt))
        return g.Tanh(t)
    return given, expert


@network(x=(2, 256, 8, 8))
def integral_pose_in_three_dimensions(random):
    """Heat maps of 17 joints with 16 depths and the means of their coordinates."""
    w1, norm, w2, b2 = random(256, 128, 4, 4) * 4, random.norm(128), random(272, 128, 1, 1) * 4, random(272)

    def given(g, x):
        t = g.ConvTranspose(x, w1, strides=[2, 2], pads=[1, 1, 1, 1])
        t = g.Conv(g.Relu(g.BatchNormalization(t, *norm, epsilon=1e-5)), w2, b2)
        p = g.Softmax(g.Reshape(t, [2, 17, 4096]), axis=2)
        p = g.Reshape(p, [2, 17, 16, 16, 16])
        results = []
        for first, second in ((2, 2), (2, 3), (3, 3)):
            t = g.ReduceSum(g.ReduceSum(p, [first], keepdims=0), [second], keepdims=0)
            t = g.ReduceSum(g.Mul(t, np.arange(16.0)), [2])
            results.append(g.Sub(g.Div(t, 16.0), 0.5))
        return g.Reshape(g.Concat(*results, axis=2), [2, 51])

    def expert(g, x):
        w, b = folded(w1.transpose(1, 0, 2, 3), norm)
        t = g.ConvTranspose(x, np.ascontiguousarray(w.transpose(1, 0, 2, 3)), b, strides=[2, 2],
                            pads=[1, 1, 1, 1])
        p = g.Softmax(g.Reshape(g.Conv(g.Relu(t), w2, b2), [2, 17, 4096]), axis=2)
        z, y, x = np.unravel_index(np.arange(4096), (16, 16, 16))
        # Probabilities add up to one, so half a unit less in each place is half a unit less in the mean.
        return g.Reshape(g.MatMul(p, np.stack([x, y, z], axis=1) / 16 - 0.5), [2, 51])
    return given, expert


@network(h=(256, 256))
def contrastive_losses_of_views(random):
    """Cosines of all pairs of 256 projected views, of which each finds its other half."""
    w1, b1, w2, b2 = random(256, 256), random(256), random(256, 128), random(128)
    eye, partner = np.eye(256, dtype=bool), (np.arange(256)[:, None] + 128) % 256

    def given(g, h):
        z = g.linear(g.Relu(g.linear(h, w1, b1)), w2, b2)
        a, b = g.Unsqueeze(z, [1]), g.Unsqueeze(z, [0])
        cross = g.ReduceSum(g.Mul(a, b), [2], keepdims=0)
        na, nb = g.ReduceSum(g.Mul(a, a), [2], keepdims=0), g.ReduceSum(g.Mul(b, b), [2], keepdims=0)
        cosine = g.Div(cross, g.Max(g.Sqrt(g.Mul(na, nb)), 1e-8))
        cosine = g.Div(g.Where(eye, np.float32(-9e15), cosine), 0.07)
        positive = g.Squeeze(g.GatherElements(cosine, partner, axis=1), [1])
        return g.Add(g.Neg(positive), g.ReduceLogSumExp(cosine, [1], keepdims=0))

    def expert(g, h):
        z = g.Gemm(g.Relu(g.Gemm(h, w1, b1)), w2, b2)
        cross, n = g.Gemm(z, z, transB=1, alpha=1 / 0.07), g.ReduceL2(z, [1])
        cosine = g.Div(cross, g.Max(g.Mul(n, g.Reshape(n, [1, 256])), 1e-8))
        cosine = g.Where(eye, np.float32(-9e15 / 0.07), cosine)
        positive = g.Squeeze(g.GatherElements(cosine, partner, axis=1), [1])
        return g.Sub(g.ReduceLogSumExp(cosine, [1], keepdims=0), positive)
    return given, expert


@network(nodes=(1, 64, 128), edges=(1, 64, 24, 384))
def protein_sequence_decoder_layer(random):
    """Messages from 24 neighbours of each residue, then a layer for each."""
    w1, w2, w3 = random(512, 128), random(128, 128), random(128, 128)
    b1, b2, b3 = random(128), random(128), random(128)
    s1, o1, s2, o2 = random.positive(128), random(128), random.positive(128), random(128)
    wi, bi, wo, bo = random(128, 512), random(512), random(512, 128), random(128)

    def rest(g, x, t):
        x = g.LayerNormalization(g.Add(x, t), s1, o1, axis=-1, epsilon=1e-5)
        t = g.linear(g.Gelu(g.linear(x, wi, bi)), wo, bo)
        return g.LayerNormalization(g.Add(x, t), s2, o2, axis=-1, epsilon=1e-5)

    def given(g, nodes, edges):
        t = g.Expand(g.Unsqueeze(nodes, [2]), [1, 64, 24, 128])
        t = g.Gelu(g.linear(g.Concat(t, edges, axis=3), w1, b1))
        t = g.linear(g.Gelu(g.linear(t, w2, b2)), w3, b3)
        return rest(g, nodes, g.Div(g.ReduceSum(t, [2], keepdims=0), 30.0))

    def expert(g, nodes, edges):
        own = g.Unsqueeze(g.linear(nodes, w1[:128].copy(), b1), [2])
        t = g.Gelu(g.Add(g.MatMul(edges, w1[128:].copy()), own))
        t = g.ReduceSum(g.Gelu(g.linear(t, w2, b2)), [2], keepdims=0)
        return rest(g, nodes, g.linear(t, w3 / 30, b3 * 24 / 30))
    return given, expert

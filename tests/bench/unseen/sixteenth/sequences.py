"""Blocks for sequences and tables, published from 2015 to 2024: each as an exporter writes it, and as an
expert in performance would."""

import numpy as np

from networks import network, side_by_side


@network(x=(8, 1, 128), prefix_keys=(1, 4, 256, 32), prefix_values=(1, 4, 256, 32),
         keys=(8, 4, 31, 32), values=(8, 4, 31, 32))
def decoding_behind_a_shared_prefix(random):
    """One step of decoding of 8 requests with one system prompt, as Hydragen (Juravsky et al. 2024)
    has it, by torch.onnx, where the cache of the prompt is expanded to the batch."""
    w, b = [random(128, 128) for _ in range(4)], [random(128) for _ in range(4)]

    def given(g, x, prefix_keys, prefix_values, keys, values):
        def heads(k):
            return g.Transpose(g.Reshape(g.linear(x, w[k], b[k]), [8, 1, 4, 32]), perm=[0, 2, 1, 3])
        k = g.Concat(g.Expand(prefix_keys, [8, 4, 256, 32]), keys, heads(1), axis=2)
        v = g.Concat(g.Expand(prefix_values, [8, 4, 256, 32]), values, heads(2), axis=2)
        s = g.Div(g.MatMul(heads(0), g.Transpose(k, perm=[0, 1, 3, 2])), 32 ** 0.5)
        o = g.Transpose(g.MatMul(g.Softmax(s, axis=-1), v), perm=[0, 2, 1, 3])
        return g.linear(g.Reshape(o, [8, 1, 128]), w[3], b[3])

    def expert(g, x, prefix_keys, prefix_values, keys, values):
        # The prompt is read once: for it the requests are rows of one product a head. Only the scores of
        # both parts meet, and the step's own key and value are joined to the short cache alone.
        scaled, bias = side_by_side(w[0] * 32 ** -0.5, *w[1:3]), side_by_side(b[0] * 32 ** -0.5, *b[1:3])
        t = g.linear(x, scaled, bias)
        q, k, v = g.Split(g.Reshape(t, [8, 12, 1, 32]), [4, 4, 4], axis=1, results=3)
        keys, values = g.Concat(keys, k, axis=2), g.Concat(values, v, axis=2)
        s = g.Concat(g.Einsum(q, prefix_keys, equation="bhxd,yhkd->bhxk"),
                     g.Einsum(q, keys, equation="bhxd,bhkd->bhxk"), axis=3)
        far, near = g.Split(g.Softmax(s, axis=-1), [256, 32], axis=3, results=2)
        o = g.Add(g.Einsum(far, prefix_values, equation="bhxk,yhkd->bhxd"), g.MatMul(near, values))
        return g.linear(g.Reshape(o, [8, 1, 128]), w[3], b[3])
    return given, expert


@network(x=(1, 128, 128))
def convolved_projections_and_squared_relu_of_primer(random):
    """Primer (So et al. 2021), by tf2onnx: depthwise causal convolutions behind the layers of queries, keys
    and values, a perceptron with a squared ReLU, and layer norms written out."""
    w, kernels, b = [random(128, 128) for _ in range(4)], [random(128, 1, 3) for _ in range(3)], random(128)
    s1, o1, s2, o2 = random.positive(128), random(128), random.positive(128), random(128)
    w1, b1, w2, b2 = random(128, 256), random(256), random(256, 128), random(128)
    causal = np.tri(128) > 0

    def given(g, x):
        def normal(t, scale, offset):
            t = g.Sub(t, g.ReduceMean(t, [-1]))
            variance = g.ReduceMean(g.Mul(t, t), [-1])
            return g.Add(g.Mul(g.Div(t, g.Sqrt(g.Add(variance, 1e-5))), scale), offset)
        t = normal(x, s1, o1)

        def convolved(k, perm):
            u = g.Pad(g.Transpose(g.MatMul(t, w[k]), perm=[0, 2, 1]), [0, 0, 2, 0, 0, 0])
            u = g.Transpose(g.Conv(u, kernels[k], group=128), perm=[0, 2, 1])
            return g.Transpose(g.Reshape(u, [1, 128, 4, 32]), perm=perm)
        s = g.Mul(g.MatMul(convolved(0, [0, 2, 1, 3]), convolved(1, [0, 2, 3, 1])), 32 ** -0.5)
        p = g.Softmax(g.Where(causal[None, None], s, -1e9), axis=-1)
        o = g.Transpose(g.MatMul(p, convolved(2, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        x = g.Add(x, g.linear(g.Reshape(o, [1, 128, 128]), w[3], b))
        t = g.Pow(g.Relu(g.linear(normal(x, s2, o2), w1, b1)), 2.0)
        return g.Add(x, g.linear(t, w2, b2))

    def expert(g, x):
        # One product and one causal convolution make queries, keys and values, channels first, which is how
        # both the convolution and the division into heads want them; the scale is in the queries' kernel.
        t = g.Transpose(g.LayerNormalization(x, s1, o1, axis=-1), perm=[0, 2, 1])
        whole = np.concatenate([kernels[0] * 32 ** -0.5, *kernels[1:]])
        t = g.Conv(g.MatMul(side_by_side(*w[:3]).T, t), whole, group=384, pads=[2, 0])
        q, k, v = g.Split(g.Reshape(t, [1, 12, 32, 128]), [4, 4, 4], axis=1, results=3)
        s = g.Add(g.MatMul(g.Transpose(q, perm=[0, 1, 3, 2]), k), np.where(causal, 0.0, -1e9))
        o = g.Einsum(g.Softmax(s, axis=-1), v, equation="bhqk,bhdk->bqhd")
        x = g.Add(x, g.linear(g.Reshape(o, [1, 128, 128]), w[3], b))
        t = g.Relu(g.linear(g.LayerNormalization(x, s2, o2, axis=-1), w1, b1))
        return g.Add(x, g.linear(g.Mul(t, t), w2, b2))
    return given, expert


@network(x=(128, 96))
def shared_and_routed_experts_of_deepseek(random):
    """DeepSeekMoE (Dai et al. 2024) with the sigmoid gates of DeepSeek-V3, by torch.onnx: a loop over
    four routed experts, of which two count, and a shared expert twice as wide."""
    gates, ups, downs = ([random(*s) for _ in range(4)] for s in ((96, 64), (96, 64), (64, 96)))
    gate, up, down = random(96, 128), random(96, 128), random(128, 96)
    route, favor = random(96, 4), random(4)

    def given(g, x):
        def swiglu(a, b, c):
            t = g.MatMul(x, a)
            return g.MatMul(g.Mul(g.Mul(t, g.Sigmoid(t)), g.MatMul(x, b)), c)
        s = g.Sigmoid(g.MatMul(x, route))
        best, _ = g.TopK(g.Add(s, favor), [2], axis=1, results=2)
        s = g.Where(g.Less(g.Add(s, favor), g.Slice(best, [1], [2], [1])), 0.0, s)
        s = g.Mul(g.Div(s, g.Add(g.ReduceSum(s, [1]), 1e-20)), 2.5)
        y = np.zeros((128, 96))
        for k in range(4):
            share = g.Expand(g.Slice(s, [k], [k + 1], [1]), [128, 96])
            y = g.Add(y, g.Mul(swiglu(gates[k], ups[k], downs[k]), share))
        return g.Add(y, swiglu(gate, up, down))

    def expert(g, x):
        # All experts are one wide one: its hidden units are weighted before the last layer, those of the
        # shared expert, as two of the routed size, by one.
        s = g.Sigmoid(g.MatMul(x, route))
        chosen = g.Add(s, favor)
        best, _ = g.TopK(chosen, [2], axis=1, results=2)
        s = g.Where(g.Less(chosen, g.ReduceMin(best, [1])), 0.0, s)
        s = g.Mul(g.Div(s, g.ReduceSum(s, [1])), 2.5)
        s = g.Unsqueeze(g.Concat(s, np.ones((128, 2)), axis=1), [2])
        t = g.MatMul(x, side_by_side(*gates, gate, *ups, up))
        t, u = g.Split(t, [384, 384], axis=1, results=2)
        t = g.Reshape(g.Mul(g.Mul(t, g.Sigmoid(t)), u), [128, 6, 64])
        return g.MatMul(g.Reshape(g.Mul(t, s), [128, 384]), np.concatenate([*downs, down]))
    return given, expert


@network(x=(2, 128, 256))
def low_rank_intervention_on_representations(random):
    """LoReFT (Wu et al. 2024), by torch.onnx: the first and the last 16 positions are edited in a subspace
    each, before a norm written out and a layer."""
    turn = [np.linalg.qr(random(256, 8))[0] for _ in range(2)]
    w, b = [random(256, 8) for _ in range(2)], [random(8) for _ in range(2)]
    scale, last = random.positive(256), random(256, 64)

    def given(g, x):
        def edited(t, k):
            change = g.Sub(g.linear(t, w[k], b[k]), g.MatMul(t, turn[k]))
            return g.Add(t, g.MatMul(change, g.Transpose(turn[k], perm=[1, 0])))
        first, rest, end = (g.Slice(x, [i], [k], [1]) for i, k in ((0, 16), (16, 112), (112, 128)))
        x = g.Concat(edited(first, 0), rest, edited(end, 1), axis=1)
        t = g.Sqrt(g.Add(g.ReduceMean(g.Pow(x, 2.0), [2]), 1e-6))
        return x, g.MatMul(g.Mul(scale, g.Mul(x, g.Reciprocal(t))), last)

    def expert(g, x):
        # What is learned and what is taken away are one layer. Both edits, of a rank of 16 together, are
        # computed for all positions, and zeros choose between them: nothing is cut out and put back.
        mask = np.zeros((128, 16))
        mask[:16, :8], mask[112:, 8:] = 1, 1
        t = g.MatMul(x, side_by_side(w[0] - turn[0], w[1] - turn[1]))
        t = g.Add(g.Mul(t, mask), mask * side_by_side(*b))
        x = g.Add(x, g.MatMul(t, side_by_side(*turn).T))
        return x, g.MatMul(g.RMSNormalization(x, scale, axis=-1, epsilon=1e-6), last)
    return given, expert


@network(x=(1, 2, 16, 24, 24))
def two_steps_of_convolutional_lstm(random):
    """ConvLSTM (Shi et al. 2015), two steps by tf2onnx from keras: each gate has convolutions of its
    own, the first step convolves a state of zeros, and the hard sigmoid is written out."""
    kernels, states = ([random(16, 16, 3, 3) for _ in range(4)] for _ in range(2))
    biases, shape = [random(16) for _ in range(4)], [1, 16, 24, 24]

    def given(g, x):
        h, c = np.zeros(shape), np.zeros(shape)
        for k in range(2):
            frame = g.Squeeze(g.Slice(x, [k], [k + 1], [1]), [1])
            i, f, o, n = (g.Add(g.Conv(frame, w, b, pads=[1, 1, 1, 1]), g.Conv(h, u, pads=[1, 1, 1, 1]))
                          for w, u, b in zip(kernels, states, biases))
            i, f, o = (g.Clip(g.Add(g.Mul(t, 0.2), 0.5), 0.0, 1.0) for t in (i, f, o))
            c = g.Add(g.Mul(f, c), g.Mul(i, g.Tanh(n)))
            h = g.Mul(o, g.Tanh(c))
        return h

    def expert(g, x):
        # All convolutions of a step are one, of the frame beside the state; the line of the hard sigmoid is
        # in the weights. The first step has no state to convolve, and nothing to forget.
        weight = np.concatenate([np.concatenate(kernels), np.concatenate(states)], axis=1)
        bias, parts = np.concatenate([*(0.2 * b + 0.5 for b in biases[:3]), biases[3]]), np.r_[0:16, 32:64]
        weight[:48] *= 0.2
        first, second = g.Split(g.Reshape(x, [2, 16, 24, 24]), [1, 1], axis=0, results=2)
        t = g.Conv(first, weight[parts, :16], bias[parts], pads=[1, 1, 1, 1])
        i, o, n = g.Split(t, [16] * 3, axis=1, results=3)
        c = g.Mul(g.Clip(i, 0.0, 1.0), g.Tanh(n))
        h = g.Mul(g.Clip(o, 0.0, 1.0), g.Tanh(c))
        t = g.Conv(g.Concat(second, h, axis=1), weight, bias, pads=[1, 1, 1, 1])
        i, f, o, n = g.Split(t, [16] * 4, axis=1, results=4)
        c = g.Add(g.Mul(g.Clip(f, 0.0, 1.0), c), g.Mul(g.Clip(i, 0.0, 1.0), g.Tanh(n)))
        return g.Mul(g.Clip(o, 0.0, 1.0), g.Tanh(c))
    return given, expert


@network(x=(1, 6, 128))
def gated_linear_recurrence_of_griffin(random):
    """The recurrent layer of Griffin (De et al. 2024), by torch.onnx from recurrentgemma: gates from
    layers in blocks along a diagonal, and a loop over six steps."""
    wy, wu, wo, by, bu, bo = *(random(128, 128) for _ in range(3)), *(random(128) for _ in range(3))
    wr, wi, br, bi, decay = *(random(4, 32, 32) for _ in range(2)), random(4, 32), random(4, 32), random(128)

    def given(g, x):
        y, u = g.Gelu(g.linear(x, wy, by), approximate="tanh"), g.linear(x, wu, bu)
        parts = g.Reshape(u, [1, 6, 4, 32])

        def gate(w, b):
            t = g.Add(g.Einsum(parts, w, equation="bthi,hij->bthj"), b)
            return g.Sigmoid(g.Reshape(t, [1, 6, 128]))
        log = g.Mul(g.Mul(gate(wr, br), -8.0), g.Softplus(decay))
        a, t = g.Exp(log), g.Mul(gate(wi, bi), u)
        t, h, states = g.Mul(t, g.Sqrt(g.Sub(1.0, g.Exp(g.Mul(log, 2.0))))), np.zeros((1, 128)), []
        for k in range(6):
            h = g.Add(g.Mul(g.Gather(a, np.array(k), axis=1), h), g.Gather(t, np.array(k), axis=1))
            states.append(g.Unsqueeze(h, [1]))
        return g.linear(g.Mul(g.Concat(*states, axis=1), y), wo, bo)

    def expert(g, x):
        # Both branches are one layer and both gates another. What is left of a step at each later one is
        # an exponential of a difference of running sums, and the loop one weighted sum with them.
        t = g.linear(x, side_by_side(wy, wu), side_by_side(by, bu))
        y, u = g.Split(t, [128, 128], axis=2, results=2)
        t = g.Einsum(g.Reshape(u, [1, 6, 4, 32]), side_by_side(wr, wi), equation="bthi,hij->bthj")
        r, i = g.Split(g.Sigmoid(g.Add(t, side_by_side(br, bi))), [32, 32], axis=3, results=2)
        log = g.Mul(g.Reshape(r, [1, 6, 128]), -8 * np.log1p(np.exp(decay)))
        t = g.Sqrt(g.Sub(1.0, g.Exp(g.Mul(log, 2.0))))
        t = g.Mul(g.Mul(g.Reshape(i, [1, 6, 128]), u), t)
        total = g.CumSum(log, np.array(1))
        left = g.Sub(g.Unsqueeze(total, [2]), g.Unsqueeze(total, [1]))
        left = g.Exp(g.Add(left, np.where(np.tri(6), 0.0, -1e9)[..., None]))
        h = g.Einsum(left, t, equation="btsd,bsd->btd")
        return g.linear(g.Mul(h, g.Gelu(y, approximate="tanh")), wo, bo)
    return given, expert


@network(x=(1, 100, 80))
def stacked_frames_and_memory_of_voice_detector(random):
    """The FSMN voice detector of FunASR (after Zhang et al. 2018), by torch.onnx: five frames are stacked,
    shifted and scaled, two linear layers follow, and a memory of 10 steps."""
    shift, scale, w1, b1 = random(400), random.positive(400), random(400, 64), random(64)
    w2, b2, project, memory = random(64, 128), random(128), random(128, 64), random(64, 1, 10, 1)
    w3, b3, w4, b4 = random(64, 128), random(128), random(128, 24), random(24)

    def given(g, x):
        first, last = g.Slice(x, [0], [1], [1]), g.Slice(x, [99], [100], [1])
        t = g.Concat(first, first, x, last, last, axis=1)
        t = g.Concat(*(g.Slice(t, [k], [k + 100], [1]) for k in range(5)), axis=2)
        t = g.linear(g.Mul(g.Add(t, shift), scale), w1, b1)
        t = g.MatMul(g.Relu(g.linear(t, w2, b2)), project)
        t = g.Transpose(g.Unsqueeze(t, [1]), perm=[0, 3, 2, 1])
        t = g.Add(t, g.Conv(g.Pad(t, [0, 0, 9, 0, 0, 0, 0, 0]), memory, group=64))
        t = g.Squeeze(g.Transpose(t, perm=[0, 3, 2, 1]), [1])
        return g.Softmax(g.linear(g.Relu(g.linear(t, w3, b3)), w4, b4), axis=-1)

    def expert(g, x):
        # A layer on five stacked frames is a convolution of width five, with shift and scale in its weights;
        # all stays channels first, and the shortcut is the last tap of the memory.
        def last_first(weight):
            return weight.T[:, :, None]
        t = g.Pad(g.Transpose(x, perm=[0, 2, 1]), [0, 0, 2, 0, 0, 2], mode="edge")
        kernel = (w1 * scale[:, None]).reshape(5, 80, 64).transpose(2, 1, 0)
        t = g.Conv(t, kernel, b1 + (shift * scale) @ w1)
        t = g.Conv(g.Relu(g.Conv(t, last_first(w2), b2)), last_first(project))
        taps = memory[..., 0] + np.eye(10)[9]
        t = g.Relu(g.Conv(g.Conv(t, taps, group=64, pads=[9, 0]), last_first(w3), b3))
        return g.Softmax(g.linear(g.Transpose(t, perm=[0, 2, 1]), w4, b4), axis=-1)
    return given, expert


@network(x=(256, 16, 16))
def parallel_instance_masks_of_mask_net(random):
    """The parallel MaskNet (Wang et al. 2021), by torch.onnx, whose norm of embeddings is written out: three
    blocks mask the embeddings of all fields and map them."""
    s, o, w4, b4 = random.positive(16), random(16), random(192, 64), random(64)
    w5, b5 = random(64, 1), random(1)
    w1, w2, w3 = ([random(*shape) for _ in range(3)] for shape in ((256, 64), (64, 256), (256, 64)))
    b1, b2, o3 = ([random(width) for _ in range(3)] for width in (64, 256, 64))
    s3 = [random.positive(64) for _ in range(3)]

    def given(g, x):
        flat, parts = g.Flatten(x, axis=1), []
        t = g.Sub(x, g.ReduceMean(x, [-1]))
        t = g.Div(t, g.Sqrt(g.Add(g.ReduceMean(g.Pow(t, 2.0), [-1]), 1e-5)))
        normal = g.Flatten(g.Add(g.Mul(t, s), o), axis=1)
        for k in range(3):
            mask = g.linear(g.Relu(g.linear(flat, w1[k], b1[k])), w2[k], b2[k])
            t = g.MatMul(g.Mul(mask, normal), w3[k])
            parts.append(g.Relu(g.LayerNormalization(t, s3[k], o3[k], axis=-1)))
        t = g.Relu(g.linear(g.Concat(*parts, axis=1), w4, b4))
        return g.Sigmoid(g.linear(t, w5, b5))

    def expert(g, x):
        # The three blocks are one batch of products, up to the layer that reads all of them.
        flat = g.Reshape(x, [256, 256])
        normal = g.Reshape(g.LayerNormalization(x, s, o, axis=-1), [256, 256])
        t = g.Relu(g.Add(g.MatMul(flat, np.stack(w1)), np.stack(b1)[:, None]))
        t = g.Mul(g.Add(g.MatMul(t, np.stack(w2)), np.stack(b2)[:, None]), normal)
        t = g.LayerNormalization(g.MatMul(t, np.stack(w3)), np.ones(64), np.zeros(64), axis=-1)
        t = g.Relu(g.Add(g.Mul(t, np.stack(s3)[:, None]), np.stack(o3)[:, None]))
        t = g.Einsum(t, w4.reshape(3, 64, 64), equation="pbk,pkh->bh")
        return g.Sigmoid(g.Gemm(g.Relu(g.Add(t, b4)), w5, b5))
    return given, expert


@network(past=(32, 96), covariates=(32, 120, 8))
def dense_encoder_and_decoder_of_tide(random):
    """TiDE (Das et al. 2023), by torch.onnx: residual blocks, whose shortcuts are layers too, map
    covariates, encode, decode, and decode each of 24 steps; a linear forecast is added."""
    def residual(width, hidden, result):
        shapes = ((width, hidden), (hidden,), (hidden, result), (result,), (width, result), (result,))
        return [random(*shape) for shape in shapes]
    blocks = [residual(8, 16, 4), residual(576, 64, 64), residual(64, 64, 96), residual(8, 16, 1)]
    norms, direct, b = [(random.positive(k), random(k)) for k in (4, 64, 96)], random(96, 24), random(24)

    def given(g, past, covariates):
        def block(t, k):
            w1, b1, w2, b2, ws, bs = blocks[k]
            t = g.Add(g.linear(g.Relu(g.linear(t, w1, b1)), w2, b2), g.linear(t, ws, bs))
            return g.LayerNormalization(t, *norms[k], axis=-1) if k < 3 else t
        c = block(covariates, 0)
        t = block(g.Concat(past, g.Reshape(c, [32, 480]), axis=1), 1)
        t = g.Concat(g.Reshape(block(t, 2), [32, 24, 4]), g.Slice(c, [96], [120], [1]), axis=2)
        return g.Add(g.Squeeze(block(t, 3), [2]), g.linear(past, direct, b))

    def expert(g, past, covariates):
        # A block's first layer and its shortcut read the same, and are one; both biases of the result are
        # in it, and the second layer adds to it. The linear forecast is a part of the encoder's.
        def block(t, k, extra=0):
            w1, b1, w2, b2, ws, bs = blocks[k]
            more = [np.pad(direct, ((0, 480), (0, 0)))] if extra else []
            t = g.Gemm(t, side_by_side(w1, ws, *more), side_by_side(b1, b2 + bs, *[b] * len(more)))
            sizes = [w1.shape[1], w2.shape[1]] + [24] * len(more)
            hidden, skip, *rest = g.Split(t, sizes, axis=1, results=len(sizes))
            t = g.Gemm(g.Relu(hidden), w2, skip)
            return [g.LayerNormalization(t, *norms[k], axis=-1) if k < 3 else t, *rest]
        c = block(g.Reshape(covariates, [3840, 8]), 0)[0]
        c = g.Reshape(c, [32, 480])
        t, forecast = block(g.Concat(past, c, axis=1), 1, extra=24)
        future = g.Reshape(g.Slice(c, [384], [480], [1]), [768, 4])
        t = g.Concat(g.Reshape(block(t, 2)[0], [768, 4]), future, axis=1)
        return g.Add(g.Reshape(block(t, 3)[0], [32, 24]), forecast)
    return given, expert

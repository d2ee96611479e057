"""Random matmuls, convolutions and pools."""

from random_models import Unfit
from template_table import template


@template("MatMul", weight=4)
def matmul(b, op):
    x = b.pick("fdh" + ("li" if b.opset >= 9 else ""), least=2)
    n = b.size()
    batch = x.shape[:-2] if b.chance(0.4) else ()
    if b.chance(0.65):
        operands = [x, b.partner(x, (*batch, x.shape[-1], n))]
        shape = (*x.shape[:-1], n)
    else:
        operands = [b.partner(x, (*batch, n, x.shape[-2])), x]
        shape = (*x.shape[:-2], n, x.shape[-1])
    b.node(op, operands, [x.type], [shape])


@template("Gemm", weight=1.5)
def gemm(b, op):
    x = b.pick("fdh", least=2, most=2)
    flip_x, flip_y = b.chance(0.3), b.chance(0.3)
    (k, m) = x.shape if flip_x else x.shape[::-1]
    n = b.size()
    operands = [x, b.partner(x, (n, k) if flip_y else (k, n))]
    if b.opset < 11 or b.chance(0.7):
        operands.append(b.partner(x, b.choice([(n,), (m, n), (1, n), (m, 1), (), (1,)])))
    number = [None, 1.0, 0.5, 2.0, 0.0]
    b.node(op, operands, [x.type], [(m, n)], alpha=b.choice(number), beta=b.choice(number),
           transA=int(flip_x) or None, transB=int(flip_y) or None)


@template("Attention", since=23, weight=0.5)
def attention(b, op):
    batch, rows, columns, size = b.size(), b.size(), b.size(), b.size()
    shared, times, width = b.choice([1, 2]), b.choice([1, 1, 2]), b.size()
    heads, is_flat = shared * times, b.chance(0.5)

    def operand(count, length, each):
        return b.source("f", (batch, length, count * each) if is_flat else
                        (batch, count, length, each))

    operands = [operand(heads, rows, size), operand(shared, columns, size),
                operand(shared, columns, width)]
    if b.chance(0.3):
        operands.append(b.source("f", b.choice([(rows, columns), (batch, 1, rows, columns)])))
    result = (batch, rows, heads * width) if is_flat else (batch, heads, rows, width)
    numbers = {"q_num_heads": heads, "kv_num_heads": shared} if is_flat else {}
    b.node(op, operands, ["f"], [result], is_causal=b.choice([None, 1]),
           scale=b.choice([None, 0.5, 1.0]), **numbers)


def window(b, spatial, pool=False):
    """Kernel, attributes and result sizes of a window over these sizes, drawn until it fits."""
    for _ in range(10):
        kernel = [b.choice([1, 1, 2, 3, 3]) for _ in spatial]
        strides = [b.choice([1, 1, 1, 2, 3]) for _ in spatial]
        dilations = [b.choice([1, 1, 1, 2]) for _ in spatial]
        if pool and b.opset < 10:
            dilations = [1] * len(kernel)
        most = [k - 1 for k in kernel] if pool else [2] * len(kernel)
        pads = [b.random.randint(0, min(m, 2)) if b.chance(0.4) else 0 for m in most * 2]
        mode = b.choice(["NOTSET"] * 6 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
        if mode != "NOTSET":
            pads = [0] * len(pads)
        sizes, span = [], [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
        if mode.startswith("SAME") and any(d > 1 for d in dilations):
            continue
        for i, size in enumerate(spatial):
            room = size + pads[i] + pads[i + len(kernel)] - span[i]
            sizes.append(-(-size // strides[i]) if mode.startswith("SAME") else
                         room // strides[i] + 1 if room >= 0 else 0)
        if min(sizes) >= 1:
            break
    else:
        raise Unfit
    given = {"strides": strides if b.chance(0.8) or max(strides) > 1 else None,
             "pads": pads if mode == "NOTSET" and (any(pads) or b.chance(0.3)) else None,
             "auto_pad": mode if mode != "NOTSET" or b.chance(0.1) else None}
    if max(dilations) > 1:
        given["dilations"] = dilations
    return kernel, given, tuple(sizes)


@template("Conv", weight=3)
def conv(b, op):
    x = b.pick("fh", least=3, most=5 if b.chance(0.1) else 4)
    kernel, given, sizes = window(b, x.shape[2:])
    channels = x.shape[1]
    group = b.choice([1, 1, 1, channels] + [g for g in (2, 3) if channels % g == 0])
    outputs = group * b.choice([1, 2, 3])
    operands = [x, b.source(x.type, (outputs, channels // group, *kernel), 0.85)]
    if b.chance(0.5):
        operands.append(b.vector(x.type, outputs))
    b.node(op, operands, [x.type], [(x.shape[0], outputs, *sizes)], group=group if group > 1
           else None, kernel_shape=kernel if b.chance(0.6) else None, **given)


@template("ConvTranspose", weight=1)
def conv_transpose(b, op):
    x = b.pick("f", least=3, most=4)
    spatial = x.shape[2:]
    kernel = [b.choice([1, 2, 3]) for _ in spatial]
    strides = [b.choice([1, 1, 2]) for _ in spatial]
    dilations = [b.choice([1, 1, 1, 2]) for _ in spatial]
    more = [b.random.randrange(s) if b.chance(0.3) else 0 for s in strides]
    pads = [b.random.randint(0, 1) if b.chance(0.3) else 0 for _ in [*spatial, *spatial]]
    sizes = [st * (s - 1) + o + d * (k - 1) + 1 - p - q for st, s, o, d, k, p, q in
             zip(strides, spatial, more, dilations, kernel, pads, pads[len(spatial):])]
    if min(sizes) < 1:
        raise Unfit
    group = b.choice([1] + [g for g in (2, 3) if x.shape[1] % g == 0])
    outputs = b.choice([1, 2, 3])
    operands = [x, b.source(x.type, (x.shape[1], outputs, *kernel), 0.85)]
    if b.chance(0.4):
        operands.append(b.vector(x.type, group * outputs))
    b.node(op, operands, [x.type], [(x.shape[0], group * outputs, *sizes)], strides=strides,
           group=group if group > 1 else None, dilations=dilations if max(dilations) > 1 else None,
           pads=pads if any(pads) else None, output_padding=more if any(more) else None)


@template("MaxPool AveragePool", weight=1.5)
def pool(b, op):
    x = b.pick("fh", least=3, most=4)
    kernel, given, sizes = window(b, x.shape[2:], pool=True)
    if op == "AveragePool":
        if b.opset < 19 and "dilations" in given:
            raise Unfit
        given["count_include_pad"] = b.choice([None, 0, 1])
    b.node(op, [x], [x.type], [(*x.shape[:2], *sizes)], kernel_shape=kernel, **given)


@template("MaxPool AveragePool", since=10, weight=0.5)
def ceil_pool(b, op):
    """Windows that stick out; sizes such that every one of them begins within."""
    x = b.pick("fh", least=4, most=4, where=lambda t: min(t.shape[2:]) >= 2)
    sizes = [-(-(s - 2) // 2) + 1 for s in x.shape[2:]]
    b.node(op, [x], [x.type], [(*x.shape[:2], *sizes)], kernel_shape=[2, 2], strides=[2, 2],
           ceil_mode=1, count_include_pad=1 if op == "AveragePool" and b.chance(0.3) else None)


@template("MaxPool", since=8, weight=0.2)
def pool_with_places(b, op):
    x = b.pick("f", least=4, most=4, where=lambda t: min(t.shape[2:]) >= 2)
    sizes = (*x.shape[:2], *(s - 1 for s in x.shape[2:]))
    b.node(op, [x], ["f", "l"], [sizes, sizes], kernel_shape=[2, 2])


@template("GlobalAveragePool GlobalMaxPool")
def global_pool(b, op):
    x = b.pick("fh", least=3)
    b.node(op, [x], [x.type], [(*x.shape[:2], *(1 for _ in x.shape[2:]))])

"""Random nodes that only say where an element is found."""

from random_models import FLOATS, Unfit
from template_table import ANY, template


@template("Transpose", weight=3)
def transpose(b, op):
    x = b.pick(ANY, least=1)
    perm = list(range(x.rank))
    b.random.shuffle(perm)
    if b.chance(0.15):
        return b.node(op, [x], [x.type], [x.shape[::-1]])
    return b.node(op, [x], [x.type], [[x.shape[p] for p in perm]], perm=perm)


@template("Reshape", weight=3)
def reshape(b, op):
    x = b.pick(ANY)
    shape = list(x.shape)
    for _ in range(b.choice([1, 1, 2])):
        if len(shape) >= 2 and b.chance(0.5):
            i = b.random.randrange(len(shape) - 1)
            shape[i:i + 2] = [shape[i] * shape[i + 1]]
        elif shape and len(shape) < 5:
            i = b.random.randrange(len(shape))
            part = b.choice([d for d in (1, 2, 3, 4) if shape[i] % d == 0])
            shape[i:i + 1] = [part, shape[i] // part]
        else:
            shape.append(1)
    if len(shape) > 5:
        raise Unfit
    said = list(shape)
    if said and b.chance(0.3):
        said[b.random.randrange(len(said))] = -1
    for i, s in enumerate(said):
        if i < x.rank and s == x.shape[i] and b.chance(0.15):
            said[i] = 0
    b.node(op, [x, b.ints(said)], [x.type], [shape])


@template("Flatten", weight=0.7)
def flatten(b, op):
    x = b.pick(FLOATS + ("liBc?" if b.opset >= 9 else ""), least=1)
    axis = b.choice([None, *range(x.rank + 1)])
    at = 1 if axis is None else axis
    if b.opset >= 11 and axis is not None and axis < x.rank and b.chance(0.3):
        axis -= x.rank
    rows = 1
    for s in x.shape[:at]:
        rows *= s
    b.node(op, [x], [x.type], [(rows, x.size // rows)], axis=axis)


@template("Squeeze Unsqueeze")
def squeeze(b, op):
    x = b.pick(ANY, most=4)
    given, operands = {}, [x]
    if op == "Squeeze":
        ones = [i for i, s in enumerate(x.shape) if s == 1]
        if not ones:
            raise Unfit
        axes = sorted(b.random.sample(ones, b.random.randint(1, len(ones))))
        shape = [s for i, s in enumerate(x.shape) if i not in axes]
        rank = x.rank
        if b.chance(0.1):
            return b.node(op, [x], [x.type], [[s for s in x.shape if s != 1]])
    else:
        axes = [b.random.randrange(x.rank + 1)]
        shape = [*x.shape[:axes[0]], 1, *x.shape[axes[0]:]]
        rank = x.rank + 1
    if b.opset >= 11 and b.chance(0.3):
        axes = [a - rank for a in axes]
    if b.opset < 13:
        given["axes"] = axes
    else:
        operands.append(b.ints(axes))
    return b.node(op, operands, [x.type], [shape], **given)


@template("Concat", weight=3)
def concat(b, op):
    x = b.pick(ANY, least=1)
    axis = b.axis(x.rank, 11)
    at, parts = axis % x.rank, [x]
    for _ in range(b.choice([0, 1, 1, 1, 2])):
        shape = list(x.shape)
        if b.chance(0.5):
            shape[at] = b.size()
        parts.append(b.partner(x, shape))
    b.random.shuffle(parts)
    shape = list(x.shape)
    shape[at] = sum(t.shape[at] for t in parts)
    b.node(op, parts, [x.type], [shape], axis=axis)


@template("Split", weight=2)
def split(b, op):
    x = b.pick(FLOATS + "liBc", least=1, where=lambda t: max(t.shape) >= 2)
    at = b.choice([i for i, s in enumerate(x.shape) if s >= 2])
    axis = at - x.rank if b.opset >= 11 and b.chance(0.3) else at
    size = x.shape[at]
    sizes, given, operands = [], {}, [x]
    while sum(sizes) < size and len(sizes) < 3:
        sizes.append(b.random.randint(1, size - sum(sizes)))
    sizes[-1] += size - sum(sizes)
    equal = [d for d in (2, 3) if size % d == 0]
    if equal and b.chance(0.4):
        n = b.choice(equal)
        sizes = [size // n] * n
        if b.opset >= 18:
            given["num_outputs"] = n
    elif b.opset < 13:
        given["split"] = sizes
    else:
        operands.append(b.ints(sizes))
    shapes = [[*x.shape[:at], s, *x.shape[at + 1:]] for s in sizes]
    b.node(op, operands, [x.type] * len(sizes), shapes, axis=axis, **given)


@template("Slice", weight=2)
def slicing(b, op):
    x = b.pick(FLOATS.replace("b", "") + "liBc?", least=1)
    axes = b.random.sample(range(x.rank), b.random.randint(1, min(2, x.rank)))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        n = x.shape[axis]
        step = b.choice([1, 1, 1, 2, -1, -2]) if b.opset >= 10 else 1
        start = b.random.randrange(n)
        end = b.choice([n, n + 5, 2 ** 31 - 1]) if step > 0 else b.choice([-n - 1, -n - 9])
        if step > 0 and b.chance(0.6):
            end = b.random.randint(start + 1, n)
        at = range(n)[start:end:step] if step > 0 else range(start, -1, step)
        shape[axis] = len(at)
        starts.append(start - n if b.chance(0.3) else start)
        ends.append(end - n if 0 < end < n and b.chance(0.3) else end)
        steps.append(step)
    if min(shape) < 1:
        raise Unfit
    if b.opset >= 11 and b.chance(0.2):
        axes = [a - x.rank for a in axes]
    if b.opset < 10:
        return b.node(op, [x], [x.type], [shape], axes=axes, starts=starts, ends=ends)
    operands = [x, b.ints(starts), b.ints(ends), b.ints(axes)]
    if max(steps) > 1 or min(steps) < 1 or b.chance(0.3):
        operands.append(b.ints(steps))
    return b.node(op, operands, [x.type], [shape])


@template("Pad", weight=1.2)
def pad(b, op):
    x = b.pick("fdh" + ("liB" if b.opset >= 13 else ""), least=1)
    modes = ["constant"] * 5 + ["edge", "reflect"] + (["wrap"] if b.opset >= 19 else [])
    mode = b.choice(modes)
    low = -1 if mode == "constant" and min(x.shape) > 2 else 0
    pads = [b.random.randint(low, 2) if b.chance(0.5) else 0 for _ in range(2 * x.rank)]
    if mode in ("reflect", "wrap"):
        pads = [min(p, s - 1) for p, s in zip(pads, x.shape * 2)]
    shape = [s + p + q for s, p, q in zip(x.shape, pads, pads[x.rank:])]
    value = b.choice([None, 0.0, 1.0, -2.0])
    if b.opset < 11:
        return b.node(op, [x], [x.type], [shape], pads=pads, mode=mode, value=value)
    operands = [x, b.ints(pads)]
    operands.append(None if value is None else b.scalar(x.type, abs(value)))
    if b.opset >= 18 and b.chance(0.2):
        operands.append(b.ints(range(x.rank)))
    return b.node(op, operands, [x.type], [shape], mode=mode)


@template("Expand", since=8)
def expand(b, op):
    x = b.pick(FLOATS.replace("b", "") + "li?", most=4)
    shape = [b.size() if s == 1 and b.chance(0.7) else s for s in x.shape]
    if b.chance(0.4):
        shape = [b.size(), *shape]
    said = [1 if s == t and b.chance(0.3) else t for s, t in
            zip([0] * (len(shape) - x.rank) + list(x.shape), shape)]
    if not said:
        raise Unfit
    b.node(op, [x, b.ints(said)], [x.type], [shape])


@template("Tile", weight=0.8)
def tile(b, op):
    x = b.pick("fdhliB?", least=1, most=4)
    times = [b.choice([1, 1, 2, 3]) for _ in x.shape]
    b.node(op, [x, b.ints(times)], [x.type], [[s * t for s, t in zip(x.shape, times)]])


@template("DepthToSpace SpaceToDepth", weight=0.7)
def depth(b, op):
    n, c, h, w = b.size(), b.choice([1, 2, 3]), b.choice([1, 2, 3]), b.choice([1, 2, 3])
    block = b.choice([1, 2, 2])
    deep, wide = (n, c * block * block, h, w), (n, c, h * block, w * block)
    x = b.input("f", deep if op == "DepthToSpace" else wide)
    mode = b.choice([None, "DCR", "CRD"]) if op == "DepthToSpace" and b.opset >= 11 else None
    b.node(op, [x], ["f"], [wide if op == "DepthToSpace" else deep], blocksize=block, mode=mode)

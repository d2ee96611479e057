"""Random nodes that select or make elements by indices, and resize."""

import numpy as np

from template_table import ANY, same, template


@template("Gather", weight=2)
def gather(b, op):
    x = b.pick(ANY, least=1)
    at = b.random.randrange(x.rank)
    axis = at - x.rank if b.opset >= 11 and b.chance(0.3) else at
    n = x.shape[at]
    low = -n if b.opset >= 11 else 0
    shape = b.choice([(), (1,), (b.size(),), (b.size(), b.size())])
    kind = b.choice("lli")
    if b.chance(0.5):
        indices = b.weight(kind, shape, b.numbers.integers(low, n, shape))
    else:
        indices = b.input(kind, shape, low, n)
    b.node(op, [x, indices], [x.type], [(*x.shape[:at], *shape, *x.shape[at + 1:])], axis=axis)


@template("GatherElements", since=11, weight=0.3)
def gather_elements(b, op):
    x = b.pick("fdli", least=1)
    at = b.random.randrange(x.rank)
    n = x.shape[at]
    indices = b.weight("l", x.shape, b.numbers.integers(-n, n, x.shape))
    same(b, op, x, [x, indices], axis=at)


@template("ScatterElements", since=11, weight=0.3)
def scatter_elements(b, op):
    x = b.pick("fl", least=1)
    at = b.random.randrange(x.rank)
    index = b.random.randrange(x.shape[at])
    shape = [1 if i == at else s for i, s in enumerate(x.shape)]
    same(b, op, x, [x, b.weight("l", shape, index), b.source(x.type, shape)], axis=at)


@template("Scatter", since=9, until=10, weight=0.3)
def scatter(b, op):
    scatter_elements(b, op)


@template("GatherND", since=11, weight=0.5)
def gather_nd(b, op):
    x = b.pick("fdl", least=1)
    depth = b.random.randint(1, x.rank)
    sizes = np.array(x.shape[:depth])
    places = (b.size(),)
    indices = b.numbers.integers(-sizes, sizes, (*places, depth))
    b.node(op, [x, b.weight("l", (*places, depth), indices)], [x.type], [(*places, *x.shape[depth:])])


@template("ScatterND", since=11, weight=0.5)
def scatter_nd(b, op):
    """`x[first:last] = y`, as exporters write it."""
    x = b.pick("fl", least=1)
    first = b.random.randrange(x.shape[0])
    count = b.random.randint(1, x.shape[0] - first)
    rows = b.weight("l", (count, 1), np.arange(first, first + count))
    same(b, op, x, [x, rows, b.source(x.type, (count, *x.shape[1:]))])


@template("RotaryEmbedding", since=23, weight=0.3)
def rotary_embedding(b, op):
    batch, heads, length, half = b.size(), b.size(), b.size(), b.size()
    x = b.input("f", (batch, heads, length, 2 * half))
    caches = [b.source("f", (batch, length, half)) for _ in range(2)]
    same(b, op, x, [x, *caches], interleaved=b.choice([None, 1]))


@template("OneHot", since=9, weight=0.5)
def one_hot(b, op):
    shape, n = b.shape(rank=b.choice([1, 2])), b.size() + 1
    b.node(op, [b.input("l", shape, -n if b.opset >= 11 else 0, n), b.weight("l", (1,), n),
                b.weight("f", (2,), [0, 1])], ["f"], [(*shape, n)])


@template("Trilu", since=14, weight=0.5)
def trilu(b, op):
    x = b.pick("fdl", least=2)
    same(b, op, x, [x, b.choice([None, b.scalar("l", b.choice([-1, 0, 1]))])],
         upper=b.choice([None, 0]))


@template("TopK", since=11, weight=0.3)
def top_k(b, op):
    x = b.pick("fdl", least=1)
    at = b.random.randrange(x.rank)
    k = b.random.randint(1, x.shape[at])
    shape = [*x.shape[:at], k, *x.shape[at + 1:]]
    b.node(op, [x, b.weight("l", (1,), k)], [x.type, "l"], [shape, shape], axis=at)


@template("Einsum", since=12, weight=0.8)
def einsum(b, op):
    equation = b.choice(["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bij,bkj->bik", "ij->ji", "ij->i",
                         "i,j->ij", "ij,ij->", "bhid,bhjd->bhij", "ij,j->i", "abc,cd->abd",
                         "ij,jk", "i,i->i", "bij->b"])
    terms, _, result = equation.partition("->")
    terms = terms.split(",")
    x = b.pick("fd", least=len(terms[0]), most=len(terms[0]))
    size = dict(zip(terms[0], x.shape))
    operands = [x]
    for term in terms[1:]:
        shape = [size.setdefault(letter, b.size()) for letter in term]
        operands.append(b.partner(x, shape))
    if "->" not in equation:
        letters = "".join(terms)
        result = sorted(c for c in set(letters) if letters.count(c) == 1)
    b.node(op, operands, [x.type], [[size[letter] for letter in result]], equation=equation)


@template("Resize", since=11, weight=0.8)
def resize(b, op):
    x = b.pick("f", least=4, most=4)
    way = b.choice(["nearest", "linear"])
    up = [b.choice([1, 2, 3]), b.choice([1, 2, 4])]
    shape = (*x.shape[:2], *(u * s for u, s in zip(up, x.shape[2:])))
    place = b.choice([None, "half_pixel", "asymmetric", "align_corners"])
    rounding = b.choice([None, "floor", "ceil", "round_prefer_ceil"]) if way == "nearest" else None
    if b.chance(0.5):
        operands = [x, b.weight("f", (0,), []), b.weight("f", (4,), [1, 1, *up])]
    else:
        operands = [x, b.weight("f", (0,), []), b.weight("f", (0,), []), b.ints(shape)]
    b.node(op, operands, ["f"], [shape], mode=way, coordinate_transformation_mode=place,
           nearest_mode=rounding)


@template("Upsample", until=9, weight=0.5)
def upsample(b, op):
    x = b.pick("f", least=4, most=4)
    up = [1, 1, b.choice([1, 2, 3]), b.choice([1, 2])]
    shape = [u * s for u, s in zip(up, x.shape)]
    mode = b.choice([None, "nearest", "linear"])
    if b.opset < 9:
        return b.node(op, [x], ["f"], [shape], mode=mode, scales=[float(u) for u in up])
    return b.node(op, [x, b.weight("f", (4,), up)], ["f"], [shape], mode=mode)


@template("Range", since=11, weight=0.4)
def counting(b, op):
    kind, n = b.choice("fl"), b.size()
    start, step = b.choice([0, 0, 1, -2]), b.choice([1, 1, 2, -1])
    b.node(op, [b.scalar(kind, start), b.scalar(kind, start + n * step), b.scalar(kind, step)],
           [kind], [(n,)])

"""Pairs of models that differ where random numbers seldom fall: beyond a threshold, at a half, at
equality, for negative integers, for one token, at magnitudes that few inputs have. Does compare-graphs
see it, and does it call the right neighbor of each pair equal?

  BIN_DIR=build/bin python wrong_pairs.py [--rounds N] [--seed N] [--judge onnxruntime|none] [FAMILY...]

A family draws its numbers and makes three models: an original, one that computes the same in another
way, and one that does not. Each is compared with the original, in either order. The exit code is 0 if every
wrong pair was seen and every right one was called equal."""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.append(str(Path(__file__).parents[2]))
import sanitizers

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[3] / "build" / "bin"))
EQUAL, NOT_EQUAL = 0, 6
# Nodes that compare-graphs does not run itself: without a runtime it cannot decide.
NEEDS_RUNTIME = {"mod of negatives", "mod of reals", "quotient of negatives", "last of equal ones"}
FAMILIES = {}


def family(function):
    FAMILIES[function.__name__.replace("_", " ")] = function
    return function


def model(inputs, body, result="float", **constants):
    """`inputs`: types and names, as "float[4,16] x, int64[8] n". The body computes y, of the size of the
    first input; `constants` are integers, real numbers or arrays."""
    shape = inputs.split("[")[1].split("]")[0]
    parsed = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => ({result}[{shape}] y) {{ {body} }}')
    for name, value in constants.items():
        if not isinstance(value, np.ndarray):
            value = np.asarray(value, np.int64 if isinstance(value, int) else np.float32)
        parsed.graph.initializer.append(numpy_helper.from_array(value, name))
    return parsed


def resized(made):
    """The model with the size that its result has, where that is not the first input's."""
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(made)


def reals(draw):
    """An input of some size; small ones leave a sample few numbers to fall on."""
    return f"float[{draw.choice(['4', '3,5', '8,16', '4,64'])}] x"


# --- Thresholds -----------------------------------------------------------------------------


def above(inputs, number, factor, compare="Greater", before="t = Identity(x)", **constants):
    return model(inputs, f"{before} m = {compare}(t, c) s = Mul(x, f) y = Where(m, s, x)", c=number,
                 f=factor, **constants)


def below_or_equal(inputs, number, factor, before="t = Identity(x)", **constants):
    return model(inputs, f"{before} m = LessOrEqual(t, c) s = Mul(f, x) y = Where(m, x, s)", c=number,
                 f=factor, **constants)


@family
def threshold(draw):
    x, c = reals(draw), round(draw.uniform(3, 60), 1)
    return above(x, c, 2.0), below_or_equal(x, c, 2.0), above(x, c * 1.02, 2.0)


@family
def large_threshold(draw):
    x, c = reals(draw), float(np.float32(10 ** draw.uniform(3.5, 7)))
    return above(x, c, 2.0), below_or_equal(x, c, 2.0), above(x, c * 1.25, 2.0)


@family
def negative_threshold(draw):
    x, c = reals(draw), -round(draw.uniform(3, 90), 1)
    return above(x, c, 0.5), below_or_equal(x, c, 0.5), above(x, c * 1.03, 0.5)


@family
def threshold_behind_scale_and_shift(draw):
    x, c = reals(draw), round(draw.uniform(9, 40), 1)
    before = "u = Mul(x, a) t = Add(u, b)"
    numbers = {"a": round(draw.uniform(0.1, 0.9), 2), "b": round(draw.uniform(-3, 3), 1)}
    return (above(x, c, 2.0, before=before, **numbers),
            below_or_equal(x, c, 2.0, before="u = Mul(a, x) t = Add(b, u)", **numbers),
            above(x, c * 1.02, 2.0, before=before, **numbers))


@family
def threshold_behind_a_chain(draw):
    """t = e - (b - x) / d * a, and the same number solved for x beside it."""
    x, c = draw.choice([reals(draw), "float[64,64] x"]), round(draw.uniform(9, 40), 1)
    numbers = {"a": round(draw.uniform(0.2, 3), 2), "b": round(draw.uniform(-9, 9), 1),
               "d": round(draw.uniform(0.5, 4), 2), "e": round(draw.uniform(-3, 3), 1)}
    before = "u = Sub(b, x) v = Div(u, d) w = Mul(v, a) t = Sub(e, w)"
    return (above(x, c, 2.0, before=before, **numbers), below_or_equal(x, c, 2.0, before=before, **numbers),
            above(x, c * 1.02, 2.0, before=before, **numbers))


@family
def threshold_solved_for_the_input(draw):
    """The scale is a power of two, so that both files decide alike, without a number in common."""
    x, a, b = reals(draw), 2.0 ** draw.choice([-2, 1, 2]), float(draw.randint(-9, 9))
    at = draw.randint(40, 200) / 8
    return (above(x, at, 2.0), below_or_equal(x, at * a, 2.0, before="t = Mul(x, a)", a=a),
            below_or_equal(x, at * a * 1.02 + b, 2.0, before="u = Mul(x, a) t = Add(u, b)", a=a, b=b))


@family
def bound_behind_scale_and_shift(draw):
    x, c = reals(draw), round(draw.uniform(4, 30), 1)
    numbers = {"a": round(draw.uniform(0.1, 0.9), 2), "b": round(draw.uniform(-3, 3), 1)}
    before = "u = Mul(x, a) t = Add(u, b)"
    return (model(x, f"{before} d = Sub(t, c) y = Relu(d)", c=c, **numbers),
            model(x, f"{before} m = Max(t, c) y = Sub(m, c)", c=c, **numbers),
            model(x, f"{before} m = Max(t, d) y = Sub(m, c)", c=c, d=c * 1.02, **numbers))


def matrix(draw, n):
    return np.random.default_rng(draw.randrange(2**32)).standard_normal((n, n)).astype(np.float32)


@family
def threshold_behind_a_product(draw):
    c, w = round(draw.uniform(40, 400), 1), matrix(draw, 16)
    made = [model("float[4,16] x", f"t = MatMul(x, w) m = {compare}(t, c) s = Mul(t, f) y = Where(m, {order})",
                  w=w, c=number, f=1.5)
            for compare, order, number in [("Greater", "s, t", c), ("LessOrEqual", "t, s", c),
                                           ("Greater", "s, t", c * 1.01)]]
    return made


@family
def threshold_behind_a_norm_of_rows(draw):
    c = round(draw.uniform(30, 3000), 1)
    body = "q = Mul(x, x) s = ReduceSum(q, axes) m = {}(s, c) h = Mul(x, f) y = Where(m, {})"
    axes = np.array([1], np.int64)
    return [model("float[4,16] x", body.format(*form), axes=axes, c=number, f=0.5)
            for form, number in [(("Greater", "h, x"), c), (("LessOrEqual", "x, h"), c),
                                 (("Greater", "h, x"), c * 1.01)]]


@family
def larger_above_a_million(draw):
    x, c = reals(draw), 10.0 ** draw.choice([6, 7, 9, 12])
    plain = model(x, "y = Identity(x)")
    return plain, model(x, "n = Neg(x) y = Neg(n)"), above(x, c, 1.5)


# --- Equality -------------------------------------------------------------------------------


@family
def strict_or_not(draw):
    x, c = reals(draw), round(draw.uniform(1, 90), draw.choice([0, 1, 2]))
    return above(x, c, 2.0), below_or_equal(x, c, 2.0), above(x, c, 2.0, "GreaterOrEqual")


@family
def strict_or_not_behind_a_scale(draw):
    x, numbers = reals(draw), {"a": draw.choice([2.0, 4.0, 0.5]), "b": float(draw.randint(-3, 3))}
    before, c = "u = Mul(x, a) t = Add(u, b)", float(draw.randint(4, 12))  # at 0, 2x is x
    return (above(x, c, 2.0, before=before, **numbers),
            below_or_equal(x, c, 2.0, before="u = Mul(a, x) t = Add(b, u)", **numbers),
            above(x, c, 2.0, "GreaterOrEqual", before=before, **numbers))


@family
def order_of_two_inputs(draw):
    n = draw.choice([4, 16, 128])
    inputs = f"float[{n}] x, float[{n}] z"
    body = "m = {}(x, z) h = Mul(x, f) y = Where(m, {})"
    return [model(inputs, body.format(*form), f=3.0)
            for form in [("Greater", "h, z"), ("LessOrEqual", "z, h"), ("GreaterOrEqual", "h, z")]]


@family
def equal_to_a_number(draw):
    x, c = reals(draw), round(draw.uniform(-20, 20), draw.choice([0, 1]))
    made = [model(x, f"m = Equal({order}) y = Where(m, f, x)", c=number, f=-1.0)
            for order, number in [("x, c", c), ("c, x", c), ("x, c", c + 1)]]
    return made


@family
def last_of_equal_ones(draw):
    n = draw.choice([6, 16])
    return [resized(model(f"float[4,{n}] x", f"y = ArgMax<axis = 1, select_last_index = {last}>({of})" if of == "x"
                       else f"d = Add(x, x) y = ArgMax<axis = 1, select_last_index = {last}>(d)", "int64"))
            for last, of in [(0, "x"), (0, "d"), (1, "x")]]


# --- Signs ----------------------------------------------------------------------------------


@family
def sign_of_zero(draw):
    x = reals(draw)
    signs = model(x, "y = Sign(x)")
    same = model(x, "p = Greater(x, z) a = Where(p, o, z) n = Less(x, z) b = Where(n, m, z) y = Add(a, b)",
                 z=0.0, o=1.0, m=-1.0)
    return signs, same, model(x, "p = GreaterOrEqual(x, z) y = Where(p, o, m)", z=0.0, o=1.0, m=-1.0)


@family
def slope_of_negatives(draw):
    x, slope = reals(draw), round(draw.uniform(0.01, 0.3), 3)
    return [model(x, f"y = LeakyRelu<alpha = {slope}>(x)"),
            model(x, "p = Relu(x) n = Min(x, z) s = Mul(n, a) y = Add(p, s)", z=0.0, a=slope),
            model(x, f"y = LeakyRelu<alpha = {slope + 0.001}>(x)")]


@family
def root_of_a_square(draw):
    x = reals(draw)
    return [model(x, "q = Mul(x, x) y = Sqrt(q)"), model(x, "y = Abs(x)"),
            model(x, "y = Max(x, z)", z=0.0)]


# --- Halves and whole numbers ------------------------------------------------------------------


@family
def round_half_to_even(draw):
    x = reals(draw)
    return [model(x, "y = Round(x)"), model(x, "n = Neg(x) r = Round(n) y = Neg(r)"),
            model(x, "s = Add(x, h) y = Floor(s)", h=0.5)]


@family
def floor_of_more_by_a_half(draw):
    x = reals(draw)
    return [model(x, "s = Add(x, h) y = Floor(s)", h=0.5), model(x, "s = Add(h, x) y = Floor(s)", h=0.5),
            model(x, "s = Sub(x, h) y = Ceil(s)", h=0.5)]


@family
def round_of_a_scaled_one(draw):
    x, scale = reals(draw), 2.0 ** draw.choice([-3, -2, -1, 1])
    return [model(x, "s = Mul(x, a) y = Round(s)", a=scale), model(x, "s = Mul(a, x) y = Round(s)", a=scale),
            model(x, "s = Mul(x, a) t = Add(s, h) y = Floor(t)", a=scale, h=0.5)]


@family
def floor_of_whole_numbers(draw):
    x = reals(draw)
    return [model(x, "y = Floor(x)"), model(x, "n = Neg(x) c = Ceil(n) y = Neg(c)"),
            model(x, "c = Ceil(x) y = Sub(c, o)", o=1.0)]


@family
def cast_is_no_floor(draw):
    x = reals(draw)
    return [model(x, "f = Floor(x) y = Clip(f, a, b)", a=-50.0, b=50.0),
            model(x, "c = Clip(x, a, b) y = Floor(c)", a=-50.0, b=50.0),
            model(x, "c = Clip(x, a, b) n = Cast<to = 6>(c) y = Cast<to = 1>(n)", a=-50.0, b=50.0)]


# --- Bounds ---------------------------------------------------------------------------------


@family
def clip_bound(draw):
    x, b = reals(draw), round(draw.uniform(4, 30), 1)
    return [model(x, "y = Clip(x, a, b)", a=0.0, b=b), model(x, "m = Min(x, b) y = Max(m, a)", a=0.0, b=b),
            model(x, "y = Clip(x, a, b)", a=0.0, b=b * 1.01)]


@family
def clip_far_out(draw):
    x, b = reals(draw), 10.0 ** draw.choice([3, 5, 8])
    return [model(x, "y = Relu(x)"), model(x, "y = Max(x, z)", z=0.0), model(x, "y = Clip(x, a, b)", a=0.0, b=b)]


@family
def lower_bound(draw):
    x, a = reals(draw), -round(draw.uniform(3, 40), 1)
    return [model(x, "y = Max(x, a)", a=a), model(x, "n = Neg(x) m = Min(n, b) y = Neg(m)", b=-a),
            model(x, "y = Max(x, a)", a=a * 1.01)]


@family
def clip_behind_a_product(draw):
    w, b = matrix(draw, 16), round(draw.uniform(20, 200), 1)
    return [model("float[4,16] x", "t = MatMul(x, w) y = Clip(t, a, b)", w=w, a=0.0, b=b),
            model("float[4,16] x", "t = MatMul(x, w) r = Relu(t) y = Min(r, b)", w=w, b=b),
            model("float[4,16] x", "t = MatMul(x, w) y = Clip(t, a, b)", w=w, a=0.0, b=b * 1.01)]


@family
def shrunk_band(draw):
    x, band = reals(draw), round(draw.uniform(2.5, 20), 1)
    body = "a = Abs(x) d = Sub(a, l) r = Relu(d) s = Sign(x) y = Mul(s, r)"
    return [model(x, body, l=band), model(x, "c = Clip(x, a, b) y = Sub(x, c)", a=-band, b=band),
            model(x, body, l=band * 1.01)]


@family
def hard_sigmoid(draw):
    x = reals(draw)
    return [model(x, "y = HardSigmoid<alpha = 0.2, beta = 0.5>(x)"),
            model(x, "s = Mul(x, a) t = Add(s, b) y = Clip(t, z, o)", a=0.2, b=0.5, z=0.0, o=1.0),
            model(x, "y = HardSigmoid<alpha = 0.1666667, beta = 0.5>(x)")]


# --- Integers and tokens -----------------------------------------------------------------------


def integers(draw):
    return f"int64[{draw.choice(['4', '3,5', '64'])}] n"


@family
def bound_of_integers(draw):
    n, bound = integers(draw), draw.randint(9, 5000)
    return [model(n, "y = Min(n, b)", "int64", b=bound), model(n, "y = Min(b, n)", "int64", b=bound),
            model(n, "y = Min(n, b)", "int64", b=bound + 1)]


@family
def padding_token(draw):
    n, pad = integers(draw), draw.choice([2, 13, 101, 50256])
    body = "m = Equal(n, p) y = Where(m, z, n)"
    return [model(n, body, "int64", p=pad, z=-7), model(n, "m = Equal(p, n) k = Not(m) y = Where(k, n, z)", "int64",
                                                       p=pad, z=-7),
            model(n, body, "int64", p=pad + 1, z=-7)]


@family
def sign_of_integers(draw):
    n, bound = integers(draw), draw.randint(-90, -1)
    body = "m = {}(n, b) y = Where(m, {})"
    return [model(n, body.format(*form), "int64", b=bound, z=5)
            for form in [("Less", "z, n"), ("GreaterOrEqual", "n, z"), ("LessOrEqual", "z, n")]]


@family
def row_of_one_token(draw):
    rows = draw.choice([16, 48])
    table = np.random.default_rng(draw.randrange(2**32)).standard_normal((rows, 4)).astype(np.float32)
    other = table.copy()
    other[draw.choice([0, rows - 1, draw.randrange(rows)])] += 1
    return [resized(model("int64[2,8] n", body, w=w))
            for body, w in [("y = Gather(w, n)", table), ("a = Gather(w, n) b = Neg(a) y = Neg(b)", table),
                            ("y = Gather(w, n)", other)]]


@family
def token_that_has_no_embedding(draw):
    rows = 200
    table = np.random.default_rng(draw.randrange(2**32)).standard_normal((rows, 4)).astype(np.float32)
    token, axes = draw.randrange(rows), np.array([-1], np.int64)
    body = "m = Equal(n, p) k = Unsqueeze(m, a) g = Gather(w, n) y = Where(k, z, g)"
    same = "m = Equal(p, n) q = Not(m) k = Unsqueeze(q, a) g = Gather(w, n) y = Where(k, g, z)"
    return [resized(model("int64[8] n", form, w=table, p=p, a=axes, z=0.0))
            for form, p in [(body, token), (same, token), (body, (token + 1) % rows)]]


@family
def mod_of_negatives(draw):
    inputs = "int64[16] n, int64[16] k" if draw.random() < 0.5 else "int64[16] n"
    constants = {} if " k" in inputs else {"k": draw.choice([3, 7, 16])}
    return [model(inputs, f"y = Mod<fmod = {0}>(n, k)", "int64", **constants),
            model(inputs, "m = Neg(n) o = Neg(m) y = Mod<fmod = 0>(o, k)", "int64", **constants),
            model(inputs, f"y = Mod<fmod = {1}>(n, k)", "int64", **constants)]


@family
def mod_of_reals(draw):
    k = draw.choice([2.0, 3.0, 0.5])
    floored = "q = Div(x, k) f = Floor(q) p = Mul(f, k) y = Sub(x, p)"
    return [model("float[64] x", "c = Clip(x, a, b) y = Mod<fmod = 1>(c, k)", k=k, a=-9.0, b=9.0),
            model("float[64] x", "m = Min(x, b) c = Max(m, a) y = Mod<fmod = 1>(c, k)", k=k, a=-9.0, b=9.0),
            model("float[64] x", "c = Clip(x, a, b) " + floored.replace("x", "c"), k=k, a=-9.0, b=9.0)]


@family
def quotient_of_negatives(draw):
    k = draw.choice([2, 3, 5])
    return [model("int64[16] n", "y = Div(n, k)", "int64", k=k),
            model("int64[16] n", "m = Neg(n) o = Neg(m) y = Div(o, k)", "int64", k=k),
            model("int64[16] n", "r = Mod<fmod = 0>(n, k) d = Sub(n, r) y = Div(d, k)", "int64", k=k)]


# --- Magnitudes -----------------------------------------------------------------------------


@family
def softmax_without_its_maximum(draw):
    body = "e = Exp({}) s = ReduceSum(e, axes) y = Div(e, s)"
    axes = np.array([1], np.int64)
    return [model("float[4,16] x", "y = Softmax<axis = 1>(x)"),
            model("float[4,16] x", "m = ReduceMax(x, axes) d = Sub(x, m) " + body.format("d"), axes=axes),
            model("float[4,16] x", body.format("x"), axes=axes)]


@family
def logarithm_of_exponentials(draw):
    return [model("float[4,16] x", "y = LogSoftmax<axis = 1>(x)"),
            model("float[4,16] x", "m = ReduceMax(x, axes) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, axes) "
                  "l = Log(s) y = Sub(d, l)", axes=np.array([1], np.int64)),
            model("float[4,16] x", "p = Softmax<axis = 1>(x) y = Log(p)")]


@family
def sigmoid_of_large_numbers(draw):
    x = reals(draw)
    return [model(x, "y = Sigmoid(x)"), model(x, "n = Neg(x) e = Exp(n) s = Add(e, o) y = Div(o, s)", o=1.0),
            model(x, "e = Exp(x) s = Add(e, o) y = Div(e, s)", o=1.0)]


@family
def softplus_of_large_numbers(draw):
    x = reals(draw)
    return [model(x, "y = Softplus(x)"),
            model(x, "p = Relu(x) a = Abs(x) n = Neg(a) e = Exp(n) s = Add(e, o) l = Log(s) y = Add(p, l)", o=1.0),
            model(x, "e = Exp(x) s = Add(e, o) y = Log(s)", o=1.0)]


@family
def gelu_by_tanh(draw):
    x = reals(draw)
    erf = "h = Mul(x, r) e = Erf(h) s = Add(e, o) t = Mul(x, s) y = Mul(t, f)"
    tanh = "q = Mul(x, x) c = Mul(q, x) a = Mul(c, k) b = Add(x, a) d = Mul(b, g) e = Tanh(d) s = Add(e, o) " \
           "t = Mul(x, s) y = Mul(t, f)"
    return [model(x, erf, r=0.70710678, o=1.0, f=0.5),
            model(x, "d = Mul(x, f) h = Mul(x, r) e = Erf(h) s = Add(e, o) y = Mul(d, s)", r=0.70710678, o=1.0, f=0.5),
            model(x, tanh, k=0.044715, g=0.7978846, o=1.0, f=0.5)]


@family
def small_number_in_a_divisor(draw):
    x, small = reals(draw), 10.0 ** -draw.choice([4, 5, 6])
    body = "a = Abs(x) s = Add(a, e) y = Div(x, s)"
    return [model(x, body, e=small), model(x, "a = Abs(x) s = Add(e, a) y = Div(x, s)", e=small),
            model(x, body, e=small / 100)]


@family
def mask_that_is_not_large_enough(draw):
    inputs = "float[4,16] x, float[4,16] m"
    body = "d = Sub(o, m) b = Mul(d, k) s = Add(x, b) y = Softmax<axis = 1>(s)"
    return [model(inputs, body, o=1.0, k=-1e9),
            model(inputs, "d = Sub(o, m) b = Mul(k, d) s = Add(b, x) y = Softmax<axis = 1>(s)", o=1.0, k=-1e9),
            model(inputs, body, o=1.0, k=-100.0)]


@family
def cut_exponent(draw):
    x, b = reals(draw), round(draw.uniform(20, 60), 1)
    return [model(x, "c = Min(x, b) y = Exp(c)", b=b), model(x, "c = Min(b, x) y = Exp(c)", b=b),
            model(x, "c = Min(x, b) y = Exp(c)", b=b + 1)]


# --- Comparing ------------------------------------------------------------------------------


def verdict(a, b, folder, judge, seed=0):
    paths = [folder / "a.onnx", folder / "b.onnx"]
    for made, path in zip((a, b), paths):
        onnx.save(made, path)
    done = subprocess.run([BIN_DIR / "compare-graphs", *paths, "-q", "--judge", judge, "--seed", str(seed)],
                          env=os.environ | {"SOAPSTONE_PYTHON": sys.executable}, text=True, capture_output=True,
                          timeout=sanitizers.seconds(120), check=False)
    return done.returncode, done.stdout + done.stderr


def sweep(names, rounds, seed, judge=None, report=lambda line: None):
    """Lines about what went wrong, and the counts (seen, wrong pairs, equal, right pairs)."""
    finds, seen, wrong_pairs, equal, right_pairs = [], 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for number in range(rounds):
                draw = random.Random(f"{seed} {number} {name}")
                original, right, wrong = FAMILIES[name](draw)
                with_runtime = judge or ("onnxruntime" if name in NEEDS_RUNTIME else "none")
                turned = (number + seed + len(name)) % 2 == 1
                for other, wanted in ((right, EQUAL), (wrong, NOT_EQUAL)):
                    pair = (other, original) if turned else (original, other)
                    code, words = verdict(*pair, Path(folder), with_runtime)
                    if wanted == EQUAL:
                        right_pairs, equal = right_pairs + 1, equal + (code == EQUAL)
                    else:
                        wrong_pairs, seen = wrong_pairs + 1, seen + (code == NOT_EQUAL)
                    if code != wanted:
                        finds.append(f"{name}, round {number}{', turned round' if turned else ''}: exit code {code} in "
                                     f"place of {wanted}\n{words}\n{onnx.printer.to_text(pair[0])}\n"
                                     f"{onnx.printer.to_text(pair[1])}")
                        report(finds[-1])
    return finds, (seen, wrong_pairs, equal, right_pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FAMILY", help="these alone")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="draws of each family (default: 2)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--judge", choices=["onnxruntime", "none"],
                        help="for all pairs (default: the runtime for those that need it)")
    options = parser.parse_args()
    for name in set(options.names) - set(FAMILIES):
        parser.error(f"there is no family '{name}'; there are: {', '.join(FAMILIES)}")
    finds, counts = sweep(options.names or FAMILIES, options.rounds, options.seed, options.judge,
                          lambda line: print(line, flush=True))
    print("{} of {} seen, {} of {} right pairs equal".format(*counts))
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())

"""Labels of rules whose results are truth values, integers, or chosen by either: rules are drawn, and numpy computes both
sides in float32 at NaN, infinities, zeros of both signs, and the ends of the range. A rule whose sides differ there must
say so in its label. SOAPSTONE_DECISION_RULES=N draws N rules instead of 120, SOAPSTONE_DECISION_SEED=S others; the seed of a
failure is in its message."""

import itertools
import json
import os
import random
import unittest

import commands
from commands import run

import numpy as np

SEED = int(os.environ.get("SOAPSTONE_DECISION_SEED", "20261129"))
COUNT = int(os.environ.get("SOAPSTONE_DECISION_RULES", "120"))

FUNCTIONS = {
    "less": np.less, "less_or_equal": np.less_equal, "equal": np.equal, "not": np.logical_not,
    "neg": np.negative, "abs": np.abs, "exp": np.exp, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum, "where": np.where,
    "relu": lambda x: np.where(x < 0, np.float32(0), x),
    "mul": lambda a, b: np.logical_and(a, b) if a.dtype == bool else a * b,
    "to_i64": lambda x: x.astype(np.int64), "to_i32": lambda x: x.astype(np.int32),
    "to_f32": lambda x: x.astype(np.float32), "to_bool": lambda x: x.astype(bool),
}
CASTS = {"to_i64": "i64", "to_i32": "i32", "to_f32": "f32", "to_bool": "bool"}
ZERO, TWO = "zero", "two"


def laws(a, b):
    """Pairs of terms that are equal for real numbers, or seem to be. A term is a name, or an operator with terms."""
    less, equal, no = ("less", a, b), ("equal", a, b), lambda term: ("not", term)
    return [
        (no(less), ("less_or_equal", b, a)),
        (no(("less_or_equal", a, b)), ("less", b, a)),
        (equal, ("mul", ("less_or_equal", a, b), ("less_or_equal", b, a))),
        (no(equal), ("max", less, ("less", b, a))),
        (no(("max", less, ("less", b, a))), equal),
        (less, ("less", ("neg", b), ("neg", a))),
        (equal, ("equal", ("sub", a, b), ZERO)),
        (less, ("less", ("sub", a, b), ZERO)),
        (less, ("less", ("exp", a), ("exp", b))),
        (less, ("less", ("mul", a, TWO), ("mul", b, TWO))),
        (("equal", ("max", a, b), a), ("less_or_equal", b, a)),
        (("less_or_equal", ("relu", a), ZERO), ("less_or_equal", a, ZERO)),
        (("to_bool", a), no(("equal", a, ZERO))),
        (("to_bool", ("to_i64", ("round", a))), no(("equal", ("round", a), ZERO))),
        (("to_i64", ("floor", ("relu", a))), ("to_i64", ("relu", a))),
        (("to_i64", ("neg", a)), ("neg", ("to_i64", a))),
        (("to_i64", ("to_i32", a)), ("to_i64", a)),
        (("to_f32", ("to_i64", ("round", a))), ("round", a)),
        (("to_i64", ("ceil", a)), ("neg", ("to_i64", ("floor", ("neg", a))))),
        (("where", less, a, b), ("min", a, b)),
        (("where", less, a, b), ("where", ("less_or_equal", b, a), b, a)),
        (("where", equal, a, b), b),
        (("where", ("less", ZERO, a), a, ZERO), ("relu", a)),
        (("where", ("less", a, ZERO), ("neg", a), a), ("abs", a)),
    ]


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def operand(self):
        name = self.random.choice("xz")
        return self.random.choice([name, name, name, ("neg", name), ("abs", name), ("mul", name, TWO), ("relu", name),
                                   ("add", "x", "z"), ("exp", name), ("floor", name)])

    def sides(self):
        a, b = self.operand(), self.operand()
        while a == b:
            b = self.operand()
        source, target = self.random.choice(laws(a, b))
        if self.random.random() < 0.3:
            source, target = target, source
        for wrapper in self.random.sample(["not", "to_i64", "where"], self.random.choice([0, 0, 1])):
            is_bool = source[0] in ("not", "less", "less_or_equal", "equal", "to_bool") and \
                target[0] in ("not", "less", "less_or_equal", "equal", "to_bool")
            if is_bool:
                source, target = [(wrapper, term, "x", "z") if wrapper == "where" else (wrapper, term)
                                  for term in (source, target)]
        return source, target


def statements(term, name):
    """The lines that compute the term."""
    lines = []

    def visit(term, name=None):
        if isinstance(term, str):
            return term
        operands = [visit(each) for each in term[1:]]
        made = name or f"t{len(lines)}"
        call = f'cast({operands[0]}; to="{CASTS[term[0]]}")' if term[0] in CASTS else f"{term[0]}({', '.join(operands)})"
        lines.append(f"    {made} = {call}")
        return made

    last = visit(term, name)
    return lines if last == name else lines + [f"    {name} = {last}"]


def names_in(term):
    return {term} if isinstance(term, str) else set().union(*(names_in(each) for each in term[1:]))


def rule_text(number, source, target):
    used = names_in(source) | names_in(target)
    constants = {ZERO: f"{ZERO}: [] = {{0}}", TWO: f"{TWO}: [] = {{2}}"}
    inputs = [f"{name}: [n]" for name in sorted(used - set(constants))]
    inputs += [text for name, text in constants.items() if name in used]
    return "\n".join([f"rule drawn_{number}", "  " + "   ".join(inputs), "  results y", "  source", *statements(source, "y"),
                      "  target", *statements(target, "y"), ""])


def value_of(term, inputs):
    if isinstance(term, str):
        return inputs[term]
    return FUNCTIONS[term[0]](*(value_of(each, inputs) for each in term[1:]))


def sides_at(source, target, pool):
    """Both sides where x and z are any two numbers of the pool, and these numbers."""
    pairs = np.array(list(itertools.product(pool, pool)), np.float32)
    inputs = {"x": pairs[:, 0], "z": pairs[:, 1], ZERO: np.float32(0), TWO: np.float32(2)}
    with np.errstate(all="ignore"):
        return pairs, *(np.broadcast_to(value_of(side, inputs), len(pairs)) for side in (source, target))


def same(a, b):
    with np.errstate(invalid="ignore"):
        equal = np.equal(a, b)
    return equal | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else equal


NOT_FINITE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2, 0.5, -3]
FINITE = [0.0, -0.0, 1, -1, 2, 0.5, -1.5, 100, -100, 1e10, -1e10, 1e19, 2e19, 3e38, -3e38, 1e-30, 1e-38, -1e-38, 1e-44,
          10, 30, -30]
ORDINARY = [-3, -2, -1, 0, 1, 2, 3, 0.5, -0.5, 1.7, -1.3, 1e6, -1e6]


def f32_effects(edges):
    """The effects of the label on f32, without how far out they are."""
    effects = set()
    for part in edges.split(", "):
        words = part.split()
        if words[0] in ("f16", "bf16"):
            continue
        effects.add(words[-1])
    return effects - {"none", "zero-sign"}


class DecisionLabels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        space = commands.Workspace()
        cls.addClassCleanup(space.close)
        draw = Draw(SEED)
        cls.rules, texts = {}, []
        while len(cls.rules) < COUNT:
            source, target = draw.sides()
            is_rule = source != target and not isinstance(source, str) and names_in(target) <= names_in(source)
            if not is_rule:
                continue
            cls.rules[f"drawn_{len(cls.rules)}"] = (source, target)
            texts.append(rule_text(len(cls.rules) - 1, source, target))
        path = space.write("drawn.rules", "\n".join(texts).encode())
        done = run("verify-rules", path, "--json", "-")
        assert done.returncode in (0, 4, 5), done.stderr
        cls.verdicts = {v["rule"]: v for v in json.loads(done.stdout)["rules"]}
        cls.texts = dict(zip(cls.rules, texts))

    def labeled(self):
        """Rules that are not refuted: name, sides, verdict."""
        return [(name, *sides, self.verdicts[name]) for name, sides in self.rules.items()
                if self.verdicts[name]["verdict"] != "refuted"]

    def told(self, name):
        return f"seed {SEED}:\n{self.texts[name]}{json.dumps(self.verdicts[name])}"

    def test_a_difference_beside_nan_and_infinities_is_in_the_label(self):
        silent = telling = 0
        for name, source, target, verdict in self.labeled():
            effects = f32_effects(verdict["edges"])
            pairs, a, b = sides_at(source, target, NOT_FINITE)
            differ = ~same(a, b) & ~np.isfinite(pairs).all(axis=1)
            if not effects:
                at = pairs[differ][:1]
                self.assertEqual(at.size, 0, f"{at}: {a[differ][:1]}, {b[differ][:1]}; {self.told(name)}")
            silent += not effects
            telling += bool(effects & {"other-value", "nan", "drops-nan"})
        self.assertGreater(silent, COUNT / 20)  # or a label that is always full would pass
        self.assertGreater(telling, COUNT / 5)

    def test_other_values_are_really_others(self):
        seen = 0
        for name, source, target, verdict in self.labeled():
            if "other-value" not in f32_effects(verdict["edges"]):
                continue
            pairs, a, b = sides_at(source, target, NOT_FINITE + FINITE)
            differ = ~same(a, b) & ~np.isfinite(pairs).all(axis=1)
            self.assertTrue(differ.any(), self.told(name))
            seen += 1
        self.assertGreater(seen, COUNT / 20)

    def test_a_decision_that_differs_at_the_ends_of_the_range_is_in_the_label(self):
        for name, source, target, verdict in self.labeled():
            if f32_effects(verdict["edges"]) or verdict["floats"] != "exact":
                continue
            pairs, a, b = sides_at(source, target, FINITE)
            differ = ~same(a, b)
            self.assertFalse(differ.any(), f"{pairs[differ][:1]}: {a[differ][:1]}, {b[differ][:1]}; {self.told(name)}")

    def test_what_is_refuted_is_false_of_ordinary_numbers(self):
        refuted = 0
        for name, (source, target) in self.rules.items():
            if self.verdicts[name]["verdict"] != "refuted":
                continue
            _, a, b = sides_at(source, target, ORDINARY + FINITE)
            if a.dtype.kind == "f":
                a = np.where(np.isfinite(a), a, b)  # where the source has no value nothing is promised
            self.assertFalse(same(a, b).all(), self.told(name))
            refuted += 1
        self.assertGreater(refuted, 0)


if __name__ == "__main__":
    unittest.main()

"""compare-graphs on files with nodes that Soapstone does not run: they count as one function only if
operator, attributes and operands are the same. A runtime that runs them decides otherwise, or nobody does."""

import json
import sys
import unittest
from pathlib import Path

import onnx

sys.path.append(str(Path(__file__).parents[1]))
import commands
from commands import run

SPACE = commands.Workspace()
EQUAL, NOT_EQUAL, NOT_DECIDED = 0, 6, 8


def tearDownModule():
    SPACE.close()


def model(body, inputs="float[4,8] x, float[4,8] z", types="", opset=18):
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}, "mine" : 1]> '
                                   f"g ({inputs}) => (float[4,8] y) <{types}> {{ {body} }}")


class OpaquePairs(unittest.TestCase):
    def compare(self, a, b, *arguments, **settings):
        paths = [SPACE.path / "a.onnx", SPACE.path / "b.onnx"]
        for body, path in zip((a, b), paths):
            onnx.save(model(body, **settings) if isinstance(body, str) else body, path)
        return run("compare-graphs", *paths, *(arguments or ("--judge", "none")))

    def check(self, code, a, b, *arguments, **settings):
        done = self.compare(a, b, *arguments, **settings)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    SECRET = "float[4,8] s, float[4,8] r, float[4,8] d, float[4,8] t"

    def secret(self, code, a, b):
        return self.check(code, a, b, types=self.SECRET)

    def test_the_same_nodes_are_the_same_function(self):
        self.secret(EQUAL, "s = mine.Secret<k = 1>(x) y = Relu(s)", "s = mine.Secret<k = 1>(x) y = Relu(s)")
        # Under other names, of operands that are computed in another way.
        self.secret(EQUAL, "d = Add(x, z) s = mine.Secret<k = 1>(d) y = Relu(s)",
                    "t = Add(z, x) r = mine.Secret<k = 1>(t) y = Relu(r)")
        # In another order.
        self.secret(EQUAL, "s = mine.Secret(x) r = mine.Secret(z) y = Sub(s, r)",
                    "r = mine.Secret(z) s = mine.Secret(x) y = Sub(s, r)")
        # One behind the other.
        self.secret(EQUAL, "s = mine.Secret(x) d = Add(s, z) r = mine.Secret(d) y = Relu(r)",
                    "s = mine.Secret(x) t = Add(z, s) r = mine.Secret(t) y = Relu(r)")

    def test_other_nodes_are_not(self):
        done = self.secret(NOT_DECIDED, "s = mine.Secret<k = 1>(x) y = Relu(s)",
                           "s = mine.Secret<k = 2>(x) y = Relu(s)")
        self.assertIn("NOT DECIDED", done.stdout)
        self.assertIn("2 such nodes have no counterpart", done.stdout)
        self.assertIn("pip install onnxruntime", done.stderr)
        self.secret(NOT_DECIDED, "s = mine.Secret(x) y = Relu(s)", "s = mine.Secrets(x) y = Relu(s)")
        self.secret(NOT_DECIDED, "s = mine.Secret(x, z) y = Relu(s)", "s = mine.Secret(z, x) y = Relu(s)")
        self.secret(NOT_DECIDED, "s = mine.Secret(x) y = Relu(s)", "d = Neg(x) s = mine.Secret(d) y = Relu(s)")
        self.secret(NOT_DECIDED, "s = mine.Secret(x) y = Relu(s)", "y = Relu(x)")

    def test_the_report_for_machines_has_the_verdict(self):
        for b, word in [("s = mine.Secret<k = 1>(x) y = Relu(s)", "equal"),
                        ("s = mine.Secret<k = 2>(x) y = Relu(s)", "not decided"),
                        ("s = mine.Secret<k = 1>(x) y = Sigmoid(s)", "different")]:
            done = self.compare("s = mine.Secret<k = 1>(x) y = Relu(s)", b, "--judge", "none", "--json", "-",
                                types=self.SECRET)
            self.assertEqual(json.loads(done.stdout)["verdict"], word)

    def test_what_differs_beside_or_behind_them_is_a_difference(self):
        self.secret(NOT_EQUAL, "s = mine.Secret(x) y = Relu(s)", "s = mine.Secret(x) y = Neg(s)")
        two = "float[4,8] x) => (float[4,8] y, float[4,8] w"
        beside = [onnx.parser.parse_model(
            '<ir_version: 9, opset_import: ["" : 18, "mine" : 1]> '
            f"g ({two}) <float[4,8] s> {{ s = mine.Secret<k = {k}>(x) y = Relu(s) w = {op}(x) }}")
            for k, op in [(1, "Neg"), (2, "Abs")]]
        self.check(NOT_EQUAL, *beside)

    def test_nodes_may_be_there_more_often_in_one(self):
        twice = "s = Hardmax(x) r = Hardmax(x) a = Add(s, z) b = Mul(r, z) y = Add(a, b)"
        once = "s = Hardmax(x) a = Add(s, z) b = Mul(s, z) y = Add(a, b)"
        self.check(EQUAL, twice, once)
        self.check(EQUAL, once, twice)
        self.check(NOT_DECIDED, twice, "s = Hardmax<axis = 0>(x) a = Add(s, z) b = Mul(s, z) y = Add(a, b)")
        # What nobody reads makes no difference.
        self.check(EQUAL, "s = Hardmax(x) r = Hardmax(z) y = Add(s, z)", "s = Hardmax(x) y = Add(s, z)")

    def test_random_numbers_are_drawn_each_time(self):
        twice = "s = RandomNormalLike(x) r = RandomNormalLike(x) y = Sub(s, r)"
        self.check(EQUAL, twice, twice)
        self.check(NOT_DECIDED, twice, "s = RandomNormalLike(x) r = Identity(s) y = Sub(s, r)")
        self.secret(NOT_DECIDED, "s = mine.Secret(x) r = mine.Secret(x) y = Sub(s, r)",
                    "s = mine.Secret(x) r = Identity(s) y = Sub(s, r)")

    def test_opsets_give_meanings(self):
        body = "d = Add(x, z) s = Hardmax(d) y = Relu(s)"
        self.check(EQUAL, model(body, opset=17), model("d = Add(z, x) s = Hardmax(d) y = Relu(s)", opset=18))
        # Of opset 12, Hardmax takes all dimensions from its axis on for one.
        self.check(NOT_DECIDED, model(body, opset=12), model(body, opset=18))

    def test_a_runtime_decides(self):
        runtime = ("--judge", "onnxruntime", "--python", sys.executable)
        integers = {"inputs": "int64[16] x, int64[16] z"}

        def mod(text):
            made = model(text, **integers)
            made.graph.output[0].type.CopyFrom(made.graph.input[0].type)
            return made

        self.check(EQUAL, "y = Hardmax(x)", "y = Hardmax<axis = -1>(x)", *runtime)
        self.check(EQUAL, "y = Hardmax(x)", "y = Hardmax<axis = 1>(x)", *runtime)
        self.check(NOT_EQUAL, "y = Hardmax(x)", "y = Hardmax<axis = 0>(x)", *runtime)
        self.check(EQUAL, mod("y = Mod(x, z)"), mod("y = Mod<fmod = 0>(x, z)"), *runtime)
        self.check(NOT_EQUAL, mod("y = Mod(x, z)"), mod("y = Mod<fmod = 1>(x, z)"), *runtime)
        self.check(NOT_EQUAL, mod("y = Mod(x, z)"), mod("a = Neg(x) y = Mod(a, z)"), *runtime)
        # Only a runtime knows that such results are not negative.
        self.check(EQUAL, "y = Hardmax(x)", "s = Hardmax(x) y = Relu(s)", *runtime)


if __name__ == "__main__":
    unittest.main()

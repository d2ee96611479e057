"""Valid files for the fuzzer of damaged files: small models that together use most operators which
take sizes, and rules in all forms of the language."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL, STRING = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL,
                              TensorProto.STRING)
ROOT = Path(__file__).parents[3]
TOPOLOGY = {
    "version": 1, "name": "two nodes of two",
    "kinds": [{"name": "d", "memory_bytes": 1e9, "memory_bytes_per_s": 1e11,
               "flops_per_s": {"f32": 1e12}}],
    "devices": [{"kind": "d", "count": 4}],
    "levels": [{"name": "bus", "size": 2, "latency_us": 5, "bytes_per_s": 6e9},
               {"name": "net", "size": 2, "latency_us": 9, "bytes_per_s": 1e9}]}


def make(nodes, inputs, outputs, weights=(), opset=20, functions=(), domains=()):
    """A model as bytes. `inputs`: (name, type, shape); outputs have open shapes."""
    graph = helper.make_graph(
        nodes, "seed", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights])
    imports = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    model = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    model.ir_version = 10
    return model.SerializeToString()


def one(op, shapes, constants=(), opset=20, kind=FLOAT, out=FLOAT, outputs=1, inputs=None,
        **attributes):
    """A model of one operator: inputs x0, x1, … of these shapes, then constants."""
    names = [f"x{k}" for k in range(len(shapes))]
    given = [f"c{k}" for k in range(len(constants))]
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, inputs or names + given, results, **attributes)
    return make([node], [(n, kind, s) for n, s in zip(names, shapes)],
                [(r, out) for r in results], zip(given, constants), opset)


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return np.ones(shape, np.float32)


def shape_arithmetic():
    """What exporters leave behind where a shape is computed."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Gather", ["s", "zero"], ["b"], axis=0),
             helper.make_node("Mul", ["b", "two"], ["b2"]),
             helper.make_node("Unsqueeze", ["b2", "axes"], ["u"]),
             helper.make_node("Concat", ["u", "minus"], ["t"], axis=0),
             helper.make_node("Reshape", ["x", "t"], ["r"]),
             helper.make_node("Range", ["zero", "b2", "one"], ["i"]),
             helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
             helper.make_node("ReduceSum", ["f"], ["g"], keepdims=0),
             helper.make_node("Add", ["r", "g"], ["y"])]
    return make(nodes, [("x", FLOAT, [2, 8])], [("y", FLOAT)],
                [("zero", np.int64(0)), ("one", np.int64(1)), ("two", np.int64(2)),
                 ("axes", ints(0)), ("minus", ints(-1))])


def branches():
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "then", [],
                             [helper.make_tensor_value_info("t", FLOAT, [2, 8])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [],
                              [helper.make_tensor_value_info("e", FLOAT, [2, 8])])
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "x"], ["w"]), helper.make_node("Identity", ["c"], ["d"])],
        "body", [helper.make_tensor_value_info("i", INT64, []),
                 helper.make_tensor_value_info("c", BOOL, []),
                 helper.make_tensor_value_info("v", FLOAT, [2, 8])],
        [helper.make_tensor_value_info("d", BOOL, []),
         helper.make_tensor_value_info("w", FLOAT, [2, 8])])
    nodes = [helper.make_node("If", ["k"], ["a"], then_branch=then, else_branch=other),
             helper.make_node("Loop", ["n", "k", "a"], ["y"], body=body)]
    return make(nodes, [("x", FLOAT, [2, 8])], [("y", FLOAT)],
                [("k", np.array(True)), ("n", np.int64(3))])


def functions():
    inner = helper.make_function("mine", "Twice", ["a"], ["b"],
                                 [helper.make_node("Add", ["a", "a"], ["b"])],
                                 [helper.make_opsetid("", 20)])
    outer = helper.make_function("mine", "Four", ["a"], ["b"],
                                 [helper.make_node("Twice", ["a"], ["t"], domain="mine"),
                                  helper.make_node("Twice", ["t"], ["b"], domain="mine")],
                                 [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)])
    return make([helper.make_node("Four", ["x"], ["y"], domain="mine")], [("x", FLOAT, [2, 8])],
                [("y", FLOAT)], functions=[inner, outer], domains=["mine"])


def sparse_and_texts():
    sparse = helper.make_sparse_tensor(numpy_helper.from_array(floats(2), "w"),
                                       numpy_helper.from_array(ints(1, 3), "i"), [8])
    nodes = [helper.make_node("Constant", [], ["c"], sparse_value=sparse),
             helper.make_node("Add", ["x", "c"], ["y"]),
             helper.make_node("Identity", ["s"], ["t"]),
             helper.make_node("SplitToSequence", ["x"], ["q"], axis=1),
             helper.make_node("SequenceAt", ["q", "one"], ["z"])]
    return make(nodes, [("x", FLOAT, [2, 8]), ("s", STRING, [3])],
                [("y", FLOAT), ("t", STRING), ("z", FLOAT)], [("one", np.int64(1))])


def small_model():
    nodes = [helper.make_node("MatMul", ["x", "a"], ["t"]),
             helper.make_node("MatMul", ["x", "b"], ["u"]),
             helper.make_node("Add", ["t", "u"], ["s"]), helper.make_node("Relu", ["s"], ["r"]),
             helper.make_node("Relu", ["r"], ["y"])]
    return make(nodes, [("x", FLOAT, [2, 8])], [("y", FLOAT)],
                [("a", floats(8, 4)), ("b", floats(8, 4))], opset=17)


@lru_cache
def models():
    image, matrix = [1, 4, 8, 8], [2, 8]
    return [
        small_model(), shape_arithmetic(), branches(), functions(), sparse_and_texts(),
        one("Conv", [image], [floats(4, 2, 3, 3)], group=2, pads=[1, 1, 1, 1], strides=[2, 2],
            dilations=[1, 1], kernel_shape=[3, 3]),
        one("ConvTranspose", [image], [floats(4, 2, 3, 3)], strides=[2, 2],
            output_padding=[1, 1]),
        one("MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        one("AveragePool", [image], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        one("LpPool", [image], kernel_shape=[2, 2], p=2),
        one("GlobalAveragePool", [image]),
        one("BatchNormalization", [image], [floats(4)] * 4, epsilon=1e-5),
        one("InstanceNormalization", [image], [floats(4)] * 2),
        one("LayerNormalization", [matrix], [floats(8)], axis=-1),
        one("GroupNormalization", [image], [floats(4), floats(4)], opset=21, num_groups=2),
        one("LRN", [image], size=3),
        one("Gemm", [matrix], [floats(8, 4), floats(4)], alpha=0.5, transA=0),
        one("Einsum", [[2, 3], [3, 4]], equation="ij,jk->ik"),
        one("Softmax", [matrix], axis=1), one("LogSoftmax", [matrix], axis=-1),
        one("Softmax", [matrix], axis=1, opset=11),
        one("ReduceMean", [image], [ints(2, 3)], keepdims=0),
        one("ReduceLogSumExp", [image], [ints(1)]), one("ArgMax", [matrix], out=INT64, axis=1),
        one("TopK", [matrix], [ints(3)], outputs=2), one("CumSum", [matrix], [np.int64(1)]),
        one("Reshape", [matrix], [ints(4, -1)]), one("Expand", [[1, 8]], [ints(4, 8)]),
        one("Tile", [matrix], [ints(2, 1)]), one("Pad", [matrix], [ints(0, 1, 0, 1)]),
        one("Slice", [matrix], [ints(0, 1), ints(2, 7), ints(0, 1), ints(1, 2)]),
        one("Split", [matrix], [ints(3, 5)], outputs=2, axis=1),
        one("Split", [matrix], num_outputs=2, outputs=2, axis=1),
        one("Squeeze", [[1, 8]], [ints(0)]), one("Unsqueeze", [matrix], [ints(0, 3)]),
        one("Flatten", [image], axis=2), one("Transpose", [image], perm=[0, 2, 3, 1]),
        one("Concat", [matrix, matrix], axis=1),
        one("Gather", [matrix], [ints(0, 1)], axis=0),
        one("GatherElements", [matrix], [ints(0, 1).reshape(1, 2)], axis=1),
        one("GatherND", [matrix], [ints(0, 1).reshape(1, 2)]),
        one("ScatterND", [matrix], [ints(0, 1).reshape(1, 2), floats(1)]),
        one("ScatterElements", [matrix], [ints(0, 1).reshape(1, 2), floats(1, 2)], axis=1),
        one("DepthToSpace", [image], blocksize=2), one("SpaceToDepth", [image], blocksize=2),
        one("Resize", [image], [ints(1, 4, 16, 16)], inputs=["x0", "", "", "c0"],
            mode="nearest"),
        one("Resize", [image], [np.array([1, 1, 2, 2], np.float32)], inputs=["x0", "", "c0"],
            mode="linear"),
        one("Upsample", [image], [np.array([1, 1, 2, 2], np.float32)], opset=9),
        one("AffineGrid", [[1, 2, 3]], [ints(1, 1, 4, 4)], align_corners=0),
        one("GridSample", [image, [1, 4, 4, 2]]), one("Col2Im", [[1, 5, 4]], [ints(5, 5), ints(1, 5)]),
        one("RoiAlign", [image, [1, 4]], [ints(0)], output_height=2, output_width=2),
        one("MaxRoiPool", [image, [1, 5]], pooled_shape=[2, 2]),
        one("ConstantOfShape", [], [ints(2, 3)]), one("EyeLike", [[3, 4]], k=1),
        one("Range", [], [np.int64(0), np.int64(9), np.int64(2)], out=INT64),
        one("OneHot", [], [ints(0, 2), np.int64(4), np.array([0, 1], np.float32)], axis=-1),
        one("RandomNormal", [], shape=[2, 3]), one("RandomUniformLike", [matrix]),
        one("Bernoulli", [matrix]), one("Multinomial", [matrix], out=TensorProto.INT32,
                                        sample_size=3),
        one("LSTM", [[3, 2, 4]], [floats(1, 12, 4), floats(1, 12, 3)], hidden_size=3),
        one("GRU", [[3, 2, 4]], [floats(1, 9, 4), floats(1, 9, 3)], hidden_size=3),
        one("Attention", [[1, 4, 8]] * 3, opset=23, q_num_heads=2, kv_num_heads=2),
        one("RotaryEmbedding", [[1, 2, 4, 4]], [floats(1, 4, 2), floats(1, 4, 2)], opset=23),
        one("STFT", [[1, 32, 1]], [np.int64(8)], inputs=["x0", "c0", "", "d"][:2],
            onesided=1),
        one("DFT", [[1, 8, 1]], axis=1, opset=19), one("HannWindow", [], [np.int64(8)]),
        one("MelWeightMatrix", [], [np.int64(4), np.int64(16), np.int64(8000), np.float32(0),
                                    np.float32(4000)]),
        one("NonMaxSuppression", [[1, 4, 4], [1, 1, 4]], [np.int64(2)], out=INT64),
        one("CenterCropPad", [matrix], [ints(4, 4)]), one("Trilu", [matrix], [np.int64(1)]),
        one("Where", [matrix, matrix], [np.array(True)], inputs=["c0", "x0", "x1"]),
        one("Clip", [matrix], [np.float32(0), np.float32(1)]),
        one("QuantizeLinear", [matrix], [np.float32(0.1), np.uint8(3)], out=TensorProto.UINT8),
        one("MatMulInteger", [[2, 3], [3, 4]], kind=TensorProto.UINT8, out=TensorProto.INT32),
        one("SoftmaxCrossEntropyLoss", [[2, 8]], [ints(0, 3)], ignore_index=-1),
        one("NegativeLogLikelihoodLoss", [[2, 8]], [ints(0, 3)], reduction="sum"),
        one("Compress", [matrix], [np.array([True, False])], axis=0),
        one("Unique", [[8]], outputs=2), one("ReverseSequence", [[4, 4]], [ints(1, 2, 3, 4)]),
        one("Pow", [matrix], [np.float32(2)]), one("BitShift", [[4]], [np.uint8([1])],
                                                   kind=TensorProto.UINT8, out=TensorProto.UINT8,
                                                   direction="LEFT"),
        one("Mod", [[4]], [ints(3)], kind=INT64, out=INT64),
        one("Div", [[4]], [ints(3)], kind=INT64, out=INT64),
        one("StringNormalizer", [[3]], kind=STRING, out=STRING),
        one("TfIdfVectorizer", [[4]], kind=INT64, max_gram_length=1, max_skip_count=0,
            min_gram_length=1, mode="TF", ngram_counts=[0], ngram_indexes=[0, 1],
            pool_int64s=[2, 3]),
    ]


RULES = """rule merge
  for A in ranks(0..2)
  x: [A.., m, k]   a: [k, n]   b: [k, p]
  source
    y = matmul(x, a)
    z = matmul(x, b)
  target
    ab = concat(a, b; axis=1)
    yz = matmul(x, ab)
    y, z = split(yz; axis=|A|+1, sizes=[n, p])

rule twice
  for P in perms(3)
  x: [a, b, c]
  source
    t = transpose(x; perm=P)
    y = transpose(t; perm=inverse(P))
  target
    y = x

rule pads
  x: [n, c, h, w]   k: [m, c, 3, 3]
  where h > 2, w > 2
  source
    p = pad(x; pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.0)
    y = conv(p, k; pads=[0, 0, 0, 0], strides=[1, 1], dilations=[1, 1], group=1)
  target
    y = conv(x, k; pads=[1, 1, 1, 1], strides=[1, 1], dilations=[1, 1], group=1)

rule sums
  for (f, g) in {(reduce_sum, relu), (reduce_max, relu)}
  x: [8, n]   c: f32[2] = [1.0, 2.0]
  source
    s = f(x; axes=[0], keepdims=1)
    y = g(s)
  target
    t = f(x; axes=[0], keepdims=1)
    y = g(t)
"""


def rules():
    """Rules of our language, with a blank line between any two."""
    shipped = (ROOT / "rules").glob("*.rules")
    own = [rule for file in sorted(shipped) if file.name != "generated.rules"
           for rule in file.read_text().split("\n\n") if "rule " in rule]
    return "\n\n".join([RULES.rstrip(), *own]) + "\n"


@lru_cache
def taso_rules():
    return (ROOT / "tests" / "data" / "taso_rules_sample.pb").read_bytes()

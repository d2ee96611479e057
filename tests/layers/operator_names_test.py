"""Counts the places outside ops/ and the kernels that name an operator, as we call it or as ONNX
does, or decide by the name of an attribute. What an operator does, and what an attribute says, is stated
once, by its definition (core/graph/op_facts.h); a decision by name is one that an operator of
tomorrow is left out of. A name counts wherever it is a text: in a comparison, a table, a variable,
as the beginning of names, and within a text: `conv(` calls an operator, `axis=` sets an attribute.
The places that are left are listed with their reasons; a new one fails, and so does an entry of the
list that nothing needs."""

import os
import re
import sys
from pathlib import Path

FOLDERS = ["core", "rules", "transforms", "runtime", "models", "cost", "generator", "verifier", "search",
           "parallel", "jobs", "cli", "workers"]

# Folders and files, the most names that they may have, and why.
ALLOWED = {
    "rules/taso": (37, "reads the names that TASO gives its operators"),
    "cost/models/taso_cost.cpp": (14, "TASO's own table of costs"),
    "cost/models/calibration.cpp": (3, "times graphs of one node"),
    "transforms/pack/lifted_operator.cpp": (43, "writes rules as text: how items are taken and joined"),
    "transforms/pack/pieces.cpp": (24, "writes rules as text: how pieces become items"),
    "transforms/affine": (56, "writes rules as text: units, contractions and products"),
    "transforms/views": (14, "writes rules as text: views, joins, pieces and repetitions, and labels of contractions"),
    "transforms/layout_changes": (11, "writes rules as text: contractions of what is multiplied and summed"),
    "transforms/contract": (36, "writes rules as text: products of two tensors, pieces of constants, parts of means"),
    "transforms/pack": (38, "writes rules as text: what lies side by side, weights in blocks, neutral elements, zeros and ones"),
    "transforms/receptive": (93, "writes rules as text: windows, joins and sums of convolutions, cuts as windows, places under a mask"),
    "transforms/restrict": (22, "writes rules as text: pieces, sums and chosen rows"),
    "transforms/broadcasts": (29, "writes rules as text: repetitions, and sums of products"),
    "transforms/recognize": (53, "writes rules as text: the operators by which functions and norms are known"),
    "transforms/base/rewrite_sequence.cpp": (17, "the operators that rules made for a graph put round others"),
    "rules/matching/pattern.cpp": (8, "how common operators are in networks, where matching starts"),
    "runtime/launches/fusion_rules.cpp": (14, "what kernels of a device of no make fuse"),
    "search/saturation/eqsat_costs.cpp": (4, "builds a network of launches"),
    "search/equivalence/value_roles.cpp": (2, "nodes without a definition divide integers"),
    "generator/vocabulary/presets.cpp": (174, "vocabularies are lists of operators"),
    "generator/sides": (12, "builds constants of a shape, and the parts of a whole"),
    "models/layers": (86, "builds networks"),
    "models/networks": (75, "builds networks"),
    "parallel/work/step_work.cpp": (1, "kernels of contractions read transposed operands"),
    "parallel/training": (49, "builds losses, sums and updates, and names their states and attributes; a level of recomputation is called attention"),
    "parallel/pieces/moved_sums.cpp": (1, "sums of summands are summands: add"),
    "parallel/pieces/piece_graph.cpp": (12, "takes tensors apart, puts them together and adds them: slice, gather, concat, reshape, add"),
    "models/onnx/moved.cpp": (21, "writes nodes that make noise, of which ONNX has no operator for all opsets"),
    "models/onnx/open_constants.cpp": (3, "writes nodes that repeat what fills a tensor, and lets a Reshape infer sizes"),
    "models/onnx/open_values.cpp": (11, "writes nodes that compute sizes"),
    "models/onnx/format/folded_nodes.h": (16, "ONNX's operators that are read as constants: which inputs say sizes"),
    "models/onnx": (117, "reads and writes ONNX's nodes, some of them no operators of ours"),
    "core/graph/op_schema.h": (1, "the name of what is no operator of ours"),
    # The same letters in another sense.
    "cli/drawing": (4, "Graphviz calls the outline of a node its shape"),
    "cli/optimize/explanation_drawing.cpp": (2, "Graphviz calls the outline of a node its shape"),
    "cli": (39, "words of options, reports and the axes of a mesh: equal, full, where, shape, steps, sum"),
    "jobs/train/update_settings.cpp": (9, "settings of optimizers, and the attributes that they are"),
    "jobs/optimize/trace_writer_json.cpp": (3, "words of the trace: equal, alpha, steps"),
    "models/files/npz.cpp": (1, "a word of NumPy's files: shape"),
    "parallel/simulation/trace_json.cpp": (1, "a key of traces: to"),
    "parallel/described": (1, "a key of profiled links: to"),
    "parallel/plans": (9, "words of plans: the axes of a mesh, the reduction and the sum of a collective"),
    "rules/rule/constraints.h": (1, "a word of the rule language: where"),
    "rules/rule/typing.cpp": (2, "formulas of sizes: floor, max"),
    "rules/text/rule_parser.cpp": (4, "a word of the rule language, and an example: where, full"),
    "verifier/mutation/mutation.cpp": (5, "kinds of mistakes: axis, group, kernel, shape, epsilon"),
    "verifier/orders/axioms.cpp": (2, "formulas in a table of functions: exp"),
    "verifier/refutation/saving_guard.cpp": (1, "a word of the rule language: where"),
    "runtime/launches/launch_plan.cpp": (1, "a word for a degree of fusion: full"),
    "search/proofs/proof_chain_text.cpp": (4, "words of a chain of proofs: sizes, steps"),
}

# In a table of a family: our name, then ONNX's.
NAMED = re.compile(r'\.name = "([a-z0-9_]+)"|\{\s*"([a-z0-9_]+)",\s*"[A-Z]\w*"'
                   r'|\bkName = "([a-z0-9_]+)"|\bname = "([a-z0-9_]+)"')
ATTRIBUTE = re.compile(r'"([a-z_]+)",\s*(?:core::)?AttributeRole::|list\("([a-z_]+)"'
                       r'|\b(?:flag|real)\("([a-z_]+)"')
# A raw text, or one between quotation marks.
TEXT = re.compile(r'R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<plain>(?:[^"\\\n]|\\.)*)"', re.DOTALL)
ONNX = re.compile(r'"([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)"')
PART = re.compile(r'\b(?:starts_with|ends_with|contains|find)\("(\w{3,})"\)')
CALL = re.compile(r"\b([a-z][a-z0-9_]*)\(")
SETTING = re.compile(r"\b([a-z][a-z_]*)=")
COMMENT = re.compile(r"//[^\n]*")


def names_in(folder, pattern):
    found = set()
    for path in sorted(folder.rglob("*.cpp")):
        for groups in pattern.findall(path.read_text()):
            found.update(g for g in ([groups] if isinstance(groups, str) else groups) if g)
    return found


def is_part(text, name):
    return name.startswith(text) or name.endswith(text)


def named_in(text, operators, attributes):
    """The names in one text."""
    if text in operators or text in attributes:
        return [text]
    # The beginning of names: "reduce_".
    is_beginning = text.endswith("_") and any(name.startswith(text) for name in operators)
    return [text] * is_beginning \
        + [name for name in CALL.findall(text) if name in operators] \
        + [name for name in SETTING.findall(text) if name in attributes]


def decisions(text, operators, attributes):
    """Lines, and the names of operators and attributes in texts."""
    text = COMMENT.sub("", text)
    places = set()
    for match in TEXT.finditer(text):
        content = match["raw"] if match["raw"] is not None else match["plain"]
        places |= {(match.start(), at, name) for at, name
                   in enumerate(named_in(content, operators, attributes))}
    # The beginning of names in a comparison: "reduce" or "Reduce".
    places |= {(match.start(), 0, match[1]) for match in PART.finditer(text)
               if match[1] not in operators | attributes
               and any(is_part(match[1], name) for name in operators)}
    return sorted((text.count("\n", 0, at) + 1, at, name) for at, _, name in places)


def self_test(operators, attributes):
    """Each form in which a name can stand is found, and nothing else is."""
    for text in ['if (op->name == "conv") {}', 'const std::string_view kHead = "softmax";',
                 'constexpr std::array kAll{"relu", "tanh"};', 'name.starts_with("reduce_");',
                 'op == "Div" || op == "Mod"', 'find("perm")', 'attribute == "axis"',
                 'op_type().starts_with("Reduce")', 'kTable{{"MatMul", 2}};',
                 'constexpr auto kKey = "axis"; find(kKey)', 'line.find("conv(")',
                 'for (auto key : {"axis=", "axes=["}) {}', 'kHead = "reduce_";',
                 'parse(R"(y = relu(x))")', 'set(a, {{"axes", 1}, {"starts", 0}})']:
        assert decisions(text, operators, attributes), f"not found: {text}"
    for text in ['// as "conv" does', 'text.starts_with("graph")', 'error("no axis")',
                 'f("x") + conv(y, "z")', 'error("see conv (of images)")', '"\\"conv\\" is one"']:
        assert not decisions(text, operators, attributes), f"found: {text}"


def main():
    root = Path(os.environ["SOURCE_DIR"])
    ours = names_in(root / "ops/operators", NAMED) | names_in(root / "ops/composites", NAMED)
    operators = ours | {"opaque"} | names_in(root / "ops/operators", ONNX) \
        | names_in(root / "ops/composites", ONNX) | names_in(root / "models/onnx/shapes", ONNX)
    attributes = names_in(root / "ops", ATTRIBUTE)
    for known in ["conv", "relu", "add", "reduce_sum", "softmax", "concat", "nll_loss",
                  "Conv", "Div", "ReduceSum", "Mod"]:
        assert known in operators, f"the operator {known} was not found in ops/operators"
    for known in ["axis", "axes", "perm", "strides", "pads", "epsilon", "starts", "alpha"]:
        assert known in attributes, f"the attribute {known} was not found in ops/"

    page = (root / "docs/operators.md").read_text()
    listed = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
              for name in re.findall(r"`(\w+)`", row)}
    stated = ours | {"opaque", "OP_grad"}
    assert listed == stated, f"not on the page or not found: {listed ^ stated}"
    self_test(operators, attributes)

    counted = {place: 0 for place in ALLOWED}
    problems = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            name = path.relative_to(root).as_posix()
            found = decisions(path.read_text(), operators, attributes)
            place = next((p for p in ALLOWED if name == p or name.startswith(p + "/")), None)
            if place:
                counted[place] += len(found)
            else:
                problems += [f"{name}:{line}: names '{what}'; ask what its definition states "
                             "(core/graph/op_facts.h)" for line, _, what in found]
    for place, count in counted.items():
        most, why = ALLOWED[place]
        if count == 0:
            problems.append(f"{place}: no name is left; take it off the list")
        if count > most:
            problems.append(f"{place}: {count} names, at most {most}: {why}")
    print(f"{len(ours)} operators, {len(attributes)} attributes; names: "
          + (", ".join(f"{p} {c}" for p, c in counted.items() if c) or "none"))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

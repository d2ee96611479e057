"""Counts the places outside ops/ and the kernels that name an operator, as we call it or as ONNX
does, or decide by the name of an attribute. What an operator does, and what an attribute says, is stated
once, by its definition (core/graph/op_facts.h); a decision by name is one that an operator of
tomorrow is left out of. A name counts wherever it is a text: in a comparison, a table, a variable,
or as the beginning of names. The places that are left are listed with their reasons; a new one fails,
and so does an entry of the list that nothing needs."""

import os
import re
import sys
from pathlib import Path

FOLDERS = ["core", "rules", "runtime", "models", "cost", "generator", "verifier", "search",
           "parallel", "jobs", "cli", "workers"]

# Folders and files, the most names that they may have, and why.
ALLOWED = {
    "rules/taso": (24, "reads the names that TASO gives its operators"),
    "cost/models/taso_cost.cpp": (13, "TASO's own table of costs"),
    "cost/models/calibration.cpp": (3, "times graphs of one node"),
    "rules/matching/pattern.cpp": (8, "how common operators are in networks, where matching starts"),
    "runtime/launches/fusion_rules.cpp": (14, "what kernels of a device of no make fuse"),
    "search/saturation/eqsat_costs.cpp": (2, "builds a network of launches"),
    "search/baseline/simplify_constants.cpp": (2, "builds the constants of a shape"),
    "search/equivalence/value_roles.cpp": (2, "nodes without a definition divide integers"),
    "generator/vocabulary/presets.cpp": (153, "vocabularies are lists of operators"),
    "generator/generalization": (5, "builds constants of a shape, and the parts of a whole"),
    "jobs/gains/rule_gain.cpp": (1, "builds a constant"),
    "models/networks": (67, "builds networks"),
    "parallel/training": (12, "builds losses, sums and updates"),
    "models/onnx": (111, "reads and writes ONNX's nodes, some of them no operators of ours"),
    "core/graph/op_schema.h": (1, "the name of what is no operator of ours"),
    # The same letters in another sense.
    "cli": (13, "words of options and reports: equal, full, where"),
    "jobs/optimize/trace_writer_json.cpp": (1, "a word of the trace: equal"),
    "rules/rule/constraints.h": (1, "a word of the rule language: where"),
    "rules/text/rule_parser.cpp": (1, "a word of the rule language: where"),
    "verifier/refutation/saving_guard.cpp": (1, "a word of the rule language: where"),
    "runtime/launches/launch_plan.cpp": (1, "a word for a degree of fusion: full"),
}

# In a table of a family: our name, then ONNX's.
NAMED = re.compile(r'\.name = "([a-z0-9_]+)"|\{\s*"([a-z0-9_]+)",\s*"[A-Z]\w*"'
                   r'|\bkName = "([a-z0-9_]+)"|\bname = "([a-z0-9_]+)"')
ATTRIBUTE = re.compile(r'"([a-z_]+)",\s*(?:core::)?AttributeRole::|list\("([a-z_]+)"'
                       r'|\b(?:flag|real)\("([a-z_]+)"')
TEXT = re.compile(r'"(\w+)"')
ONNX = re.compile(r'"([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)"')
PART = re.compile(r'\b(?:starts_with|ends_with|contains|find)\("(\w{3,})"\)')
COMMENT = re.compile(r"//[^\n]*")


def names_in(folder, pattern):
    found = set()
    for path in sorted(folder.rglob("*.cpp")):
        for groups in pattern.findall(path.read_text()):
            found.update(g for g in ([groups] if isinstance(groups, str) else groups) if g)
    return found


def is_part(text, name):
    return name.startswith(text) or name.endswith(text)


def decisions(text, operators, attributes):
    """Lines, and the name of an operator, or of an attribute that is compared or looked up."""
    text = COMMENT.sub("", text)
    attribute = "|".join(sorted(attributes))
    patterns = [
        rf'(?:find|find_attribute|get_\w+)\("({attribute})"\)',
        rf'(?:attribute|name) [!=]= "({attribute})"',
    ]
    found = [match for pattern in patterns for match in re.finditer(pattern, text)]
    found += [match for match in TEXT.finditer(text) if match[1] in operators]
    # The beginning of names: "reduce_" or "Reduce".
    found += [match for match in PART.finditer(text) if match[1] not in operators | attributes
              and any(is_part(match[1], name) for name in operators)]
    # A list of two attributes and more: a table.
    table = re.compile(rf'\{{\s*"(?:{attribute})",\s*"(?:{attribute})"[^{{}}]*\}}')
    places = [(text.count("\n", 0, match.start()), match.start(), match[1]) for match in found]
    for match in table.finditer(text):
        places += [(text.count("\n", 0, match.start()), match.start() + name.start(), name[1])
                   for name in TEXT.finditer(match[0]) if name[1] in attributes]
    return sorted({(line + 1, at, name) for line, at, name in places})


def self_test(operators, attributes):
    """Each form in which a name can stand is found, and nothing else is."""
    for text in ['if (op->name == "conv") {}', 'const std::string_view kHead = "softmax";',
                 'constexpr std::array kAll{"relu", "tanh"};', 'name.starts_with("reduce_");',
                 'op == "Div" || op == "Mod"', 'find("perm")', 'attribute == "axis"',
                 'op_type().starts_with("Reduce")', 'kTable{{"MatMul", 2}};']:
        assert decisions(text, operators, attributes), f"not found: {text}"
    for text in ['// as "conv" does', 'text.starts_with("graph")', 'error("no axis")']:
        assert not decisions(text, operators, attributes), f"found: {text}"


def main():
    root = Path(os.environ["SOURCE_DIR"])
    ours = names_in(root / "ops/operators", NAMED)
    operators = ours | {"opaque"} | names_in(root / "ops/operators", ONNX) \
        | names_in(root / "ops/composites", ONNX) | names_in(root / "models/onnx/shapes", ONNX)
    attributes = names_in(root / "ops", ATTRIBUTE)
    for known in ["conv", "relu", "add", "reduce_sum", "softmax", "concat", "nll_loss",
                  "Conv", "Div", "ReduceSum", "Mod"]:
        assert known in operators, f"the operator {known} was not found in ops/operators"
    for known in ["axis", "axes", "perm", "strides", "pads", "epsilon", "starts", "alpha"]:
        assert known in attributes, f"the attribute {known} was not found in ops/"

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

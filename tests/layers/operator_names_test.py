"""Counts the places outside ops/ and the kernels that decide by the name of an operator or of an
attribute. What an operator does, and what an attribute says, is stated once, by its definition
(core/graph/op_facts.h); a decision by name is one that an operator of tomorrow is left out of.
The places that are left are listed with their reasons; a new one fails, and so does an entry of the
list that nothing needs."""

import os
import re
import sys
from pathlib import Path

FOLDERS = ["core", "rules", "runtime", "models", "cost", "generator", "verifier", "search",
           "parallel", "jobs", "cli", "workers"]

# Folders and files, the most that they may have, and why.
ALLOWED = {
    "rules/taso": (2, "reads the names that TASO gives its operators"),
    "cost/models/taso_cost.cpp": (13, "TASO's own table of costs"),
    "rules/matching/pattern.cpp": (8, "how common operators are in networks, where matching starts"),
    "runtime/launches/fusion_rules.cpp": (14, "what kernels of a device of no make fuse"),
    "search/saturation/eqsat_costs.cpp": (2, "builds a network of launches"),
    "core/graph/op_schema.h": (1, "the name of what is no operator of ours"),
}

# In a table of a family: our name, then ONNX's.
NAMED = re.compile(r'\.name = "([a-z0-9_]+)"|\{\s*"([a-z0-9_]+)",\s*"[A-Z]\w*"'
                   r'|\bkName = "([a-z0-9_]+)"|\bname = "([a-z0-9_]+)"')
ATTRIBUTE = re.compile(r'"([a-z_]+)",\s*(?:core::)?AttributeRole::|list\("([a-z_]+)"'
                       r'|\b(?:flag|real)\("([a-z_]+)"')
TEXT = re.compile(r'"([a-z0-9_]+)"')
COMMENT = re.compile(r"//[^\n]*")


def names_in(folder, pattern):
    found = set()
    for path in sorted(folder.rglob("*.cpp")):
        for groups in pattern.findall(path.read_text()):
            found.update(g for g in ([groups] if isinstance(groups, str) else groups) if g)
    return found


def decisions(text, operators, attributes):
    """Lines, and what each compares with the name of an operator or looks up by that of an
    attribute."""
    text = COMMENT.sub("", text)
    operator = "|".join(sorted(operators | {"opaque"}))
    attribute = "|".join(sorted(attributes))
    patterns = [
        rf'[!=]= "({operator})"',  # op->name == "conv"
        rf'(?:find|definition|is_op|has_op|is)\((?:[\w.>-]+, )?"({operator})"\)',
        rf'(?:find|find_attribute|get_\w+)\("({attribute})"\)',
        rf'(?:attribute|name) [!=]= "({attribute})"',
    ]
    # A list of two names and more: a table.
    table = re.compile(rf'\{{\s*"(?:{operator}|{attribute})",\s*"(?:{operator}|{attribute})"[^{{}}]*\}}')
    places = []
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            places.append((text.count("\n", 0, match.start()) + 1, match.group(1)))
    for match in table.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        places += [(line, name) for name in TEXT.findall(match.group(0))
                   if name in operators | attributes]
    return sorted(set(places))


def main():
    root = Path(os.environ["SOURCE_DIR"])
    operators = names_in(root / "ops/operators", NAMED)
    attributes = names_in(root / "ops", ATTRIBUTE)
    for known in ["conv", "relu", "add", "reduce_sum", "softmax", "concat", "nll_loss"]:
        assert known in operators, f"the operator {known} was not found in ops/operators"
    for known in ["axis", "axes", "perm", "strides", "pads", "epsilon", "starts", "alpha"]:
        assert known in attributes, f"the attribute {known} was not found in ops/"

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
                problems += [f"{name}:{line}: decides by the name '{what}'; ask what its "
                             "definition states (core/graph/op_facts.h)" for line, what in found]
    for place, count in counted.items():
        most, why = ALLOWED[place]
        if count == 0:
            problems.append(f"{place}: no decision by name is left; take it off the list")
        if count > most:
            problems.append(f"{place}: {count} decisions by name, at most {most}: {why}")
    print(f"{len(operators)} operators, {len(attributes)} attributes; decisions by name: "
          + (", ".join(f"{p} {c}" for p, c in counted.items() if c) or "none"))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

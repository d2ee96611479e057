"""docs/proofs.md lists the files that proofs rest on. Its lists are compared with what the code
includes: the checker's files, those of the laws and of the way to a proof, and what both take from
the folders ops/ and rules/ below."""

import os
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include "(verifier/[^"]+)"', re.MULTILINE)
BELOW = re.compile(r'^#include "((?:ops|rules)/[^"]+)"', re.MULTILINE)
NAMED = re.compile(r"`((?:verifier|ops|rules)/[\w./]+)`")
CHECKER = ["verifier/checking/checker.h"]
LAWS = ["verifier/proof/attempt.h"]
# The part that puts the checker and the laws together.
WAY = ["verifier/proof/"]


class Includes:
    """A header needs what it includes, and the sources that define what it declares."""

    def __init__(self, texts):
        self.included = {name: set(INCLUDE.findall(text)) for name, text in texts.items()}
        self.sources = {}
        for name, text in texts.items():
            first = INCLUDE.search(text)  # A source includes its own header first.
            if name.endswith(".cpp") and first:
                self.sources.setdefault(first[1], set()).add(name)

    def closure(self, roots, outside):
        """All files that the roots need, and those of `outside` at which the search ended."""
        todo, seen, met = list(roots), set(), set()
        while todo:
            name = todo.pop()
            if any(is_in(name, place) for place in outside):
                met.add(name)
            elif name not in seen:
                seen.add(name)
                todo += self.included[name] | self.sources.get(name, set())
        return seen, met


def below(texts, trusted):
    """The files of ops/ and rules/ that trusted ones need: headers, and the source of each header.
    The families of operators are no part of it: they are what a proof is about."""
    todo = [header for name in trusted for header in BELOW.findall(texts[name])]
    seen = set()
    while todo:
        name = todo.pop()
        if name in seen or name not in texts:
            continue
        seen.add(name)
        todo += BELOW.findall(texts[name]) + [re.sub(r"\.h$", ".cpp", name)]
    return seen


def is_in(name, place):
    """`place`: a file, or a folder that ends in a slash."""
    return name.startswith(place) if place.endswith("/") else name == place


def section(text, title):
    """The places that the items of a section name before their colon."""
    body = re.search(rf"^### {re.escape(title)}$(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert body, f"docs/proofs.md has no section {title}"
    items = re.findall(r"^- (.*?):", body[1], re.MULTILINE | re.DOTALL)
    return [place for item in items for place in NAMED.findall(item)]


def problems(texts, document):
    """What the lists lack, and what they have that no trusted file needs."""
    includes = Includes({name: t for name, t in texts.items() if name.startswith("verifier/")})
    asked = section(document, "Asked, and not trusted")
    checker, met = includes.closure(CHECKER, asked)
    laws, met_by_laws = includes.closure(LAWS, asked)
    for title, needed in [("The checker", checker), ("The laws", laws - checker),
                          ("Below both", below(texts, laws | checker))]:
        listed = section(document, title)
        for name in sorted(needed):
            if not any(is_in(name, place) for place in listed):
                yield f"{title}: {name} is trusted and not listed"
        for place in listed:
            if not any(is_in(name, place) for name in needed):
                yield f"{title}: {place} is listed, but nothing that is trusted includes it"
            if place.endswith("/"):
                unused = [n for n in texts if is_in(n, place) and n not in needed]
                yield from (f"{title}: {name} is in {place}, but nothing includes it"
                            for name in sorted(unused))
    for place in asked:
        if not any(is_in(name, place) for name in met | met_by_laws):
            yield f"Asked, and not trusted: {place} is not asked by anything that is trusted"
    for name in sorted(laws):
        way = any(is_in(name, place) for place in WAY)
        if not way and CHECKER[0] in includes.included[name] and name not in checker:
            yield f"{name} includes the checker: laws ask it through verifier/checking/equality.h"


def self_test(texts, document):
    """Each way in which a list can be wrong is found."""
    def with_include(name, header):
        return {header: "", **texts, name: f'{texts[name]}\n#include "{header}"\n'}

    new = "verifier/laws/new" + ".h"
    extra = with_include("verifier/checking/checker.cpp", new)
    assert any(f"{new} is trusted and not listed" in p for p in problems(extra, document))
    assert any(f"{new} is in verifier/laws/" in p for p in problems({**texts, new: ""}, document))
    asking = with_include("verifier/laws/maxima.cpp", CHECKER[0])
    assert any("includes the checker" in p for p in problems(asking, document))
    for name in ["verifier/forms/substitution.cpp", "verifier/algebra/"]:
        assert any("not listed" in p for p in problems(texts, document.replace(f"`{name}`", "x")))
    more = document.replace("- `verifier/checking/checker.h`",
                            "- `verifier/questions/guesser.h`: x.\n- `verifier/checking/checker.h`")
    assert any("guesser.h is listed, but" in p for p in problems(texts, more))
    believing = with_include("verifier/reading/graph_reader.cpp", "ops/definition/by_role.h")
    assert any("by_role.h is trusted and not listed" in p for p in problems(believing, document))
    unlisted = document.replace("`ops/analysis/choices.cpp`", "x")
    assert any("choices.cpp is trusted and not listed" in p for p in problems(texts, unlisted))


def main():
    root = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
    texts = {str(path.relative_to(root)): path.read_text()
             for folder in ["verifier", "ops", "rules"] for path in (root / folder).rglob("*")
             if path.suffix in {".h", ".cpp"}}
    document = (root / "docs/proofs.md").read_text()
    self_test(texts, document)
    found = list(problems(texts, document))
    print("\n".join(found) or "docs/proofs.md lists the trusted files, and no others.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Checks that what documents and comments refer to is there: relative links and their headings,
files and folders that are named with their path, the table of floors, the picture."""

import functools
import html
import os
import re
import subprocess
import sys
from pathlib import Path

import layers_test

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)
# A file of ours that is named by its path from the root: `core/graph/graph.h`, `docs/rules.md`.
NAMED = re.compile(r"(?<![\w./$<{}*-])((?:[\w-]+/)+[\w.-]*\w\."
                   r"(?:h|cpp|py|md|sh|rules|cmake|txt|dot|svg))(?![\w/*])")
COMMENT = {
    ".h": r"//[^\n]*", ".cpp": r"//[^\n]*", ".py": r"#[^\n]*|\"\"\".*?\"\"\"", ".sh": r"#[^\n]*",
    ".cmake": r"#[^\n]*", ".txt": r"#[^\n]*",
}
# A file by its name alone: `graph.h`. Any file of that name will do.
BARE = re.compile(r"(?<![\w./$<>\"{}*-])([a-z]\w*\.(?:h|cpp))(?![\w/*(])")
# Names that stand for others, and files that the build makes.
NO_FILES = re.compile(r"([A-Z]+|verb_noun|shipped_digests)\.\w+$")


def anchors(text):
    """The names under which the headings of a document are linked to."""
    for heading in HEADING.findall(FENCE.sub("", text)):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", lambda m: m[1] or "", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def link_problems(root, name, text):
    """Links of a document that lead nowhere."""
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"\w+:", target):
            continue
        path, _, heading = target.partition("#")
        other = (root / name).parent / path if path else root / name
        if not other.exists():
            yield f"{name}: the link {target} leads nowhere"
        elif heading and heading not in anchors(other.read_text()):
            yield f"{name}: {path or name} has no heading for #{heading}"


@functools.cache
def parts_of(files):
    """The folders at the root, and the names of files without their folders."""
    return ({file.split("/")[0] for file in files if "/" in file},
            {Path(file).name for file in files})


def path_problems(name, text, files):
    """Files that a document or a comment names and that are not there."""
    tops, bare = parts_of(files)
    pattern = COMMENT.get(Path(name).suffix)
    parts = re.findall(pattern, text, re.DOTALL) if pattern else [text]
    for path in sorted({path for part in parts for path in NAMED.findall(part)}):
        if path.split("/")[0] in tops and path not in files and not NO_FILES.search(path):
            yield f"{name}: there is no {path}"
    for path in sorted({path for part in parts for path in BARE.findall(part)}):
        if path not in bare and not NO_FILES.search(path):
            yield f"{name}: there is no file {path}"


def floor_problems(root):
    """Where the tables of docs/architecture.md are not what the folders state."""
    text = (root / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    floors = {folder: floor for floor, folder in rows}
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
    parts = {folder: [part.split("`")[1] for part in row.split(" · ")] for folder, row in rows}
    stated = layers_test.Floors(root)
    for folder, floor in stated.floor.items():
        if floors.pop(folder, None) != str(floor):
            yield f"docs/architecture.md: {folder} is on floor {floor}"
        if parts.pop(folder, []) != stated.parts[folder]:
            yield (f"docs/architecture.md: the parts of {folder} are "
                   f"{' '.join(stated.parts[folder])}")
    for folder in floors.keys() | parts.keys():
        yield f"docs/architecture.md: there is no folder {folder}"


def picture_problems(root):
    """Words of the picture's source that the picture has not: it was not drawn again."""
    labels = re.findall(r'label="([^"]*)"', (root / "docs/data_flow.dot").read_text())
    drawn = html.unescape((root / "docs/data_flow.svg").read_text())
    for line in sorted({line for label in labels for line in label.split("\\n")}):
        if f">{line}</text>" not in drawn:
            yield f'docs/data_flow.svg: "{line}" is missing; draw it again as its source says'


def check(root, files):
    problems = [*floor_problems(root), *picture_problems(root)]
    for name in sorted(files):
        if not (root / name).is_file() or Path(name).suffix not in {".md", *COMMENT}:
            continue
        text = (root / name).read_text()
        if name.endswith(".md"):
            problems += link_problems(root, name, text)
        problems += path_problems(name, text, files)
    return problems


def self_test(root):
    """The checks above find what they are there to find."""
    files = frozenset({"core/graph/graph.h", "docs/rules.md"})
    gone = "core/" + "graph.h"
    assert list(path_problems("a.h", f"// see {gone}", files)) == [f"a.h: there is no {gone}"]
    assert list(path_problems("a.h", "// see grap" + "hs.h", files))
    fine = f'#include "{gone}"\n// core/graph/graph.h or graph.h'
    assert not list(path_problems("a.h", fine, files))
    assert not list(path_problems("a.md", "gone/graph.h and /usr/core/graph.h", files))
    assert list(link_problems(root, "README.md", "[a](docs/nowhere.md)"))
    assert list(link_problems(root, "README.md", "[a](CONTRIBUTING.md#no-such-heading)"))
    fine = "[a](CONTRIBUTING.md#adding-a-rule) [b](https://x.org)"
    assert not list(link_problems(root, "README.md", fine))


def main():
    root = Path(os.environ.get("SOURCE_DIR", Path(__file__).parents[2]))
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode:
        files = {str(path.relative_to(root)) for path in root.rglob("*")
                 if path.is_file() and not re.match(r"build|\.", str(path.relative_to(root)))}
    else:
        files = {name for name in listed.stdout.splitlines() if (root / name).exists()}
    self_test(root)
    problems = check(root, frozenset(files))
    print("\n".join(problems) or "All that documents and comments refer to is there.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

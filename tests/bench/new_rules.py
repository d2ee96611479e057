"""The table of new rules in README.md: which rules of a file do not follow from TASO's, and which
make a launch sequence faster on the kernels of this machine, both sides timed in turn.

    BIN_DIR=build/bin python3 tests/bench/new_rules.py rules/generated.rules [--taso FILE.pb]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TASO = HERE.parent / "data" / "taso_rules_sample.pb"


def report_of(command, *arguments):
    """The JSON that a command writes to stdout; its verdicts are no failures."""
    path = Path(os.environ.get("BIN_DIR", HERE.parents[1] / "build" / "bin")) / command
    done = subprocess.run([path, *map(str, arguments), "--json", "-"], stdout=subprocess.PIPE,
                          text=True)
    report = json.loads(done.stdout) if done.stdout else {}
    if "rules" not in report:
        sys.exit(f"{command} failed with exit code {done.returncode}")
    return report


def origin(rule):
    """`new`: saturation ended without a derivation of any instance; `new?`: it did not end."""
    if rule["verdict"] == "derivable":
        return "TASO's"
    if rule["derivable"]:
        return f"{rule['derivable']} of {rule['instances']} TASO's"
    return "new" if rule["verdict"] == "not derivable" else "new?"


def speedup(rule):
    timed = rule["timed"]
    if rule["target_us"] == 0:
        return f"{timed['source_us']:.1f} us to none"
    return f"{timed['ratio']:.2f} ({timed['low']:.2f} to {timed['high']:.2f})"


def place(rule):
    sizes = ", ".join(f"{name}={size}" for name, size in rule["sizes"].items())
    constants = ", ".join(rule["constants"])
    return sizes + (f"; weights: {constants}" if constants else "")


def cell(text):
    return text.replace("|", "\\|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rules", type=Path)
    parser.add_argument("--taso", type=Path, default=TASO, help="rules to derive from")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="rows at most; 0: all")
    parser.add_argument("--only-new", action="store_true", help="leave out what TASO's rules imply")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    options = parser.parse_args()

    costed = report_of("cost-rules", options.rules, "--costs", "measured", "--time", "-q")
    derived = report_of("verify-rules", options.rules, "--derivable-from", options.taso,
                        "--both-ways", "-q")
    origins = {r["rule"]: origin(r) for r in derived["rules"]}
    for rule in costed["rules"]:
        rule["origin"] = origins[rule["rule"]]
    if options.json:
        options.json.write_text(json.dumps(costed, indent=1))

    rules = costed["rules"]
    faster = [r for r in rules if r.get("timed", {}).get("faster")]
    new = [r for r in rules if r["origin"] == "new"]
    rows = [r for r in faster if not options.only_new or r["origin"] == "new"]
    # Rules that leave nothing to run come first, then the others by their ratio.
    rows.sort(key=lambda r: (r["target_us"] > 0, -r["timed"]["ratio"]))
    print(f"{len(rules)} rules, {len(new)} of them new, {len(faster)} faster than the noise when "
          f"both sides are timed in turn, {sum(r in new for r in faster)} of these new "
          f"({costed['costs']}).\n")
    print("| rule | equation | origin | sizes | speedup (95 % interval) |")
    print("|---|---|---|---|---|")
    for rule in rows[:options.top or None]:
        print(f"| {rule['rule']} | `{cell(rule['equation'])}` | {rule['origin']} "
              f"| {place(rule)} | {speedup(rule)} |")


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# The figures on proofs in README.md: rules of TASO, the shipped rules, wrong mutants, random pairs,
# and what a second thread gains.
#   ninja -C build prove-random-pairs && BIN_DIR=build/bin bash tests/bench/prove.sh
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
pairs=$bin/../tests/prove-random-pairs
if ! [[ -x $pairs ]]; then
  echo "$pairs is missing: ninja -C build prove-random-pairs" >&2
  exit 7
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Verdicts are no failures here.
verify() { "$bin/verify-rules" "$@" -q >/dev/null 2>&1 || true; }
seconds() { # of the wall
  local start end
  start=$(date +%s.%N)
  verify "$@"
  end=$(date +%s.%N)
  awk "BEGIN { print $end - $start }"
}

verify "$here/../data/taso_rules_sample.pb" --jobs 1 --json "$work/taso.json"
verify --jobs 1 --json "$work/shipped.json"
python3 - "$work/taso.json" "$work/shipped.json" <<'PYTHON'
import json, sys
for name, path in zip(("TASO's sample", "shipped rules"), sys.argv[1:]):
    rules = json.load(open(path))["rules"]
    times = sorted(t for r in rules for t in [r["cpu_ms"] / r["instances"]] * r["instances"])
    counts = {v: sum(r["verdict"] == v for r in rules) for v in ("proved", "refuted", "unknown")}
    print(f"{name}: {len(rules)} rules, {len(times)} instances; "
          + ", ".join(f"{n} {v}" for v, n in counts.items())
          + f"; CPU ms in all {sum(times):.0f}, median {times[len(times) // 2]:.2f}, "
          f"p99 {times[len(times) * 99 // 100]:.2f} (proof and numeric check)")
PYTHON

# What of TASO's sample follows from the shipped rules.
for ways in "" --both-ways; do
  "$bin/verify-rules" "$here/../data/taso_rules_sample.pb" --derivable-from shipped $ways \
    --derivation-nodes 5000 -q 2>/dev/null | tail -n 1
done

one=$(seconds --jobs 1)
two=$(seconds --jobs 2)
echo "shipped rules, wall: 1 thread $one s, 2 threads $two s, $(awk "BEGIN { printf \"%.2f\", $one / $two }") times"

"$bin/verify-rules" --mutate 14000 --jobs 2 2>/dev/null | grep -E "all mutants|origins|CPU" || true
"$bin/../tests/litmus_test" --gtest_brief=1 | tail -n 2
echo "litmus files that are open: $(grep -rl --include="*.rules" "^# open: " "$here"/../litmus | wc -l)"
"$pairs" 1 8 2500 2>"$work/pairs.log" >"$work/pairs.txt" || { tail -n 5 "$work/pairs.log"; exit 1; }
sed -n 2,5p "$work/pairs.txt"

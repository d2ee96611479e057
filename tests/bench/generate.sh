#!/usr/bin/env bash
# The figures on generated rules in README.md, besides those of enumerate_bench: what it takes to
# generate, minimize, prove and check, how many rules are left, and whether TASO's follow from them.
#   BIN_DIR=build/bin bash tests/bench/generate.sh
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "| preset | operators | equalities | kept | rules | unproved | enumerating | leaving out | proving and minimizing, CPU s | wall s |"
echo "|---|---|---|---|---|---|---|---|---|---|"
for run in "taso 3 --check" "taso 4" "algebra 3" "all 2"; do
  read -r preset ops check <<<"$run"
  start=$(date +%s.%N)
  "$bin/generate-rules" --preset "$preset" --ops "$ops" --rank none ${check:+"$check"} -q -o "$work/$preset$ops.rules" \
    --json "$work/report.json" >/dev/null
  wall=$(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $start }")
  python3 - "$preset" "$ops" "$work/report.json" "$wall" <<'PYTHON'
import json, sys
preset, ops, path, wall = sys.argv[1:]
r = json.load(open(path))
print(f"| {preset} | {ops} | {r['equalities']} | {r['kept']} | {len(r['rules'])} | {len(r['unproved'])} "
      f"| {r['enumerate_cpu_s']:.1f} | {r['reduce_cpu_s']:.1f} | {r['minimize_cpu_s']:.1f} | {wall} |",
      flush=True)
PYTHON
done
for ops in 3 4; do
  "$bin/verify-rules" "$here/../data/taso_rules_sample.pb" --derivable-from "$work/taso$ops.rules" -q |
    tail -n 1
done

#!/usr/bin/env bash
# What a second thread brings the search: seconds with one thread and with two, in turn, medians.
#   BIN_DIR=build/bin bash tests/bench/search_threads.sh [GRAPH...]
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
graphs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../data/taso_models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(inception nasnet_a)
for model in "${models[@]}"; do
  for round in 1 2 3 4 5 6 7; do
    for threads in 1 2; do
      "$bin/optimize-graph" "$graphs/$model.onnx" --dry-run --costs taso --verify off -q -j "$threads" \
        --json "$work/$model.$threads.$round.json" >/dev/null
    done
  done
done
python3 - "$work" "${models[@]}" <<'PYTHON'
import json, statistics, sys
work, *models = sys.argv[1:]
print("| graph | search s, one thread | two | faster | whole run s, one thread | two | faster |")
print("|---|---|---|---|---|---|---|")
for model in models:
    cells = []
    for key in ("search_wall_s", "total_wall_s"):
        one, two = (statistics.median(json.load(open(f"{work}/{model}.{threads}.{round}.json"))[key]
                                      for round in range(1, 8)) for threads in (1, 2))
        cells += [f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}x"]
    print("| " + " | ".join([model] + cells) + " |")
PYTHON

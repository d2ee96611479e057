#!/usr/bin/env bash
# The strategies of the search on TASO's graphs, beside TASO's best: the cost by tests/bench/score.py,
# which shares no code with us, and the CPU time of the search. A result counts if it is equal once
# its weights have random values and the proof of it can be replayed. PYTHON needs the package onnx.
#   BIN_DIR=build/bin bash tests/bench/strategies.sh [GRAPH...]
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
graphs=$here/../data/taso_models
python=${PYTHON:-$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/soapstone/python-*/bin/python | head -n 1)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(readme resnet50 squeezenet resnet18bn bert resnext50 inception
  nasrnn resnet50bn nasnet_a)

echo "| graph | before ms | TASO's best | backtracking ms | CPU s | eqsat ms | CPU s | best ms | CPU s | regions certain | equal, proof holds |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for model in "${models[@]}"; do
  equal=yes
  for strategy in backtracking eqsat best; do
    "$bin/optimize-graph" "$graphs/$model.onnx" -o "$work/$strategy.onnx" --strategy "$strategy" \
      --costs taso --keep-constants --verify off --proof "$work/proof" -q \
      --json "$work/$strategy.json" >/dev/null
    "$bin/compare-graphs" "$graphs/$model.onnx" "$work/$strategy.onnx" --random-weights --samples 2 \
      --proof "$work/proof" -q >/dev/null 2>&1 || equal=NO
  done
  "$python" - "$here" "$model" "$graphs/$model.onnx" "$work" "$equal" <<'PYTHON'
import json, sys
here, model, original, work, equal = sys.argv[1:]
sys.path.insert(0, here)
import onnx, score
cost = lambda path: score.score(onnx.load(path))["total_ms"]
cells = [model, f"{cost(original):.4f}", f"{score.TASO_MS[model]:.4f}"]
for strategy in ("backtracking", "eqsat", "best"):
    report = json.load(open(f"{work}/{strategy}.json"))
    cells += [f"{cost(f'{work}/{strategy}.onnx'):.4f}", f"{report['search_cpu_s']:.2f}"]
    certificate = report["certificate"]
cells += [f"{certificate['regions_optimal']} of {certificate['regions']}", equal]
print("| " + " | ".join(cells) + " |", flush=True)
PYTHON
done

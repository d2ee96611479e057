#!/usr/bin/env bash
# The graphs on which TASO's search was measured: the cost before and after by tests/bench/score.py,
# which shares no code with us, beside TASO's best; what the search took; how far from the cheapest
# graph the result may be, where the search says so; and whether the result is equal once its weights
# have random values. PYTHON needs the package onnx; ARGUMENTS go to optimize-graph.
#   BIN_DIR=build/bin bash tests/bench/taso_graphs.sh [GRAPH...]
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

echo "| graph | before ms | TASO's best | after ms | expanded | whole | e-nodes | gap | found | search CPU s | total CPU s | peak MB | equal |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
for model in "${models[@]}"; do
  "$bin/optimize-graph" "$graphs/$model.onnx" -o "$work/opt.onnx" --costs taso --keep-constants \
    --verify off ${ARGUMENTS:-} -q --json "$work/report.json" >/dev/null
  equal=yes
  "$bin/compare-graphs" "$graphs/$model.onnx" "$work/opt.onnx" --random-weights --samples 2 -q \
    >/dev/null 2>&1 || equal=NO
  "$python" - "$here" "$model" "$graphs/$model.onnx" "$work" "$equal" <<'PYTHON'
import json, sys
here, model, original, work, equal = sys.argv[1:]
sys.path.insert(0, here)
import onnx, score
before, after = (score.score(onnx.load(path))["total_ms"] for path in (original, work + "/opt.onnx"))
r = json.load(open(work + "/report.json"))
share = lambda key: f"{100 * r['certificate'][key]:.1f} %" if r["certificate"] else ""
print(f"| {model} | {before:.4f} | {score.TASO_MS[model]:.4f} | {after:.4f} | {r['graphs_expanded']} | {r['graphs_expanded_whole']} | {r['e_nodes']} "
      f"| {share('gap')} | {share('found_gap')} | {r['search_cpu_s']:.2f} "
      f"| {r['total_cpu_s']:.2f} | {r['peak_rss_mb']:.0f} | {equal} |", flush=True)
PYTHON
done

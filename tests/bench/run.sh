#!/usr/bin/env bash
# The table of gains in README.md: every built-in model, optimized with measured costs and timed end
# to end against the fused baseline, one thread, batch 1, in turn.
#   BIN_DIR=build/bin bash tests/bench/run.sh [MODEL...]
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(squeezenet inception_v3 resnet50 resnext50 bert_base nasrnn)

echo "| model | before ms | after ms | speedup (95 % interval) | predicted | graphs expanded | CPU s | peak MB |"
echo "|---|---|---|---|---|---|---|---|"
for model in "${models[@]}"; do
  "$bin/build-model" "$model" -o "$work/$model.onnx" -q >/dev/null
  "$bin/optimize-graph" "$work/$model.onnx" -o "$work/$model.opt.onnx" -q --json "$work/$model.json" >/dev/null
  python3 - "$model" "$work/$model.json" <<'PYTHON'
import json, sys
name, path = sys.argv[1:]
r = json.load(open(path))
low, high = r["speedup_interval"] or (1, 1)
speedup = (f"{r['speedup']:.3f} ({low:.3f} to {high:.3f})" if r["outcome"] == "improved"
           else "1.000: original kept")
print(f"| {name} | {r['latency_before_us'] / 1e3:.2f} | {r['latency_after_us'] / 1e3:.2f} | {speedup} "
      f"| {r['cost_before_us'] / r['cost_after_us']:.3f} | {r['graphs_expanded']} "
      f"| {r['total_cpu_s']:.1f} | {r['peak_rss_mb']:.0f} |", flush=True)
PYTHON
done

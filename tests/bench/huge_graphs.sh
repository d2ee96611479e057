#!/usr/bin/env bash
# The table of huge graphs in README.md: a Swin export of 6,600 nodes, a Transformer of 100 layers
# and recurrent cells unrolled to 23,500 nodes, by the roofline cost, unverified. TIME and
# MEMORY_LIMIT are those of optimize-graph.
#   BIN_DIR=build/bin bash tests/bench/huge_graphs.sh [swin|transformer|rnn...]
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(swin transformer rnn)

build() {
  case $1 in
    swin) "$bin/build-model" swin --set depth3=94 --set width=24 -o "$2" ;;
    transformer) "$bin/build-model" bert_base --set layers=100 --set hidden=64 --set heads=4 \
      --set embeddings=0 -o "$2" ;;
    rnn) "$bin/build-model" nasrnn --set steps=500 --set hidden=64 -o "$2" ;;
    *) echo "no such graph: $1" >&2; return 2 ;;
  esac
}

echo "| graph | nodes | before ms | after ms | gain | peak activations before, after | search CPU s | total CPU s | s | peak MB | search ended |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for model in "${models[@]}"; do
  build "$model" "$work/$model.onnx" >/dev/null 2>&1
  "$bin/optimize-graph" "$work/$model.onnx" -o "$work/opt.onnx" --costs roofline --verify off \
    --time "${TIME:-60}" --memory-limit "${MEMORY_LIMIT:-400}" -q --json "$work/report.json" \
    >/dev/null
  nodes=$("$bin/inspect-graph" "$work/$model.onnx" -q --json - | grep -m1 -o '"nodes": [0-9]*' | grep -o '[0-9]*')
  python3 - "$model" "$nodes" "$work/report.json" <<'PYTHON'
import json, sys
name, nodes, path = sys.argv[1:]
r = json.load(open(path))
kb = lambda key: f"{r['predicted_peak_activation_bytes_' + key] / 1e3:.1f}"
before, after = r["cost_before_us"] / 1e3, r["cost_after_us"] / 1e3
print(f"| {name} | {int(nodes):,} | {before:.2f} | {after:.2f} | {before / after:.3f} "
      f"| {kb('before')}, {kb('after')} kB | {r['search_cpu_s']:.1f} | {r['total_cpu_s']:.1f} "
      f"| {r['total_wall_s']:.0f} | {r['peak_rss_mb']:.0f} | {r['stop_reason']} |", flush=True)
PYTHON
done

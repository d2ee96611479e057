#!/usr/bin/env bash
# The table of objectives in README.md: built-in models, optimized for latency, for memory, and for
# latency with a peak of at most SHARE (0.97) of the baseline's, with measured costs and timed end to
# end, one thread, batch 1.
#   BIN_DIR=build/bin bash tests/bench/memory.sh [MODEL...]
set -euo pipefail
bin=${BIN_DIR:?BIN_DIR names the folder of the commands}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
[[ ${#models[@]} -gt 0 ]] || models=(squeezenet inception_v3 resnet50 nasrnn swin)

echo "| model | objective | peak activations before, after | weights before, after | latency before, after ms | exit code |"
echo "|---|---|---|---|---|---|"
for model in "${models[@]}"; do
  "$bin/build-model" "$model" -o "$work/$model.onnx" -q >/dev/null
  limit=
  for objective in latency memory limit; do
    options=(--objective "$objective")
    [[ $objective != limit ]] || options=(--peak-memory-limit "$limit")
    code=0
    "$bin/optimize-graph" "$work/$model.onnx" -o "$work/opt.onnx" "${options[@]}" \
      --time "${TIME:-30}" -q --json "$work/report.json" >/dev/null 2>&1 || code=$?
    limit=$(python3 - "$model" "$objective" "$limit" "$code" "$work/report.json" "${SHARE:-0.97}" <<'PYTHON'
import json, sys
model, objective, limit, code, path, share = sys.argv[1:]
r = json.load(open(path))
name = f"latency, at most {limit} MiB" if objective == "limit" else objective
pair = lambda key, scale: ", ".join(f"{r[f'{key}_{at}'] / scale:.2f}" for at in ("before", "after"))
ms = ", ".join(f"{r[f'latency_{at}_us'] / 1e3:.2f}" for at in ("before", "after"))
assert r["peak_activation_bytes_after"] == r["predicted_peak_activation_bytes_after"]
print(f"| {model} | {name} | {pair('peak_activation_bytes', 1e3)} kB "
      f"| {pair('weight_bytes', 1e6)} MB | {ms} | {code} |", file=sys.stderr)
print(f"{float(share) * r['peak_activation_bytes_before'] / 2**20:.4g}")
PYTHON
    )
  done
done

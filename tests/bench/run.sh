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

for model in "${models[@]}"; do
  "$bin/build-model" "$model" -o "$work/$model.onnx" -q >/dev/null
  "$bin/optimize-graph" "$work/$model.onnx" -o "$work/$model.opt.onnx" -q --json "$work/$model.json" >/dev/null
  rm -f "$work/$model.onnx" "$work/$model.opt.onnx"
done
python3 - "$work" "${models[@]}" <<'PYTHON'
import json, sys
work, *models = sys.argv[1:]
reports = {name: json.load(open(f"{work}/{name}.json")) for name in models}

print("| model | before ms | predicted | after ms | predicted | speedup (95 % interval) | graphs expanded, of them whole | CPU s | peak MB |")
print("|---|---|---|---|---|---|---|---|---|")
for name, r in reports.items():
    low, high = r["speedup_interval"] or (1, 1)
    improved = r["outcome"] == "improved"
    speedup = f"{r['speedup']:.3f} ({low:.3f} to {high:.3f})" if improved else "1.000: original kept"
    def predicted(which):
        return f"{100 * (r[f'cost_{which}_us'] / r[f'latency_{which}_us'] - 1):+.1f} %"
    print(f"| {name} | {r['latency_before_us'] / 1e3:.2f} | {predicted('before')} "
          f"| {r['latency_after_us'] / 1e3:.2f} | {predicted('after')} | {speedup} "
          f"| {r['graphs_expanded']}, {r['graphs_expanded_whole']} | {r['total_cpu_s']:.1f} | {r['peak_rss_mb']:.0f} |")

print("\n| model | share of the predicted gain by rule (uses) |")
print("|---|---|")
for name, r in reports.items():
    rules = sorted(r["rules_applied"], key=lambda rule: -rule["gain_us"])
    total = sum(rule["gain_us"] for rule in rules)
    if total > 0:
        shares = ", ".join(f"`{rule['rule']}` {100 * rule['gain_us'] / total:.0f} % ({rule['count']})"
                           for rule in rules)
        print(f"| {name} | {shares} |")
PYTHON

#!/usr/bin/env python3
"""Memory of planned steps beside closed forms, for eight sizes of GPT.

Weights, gradients and states of Adam in mixed precision are 16 bytes a parameter, cut as each strategy cuts them
(Rajbhandari et al., 2020). Activations of a layer are those of Korthikanti et al. (arXiv 2205.05198), without masks of
dropout, which the built-in networks have not: 32sbh + 2as²b, of which tensor parallelism cuts all but 8sbh and sequence
parallelism everything; 32sbh with attention computed again; 2sbh with all of it. What the head and the loss keep is
added: 4sbh + 2sbV, all in 16 bits. Prints both figures of each case, and how many are within 10 %.
Environment: BIN_DIR, the folder of the commands (build/bin).
"""
import json
import os
import subprocess
import sys

PLAN = os.path.join(os.environ.get("BIN_DIR", "build/bin"), "plan-graph")
TOKENS, VOCABULARY = 2048, 51200
# Layers, hidden, heads, samples of a microbatch.
MODELS = {"0.35B": (24, 1024, 16, 8), "1.3B": (24, 2048, 16, 8), "1.7B": (24, 2304, 24, 8), "3.6B": (30, 3072, 32, 8),
          "7.5B": (36, 4096, 32, 4), "18B": (40, 6144, 48, 4), "22B": (48, 6144, 64, 4), "175B": (96, 12288, 96, 1)}
# Tensor parallel, stages, and into how many parts weights, gradients and states are cut beside that.
STRATEGIES = {"ddp": (1, 1, (1, 1, 1)), "zero-1": (1, 1, (1, 1, 8)), "zero-2": (1, 1, (1, 8, 8)),
              "zero-3": (1, 1, (8, 8, 8)), "megatron": (8, 1, (8, 8, 8)), "megatron-sp": (8, 1, (8, 8, 8)),
              "pipeline": (1, 8, (8, 8, 8))}


def planned(model, strategy, recomputed):
    layers, hidden, heads, samples = MODELS[model]
    tensor, stages, _ = STRATEGIES[strategy]
    microbatches = 8 if stages > 1 else 1
    batch = samples * (8 // tensor // stages) * microbatches
    command = [PLAN, "gpt", "--topology", "dgx-a100x1", "--train", "--precision", "f16", "--batch", str(batch),
               "--strategy", strategy, "--memory-limit", "100000", "-q", "--json", "-",
               "--attention", "recomputed" if recomputed == "selective" else "stored"]
    for key, value in [("layers", layers), ("hidden", hidden), ("heads", heads), ("seq", TOKENS),
                       ("positions", TOKENS), ("vocabulary", VOCABULARY)]:
        command += ["--set", f"{key}={value}"]
    sizes = {"microbatches": microbatches, "recompute": int(recomputed == "full")}
    if tensor > 1:
        sizes["model"] = tensor
    if stages > 1:
        sizes.update(stages=stages, chunks=1)
    for key, value in sizes.items():
        command += ["--fix", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)["memory_mb"]


def closed_form(model, strategy, recomputed):
    """Megabytes: of weights, gradients and states; of activations."""
    layers, hidden, heads, samples = MODELS[model]
    tensor, stages, cuts = STRATEGIES[strategy]
    table = (VOCABULARY + TOKENS + 2) * hidden
    parameters = layers * (12 * hidden**2 + 13 * hidden) + table
    sbh, scores = TOKENS * samples * hidden, heads * TOKENS**2 * samples
    layer = {"none": 32 * sbh + 2 * scores, "selective": 32 * sbh, "full": 2 * sbh}[recomputed]
    logits = 2 * TOKENS * samples * VOCABULARY / (tensor if recomputed != "full" else 1)
    if recomputed != "full" and strategy == "megatron":
        layer = 8 * sbh + (layer - 8 * sbh) / tensor
    if strategy == "megatron-sp":
        layer /= tensor
    head = 4 * sbh + (logits if recomputed != "full" else 0)
    if strategy == "megatron-sp":
        head = 4 * sbh / tensor + (logits if recomputed != "full" else 0)
    # The first stage has an eighth of the layers for each of eight microbatches, and no head.
    kept = layer * layers + (0 if stages > 1 else head)
    held = parameters * sum(bytes_each / cut for bytes_each, cut in zip((2, 2, 12), cuts))
    if stages > 1:
        held = 16 * ((parameters - table) / stages + table)
    return held / 1e6, kept / 1e6


def main():
    within, cases = 0, 0
    print(f"{'model':6} {'recomputed':10} {'strategy':12} {'held MB':>16} {'closed':>9} {'kept MB':>9} {'closed':>9} {'sum':>7}")
    for model in MODELS:
        for recomputed in ("none", "selective", "full"):
            for strategy in STRATEGIES:
                memory = planned(model, strategy, recomputed)
                held = memory["weights"] + memory["gradients"] + memory["states"]
                expected_held, expected_kept = closed_form(model, strategy, recomputed)
                error = (held + memory["kept"]) / (expected_held + expected_kept) - 1
                cases += 1
                within += abs(error) <= 0.1
                print(f"{model:6} {recomputed:10} {strategy:12} {held:16.0f} {expected_held:9.0f} "
                      f"{memory['kept']:9.0f} {expected_kept:9.0f} {100 * error:+6.1f}%")
    print(f"{within} of {cases} within 10 %")


if __name__ == "__main__":
    main()

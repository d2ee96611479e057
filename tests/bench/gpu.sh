#!/usr/bin/env bash
# Everything that is to be known of a GPU, in one table: whether kernels are right, bandwidth of generated ones, each
# convolution and product beside PyTorch's, whole models before and after and as predicted, other runtimes.
#   BIN_DIR=build/bin TEST_DIR=build/tests bash tests/bench/gpu.sh RESULTS [DEVICE]
# RESULTS is a folder. Each step leaves a file there and takes at most STEP_S (480) seconds; a call begins no step after
# CALL_S (60) seconds, so that it ends within ten minutes. Called again, it goes on; at the end it exits with 0, before with 5.
# MODELS, BATCHES: other models and batches than those of the tables. DEVICE: cuda:0, or cpu to try the program.
# PYTHON with torch, torchvision or onnxruntime-gpu adds what they take; what is missing is said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=${1:?a folder for the results} device=${2:-cuda:0}
bin=${BIN_DIR:?BIN_DIR names the folder of the commands} programs=${TEST_DIR:?TEST_DIR has check-device and time-device}
python=${PYTHON:-python3} step_s=${STEP_S:-480} call_s=${CALL_S:-60}
read -r -a models <<<"${MODELS:-squeezenet nasnet_a nasrnn bert_base inception_v3 resnext50 resnet50}"
read -r -a batches <<<"${BATCHES:-1 16}"
compared=${COMPARED:-resnet50 bert_base inception_v3}
checked=$device
[[ $device == cuda* ]] || checked=reference
mkdir -p "$results/models"
costs=$results/costs.db
SECONDS=0
left=0

# step NAME COMMAND...: runs it unless it was run; its output, and what it said if it failed, are kept.
step() {
  local name=$1 code=0
  shift
  [[ ! -e $results/$name.code ]] || return 0
  if ((SECONDS > call_s)); then
    left=$((left + 1))
    return 0
  fi
  echo "$name" >&2
  timeout "$step_s" "$@" >"$results/$name.txt" 2>"$results/$name.err" || code=$?
  # Without a card no step can tell anything: the next call is to begin with this one.
  if ((code == 7)) && grep -m 1 "no CUDA device" "$results/$name.err" >&2; then
    exit 7
  fi
  echo "$code" >"$results/$name.code"
}

step check "$programs/check-device" "$checked"
step bandwidth "$programs/time-device" "$checked" "${MIB:-256}"
if command -v compute-sanitizer >/dev/null; then
  step sanitizer compute-sanitizer --error-exitcode 9 "$programs/time-device" "$checked" 16
fi
for model in "${models[@]}"; do
  for batch in "${batches[@]}"; do
    name=$model.$batch file=$results/models/$model.$batch.onnx
    [[ -e $file ]] || "$bin/build-model" "$model" --set batch="$batch" -o "$file" -q >/dev/null 2>"$results/$name.none" ||
      continue
    step "optimize.$name" "$bin/optimize-graph" "$file" -o "$results/models/$name.after.onnx" --runtime soapstone \
      --device "$device" --cost-db "$costs" --time "${SEARCH_S:-240}" -q --json -
    step "onnxruntime.$name" "$bin/bench-graph" "$file" --runtime onnxruntime --provider CUDAExecutionProvider \
      --python "$python" --cost-db none -q --time 20 --json -
    step "torch.$name" "$python" "$here/gpu_torch.py" model "$model" "$batch"
  done
done
for model in $compared; do
  file=$results/models/$model.1.onnx
  [[ -e $file ]] || "$bin/build-model" "$model" -o "$file" -q >/dev/null
  step "operators.$model" "$python" "$here/gpu_torch.py" operators "$file" "$bin/bench-graph" "$device" "$costs" \
    "${OPERATORS_S:-420}"
done

"$python" "$here/gpu_table.py" "$results"
if ((left > 0)); then
  echo "$left steps are left: call it again" >&2
  exit 5
fi

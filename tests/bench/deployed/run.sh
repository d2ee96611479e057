#!/usr/bin/env bash
# Our results, and those of other optimizers, beside the originals in ONNX Runtime and OpenVINO, with
# one thread and two: makes the Python environment and the models if they are not there yet, then
# writes ours.md, ours.json, others.md and others.json into a folder.
#   BIN_DIR=build/bin bash tests/bench/deployed/run.sh FOLDER [MODEL...] [-- ARGUMENT...]
# What follows -- goes to optimize-graph. All models take 4 GB in the cache, and hours.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/soapstone
python=${PYTHON:-/usr/bin/python3}
folder=${1:?the folder to write to is missing}
shift
export BIN_DIR=${BIN_DIR:?BIN_DIR names the folder of the commands} PYTHONDONTWRITEBYTECODE=1

pins=$(cat "$here/requirements.txt" "$here/../../requirements.txt" | sha256sum | head -c 12)
venv=$cache/deployed-$pins
if [[ ! -e $venv/complete ]]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  touch "$venv/complete"
fi

models=()
while (($#)) && [[ $1 != -- ]]; do
  models+=("$1")
  shift
done
"$venv/bin/python" "$here/export_models.py" "$cache/deployed-models" "${models[@]}" \
  --torch-python "$python"

mkdir -p "$folder"
where=(--runtime onnxruntime --runtime openvino --threads 1 --threads 2)
"$venv/bin/python" "$here/run.py" "$cache/deployed-models" "${models[@]}" "${where[@]}" \
  --results "$folder/results" --table "$folder/ours.md" --json "$folder/ours.json" "$@"
"$venv/bin/python" "$here/other_optimizers.py" "$cache/deployed-models" "${models[@]}" "${where[@]}" \
  --ours "$folder/results" --table "$folder/others.md" --json "$folder/others.json"

#!/usr/bin/env bash
# Small networks from papers, each with an expert's form of it: how far from that the search ends, by
# roofline costs. There are twenty sets: half of the fourth (tests/bench/unseen/fourth) is locked
# away while rules and the search change, so that its mean stays honest (tests/bench/unseen/run.py --help).
# PYTHON needs onnx, numpy and onnxruntime; ARGUMENTS go to optimize-graph.
#   BIN_DIR=build/bin bash tests/bench/unseen.sh [--set first|later|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth] [--unlock] [--rules] [NETWORK...]
set -euo pipefail
: "${BIN_DIR:?BIN_DIR names the folder of the commands}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$(ls -d "${XDG_CACHE_HOME:-$HOME/.cache}"/soapstone/python-*/bin/python | head -n 1)}
exec "$python" "$here/unseen/run.py" "$@"

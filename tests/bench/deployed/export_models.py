"""Writes the networks on which deployed runtimes are timed, as ONNX files with random weights.

    python3 export_models.py FOLDER [NETWORK...] [--list]

They come from PyTorch and torchvision (run by --torch-python, Debian's by default), from ONNX's light
models, and from our own build-model. What is in the folder already is kept. Each new file is checked
by ONNX's checker and run in ONNX Runtime: outputs must be finite, and differ for different inputs.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import light_networks
import model_inputs

HERE = Path(__file__).resolve().parent
BIN_DIR = Path(os.environ.get("BIN_DIR", HERE.parents[2] / "build" / "bin"))
OURS = ["squeezenet", "inception_v3", "resnet50", "resnext50", "bert_base", "nasrnn", "swin"]


def output_of(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise RuntimeError(f"{Path(command[0]).name} ends with {done.returncode}: {' '.join(last)}")
    return done.stdout


def has_torch(python):
    """Whether that Python can export: a look for the packages, which does not load them."""
    look = "import sys, importlib.util as u; sys.exit(not (u.find_spec('torch') and u.find_spec('torchvision')))"
    try:
        return subprocess.run([python, "-c", look], capture_output=True).returncode == 0
    except OSError:
        return False


def export_from_torch(python, name, path):
    output_of(python, HERE / "torch_networks.py", name, path)


def export_light(name, path):
    onnx.save(light_networks.build(name), path)


def export_ours(name, path):
    output_of(BIN_DIR / "build-model", name, "-o", path, "-q")


def catalog(python):
    """Network: the function that writes it to a path."""
    found = {}
    if has_torch(python):
        for name in output_of(python, HERE / "torch_networks.py").split():
            found[name] = lambda path, name=name: export_from_torch(python, name, path)
    for name in light_networks.names():
        found[name] = lambda path, name=name: export_light(name, path)
    if (BIN_DIR / "build-model").exists():
        for name in OURS:
            found[f"our_{name}"] = lambda path, name=name: export_ours(name, path)
    return found


def check(path):
    """Raises an error that says why the file is no subject for timing."""
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    first, second = (session.run(None, model_inputs.draw(path, seed)) for seed in (0, 1))
    if not all(np.isfinite(output).all() for output in first):
        raise RuntimeError("an output is not finite")
    if model_inputs.difference(first, second)["relative"] < 1e-3:
        raise RuntimeError("its outputs hardly depend on its inputs")


def write(name, export, folder):
    """The file of that network, which is made if it is not there yet."""
    path = folder / f"{name}.onnx"
    if not path.exists():
        new = folder / f".{name}.{os.getpid()}.onnx"
        try:
            export(new)
            check(new)
            new.rename(path)
        finally:
            new.unlink(missing_ok=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("networks", nargs="*", help="all that can be made, if none is named")
    parser.add_argument("--torch-python", default="/usr/bin/python3", metavar="FILE",
                        help="a Python with torch and torchvision (%(default)s)")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args()
    makers = catalog(options.torch_python)
    if options.list:
        print("\n".join(makers))
        return 0
    if not options.folder:
        parser.error("FOLDER is missing")
    unknown = [name for name in options.networks if name not in makers]
    if unknown:
        parser.error(f"cannot make {', '.join(unknown)}; --list shows what can be made")
    options.folder.mkdir(parents=True, exist_ok=True)
    if not has_torch(options.torch_python):
        print(f"{options.torch_python} has no torch and torchvision: networks of these are left out",
              file=sys.stderr)
    failed = 0
    for name in options.networks or makers:
        try:
            path = write(name, makers[name], options.folder)
        except Exception as error:  # The others are made nonetheless.
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        graph = onnx.load(path, load_external_data=False).graph
        print(f"{path}: {len(graph.node)} nodes, {path.stat().st_size / 1e6:.1f} MB", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Exports networks of timm and transformers, narrow and with random weights, as ONNX files.

    python3 -m venv venv && venv/bin/pip install torch torchvision timm transformers onnx onnxscript pillow
    venv/bin/python tests/exported/export_networks.py FOLDER [NETWORK...]

torch is 3 GB, so the tests make do with the files of tests/data/exported. Each network is written once with fixed and,
where it has sizes that a file can leave open, once with open sizes (NAME_open.onnx). Without --opset the opsets 17 to
23 take turns. Opset 17 is written by the older of torch's exporters, as is what the newer one cannot export.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import onnx
import torch

sys.path.append(str(Path(__file__).parent))
import language
import signals
import vision
from zoo import FirstOf

# The files of tests/data/exported: opset, sizes.
KEPT = {
    "distilbert_masked": (17, "open"),
    "regnet_narrow": (18, "open"),
    "segformer": (20, "fixed"),
    "t5": (21, "open"),
    "whisper": (22, "fixed"),
    "llama_one": (23, "open"),
}
NETWORKS = {**vision.NETWORKS, **language.NETWORKS, **signals.NETWORKS}
OPSETS = [18, 23, 20, 17, 21, 22, 19]


def export_new(network, path, opset, is_open):
    dims = None
    if is_open:
        dims = tuple({axis: torch.export.Dim.DYNAMIC for axis in network.open.get(name, {})}
                     for name in network.inputs)
        if isinstance(network.module, FirstOf):  # Its parameter is the tuple of all inputs.
            dims = (dims,)
    torch.onnx.export(network.module, tuple(network.inputs.values()), str(path), dynamo=True, opset_version=opset,
                      external_data=False, verbose=False, optimize=True, input_names=list(network.inputs),
                      output_names=["y"], dynamic_shapes=dims)


def export_old(network, path, opset, is_open):
    torch.onnx.export(network.module, tuple(network.inputs.values()), str(path), dynamo=False,
                      opset_version=min(opset, 20), input_names=list(network.inputs), output_names=["y"],
                      dynamic_axes=network.open if is_open else None)


def export(build, path, opset, is_open):
    """Which exporter wrote the file. Errors: what both exporters said."""
    reasons = []
    writers = [("new", export_new), ("old", export_old)]
    for name, write in reversed(writers) if opset == 17 else writers:
        torch.manual_seed(0)
        try:
            with torch.no_grad():
                write(build(), path, opset, is_open)
            return name
        except Exception as error:  # Exporters raise anything.
            reasons.append(f"{name}: {type(error).__name__} {str(error).strip().splitlines()[:1]}"[:300])
    raise RuntimeError("; ".join(reasons))


def strip(path):
    """Leaves out where in Python each node comes from, which is most of a small file."""
    model = onnx.load(path)
    graphs = [model.graph, *model.functions]
    del model.graph.value_info[:], model.graph.metadata_props[:]
    for graph in graphs:
        for node in graph.node:
            del node.metadata_props[:]
            node.doc_string = ""
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--opset", type=int, choices=range(17, 24), metavar="17..23")
    parser.add_argument("--sizes", choices=["fixed", "open", "both"], default="both")
    parser.add_argument("--kept", action="store_true", help="the small files of tests/data/exported alone")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    for name in options.networks or (KEPT if options.kept else NETWORKS):
        opset = options.opset or OPSETS[list(NETWORKS).index(name) % len(OPSETS)]
        kinds = ["fixed", "open"] if options.sizes == "both" else [options.sizes]
        if options.kept:
            opset, kinds = KEPT[name][0], [KEPT[name][1]]
        for kind in kinds:
            start = time.monotonic()
            path = options.folder / (name + ("_open.onnx" if kind == "open" else ".onnx"))
            try:
                if kind == "open":
                    torch.manual_seed(0)
                    if not NETWORKS[name]().open:
                        continue
                exporter = export(NETWORKS[name], path, opset, kind == "open")
                if options.kept:
                    strip(path)
                print(f"{path.name}: opset {opset}, {exporter} exporter, {path.stat().st_size >> 10} kB, "
                      f"{time.monotonic() - start:.0f} s", flush=True)
            except Exception as error:
                failures += 1
                print(f"{path.name}: NOT exported: {type(error).__name__} {error}"[:700].replace("\n", " "),
                      flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

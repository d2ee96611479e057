"""Every built-in network, small, computes on each of our backends what onnxruntime computes."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

sys.path.append(str(Path(__file__).parents[1]))
import networks
from runtime_results import open_session, random_inputs

BUILD_DIR = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[2] / "build"))
RUNNER = BUILD_DIR / "tests" / "run-onnx-cases"

# Parameters at which a network is built; a network may have several.
TOKENS = {"seq": 5, "vocabulary": 11}
RECURRENT = {"batch": 2, "steps": 3, "hidden": 6, "vocabulary": 11}
SMALL = {
    "squeezenet": [{"image": 48, "width_percent": 10, "classes": 7}],
    "inception_v3": [{"image": 75, "width_percent": 4, "classes": 7}],
    "resnet50": [{"image": 32, "width": 2, "classes": 7, "fold_bn": 1}],
    "resnext50": [{"image": 32, "width": 2, "groups": 2, "group_width": 1, "classes": 7}],
    "bert_base": [{"layers": 2, "hidden": 8, "heads": 2, **TOKENS}],
    "nasrnn": [{"hidden": 6, "steps": 3, "batch": 2}],
    "swin": [{"image": 64, "window": 2, "width": 6, "classes": 7, "batch": 2}],
    "lenet": [{"batch": 2}],
    "alexnet": [{"image": 63, "width": 2, "hidden": 8, "classes": 7}],
    "resnet101": [{"image": 32, "width": 2, "classes": 7}],
    "mlp": [{"layers": 3, "inputs": 5, "hidden": 7, "batch": 2}],
    "gpt": [{"layers": 2, "hidden": 8, "heads": 2, "batch": 2, **TOKENS},
            {"layers": 1, "hidden": 8, "heads": 2, "feed": 6, "tied": 0, **TOKENS}],
    "llama": [{"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2, "batch": 2, **TOKENS},
              {"layers": 1, "hidden": 8, "heads": 2, **TOKENS}],
    "moe": [{"layers": 2, "hidden": 8, "heads": 2, "feed": 6, "experts": 3, "batch": 2, **TOKENS},
            {"layers": 1, "hidden": 8, "heads": 2, "feed": 6, "every": 1, "top": 1, **TOKENS}],
    "rnntc": [RECURRENT],
    "rnnlm": [RECURRENT],
    "nmt": [RECURRENT],
    "dlrm": [{"batch": 3, "tables": 4, "rows": 7, "width": 4, "hidden": 16},
             {"batch": 3, "tables": 2, "rows": 7, "lookups": 3, "hidden": 8}],
    "nasnet_a": [{"image": 33, "repeats": 1, "width": 8, "stem": 3, "classes": 7},
                 {"image": 32, "repeats": 2, "width": 4, "stem": 3, "classes": 7, "fold_bn": 1}],
    "vgg": [{"layers": 11, "image": 32, "width": 2, "hidden": 8, "classes": 7},
            {"layers": 19, "image": 64, "width": 2, "hidden": 8, "classes": 7}],
    "resnet18": [{"image": 32, "width": 2, "classes": 7}],
    "resnet34": [{"image": 32, "width": 2, "classes": 7, "fold_bn": 1}],
    "vit": [{"image": 12, "patch": 4, "layers": 2, "hidden": 8, "heads": 2, "classes": 7, "batch": 2}],
    "unet": [{"image": 16, "attention": 8, "width": 4, "norm_groups": 2, "batch": 2},
             {"image": 8, "attention": 4, "width": 4, "norm_groups": 2, "blocks": 1, "multipliers": 31}],
    "bert": [{"layers": 2, "hidden": 8, "heads": 2, **TOKENS}],
    "bert_large": [{"layers": 1, "hidden": 8, "heads": 2, "feed": 6, **TOKENS}],
    "gnmt": [{"layers": 3, **RECURRENT}],
    "mixtral": [{"layers": 2, "hidden": 8, "heads": 2, "kv_heads": 1, "feed": 6, "experts": 3, "batch": 2,
                 **TOKENS}],
    "deepseek_moe": [{"layers": 2, "hidden": 8, "heads": 2, "kv_heads": 2, "feed": 6, "dense_feed": 10,
                      "experts": 5, "top": 3, "batch": 2, **TOKENS},
                     {"layers": 1, "dense": 0, "shared": 0, "hidden": 8, "heads": 2, "kv_heads": 1,
                      "feed": 6, "experts": 3, "top": 1, **TOKENS}],
}
OPSETS = [17, 23]
# Relative to the largest number of an output.
TOLERANCE = 1e-4


def write_case(name, parameters, opset, folder):
    """Writes a model, inputs and what onnxruntime makes of them. Returns the runner's line."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    model = folder / "model.onnx"
    settings = [part for key, value in parameters.items() for part in ("--set", f"{key}={value}")]
    networks.run("build-model", name, "-o", model, "--opset", opset, *settings)
    onnx.checker.check_model(model, full_check=True)
    session = open_session(model)
    inputs = random_inputs(session, 1)
    outputs = session.run(None, inputs)
    for kind, arrays in ("input", inputs.values()), ("output", outputs):
        for index, array in enumerate(arrays):
            path = data / f"{kind}_{index}.pb"
            path.write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    largest = max(np.abs(output).max() for output in outputs)
    return f"{name} {parameters} {opset}\t{folder}\t0\t{TOLERANCE * largest}\n"


class BuiltNetworks(unittest.TestCase):
    def test_every_network_is_here(self):
        listed = json.loads(networks.run("build-model", "--list", "--json", "-"))
        self.assertEqual(list(SMALL), [each["name"] for each in listed])

    def test_our_results_are_those_of_onnxruntime(self):
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            lines = [write_case(name, parameters, opset, Path(folder) / f"{name}_{index}_{opset}")
                     for name, variants in SMALL.items()
                     for index, parameters in enumerate(variants) for opset in OPSETS]
            for backend in "reference", "cpu":
                done = subprocess.run([RUNNER, backend], input="".join(lines), text=True,
                                      capture_output=True, timeout=300, check=True)
                verdicts = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(verdicts), len(lines))
                for verdict in verdicts:
                    self.assertEqual(verdict["status"], "passed", (backend, verdict))


if __name__ == "__main__":
    unittest.main()

"""A worker to start from: ONNX's own reference evaluator as a runtime. Run it with
--runtime "command:python3 example_worker.py". Needs numpy and onnx, and protocol.py beside it."""

from protocol import Model, Runtime, serve

import onnx
from onnx.reference import ReferenceEvaluator


class ReferenceModel(Model):
    def __init__(self, path):
        self.evaluator = ReferenceEvaluator(path)

    def run(self, inputs):
        return list(zip(self.evaluator.output_names, self.evaluator.run(None, inputs)))

    def prepare(self, inputs):
        self.inputs = inputs

    def execute(self):
        self.evaluator.run(None, self.inputs)


class Reference(Runtime):
    name = "ONNX reference"

    def version(self):
        return onnx.__version__

    def load(self, path, optimizations, threads, provider, options):
        return ReferenceModel(path)


if __name__ == "__main__":
    serve(Reference())

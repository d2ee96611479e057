"""Runs files of train-graph in ONNX Runtime, step by step, as their notes say."""

import json

import numpy as np
import onnx
import onnxruntime


class Step:
    """A file of train-graph. Weights and states begin with the defaults of the file."""

    def __init__(self, path):
        self.model = onnx.load(path)
        self.notes = json.loads(next(entry.value for entry in self.model.metadata_props
                                     if entry.key == "soapstone.training_step"))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        self.outputs = [output.name for output in self.session.get_outputs()]
        self.kept = {}  # what a step replaced, by input
        self.count = 0

    def run(self, data, rate):
        """The outputs of one step, by name, which the next step goes on with."""
        self.count += 1
        feed = {**data, **self.kept, self.notes["learning_rate"]: np.array(rate, np.float32)}
        if "step" in self.notes:
            feed[self.notes["step"]] = np.array(self.count)
        results = dict(zip(self.outputs, self.session.run(None, feed), strict=True))
        self.kept = {name: results[output] for output, name in self.notes["replaces"].items()}
        return results

    def losses(self, data, rate, steps):
        return [float(self.run(data, rate)[self.notes["loss"]]) for _ in range(steps)]

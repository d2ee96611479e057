"""Makes a model with a find small while the find stays, and writes finds as files that can be read
by people and replayed by finds_test.py."""

import base64
import json
import time
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

from model_judge import KINDS, Judge, draw_inputs, open_session, run
from random_models import LETTER, Model, pruned

LONGEST_S = 25


class Shrinker:
    def __init__(self, fuzzer, model, job, verdict, answer):
        self.fuzzer = fuzzer
        self.best = (model, job, verdict, answer)
        self.kind = verdict.kind
        self.deadline = time.monotonic() + LONGEST_S

    def accept(self, proto, job=None):
        """Takes a smaller model (or job) if the same kind of fault is found in it."""
        model, old_job, _, _ = self.best
        job = job or old_job
        if time.monotonic() > self.deadline:
            return False
        names = {v.name for v in proto.graph.input}
        small = Model(proto, model.seed, {n: r for n, r in model.ranges.items() if n in names},
                      model.tame, model.rule, model.sizes)
        try:
            judge = Judge(small, KINDS)
            answer, verdict = self.fuzzer.attempt(small, judge, job)
        except Exception:  # no model any more
            return False
        if verdict.kind != self.kind:
            return False
        self.best = (small, job, verdict, answer)
        return True

    @property
    def proto(self):
        return self.best[0].proto

    def shrink(self):
        if self.best[0].sizes:  # Shapes that are open are not known.
            return self.best
        changed = True
        while changed and time.monotonic() < self.deadline:
            changed = self.fewer_outputs() | self.cut() | self.bypass() | self.smaller_sizes()
        job = dict(self.best[1])
        for key in ("generated", "objective", "verify"):
            if job.get(key):
                self.accept(self.proto, {k: v for k, v in job.items() if k != key})
                job = dict(self.best[1])
        return self.best

    def fewer_outputs(self):
        changed, at = False, 0
        while len(self.proto.graph.output) > 1 and at < len(self.proto.graph.output):
            kept = [v.name for k, v in enumerate(self.proto.graph.output) if k != at]
            if self.accept(pruned(self.proto, kept)):
                changed = True
            else:
                at += 1
        return changed

    def cut(self):
        """Results of nodes become inputs."""
        changed = False
        types = types_of(self.proto)
        for node in reversed(list(self.proto.graph.node)):
            outputs = {v.name for v in self.proto.graph.output}
            # onnxruntime dies of operators of which some outputs are left out.
            for name in node.output if len(node.output) == 1 else []:
                if name in outputs or name not in types:
                    continue
                smaller = onnx.ModelProto()
                smaller.CopyFrom(self.proto)
                for other in smaller.graph.node:
                    for k, written in enumerate(other.output):
                        if written == name:
                            other.output[k] = ""
                smaller.graph.input.append(helper.make_tensor_value_info(name, *types[name]))
                changed |= self.accept(pruned(smaller, outputs))
        return changed

    def bypass(self):
        """Nodes whose result is like an operand are left out."""
        changed = False
        types = types_of(self.proto)
        for node in reversed(list(self.proto.graph.node)):
            if len(node.output) != 1 or node.output[0] not in types:
                continue
            for name in node.input:
                if types.get(name) != types[node.output[0]]:
                    continue
                smaller = onnx.ModelProto()
                smaller.CopyFrom(self.proto)
                outputs = [v.name for v in smaller.graph.output]
                if node.output[0] in outputs and name in [
                        *(v.name for v in smaller.graph.input),
                        *(w.name for w in smaller.graph.initializer), *outputs]:
                    continue
                for other in smaller.graph.node:
                    for k, read in enumerate(other.input):
                        if read == node.output[0]:
                            other.input[k] = name
                for value in smaller.graph.output:
                    if value.name == node.output[0]:
                        value.name = name
                if self.accept(pruned(smaller, [v.name for v in smaller.graph.output])):
                    changed = True
                    break
        return changed

    def smaller_sizes(self):
        changed = False
        for size in sorted({d for t in types_of(self.proto).values() for d in t[1] if d > 1},
                           reverse=True):
            for less in (1, 2):
                if less < size and self.accept_resized(size, less):
                    changed = True
                    break
        return changed

    def accept_resized(self, size, less):
        smaller = onnx.ModelProto()
        smaller.CopyFrom(self.proto)
        for value in smaller.graph.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_value == size:
                    dim.dim_value = less
        for weight in smaller.graph.initializer:
            values = numpy_helper.to_array(weight)
            for axis, n in enumerate(values.shape):
                if n == size:
                    values = np.take(values, range(less), axis)
            if values.dtype == np.int64:
                values = np.where(values == size, less, values)
            name = weight.name
            weight.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), name))
        model = self.best[0]
        try:
            small = Model(smaller, model.seed, model.ranges, model.tame)
            results = run(open_session(smaller), draw_inputs(small, "normal", 0))
        except Exception:
            return False
        for value in smaller.graph.output:
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(value.name, kind,
                                                         results[value.name].shape))
        return self.accept(smaller)


def shrink(fuzzer, model, job, verdict, answer):
    """The smallest (model, job, verdict, answer) found."""
    return Shrinker(fuzzer, model, job, verdict, answer).shrink()


def types_of(proto):
    """(element type, shape) of all tensors that are known, by name."""
    inferred = onnx.shape_inference.infer_shapes(proto).graph
    types = {w.name: (w.data_type, list(w.dims)) for w in inferred.initializer}
    for value in [*inferred.input, *inferred.value_info, *inferred.output]:
        tensor = value.type.tensor_type
        dims = [d.dim_value for d in tensor.shape.dim]
        if tensor.elem_type in LETTER and tensor.HasField("shape") and 0 not in dims:
            types[value.name] = (tensor.elem_type, dims)
    return types


def text_of(model, job, verdict, rules):
    """The file of a find: what is wrong in words, the model for people, the model for machines."""
    said = onnx.printer.to_text(model.proto)
    lines = [f"{verdict.kind} on {verdict.inputs or 'all'} inputs, output {verdict.output}: "
             f"{verdict.detail}", f"rules: {' '.join(rules)}"]
    lines += [line[:160] for line in said.splitlines()]
    packed = base64.b64encode(zlib.compress(model.proto.SerializeToString(), 9)).decode()
    facts = {"job": job, "seed": model.seed, "ranges": model.ranges, "tame": model.tame,
             "sizes": model.sizes}
    return ("".join(f"# {line}\n" for line in lines) + json.dumps(facts) + "\n" +
            "\n".join(packed[k:k + 100] for k in range(0, len(packed), 100)) + "\n")


def read_find(text):
    """(model, job) of a file that text_of() made."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    facts = json.loads(lines[0])
    proto = onnx.ModelProto()
    proto.ParseFromString(zlib.decompress(base64.b64decode("".join(lines[1:]))))
    ranges = {name: tuple(ends) for name, ends in facts["ranges"].items()}
    return (Model(proto, facts["seed"], ranges, facts["tame"], sizes=facts.get("sizes", {})),
            facts["job"])

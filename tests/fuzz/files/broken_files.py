"""A structured fuzzer of everything that the commands read: valid files, damaged in their fields or
bytes. Whatever it makes of them, a command must end with one of its documented exit codes, within a
limit on memory and time, and without a signal.

    BIN_DIR=build/bin python tests/fuzz/files/broken_files.py --seconds 600 --seed 7 --keep finds
"""

import argparse
import collections
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import broken_seeds

sys.path.append(str(Path(__file__).parents[2]))
import sanitizers  # noqa: E402

BIN_DIR = Path(os.environ.get("BIN_DIR", Path(__file__).parents[3] / "build" / "bin"))
# 1 is a fault of ours. 6 is right for a damaged proof only: a model computes what it computes.
ALLOWED = {0, 2, 3, 4, 5, 7}
EXTREMES = [0, -1, 1, 2, 3, 7, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 40, 1 << 62,
            (1 << 63) - 1, -(1 << 31), -(1 << 62), -(1 << 63)]
MEMORY_BYTES = 4 << 30
ENDS = collections.Counter()  # how many runs of a command ended with which code
SECONDS = sanitizers.seconds(20)


def extreme(rng, bits=64):
    value = rng.choice(EXTREMES)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return value if low <= value <= high else rng.choice([low, high, 0, -1])


# Fields of protobuf messages.

def is_repeated(field):
    """Newer versions of protobuf have no labels."""
    known = getattr(field, "is_repeated", None)
    return field.label == field.LABEL_REPEATED if known is None else known


def messages(message):
    """The message and all that are inside it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in value if is_repeated(field) else [value]:
            yield from messages(inner)


def change_scalar(rng, field, value):
    kind = field.cpp_type
    if kind in (field.CPPTYPE_INT32, field.CPPTYPE_ENUM):
        return extreme(rng, 32)
    if kind == field.CPPTYPE_INT64:
        return extreme(rng)
    if kind == field.CPPTYPE_UINT64:
        return extreme(rng) % (1 << 64)
    if kind in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice([0.0, -1.0, 1e30, float("inf"), float("nan"), 2.0**31, 1e-38])
    if kind == field.CPPTYPE_BOOL:
        return not value
    if kind == field.CPPTYPE_STRING and field.type == field.TYPE_BYTES:
        return change_raw(rng, value)
    return rng.choice(["", "x", "y" * 70000, value + value, "Attention", "If", "Loop", "Resize"])


def change_raw(rng, data):
    """Bytes, mostly of int64 elements: sizes that operators are given."""
    if len(data) % 8 == 0 and data and rng.random() < 0.8:
        at = rng.randrange(len(data) // 8) * 8
        return data[:at] + struct.pack("<q", extreme(rng)) + data[at + 8:]
    return rng.choice([b"", data * 2, data[:-1], os.urandom(4)])


def change_field(rng, model):
    """One field of one message gets another value, goes, or comes twice."""
    candidates = [m for m in messages(model) if m.ListFields()]
    message = rng.choice(candidates)
    field, value = rng.choice(message.ListFields())
    repeated = is_repeated(field)
    if rng.random() < 0.15:
        message.ClearField(field.name)
    elif repeated and field.message_type is not None:
        if rng.random() < 0.5:
            value.add().CopyFrom(rng.choice(value))
        else:
            del value[rng.randrange(len(value))]
    elif field.message_type is not None:
        message.ClearField(field.name)
    elif repeated:
        at = rng.randrange(len(value))
        if rng.random() < 0.7:
            value[at] = safe(field, change_scalar(rng, field, value[at]))
        elif rng.random() < 0.5:
            value.extend([value[at]] * rng.choice([1, 3, 1000]))
        else:
            del value[at]
    else:
        setattr(message, field.name, safe(field, change_scalar(rng, field, value)))


def safe(field, value):
    """Closed enumerations take known values only."""
    if field.cpp_type == field.CPPTYPE_ENUM:
        return value if value in field.enum_type.values_by_number else \
            sorted(field.enum_type.values_by_number)[value % len(field.enum_type.values_by_number)]
    return value


def change_size(rng, model):
    """A constant that says how large something is, or an attribute, gets an extreme value."""
    tensors = [t for t in messages(model)
               if isinstance(t, TensorProto) and t.data_type == TensorProto.INT64 and t.raw_data]
    attributes = [a for a in messages(model) if isinstance(a, onnx.AttributeProto)
                  and a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS)]
    if tensors and (not attributes or rng.random() < 0.5):
        tensor = rng.choice(tensors)
        tensor.raw_data = change_raw(rng, tensor.raw_data)
    elif attributes:
        attribute = rng.choice(attributes)
        if attribute.type == onnx.AttributeProto.INT:
            attribute.i = extreme(rng)
        elif attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = extreme(rng)


def nest(rng, model):
    """The graph inside of an If, several times."""
    for _ in range(rng.choice([1, 5, 40])):
        outer = onnx.NodeProto(op_type="If", input=["cond"], output=["nested"])
        inner = onnx.GraphProto(name="inner")
        inner.node.extend(model.graph.node)
        inner.output.extend(model.graph.output)
        for name in ("then_branch", "else_branch"):
            outer.attribute.append(helper.make_attribute(name, inner))
        del model.graph.node[:]
        model.graph.node.append(outer)
        if outer.ByteSize() > 1 << 22:
            break
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "cond"))


def broken_model(rng, path):
    model = onnx.ModelProto.FromString(rng.choice(broken_seeds.models()))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        change = rng.choices([change_size, change_field, nest], [6, 6, 0.3])[0]
        try:
            change(rng, model)
        except (ValueError, OverflowError, TypeError, IndexError):
            pass  # the Python side does not take the value
    data = model.SerializePartialToString()
    if rng.random() < 0.1:
        data = broken_bytes(rng, data)
    path.write_bytes(data)


# Bytes and words.

def broken_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not data:
            break
        at = rng.randrange(len(data))
        what = rng.randrange(5)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at:at + rng.choice([1, 8, 100])]
        elif what == 2:
            data[at:at] = data[max(0, at - 40):at] * rng.choice([1, 3])
        elif what == 3:
            size = rng.choice([2, 4, 8])
            data[at:at + size] = (extreme(rng) % (1 << 8 * size)).to_bytes(size, "little")
        else:
            del data[at:]
    return bytes(data)


def broken_text(rng, text):
    """Numbers become extreme, words and lines go, come twice or change places."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        tokens = re.split(r"(\w+|\n)", text)
        words = [k for k, t in enumerate(tokens) if t and not t.isspace()]
        if not words:
            return text
        at = rng.choice(words)
        numbers = [k for k in words if tokens[k].isdigit()]
        if numbers and rng.random() < 0.5:
            tokens[rng.choice(numbers)] = str(extreme(rng))
        elif rng.random() < 0.3:
            tokens[at] = ""
        elif rng.random() < 0.5:
            tokens[at] = tokens[rng.choice(words)]
        else:
            tokens[at] = tokens[at] * rng.choice([2, 3, 2000])
        text = "".join(tokens)
    return text


class Files:
    """Valid files of every kind that is read, made once by the commands themselves."""

    def __init__(self, folder):
        self.folder = folder
        self.model = folder / "model.onnx"
        self.model.write_bytes(broken_seeds.small_model())
        self.rule_text = broken_seeds.rules()
        self.rules = folder / "small.rules"
        self.rules.write_text("\n\n".join(self.rule_text.split("\n\n")[:3]) + "\n")
        self.inputs = folder / "inputs.npz"
        np.savez(self.inputs, x=np.ones((2, 8), np.float32))
        self.faster, self.proof = folder / "faster.onnx", folder / "model.proof"
        self.checkpoint, self.costs = folder / "search.checkpoint", folder / "costs.jsonl"
        self.database, self.logs = folder / "costs.db", folder / "logs"
        self.plan, self.topology = folder / "plan.json", folder / "machine.json"
        self.topology.write_text(json.dumps(broken_seeds.TOPOLOGY, indent=1))
        self.make()

    def make(self):
        call("optimize-graph", self.model, "-o", self.faster, "--costs", "roofline", "--proof",
             self.proof, "--resume", self.checkpoint, "--cost-db", "none", "-q")
        call("verify-rules", self.rules, "--proofs", self.logs, "-q")
        call("bench-graph", self.model, "--breakdown", "--time", "0.05", "--runtime",
             "soapstone", "--cost-db", self.database, "--export-costs", self.costs, "-q")
        call("plan-graph", self.model, "--topology", self.topology, "--train", "-o", self.plan, "-q")


def call(*arguments):
    subprocess.run([BIN_DIR / arguments[0], *map(str, arguments[1:])], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def damaged(rng, source, target):
    data = source.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None and rng.random() < 0.8:
        target.write_text(broken_text(rng, text))
    else:
        target.write_bytes(broken_bytes(rng, data))


# How often each kind of file is drawn.
KINDS = {"model": 60, "rules": 14, "npz": 4, "taso": 3, "costs": 3, "database": 3, "proof": 5,
         "log": 3, "checkpoint": 3, "plan": 8, "topology": 5}


def attempt(rng, files, folder, kinds=KINDS):
    """A damaged file and a command that reads it."""
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    out = folder / "out.onnx"
    if kind == "model":
        model = folder / "broken.onnx"
        broken_model(rng, model)
        return model, rng.choice([
            ["inspect-graph", model], ["inspect-graph", model],
            ["compare-graphs", model, model, "--samples", "1"],
            ["compare-graphs", model, model, "--samples", "1"],
            ["optimize-graph", model, "-o", out, "--only-rules", files.rules, "--allow-unproved",
             "--costs", "roofline", "--verify", "1", "--cost-db", "none"],
            ["plan-graph", model, "--topology", files.topology, "--jobs", "1", "--onnx", out],
            ["train-graph", model, "-o", out]])
    if kind == "rules":
        rules = folder / "broken.rules"
        rules.write_text(broken_text(rng, rng.choice(files.rule_text.split("\n\n"))))
        return rules, ["verify-rules", rules]
    if kind == "npz":
        inputs = folder / "broken.npz"
        damaged(rng, files.inputs, inputs)
        return inputs, ["compare-graphs", files.model, files.model, "--samples", "0", "--inputs",
                        inputs]
    if kind == "taso":
        rules = folder / "broken.pb"
        rules.write_bytes(broken_bytes(rng, broken_seeds.taso_rules()))
        return rules, ["verify-rules", rules]
    if kind == "costs":
        costs = folder / "broken.jsonl"
        damaged(rng, files.costs, costs)
        return costs, ["bench-graph", "--import-costs", costs, "--cost-db", folder / "new.db"]
    if kind == "database":
        database = folder / "broken.db"
        damaged(rng, files.database, database)
        return database, ["bench-graph", "--export-costs", folder / "out.jsonl", "--cost-db",
                          database]
    if kind == "proof":
        proof = folder / "broken.proof"
        damaged(rng, files.proof, proof)
        return proof, ["compare-graphs", files.model, files.faster, "--proof", proof, "--samples",
                       "0"]
    if kind == "log":
        log = folder / "logs" / "broken.proof"
        log.parent.mkdir(exist_ok=True)
        damaged(rng, rng.choice(sorted(files.logs.iterdir())), log)
        return log, ["verify-rules", "--check", log.parent]
    if kind == "plan":
        plan = folder / "broken.json"
        damaged(rng, files.plan, plan)
        if rng.random() < 0.7:  # What follows the check of the digest is to be reached, too.
            plan.write_bytes(re.sub(rb',\s*"digest": "\w*"', b"", plan.read_bytes()))
        return plan, ["inspect-plan", plan, "--topology", files.topology, "--svg",
                      folder / "step.svg", *rng.choice([[], ["--model", files.model]])]
    if kind == "topology":
        topology = folder / "broken.json"
        damaged(rng, files.topology, topology)
        return topology, ["plan-graph", files.model, "--topology", topology, "--jobs", "1"]
    checkpoint = folder / "broken.checkpoint"
    damaged(rng, files.checkpoint, checkpoint)
    return checkpoint, ["optimize-graph", files.model, "-o", out, "--costs", "roofline", "--resume",
                        checkpoint, "--cost-db", "none", "--verify", "off"]


def limits():
    if not sanitizers.SANITIZED:  # A sanitizer maps terabytes for its own books.
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


def fault_of(command):
    """What is wrong with how the command ends, or None."""
    arguments = [str(BIN_DIR / command[0]), *map(str, command[1:]), "-q", "--max-memory", "2"]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace", preexec_fn=limits)
    try:
        # The limit is on CPU time; on a busy machine the clock runs several times as fast.
        _, errors = process.communicate(timeout=10 * SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "does not end"
    code = process.returncode
    ENDS[(command[0], code)] += 1
    if code == 130 or code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"takes more than {SECONDS} s of CPU time"
    if code not in ALLOWED and not (code == 6 and "--proof" in command):
        return f"exit code {code}: {errors[-300:]}"
    if code != 0 and "error: " not in errors:
        return f"exit code {code} without a message"
    if "fault of soapstone" in errors or "broken invariant" in errors:
        return errors[-300:]
    return None


def fuzz(seconds, seed, keep=None, most=None, kinds=KINDS):
    """Finds as texts, and how many files were tried."""
    finds, tried = [], 0
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="soapstone-broken-") as name:
        files = Files(Path(name))
        while time.monotonic() < end and (most is None or tried < most):
            rng = random.Random(f"{seed}.{tried}")
            work = Path(name, "work")
            work.mkdir()
            path, command = attempt(rng, files, work, kinds)
            fault = fault_of(command)
            if fault:
                finds.append(f"{seed}.{tried}: {' '.join(map(str, command))}: {fault}")
                print(finds[-1], flush=True)
                if keep and path.is_file():
                    Path(keep).mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, Path(keep, f"{seed}-{tried}-{path.name}"))
            shutil.rmtree(work)
            tried += 1
    return finds, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--most", type=int)
    parser.add_argument("--kind", choices=KINDS, help="only files of this kind")
    parser.add_argument("--keep", help="a folder for the files that break something")
    arguments = parser.parse_args()
    kinds = {arguments.kind: 1} if arguments.kind else KINDS
    finds, tried = fuzz(arguments.seconds, arguments.seed, arguments.keep, arguments.most, kinds)
    for (name, code), count in sorted(ENDS.items()):
        print(f"{name}: exit code {code}: {count}")
    print(f"{tried} files, {len(finds)} finds, seed {arguments.seed}")
    sys.exit(1 if finds else 0)


if __name__ == "__main__":
    main()

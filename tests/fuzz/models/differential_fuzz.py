"""Optimizes random models and lets ONNX Runtime say whether the results compute the same.

  python differential_fuzz.py --models 1000 --seed 0          random models, default rules
  python differential_fuzz.py --round-trip --models 1000      reads and writes only, no rewriting
  python differential_fuzz.py --verify-check --models 1000    with Soapstone's own check: is it fooled?

A find is shrunk and written to --finds as a file that finds_test.py can replay. The exit code is 0
if nothing was found."""

import argparse
import collections
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto

import model_judge
import node_templates
import shrink
from model_judge import Judge, Verdict
from random_models import ModelBuilder, Unfit

sys.path.append(str(Path(__file__).parents[2]))
import sanitizers  # noqa: E402

BUILD = Path(os.environ.get("BUILD_DIR", Path(__file__).parents[3] / "build"))
# By how many searches: the portfolio, which takes ten times as long, has all of the others in it.
STRATEGIES = {"portfolio": 1, "backtracking": 12, "eqsat": 1, "best": 1}
# Element types as rules name them; what f32 does at its edges is taken for f64, too.
NAMES = {TensorProto.FLOAT: "f32", TensorProto.DOUBLE: "f32", TensorProto.FLOAT16: "f16",
         TensorProto.BFLOAT16: "bf16"}
COMPOSITES = {"Gemm", "InstanceNormalization", "GroupNormalization"}
# Small searches: what matters is which rules are applied, not whether the best graph is found.
SEARCH = {"budget": 120, "patience": 12, "e-nodes": 250}


# Updates of weights, of ONNX's domain for training: they stand in no model that is deployed.
# Operators of ONNX Runtime's own, which tests/conformance/contrib_test.py tries there.
CONTRIB = {"BiasGelu", "FastGelu", "FusedConv", "FusedGemm", "FusedMatMul",
           "MultiHeadAttention", "QuickGelu", "SimplifiedLayerNormalization",
           "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}
TRAINING = {"Adam", "Momentum"}


class Optimizer:
    """The program optimize-models, started again when it dies."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.process = None

    def ask(self, timeout=150, **job):
        if self.process is None:
            with open(self.folder / "stderr", "wb") as words:
                self.process = subprocess.Popen(
                    [BUILD / "tests" / "optimize-models"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=words, text=True)
        self.process.stdin.write(json.dumps(job) + "\n")
        try:
            self.process.stdin.flush()
            line = read_line(self.process.stdout, sanitizers.seconds(timeout))
        except (BrokenPipeError, TimeoutError) as error:
            line = "" if isinstance(error, BrokenPipeError) else None
        if line:
            return json.loads(line)
        if line is None:
            self.process.kill()
        status = self.process.wait()
        self.process = None
        words = (self.folder / "stderr").read_text(errors="replace")[-500:]
        return {"died": "time" if line is None else status, "error": words}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            self.process.wait()


def read_line(stream, timeout):
    import select
    if not select.select([stream], [], [], timeout)[0]:
        raise TimeoutError
    return stream.readline()


class Fuzzer:
    def __init__(self, options, folder):
        self.options = options
        self.folder = Path(folder)
        self.optimizer = Optimizer(folder)
        self.counts = collections.Counter()
        self.rules = collections.Counter()
        self.operators = collections.Counter()
        self.refusals = collections.Counter()
        self.finds = []
        self.begin_find = lambda find: None
        loaded = self.optimizer.ask(do="rules")
        if "rules" not in loaded:
            raise RuntimeError(f"no rules to work with: {loaded['error']}")
        self.rule_count = len(loaded["rules"])
        read = {entry[1] for entry in self.optimizer.ask(do="operators")["operators"]}
        # An operator that is read and never drawn would go unnoticed.
        for operator in sorted(read - node_templates.covered() - TRAINING - CONTRIB):
            self.counts[f"WITHOUT A TEMPLATE: {operator}"] = 1
        node_templates.leave_out(options.without)

    # --- Models -------------------------------------------------------------------------------

    def draw(self, seed):
        """A model, or None: this seed has none."""
        choose = random.Random(seed)
        opset = choose.choice(self.options.opsets)
        main = choose.choices("fdhb", [70, 10, 16, 4])[0]
        try:
            if self.options.round_trip:
                return self.draw_for_round_trip(seed, choose.choices("fdh", [8, 1, 1])[0])
            rule, source = None, None
            if choose.random() < 0.7:
                rule, source = self.rule_source(choose, opset)
            builder = ModelBuilder(seed, opset, main)
            node_templates.draw_model(builder, most=self.options.most_nodes, source=source)
            model = builder.finish(seed)
            model.rule = rule
            if choose.random() < 0.12:
                model.open_a_dimension(choose)
            return model
        except (Unfit, IndexError, ValueError) as error:
            self.counts["not drawn"] += 1
            if not isinstance(error, Unfit) and self.options.verbose:
                print(f"seed {seed} not drawn: {error!r}", file=sys.stderr)
            return None

    def draw_for_round_trip(self, seed, main):
        """One operator at one opset; consecutive seeds go through all pairs."""
        operators = sorted(node_templates.covered())
        opset = self.options.opsets[seed // len(operators) % len(self.options.opsets)]
        builder = ModelBuilder(seed, opset, main)
        node_templates.add_random_node(builder, operators[seed % len(operators)])
        return builder.finish(seed)

    def rule_source(self, choose, opset):
        path = self.folder / "source.onnx"
        number = choose.randrange(self.rule_count)
        answer = self.optimizer.ask(do="source", rule=number, seed=choose.randrange(2**31),
                                    opset=opset, out=str(path))
        if "rule" not in answer:
            self.counts["rule source refused"] += 1
            return None, None
        return number, (onnx.shape_inference.infer_shapes(onnx.load(path)),
                                answer["constant"])

    def job(self, seed):
        choose = random.Random(seed ^ 0x5EED)
        if self.options.round_trip:
            return {"do": "round-trip", "keep": choose.random() < 0.3}
        job = {"do": "optimize", "seed": choose.randrange(1000),
               "strategy": choose.choices([*STRATEGIES], [*STRATEGIES.values()])[0],
               "cost": choose.choices(["random", "roofline"], [4, 1])[0],
               "generated": choose.random() < self.options.generated,
               "objective": choose.choices(["latency", "memory"], [9, 1])[0], **SEARCH}
        check = self.options.verify
        if check == "on" or (check == "mixed" and choose.random() < 0.25):
            job["verify"] = 8
        return job

    # --- One model ----------------------------------------------------------------------------

    def run(self, seed):
        model = self.draw(seed)
        if model is None:
            return
        self.counts["drawn"] += 1
        try:
            judge = Judge(model)
        except Exception as error:
            self.counts["refused by onnxruntime"] += 1
            reason = str(error)
            op = next((n.op_type for n in model.proto.graph.node
                       if f"{n.op_type}(" in reason or n.name in reason), "")
            self.refusals[f"{op}: {reason[:300]}" if self.options.verbose else op] += 1
            return
        self.counts["judged"] += 1
        job = self.job(seed)
        if model.rule is not None:
            job["favor"] = model.rule
        if model.sizes:
            job["shapes"] = [f"{name}={size}" for name, size in model.sizes.items()]
        answer, verdict = self.attempt(model, judge, job)
        while "favor" in job and answer.get("result") == "original" and job["seed"] < 6000:
            # Other costs; with one of them a rule may pay. Saturation takes longest to begin.
            job["seed"] += 1001
            job["strategy"] = "backtracking"
            answer, verdict = self.attempt(model, judge, job)
        for name in {r[0] for r in answer.get("rules", [])}:
            self.rules[name] += 1
        if answer.get("rules"):
            self.counts["rewritten"] += 1
        for op in {n.op_type for n in model.proto.graph.node}:
            self.operators[op] += 1
        if verdict.kind:
            self.note(model, job, answer, verdict)

    def attempt(self, model, judge, job):
        """What the optimizer answers, and the judge's verdict on the result."""
        path, result = self.folder / "model.onnx", self.folder / "result.onnx"
        path.write_bytes(model.proto.SerializeToString())
        result.unlink(missing_ok=True)
        answer = self.optimizer.ask(**{"in": str(path), "out": str(result)}, **job)
        if "died" in answer:
            return answer, Verdict("died", "", "", f"{answer['died']}: {answer['error']}")
        if answer.get("outcome") == "not_equivalent":
            return answer, Verdict("check", "", "", f"refused for {answer.get('offender')}")
        if job.get("keep") is False and answer.get("stage") == "write" and answer["code"] == 4:
            self.counts["not written by our operators at that opset"] += 1
            return answer, Verdict()
        if "error" in answer:
            return answer, Verdict(f"error {answer.get('code')} ({answer.get('stage')})", "", "",
                                   answer["error"])
        if answer.get("result") == "original":
            return answer, Verdict()
        tame, wild = judge.compare(str(result))
        if job.get("keep") is False:
            # Written by our operators, a composition may overflow within. A node that no rule
            # changed is written as it was read, which the other round trips look at.
            wild = Verdict()
        for verdict in (tame, wild):
            if not verdict.kind:
                continue
            # Behind an infinity that is labeled, anything may differ. What is finite stays so on
            # ordinary inputs, whatever a label says.
            if (verdict.kind == "finite" or verdict is wild) and labeled(answer, model) or \
                    verdict is wild and taken_apart(answer, model, onnx.load(result)):
                self.counts["finiteness changed as labeled"] += 1
                continue
            return answer, verdict
        return answer, Verdict()

    # --- Finds --------------------------------------------------------------------------------

    def note(self, model, job, answer, verdict):
        """Shrinks and tells a find. What it was before is told first, in case shrinking dies."""
        self.counts[f"FOUND {verdict.kind}"] += 1
        self.begin_find(describe(model, job, answer, verdict))
        if self.options.shrink:
            model, job, verdict, answer = shrink.shrink(self, model, job, verdict, answer)
        self.finds.append(describe(model, job, answer, verdict))

    def state(self):
        return {"counts": self.counts, "rules": self.rules, "operators": self.operators,
                "refusals": self.refusals, "finds": self.finds}


class Results:
    """Of all workers together."""

    def __init__(self, options):
        self.options = options
        self.counts, self.rules = collections.Counter(), collections.Counter()
        self.operators, self.refusals = collections.Counter(), collections.Counter()
        self.known = collections.Counter()

    def add(self, state):
        for name in ("counts", "rules", "operators", "refusals"):
            getattr(self, name).update(state[name])

    def tell(self, find):
        """Prints a find and writes it, unless one like it was told before."""
        self.known[find["key"]] += 1
        if self.known[find["key"]] > 1:
            return
        print(f"FIND {find['about']}", flush=True)
        if self.options.finds:
            folder = Path(self.options.finds)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{find['name']}.onnxtxt").write_text(find["text"])

    def finds(self):
        """Signatures of finds, and operators that are never drawn."""
        return [*self.known, *(k for k in self.counts if k.startswith("WITHOUT"))]

    def summary(self):
        lines = [f"{k}: {v}" for k, v in sorted(self.counts.items())]
        lines.append(f"rules applied: {len(self.rules)} instances, "
                     f"{len({r.split('[')[0] for r in self.rules})} rules")
        lines.append(f"operators: {len(self.operators)}")
        if self.options.verbose:
            lines += [f"  refused {n} {op}" for op, n in self.refusals.most_common(40)]
        if self.known:
            lines.append(f"kinds of finds: {len(self.known)}")
            lines += [f"  {n} like {key}" for key, n in self.known.most_common()]
        return "\n".join(lines)


def describe(model, job, answer, verdict):
    rules = sorted({r[0].split("[")[0] for r in answer.get("rules", [])})
    about = (f"seed {model.seed}: {verdict.kind} on {verdict.inputs or 'all'} inputs, output "
             f"{verdict.output}: {verdict.detail}\n  rules {rules}\n  job {job}\n  ")
    text = onnx.printer.to_text(model.proto)
    return {"key": signature(model, answer, verdict),
            "about": about + text.replace("\n", "\n  "),
            "name": "-".join([verdict.kind.split()[0], *rules[:2]]) + f"-{model.seed}",
            "text": shrink.text_of(model, job, verdict, rules)}


def signature(model, answer, verdict):
    """Finds with the same one are one."""
    rules = tuple(sorted({r[0].split("[")[0] for r in answer.get("rules", [])}))
    ops = tuple(sorted({n.op_type for n in model.proto.graph.node}))
    what = verdict.detail[:60] if verdict.kind.startswith(("error", "died")) else ""
    return verdict.kind, rules or ops, what


def labeled(answer, model):
    """Whether a rule that was applied says that it changes what is finite, in a type of the model's."""
    used = {NAMES.get(number) for number in model_judge.element_types(model.proto)}
    rules = answer.get("rules", [])
    # A division by 0 shows the sign of 0.
    divides = any(n.op_type in ("Div", "Reciprocal", "Pow") for n in model.proto.graph.node)
    return any(used.intersection(rule[3]) or (divides and rule[4]) for rule in rules)


def taken_apart(answer, model, result):
    """Whether a rule changed a part of a node that is read as several operators: its parts may
    overflow where the whole does not."""

    def count(proto):
        return sum(node.op_type in COMPOSITES for node in proto.graph.node)

    return bool(answer.get("rules")) and count(result) < count(model.proto)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--round-trip", action="store_true")
    parser.add_argument("--verify-check", action="store_true")
    parser.add_argument("--verify", choices=["on", "off", "mixed"], default="mixed")
    parser.add_argument("--generated", type=float, default=0.1)
    parser.add_argument("--opsets", type=int, nargs="+", default=range(7, 24))
    parser.add_argument("--most-nodes", type=int, default=15)
    parser.add_argument("--without", nargs="+", default=[], help="operators to leave out")
    parser.add_argument("--finds", help="folder for what is found")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args(arguments)
    options.opsets = list(options.opsets)
    if options.verify_check:
        options.verify = "on"
    return options


def work(options, first, deadline, pipe):
    """Fuzzes from one seed on, and says before and after each where it is."""
    with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
        started = time.monotonic()
        fuzzer = Fuzzer(options, folder)
        deadline += time.monotonic() - started  # Rules are read in a time of their own.
        fuzzer.begin_find = lambda find: pipe.send(("find", find))
        for seed in range(first, options.seed + options.models):
            if time.monotonic() > deadline:
                break
            pipe.send(("begin", seed))
            fuzzer.run(seed)
            pipe.send(("end", fuzzer.state()))
        fuzzer.optimizer.close()
    pipe.send(("done", None))


def fuzz(options, deadline):
    """All seeds, in processes of their own: onnxruntime may die of a model."""
    results, seed = Results(options), options.seed
    done = False
    while not done:
        pipe, end = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=work, args=(options, seed, deadline, end))
        worker.start()
        end.close()
        state, pending, told, begun = None, None, 0, False
        while True:
            try:
                what, value = pipe.recv()
            except EOFError:
                break
            if what == "begin":
                seed, begun = value, True
            elif what == "find":
                pending = value
            elif what == "end":
                state, pending = value, None
                for find in state["finds"][told:]:
                    results.tell(find)
                told = len(state["finds"])
            else:
                done = True
        worker.join()
        if state:
            results.add(state)
        if pending:
            results.tell(pending)
        if not begun and not done:
            raise RuntimeError("the fuzzer did not come to its first model")
        if not done:
            results.counts[f"worker died, status {worker.exitcode}"] += 1
            print(f"worker died at seed {seed}, status {worker.exitcode}", flush=True)
            seed += 1
    return results


def fuzz_for(options):
    """fuzz() within options.seconds from now."""
    started = time.monotonic()
    results = fuzz(options, started + options.seconds)
    results.counts["seconds"] = round(time.monotonic() - started)
    return results


def main(arguments=None):
    results = fuzz_for(parse(arguments))
    print(results.summary())
    return 1 if results.finds() else 0


if __name__ == "__main__":
    sys.exit(main())

"""Times what other optimizers make of models, beside the originals and our results.

    python3 other_optimizers.py FOLDER [MODEL...] [--ours FOLDER] [--runtime NAME] [--threads N]

FOLDER holds ONNX files; --ours a folder of run.py --results with the same names. All files of a model
run in turn, so that ours and the best of the others are compared directly.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import ratios
import time_in_runtimes
from time_in_runtimes import CONTROL, interval

OURS = "ours"
# Network: its kind, heads and width, where onnxruntime.transformers is to know them. Others are taken
# for a BERT; it fuses what it recognizes in any network.
TRANSFORMERS = {"vit_small": ("vit", 6, 384), "vit_b_16": ("vit", 12, 768), "swin_t": ("swin", 0, 0),
                "our_swin": ("swin", 0, 0), "gpt2_small": ("gpt2", 4, 256), "gpt2": ("gpt2", 12, 768),
                "bert_masked": ("bert", 8, 512), "our_bert_base": ("bert", 12, 768)}


def onnxsim(model, result):
    import onnx
    import onnxsim as tool

    simplified, same = tool.simplify(onnx.load(model))
    if not same:
        raise RuntimeError("its own check finds that outputs differ")
    onnx.save(simplified, result)


def onnxslim(model, result):
    import onnxslim as tool

    tool.slim(str(model), str(result))


def onnxoptimizer(model, result):
    import onnx
    import onnxoptimizer as tool

    onnx.save(tool.optimize(onnx.load(model), tool.get_fuse_and_elimination_passes()), result)


def ort_transformers(model, result):
    """It is told the kind of network, as its users tell it. ONNX Runtime's general optimizations are
    left to its sessions, which have them all on."""
    from onnxruntime.transformers import optimizer as tool

    kind, heads, hidden = TRANSFORMERS.get(Path(model).stem, ("bert", 0, 0))
    found = tool.optimize_model(str(model), model_type=kind, num_heads=heads, hidden_size=hidden,
                                opt_level=0)
    found.save_model_to_file(str(result))


OPTIMIZERS = {"onnxsim": onnxsim, "onnxslim": onnxslim, "onnxoptimizer": onnxoptimizer,
              "ort_transformers": ort_transformers}


def apply(name, model, result):
    """Runs in a process of its own, and says nothing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        OPTIMIZERS[name](model, result)


def optimize(model, work):
    """Label to the file of each optimizer that made one, and label to why there is none."""
    made, errors = {}, {}
    for name in OPTIMIZERS:
        result = work / f"{name}.onnx"
        try:
            time_in_runtimes.in_own_process(apply, name, str(model), str(result))
            made[name] = result
        except Exception as error:  # Theirs, of any type.
            errors[name] = time_in_runtimes.first_line(error)
    return made, errors


def against_the_best(report):
    """How many times faster our result is than the best of the others, if there are both."""
    others = {label: report["times"][label] for label in report["files"] if label in OPTIMIZERS}
    if OURS not in report["files"] or not others:
        return None
    return ratios.against_the_best(others, report["times"][OURS], ratios.QUANTILES["low"])


def row(name, entry, report):
    if report is None:
        return name, "no optimizer made a file", *[""] * (len(TITLES) - 2)

    def cell(label):
        if label in report["files"]:
            return interval(report["files"][label]["low"])
        return "fails" if label in {**entry["errors"], **report["errors"]} else ""

    best = against_the_best(report)
    return (name, f"{report['runtime']} {report['version']}, {report['threads']}",
            *(cell(label) for label in (OURS, *OPTIMIZERS, CONTROL)),
            interval(best) if best else "")


TITLES = ("model", "runtime, threads", OURS, *OPTIMIZERS, CONTROL, "ours beside the best of them")


def measure_model(name, options):
    model = options.folder / f"{name}.onnx"
    with tempfile.TemporaryDirectory() as folder:
        made, errors = optimize(model, Path(folder))
        if options.ours and (options.ours / f"{name}.onnx").exists():
            made[OURS] = options.ours / f"{name}.onnx"
        if not made:
            return {"errors": errors, "reports": []}
        reports = list(time_in_runtimes.measure_all(model, made, options))
    return {"errors": errors, "reports": reports}


def summaries(entries):
    """By runtime and number of threads: each optimizer's ratios, and ours beside the best."""
    found = {}
    for name, entry in entries.items():
        for report in entry["reports"]:
            where = f"{report['runtime']} {report['version']}, threads {report['threads']}"
            for label, result in report["files"].items():
                found.setdefault((where, label), {})[name] = result["low"]
            best = against_the_best(report)
            if best:
                found.setdefault((where, "ours beside the best of them"), {})[name] = best
    for (where, label), values in found.items():
        yield f"{where}: {label}: {ratios.summary(values)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", help="all in the folder, if none is named")
    parser.add_argument("--ours", type=Path, metavar="FOLDER", help="what optimize-graph wrote")
    time_in_runtimes.add_arguments(parser)
    options = parser.parse_args()
    names = options.models or sorted(path.stem for path in options.folder.glob("*.onnx"))
    time_in_runtimes.measure_models(names, lambda name: measure_model(name, options), row, TITLES,
                                    summaries, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

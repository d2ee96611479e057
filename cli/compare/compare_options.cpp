// See compare_options.h.
#include "cli/compare/compare_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_compare_options(CommandLine& line, CompareOptions& options) {
  line.add("a", options.request.a, "ONNX file").required().type("FILE").reads("the model");
  line.add("b", options.request.b, "ONNX file with the same inputs and outputs")
      .required()
      .type("FILE")
      .reads("the model");
  line.add("--samples", options.request.samples,
           "Random inputs to try [12, up to 40 where inputs hold few numbers]")
      .type("N")
      .between(0, 1'000'000);
  line.add("--rtol", options.request.equivalence.rtol,
           "Tolerated relative error [from the types and from how rounding matters in A]")
      .type("X")
      .not_negative();
  line.add("--atol", options.request.equivalence.atol, "Tolerated absolute error [likewise]")
      .type("X")
      .not_negative();
  add_judge_options(line, options.request.judge);
  line.add("--inputs", options.request.inputs,
           "Inputs of your own, an array for each (numpy.savez); may be repeated")
      .type("FILE.npz")
      .one_each()
      .reads("what --inputs reads");
  line.add("--proof", options.request.proof,
           "What optimize-graph --proof wrote: replay it from A to B, and prove each of its "
           "rules; --samples 0 leaves out the numbers")
      .type("FILE")
      .reads("what --proof reads");
  line.add_flag("--allow-range-changes", options.request.allow_range_changes,
                "With --proof: rules may lose values at the edges of floating types, as where "
                "optimize-graph was allowed to use them");
  line.add_flag(
      "--random-weights", options.request.random_weights,
      "Random numbers for weights that are one number everywhere, the same in both models; both "
      "must have them (--keep-constants)");
  line.add_flag("--fold-default-inputs", options.request.fold_default_inputs,
                "Compare with all inputs that have a default value at that value");
  add_shape_option(line, options.request.shapes);
  add_seed_option(line, options.request.equivalence.seed);
  add_device_options(line, options.request.device);
  add_common_options(line, options);
  set_examples(line, "  $ compare-graphs model.onnx model.opt.onnx\n"
                     "  $ compare-graphs model.onnx model.opt.onnx --proof model.proof\n"
                     "  $ compare-graphs a.onnx b.onnx --samples 100 --rtol 1e-4\n"
                     "  $ compare-graphs a.onnx b.onnx --inputs batch1.npz --inputs batch2.npz");
}

}  // namespace soapstone::cli

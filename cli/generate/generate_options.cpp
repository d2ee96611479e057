// See generate_options.h.
#include "cli/generate/generate_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/vocabulary/presets.h"

namespace soapstone::cli {

void add_generate_options(CommandLine& line, GenerateOptions& options) {
  line.add("--ops", options.request.ops, "Operators on each side of an equality at most")
      .type("N")
      .between(1, 6)
      .shows_default();
  const auto operators =
      line.add("--operators", options.request.operators, "Which ones, with commas")
          .type("A,B,C")
          .separated_by(',');
  line.add("--preset", options.request.preset,
           fmt::format("A set of them: {}", fmt::join(generator::preset_names(), ", ")))
      .type("NAME")
      .excludes(operators)
      .shows_default();
  line.add("--ranks", options.request.ranks, "How many dimensions the inputs have, with commas")
      .type("N")
      .separated_by(',')
      .between(1, 6)
      .needs(operators);
  line.add("--known", options.request.known,
           "Rule files, with commas, that are there already: what follows from them is left "
           "out; `shipped`: the shipped ones but generated.rules")
      .type("FILE")
      .separated_by(',')
      .reads("what --known reads");
  line.add("-o,--output", options.request.output, "The rule file to write")
      .type("FILE")
      .required()
      .writes({.is_regular = true});
  line.add("--memory-limit", options.request.memory_limit_mb,
           "MiB that the tables of the enumeration may take; 0: any")
      .type("MIB");
  line.add("--resume", options.request.resume,
           "Keep what is finished in this folder, and go on from what is there")
      .type("DIR");
  line.add("--derivation-nodes", options.request.limits.nodes,
           "E-nodes up to which a derivation is looked for")
      .type("N")
      .between(1, 1'000'000)
      .shows_default();
  line.add_flag("--check", options.request.check,
                "Derive all equalities that were found from the rules that are kept, take in again "
                "what that does not reach, and say what is left");
  using jobs::GainKind;
  line.add_choice<GainKind>(
          "--rank", options.request.gains,
          {{"roofline", GainKind::kRoofline},
           {"measured", GainKind::kMeasured},
           {"none", GainKind::kNone}},
          "Say above each rule what it gains at sizes that networks have: roofline (the "
          "same everywhere), measured (in the runtime), or none [roofline; with --runtime "
          "measured]")
      .type("COSTS");
  add_runtime_options(line, options.runtime);
  add_python_option(line, options.python);
  add_seed_option(line, options.request.seed);
  add_jobs_option(line, options.request.jobs);
  add_common_options(line, options);
  set_examples(line, "  $ generate-rules --ops 3 --preset taso -o taso.rules\n"
                     "  $ generate-rules --ops 3 --operators add,mul,matmul -o algebra.rules\n"
                     "  $ generate-rules --ops 4 --resume tiles -o generated.rules\n"
                     "  $ mpirun --bind-to none -n 2 generate-rules --ops 4 -o generated.rules\n"
                     "  $ optimize-graph model.onnx --rules generated.rules -o fast.onnx");
}

core::Result<jobs::GenerateRequest> request_of(const CommandLine& line,
                                               const GenerateOptions& options) {
  jobs::GenerateRequest request = options.request;
  SOAPSTONE_ASSIGN_OR_RETURN(request.runtime, runtime_of(options.runtime, options.python));
  if (line.was_given("--runtime") && !line.was_given("--rank"))
    request.gains = jobs::GainKind::kMeasured;
  return request;
}

}  // namespace soapstone::cli

// See verify_options.h.
#include "cli/verify/verify_options.h"

namespace soapstone::cli {

void add_verify_options(CommandLine& line, VerifyOptions& options) {
  line.add("files", options.request.files,
           "Rule files, .pb files of TASO among them; none: the shipped ones")
      .type("FILE")
      .reads("the rules");
  line.add("--sizes", options.request.batch.check_sizes,
           "Random sizes at which numbers are compared for each rule, over all of its "
           "instances, 20 at least for one")
      .type("N")
      .between(1, 1'000'000)
      .shows_default();
  line.add("--edge-tries", options.request.batch.edge_tries,
           "Inputs at the edges of f32, f16 and bf16 on which each rule is tried, over all of "
           "its instances, 64 at least for one; an eighth for rules that keep every bit")
      .type("N")
      .between(1, 10'000'000)
      .shows_default();
  line.add_flag("--write", options.request.write,
                "Put what was found under the rules: a proof, or that they were checked");
  const auto twice =
      line.add_flag("--second-opinion", options.second_opinion,
                    "Try each proved rule with numbers on the kernels of this machine, "
                    "too; --write does");
  line.add_flag("--no-second-opinion", options.no_second_opinion, "Leave that out with --write")
      .excludes(twice);
  line.add("--proofs", options.request.proofs,
           "Write a log of each proof there, by which it can be checked again")
      .type("DIR");
  line.add("--check", options.check,
           "Instead, check that the proofs that are logged there prove these rules: no "
           "search, only what was found")
      .type("DIR");
  line.add("--mutate", options.mutants,
           "Instead, make that many wrong rules of these and see that none is proved")
      .type("N")
      .between(1, 10'000'000);
  const auto from = line.add("--derivable-from", options.derive.from,
                             "Instead, say which rules follow from those of this file, by "
                             "equality saturation; `shipped`: from the shipped ones; may be "
                             "repeated")
                        .type("FILE")
                        .one_each();
  line.add_flag("--both-ways", options.derive.both_ways, "Use those rules from right to left, too")
      .needs(from);
  line.add_flag("--require-derivable", options.require_derivable,
                "Exit with 5 unless all rules follow")
      .needs(from);
  line.add("--derivation-nodes", options.derive.options.limits.nodes,
           "E-nodes up to which a derivation is looked for")
      .type("N")
      .needs(from)
      .between(1, 100'000'000)
      .shows_default();
  line.add("--samples", options.derive.options.samples,
           "Values of strides, permutations and the like at which a rule is looked at")
      .type("N")
      .needs(from)
      .between(1, 1000)
      .shows_default();
  add_seed_option(line, options.request.batch.check_seed);
  add_jobs_option(line, options.request.batch.jobs);
  add_common_options(line, options);
  set_examples(line, "  $ verify-rules\n"
                     "  $ verify-rules mine.rules --write\n"
                     "  $ verify-rules mine.rules --sizes 1000 --seed 7\n"
                     "  $ verify-rules graph_subst.pb -q\n"
                     "  $ verify-rules mine.rules --proofs logs && "
                     "verify-rules mine.rules --check logs\n"
                     "  $ verify-rules --mutate 10000\n"
                     "  $ verify-rules graph_subst.pb --derivable-from shipped\n"
                     "  $ verify-rules mine.rules --json - | jq '.rules[] | .verdict'");
}

}  // namespace soapstone::cli

// See rule_options.h.
#include "cli/options/rule_options.h"

namespace soapstone::cli {

void add_rule_options(CommandLine& line, jobs::RuleRequest& request) {
  line.add("--rules", request.files,
           "Rule file to use in addition to the shipped ones; may be repeated")
      .type("FILE")
      .one_each()
      .reads("what --rules reads");
  line.add("--only-rules", request.only_files,
           "Rule file to use instead of the shipped ones; may be repeated")
      .type("FILE")
      .one_each()
      .reads("what --only-rules reads");
  line.add_flag("--generated", request.generated,
                "Use generated.rules as well, which generate-rules made: more ways, a slower "
                "search");
  line.add("--only", request.only, "Use this rule or transform and no other; may be repeated")
      .type("NAME")
      .one_each();
  line.add("--skip", request.skip,
           "Do not use this rule or transform (--list-rules); may be repeated")
      .type("NAME")
      .one_each();
  line.add_flag("--allow-unproved", request.allow_unproved,
                "Use rules without a proof, too; the report says so");
  line.add_flag("--trust-proofs", request.trust_proofs,
                "Believe the proof lines of rule files of your own instead of proving the rules "
                "again");
  line.add_flag("--allow-range-changes", request.allow_range_changes,
                "Use rules, too, whose result overflows, divides by zero or vanishes where what "
                "it replaces does not, in the floating type at hand");
  line.add_flag(
      "--strict-ieee", request.strict_ieee,
      "Use only rules that keep NaN, infinities, overflow and the sign of zero exactly as "
      "they are");
}

}  // namespace soapstone::cli

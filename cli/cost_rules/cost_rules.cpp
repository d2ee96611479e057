// cost-rules: which rules of a file can make a model faster in a runtime, and which only enable
// others. Costs both sides at sizes that networks have; may time them as a whole, too.
#include "cli/cost_rules/cost_rules_options.h"
#include "cli/cost_rules/cost_rules_report.h"
#include "cli/session/run_main.h"

namespace {

using namespace soapstone;

core::Status cost_rules(const cli::CommandLine& line, const cli::CostRulesOptions& options,
                        cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::CostRulesRequest request, cli::request_of(line, options));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::CostRulesOutcome outcome,
                             jobs::cost_rules(request, session.context()));
  return session.report(cli::cost_rules_text(request, outcome, options.quiet),
                        cli::cost_rules_json(outcome));
}

}  // namespace

int main(int argc, char** argv) {
  cli::CostRulesOptions options;
  cli::CommandLine line("cost-rules",
                        "Says which rules can make a model faster by themselves, at sizes that "
                        "networks have, and which only enable others.");
  cli::add_cost_rules_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return cost_rules(line, options, session); });
}

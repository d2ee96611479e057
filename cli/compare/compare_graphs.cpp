// compare-graphs: whether two models compute the same, checked with numbers or by a proof.
#include "cli/compare/compare_options.h"
#include "cli/compare/compare_report.h"
#include "cli/session/run_main.h"

namespace {

using namespace soapstone;

core::Status compare(const jobs::CompareRequest& request, cli::Session& session) {
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::CompareOutcome outcome,
                             jobs::compare(request, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::compare_text(request, outcome), cli::compare_json(request, outcome)));
  using Verdict = jobs::CompareOutcome::Verdict;
  if (outcome.verdict() == Verdict::kEqual) return core::Done{};
  return outcome.verdict() == Verdict::kDifferent ? cli::not_equal(request)
                                                  : cli::not_decided(request, outcome);
}

}  // namespace

int main(int argc, char** argv) {
  cli::CompareOptions options;
  cli::CommandLine line(
      "compare-graphs",
      "Checks whether two models compute the same: with numbers, or by replaying a proof.");
  cli::add_compare_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return compare(options.request, session); });
}

// verify-rules: are the rules of these files true? Proves them for all sizes, refutes them with an
// example, or says why neither was possible; may write what it found under the rules.
#include "cli/session/run_main.h"
#include "cli/verify/derivability_report.h"
#include "cli/verify/mutation_report.h"
#include "cli/verify/proof_logs_report.h"
#include "cli/verify/verify_options.h"
#include "cli/verify/verify_report.h"
#include "jobs/verify/mutate.h"

namespace {

using namespace soapstone;
using Rules = std::vector<rules::Rule>;

core::Status verify(const cli::VerifyOptions& options, cli::Session& session) {
  jobs::VerifyRequest request = options.request;
  if (options.second_opinion || options.no_second_opinion)
    request.second_opinion = options.second_opinion;
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::VerifyOutcome outcome,
                             jobs::verify(request, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::verdicts_text(outcome.verdicts, options.quiet),
                                           cli::verdicts_json(outcome.verdicts)));
  SOAPSTONE_RETURN_IF_ERROR(session.context().check_interrupt());
  return cli::conclude_verify(outcome.verdicts);
}

core::Status derive(const cli::VerifyOptions& options, const Rules& rules, cli::Session& session) {
  jobs::DeriveRequest request = options.derive;
  request.options.jobs = options.request.batch.jobs;
  request.options.seed = options.request.batch.check_seed;
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::DeriveOutcome outcome,
                             jobs::derive(rules, request, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(session.report(cli::derivability_text(outcome, options.quiet),
                                           cli::derivability_json(outcome)));
  SOAPSTONE_RETURN_IF_ERROR(session.context().check_interrupt());
  return options.require_derivable ? cli::require_derivable(outcome) : core::Done{};
}

core::Status mutate(const cli::VerifyOptions& options, const Rules& rules, cli::Session& session) {
  const verifier::BatchOptions& batch = options.request.batch;
  SOAPSTONE_ASSIGN_OR_RETURN(
      const verifier::MutationScore score,
      jobs::mutate(rules, {options.mutants, batch.check_seed, batch.jobs}, session.context()));
  SOAPSTONE_RETURN_IF_ERROR(
      session.report(cli::mutation_text(score, options.verbose), cli::mutation_json(score)));
  return cli::require_refuted(score);
}

core::Status run(const cli::VerifyOptions& options, cli::Session& session) {
  const bool derives = !options.derive.from.empty();
  if (options.mutants == 0 && !derives && options.check.empty()) return verify(options, session);
  SOAPSTONE_ASSIGN_OR_RETURN(const Rules all, jobs::read_all_rules(options.request));
  if (options.mutants > 0) return mutate(options, all, session);
  if (derives) return derive(options, all, session);
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::CheckedLogs checked,
                             jobs::check_logs(options.check, all,
                                              options.request.batch.specializations,
                                              session.context()));
  return session.report(cli::checked_logs_text(checked), cli::checked_logs_json(checked));
}

}  // namespace

int main(int argc, char** argv) {
  cli::VerifyOptions options;
  cli::CommandLine line("verify-rules",
                        "Proves rewrite rules for all sizes, or refutes them with an example. What "
                        "is neither is unknown, and not used. Exit codes: 0 all are proved, 5 one "
                        "is refuted, 4 one is unknown.");
  cli::add_verify_options(line, options);
  return cli::run_main(argc, argv, line, options,
                       [&](cli::Session& session) { return run(options, session); });
}

// See verify.h.
#include "jobs/verify/verify.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "jobs/base/guard.h"
#include "jobs/base/output_files.h"
#include "jobs/base/usage_error.h"
#include "jobs/devices/devices.h"
#include "jobs/rules/rule_library.h"
#include "rules/text/evidence.h"
#include "verifier/refutation/second_opinion.h"
#include "verifier/verdict_evidence.h"

namespace soapstone::jobs {
namespace {

/// Numbers in a prime field and on the kernels of this machine, for one thread.
verifier::SecondLook make_second_look() {
  auto made = make_backend({});
  const std::shared_ptr<runtime::Backend> backend =
      made ? *std::move(made) : runtime::make_reference_backend();
  return [backend](const rules::Rule& rule) -> verifier::SecondLookResult {
    const auto opinion = verifier::second_opinion(rule, *backend);
    if (!opinion) return {};  // no sizes that it could look at
    return {opinion->field_sizes + opinion->float_sizes, opinion->disagreement};
  };
}

/// The shipped files if the request names none and has no text.
core::Result<std::vector<std::string>> files_of(const VerifyRequest& request) {
  if (!request.files.empty() || !request.text.empty()) return request.files;
  return files_called("shipped");
}

/// `proved`: the contents of the file when its rules were read. Errors: kInvalidInput if it was
/// changed since, as nothing is known of the rules that are there now.
core::Status write_evidence(const std::string& file, const std::string& proved,
                            const std::vector<verifier::RuleVerdict>& verdicts) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(file));
  if (text != proved) {
    return core::invalid_input(
        fmt::format("{}: was changed while its rules were proved; nothing is written", file),
        "verify the file again");
  }
  std::vector<rules::EvidenceEdit> edits;
  for (const verifier::RuleVerdict& v : verdicts)
    if (v.file == file) edits.push_back({v.line, verifier::evidence_of(v)});
  const std::string updated = rules::with_evidence(text, edits);
  if (updated == text) return core::Done{};
  return core::write_file(file, updated);
}

/// `layout.transpose_twice.proof`; of a rule that was given as text `text.transpose_twice.proof`.
/// Of several such names the second is `layout.transpose_twice.2.proof`. `taken`: those in use.
std::string log_name(const verifier::RuleVerdict& verdict, std::set<std::string>& taken) {
  const std::string source = verdict.file.empty() ? "text" : verdict.file.stem().string();
  std::string name = fmt::format("{}.{}.proof", source, verdict.rule);
  for (int number = 2; !taken.insert(name).second; ++number)
    name = fmt::format("{}.{}.{}.proof", source, verdict.rule, number);
  return name;
}

/// One file for each rule of which all instances are proved.
core::Status write_proofs(const std::filesystem::path& folder,
                          const std::vector<verifier::RuleVerdict>& verdicts) {
  std::set<std::string> taken;
  for (const verifier::RuleVerdict& v : verdicts) {
    if (v.kind != verifier::VerdictKind::kProved) continue;
    SOAPSTONE_RETURN_IF_ERROR(
        core::write_file(folder / log_name(v, taken), verifier::print_proofs(v.proofs)));
  }
  return core::Done{};
}

/// Errors: kInvalidInput if something that the job is to write could not be written.
core::Status prepare_outputs(const VerifyRequest& request, const std::vector<std::string>& files) {
  if (!request.proofs.empty()) {
    std::error_code error;
    std::filesystem::create_directories(request.proofs, error);
    if (error)
      return core::invalid_input("`proofs`: the folder cannot be made: " + error.message())
          .at(request.proofs);
  }
  if (!request.write) return core::Done{};
  std::vector<OutputFile> outputs;
  for (const std::string& file : files) outputs.push_back({"`write`", file});
  return check_outputs({}, outputs);
}

/// A rule of another system that cannot be expressed is listed as unknown.
verifier::RuleVerdict skipped_rule(std::string rule, std::string reason, const std::string& file) {
  verifier::RuleVerdict verdict;
  verdict.rule = verdict.instance = std::move(rule);
  verdict.file = file;
  verdict.reason = std::move(reason);
  return verdict;
}

core::Status add_text(const VerifyRequest& request, std::vector<rules::Rule>& all) {
  if (request.text.empty()) return core::Done{};
  SOAPSTONE_ASSIGN_OR_RETURN(rules::RuleFile parsed, rules::parse_rules(request.text));
  std::ranges::move(parsed.rules, std::back_inserter(all));
  return core::Done{};
}

/// Errors: kUsage if evidence was to be written into a file that has no place for it.
core::Status check_request(const VerifyRequest& request) {
  if (!request.write) return core::Done{};
  if (request.files.empty() && !request.text.empty())
    return usage_error("`write` puts evidence into files, but the rules are a text",
                       "leave out `write`, or give the rules as a file");
  const auto foreign = std::ranges::find_if_not(request.files, is_own_rule_file);
  if (foreign == request.files.end()) return core::Done{};
  return usage_error("`write` cannot put evidence into a file of another system",
                     "leave out `write`")
      .at(*foreign);
}

core::Result<VerifyOutcome> verify_unguarded(const VerifyRequest& request, const Context& context) {
  SOAPSTONE_RETURN_IF_ERROR(check_request(request));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of(request));
  SOAPSTONE_RETURN_IF_ERROR(prepare_outputs(request, files));
  std::vector<std::string> texts;  // of the files, before their rules are read
  std::vector<rules::Rule> all;
  std::vector<verifier::RuleVerdict> skipped;
  for (const std::string& file : files) {
    context.progress.stage("reading " + file);
    if (request.write) {
      SOAPSTONE_ASSIGN_OR_RETURN(texts.emplace_back(), core::read_file(file));
    }
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
    for (auto& [rule, reason] : contents.skipped)
      skipped.push_back(skipped_rule(std::move(rule), std::move(reason), file));
  }
  SOAPSTONE_RETURN_IF_ERROR(add_text(request, all));
  context.progress.stage(fmt::format("proving {} rules", all.size()));
  if (request.write || !request.proofs.empty()) context.announce_results();
  verifier::BatchOptions batch = request.batch;
  batch.verify.keep_record = !request.proofs.empty();
  if (request.second_opinion.value_or(request.write)) batch.make_second_look = make_second_look;
  VerifyOutcome outcome;
  outcome.verdicts = verifier::verify_all(all, batch, context.progress, context.stop);
  outcome.finished = !context.stop.stop_requested();
  std::ranges::move(skipped, std::back_inserter(outcome.verdicts));
  if (request.write)
    for (std::size_t k = 0; k < files.size(); ++k)
      SOAPSTONE_RETURN_IF_ERROR(write_evidence(files[k], texts[k], outcome.verdicts));
  if (!request.proofs.empty())
    SOAPSTONE_RETURN_IF_ERROR(write_proofs(request.proofs, outcome.verdicts));
  return outcome;
}

}  // namespace

bool VerifyOutcome::all_proved() const {
  return finished && std::ranges::all_of(verdicts, [](const verifier::RuleVerdict& verdict) {
           return verdict.kind == verifier::VerdictKind::kProved && verdict.disagreement.empty();
         });
}

core::Result<VerifyOutcome> verify(const VerifyRequest& request, const Context& context) {
  return guarded(context, [&](const Context& inner) { return verify_unguarded(request, inner); });
}

core::Result<std::vector<rules::Rule>> read_all_rules(const VerifyRequest& request) {
  std::vector<rules::Rule> all;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::string> files, files_of(request));
  for (const std::string& file : files) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto contents, read_rule_file(file));
    std::ranges::move(contents.rules, std::back_inserter(all));
  }
  SOAPSTONE_RETURN_IF_ERROR(add_text(request, all));
  return all;
}

}  // namespace soapstone::jobs

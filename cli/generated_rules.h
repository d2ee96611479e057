// Proves what the generator found, and writes what is proved as a rule file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/progress.h"
#include "core/result.h"
#include "generator/candidates.h"
#include "verifier/batch.h"

namespace soapstone::cli {

/// A direction that was not proved.
struct UnprovedRule {
  std::string text;
  verifier::VerdictKind kind = verifier::VerdictKind::kUnknown;
  std::string reason;
};

/// Admits what the verifier proves. The rules of admitted candidates are as they will be read
/// again: printed, parsed, and with their evidence.
class RuleProver {
 public:
  RuleProver(verifier::BatchOptions options, const core::StopToken& stop)
      : options_(std::move(options)), stop_(stop) {}

  void admit(std::span<generator::RuleCandidate* const> candidates);
  const std::vector<UnprovedRule>& unproved() const { return unproved_; }
  std::size_t proved() const { return proved_; }
  double cpu_ms() const { return cpu_ms_; }
  /// kInternal if numbers contradict a proof.
  const core::Status& status() const { return status_; }

 private:
  void settle(std::optional<rules::Rule>& direction, const verifier::RuleVerdict& verdict);

  verifier::BatchOptions options_;
  const core::StopToken& stop_;
  std::vector<UnprovedRule> unproved_;
  std::size_t proved_ = 0, named_ = 0;
  double cpu_ms_ = 0;
  core::Status status_ = core::Done{};
};

/// All directions of the candidates with names of their operators: `relu_concat_as_concat_relu_3`.
std::vector<rules::Rule> named_rules(std::span<const generator::RuleCandidate> candidates);
/// `heading` is put in front as a comment.
std::string rule_file_text(std::span<const rules::Rule> rules, const std::string& heading);
nlohmann::ordered_json unproved_json(std::span<const UnprovedRule> unproved);

}  // namespace soapstone::cli

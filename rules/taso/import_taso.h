// Rules of TASO (SOSP 2019) in its protobuf file format, as rules of ours.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

/// A rule of the file that cannot be applied here, but can be proved or refuted.
struct UnmatchedRule {
  Rule rule;
  std::string reason;  ///< The source is of several parts, or both sides are one graph.
};
/// A rule of the file that we have no words for.
struct SkippedRule {
  std::size_t number = 0;  ///< In the file, from 0.
  std::string reason;      ///< Names the operator.
};

/// Rule 7 of the file has the name `taso_7`.
struct TasoRules {
  RuleFile file;
  std::vector<UnmatchedRule> unmatched;
  std::vector<SkippedRule> skipped;
};

struct TasoImportOptions {
  /// Dimensions of tensors of which the rule says nothing: those of element-wise rules.
  std::size_t free_rank = 2;
};

/// TASO's rules have no shapes: the sizes here are the most general ones at which the operators of
/// the source fit, for plain convolutions and equal shapes of element-wise operands; what the
/// target needs beyond that is the guard. A part of the guard with the label `rule.result_shape`
/// says that without it the results have different shapes: TASO's rule is wrong there.
/// Errors: kInvalidInput with file and place: unreadable, no such file format, a rule that refers
/// to what does not exist.
Result<TasoRules> import_taso_rules(const std::filesystem::path& file,
                                    const TasoImportOptions& options = {});
Result<TasoRules> parse_taso_rules(std::string_view bytes, const TasoImportOptions& options = {});

}  // namespace soapstone::rules

// The last step of every way to make a rule: from two sides to a rule that may be matched.
#pragma once

#include "rules/rule/rule.h"

namespace soapstone::rules {

struct TypingFailure;

/// The purpose of a rule. One that is only to be proved or refuted may have a source of several
/// parts, and sides that are the same.
enum class Purpose : std::uint8_t { kMatching, kProof };

/// Values of the parameters that are tried before a rule counts as one that none fit.
inline constexpr int kParameterAttempts = 600;

/// Takes both sides, constant_inputs and the `where` clauses in the guard; fills in parameters,
/// derived sizes, types and the rest of the guard.
/// Errors: kInvalidInput: sides without types or of different types, identical sides, sizes that
/// the source does not determine; `failure` says at which node.
Result<Rule> complete(Rule rule, TypingFailure* failure = nullptr,
                      Purpose purpose = Purpose::kMatching,
                      int parameter_attempts = kParameterAttempts);

}  // namespace soapstone::rules

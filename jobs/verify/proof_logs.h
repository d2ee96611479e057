// The logs of proofs that verify-rules writes, checked against the rules that they should prove.
#pragma once

#include <span>
#include <string>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "rules/rule/rule.h"

namespace soapstone::jobs {

struct CheckedLogs {
  std::size_t logs = 0, proofs = 0;
};

/// Replays all logs `*.proof` of a folder. Each must prove all instances of one of the rules as it
/// stands there, and each rule must have a log.
/// Errors: kInvalidInput: a log that is empty, damaged, of another rule, or no proof; kUnsupported:
/// a rule without a log.
core::Result<CheckedLogs> check_logs(const std::string& folder, std::span<const rules::Rule> rules,
                                     int specializations, const Context& context = {});

}  // namespace soapstone::jobs

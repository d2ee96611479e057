// The logs of proofs that verify-rules writes, checked against the rules that they should prove.
#pragma once

#include <span>
#include <string>

#include "cli/run_main.h"
#include "core/base/result.h"
#include "rules/rule/rule.h"

namespace soapstone::cli {

/// Replays all logs `*.proof` of a folder. Each must prove all instances of one of the rules as it
/// stands there, and each rule must have a log.
/// Errors: kInvalidInput: a log that is empty, damaged, of another rule, or no proof; kUnsupported:
/// a rule without a log.
core::Status check_logs(const std::string& folder, std::span<const rules::Rule> rules,
                        int specializations, Session& session);

}  // namespace soapstone::cli

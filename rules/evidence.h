// The line under a rule that says why it may be believed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.h"

namespace soapstone::rules {

struct EvidenceLine {
  Evidence evidence;
  FloatBehavior floats = FloatBehavior::kExact;
};

/// What follows the word `checked` or `proof`. Errors: kInvalidInput without a place: an unknown
/// treatment of floats.
Result<EvidenceLine> parse_evidence(Evidence::Kind kind, std::string_view rest);
/// `checked 2^61-1, 200 sizes; floats: exact`. Empty if there is no evidence.
std::string to_string(const EvidenceLine& line);

/// New evidence for the rule that begins in that line of a file.
struct EvidenceEdit {
  int rule_line = 0;
  EvidenceLine line;
};
/// The text with these `checked` lines put in or replaced. A `proof` line stays: it says more.
std::string with_evidence(std::string_view file_text, const std::vector<EvidenceEdit>& edits);

}  // namespace soapstone::rules

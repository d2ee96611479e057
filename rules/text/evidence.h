// The line under a rule that says why it may be believed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::rules {

struct EvidenceLine {
  Evidence evidence;
  FloatBehavior floats = FloatBehavior::kExact;
  FloatTypes types = {};            ///< Not known: the line does not say.
  std::optional<Edges> edges = {};  ///< None: the line does not say.
};

/// Parses the words behind `checked` or `proof`. Errors: kInvalidInput without a place: an unknown
/// word in the label.
Result<EvidenceLine> parse_evidence(Evidence::Kind kind, std::string_view rest);
/// `checked 2^61-1, 200 sizes; types: any; floats: exact; edges: none`. Empty if there is no
/// evidence. A proof ends with a digest of what it is a proof of: `…; rule 1f3a9c20b1d45e77`.
std::string to_string(const EvidenceLine& line, std::string_view rule_text);

/// Sixteen digits for the words of a rule as it stands in a file, from `rule` on, and for the line
/// that is its proof, up to the digest itself. Comments, blank space within the lines of the rule
/// and empty lines do not count.
std::string proof_digest(std::string_view rule_text, const EvidenceLine& line);
/// The evidence as it was read, less its digest. None, with the reason as its detail, if it is a
/// proof of another text or of another label, or says nothing of types and edges.
Evidence confirmed(const EvidenceLine& line, std::string_view rule_text);
/// The label and the evidence of a rule become those of the line.
void put_label(const EvidenceLine& line, Rule& rule);

/// New evidence for the rule that begins in that line of a file.
struct EvidenceEdit {
  int rule_line = 0;
  EvidenceLine line;
};
/// The text with these lines put in, or instead of what is there. Without evidence to write, the
/// line that is there goes.
std::string with_evidence(std::string_view file_text, const std::vector<EvidenceEdit>& edits);

}  // namespace soapstone::rules

// A verdict as a line of evidence for a rule file.
#pragma once

#include "rules/text/evidence.h"
#include "verifier/batch.h"

namespace soapstone::verifier {

/// The line for a verdict, as it stands under a rule. A refuted rule gets none.
rules::EvidenceLine evidence_of(const RuleVerdict& verdict);

}  // namespace soapstone::verifier

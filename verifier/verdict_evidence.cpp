// See verdict_evidence.h.
#include "verifier/verdict_evidence.h"

#include <fmt/format.h>

#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {

rules::EvidenceLine evidence_of(const RuleVerdict& v) {
  rules::EvidenceLine line;
  line.floats = v.floats;
  line.types = v.types;
  line.edges = v.edges;
  using Kind = rules::Evidence::Kind;
  // A law of a function holds in doubles only: the field knows nothing of it.
  if (v.kind == VerdictKind::kProved) {
    const std::string values =
        v.only_values.empty() ? "" : fmt::format("; values: {}", set_text(v.only_values));
    line.evidence = {Kind::kProved, fmt::format("all-sizes{}{}; verifier {}; z3 {}",
                                                v.law_of_function ? ", a law of functions" : "",
                                                values, kVersion, z3_version())};
  } else if (v.kind == VerdictKind::kUnknown && v.check_sizes > 0 && v.disagreement.empty()) {
    line.evidence = {
        Kind::kChecked,
        fmt::format("{}, {} sizes", v.law_of_function ? "doubles" : "2^61-1", v.check_sizes)};
  }
  return line;
}

}  // namespace soapstone::verifier

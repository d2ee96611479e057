// Finds where the sides differ in the prime field or in doubles.
#include "verifier/refute.h"

namespace soapstone::verifier {

std::optional<Refutation> refute(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  const auto report = rules::check(rule, size_count, seed);
  if (!report || !report->counterexample) return std::nullopt;
  Refutation refutation;
  refutation.sizes = report->counterexample->sizes;
  refutation.text = report->counterexample->text;
  return refutation;
}

}  // namespace soapstone::verifier

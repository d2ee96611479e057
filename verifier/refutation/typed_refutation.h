// Counterexamples of rules about integers and casts: numbers of the very types, near the ends of
// what these can hold. Shares no code with the prover.
#pragma once

#include "verifier/refutation/refute.h"

namespace soapstone::verifier {

/// The same as refute(), for a rule that rules::needs_types.
std::optional<Refutation> refute_by_types(const rules::Rule& rule, int size_count,
                                          std::uint64_t seed);
bool is_refuted_by_types(const rules::Rule& rule, int size_count, std::uint64_t seed);

}  // namespace soapstone::verifier

// Passes over finished levels: they compare pairs in full, add symmetries as pairs, and find laws
// that hold in doubles alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/terms/values.h"

namespace soapstone::generator {

using FieldValues = ValueStore<std::uint64_t>;

/// Removes pairs from number `first` on whose fingerprints are equal but whose values are not.
void drop_wrong_pairs(Enumeration& enumeration, std::size_t first, const FieldValues& values,
                      const VariantSpace& space, std::span<const std::uint16_t> variants);

/// A term that was paired with a representative by its fingerprint and dropped may still equal
/// what else was: adds pairs among those. `paired`: the pairs before any was dropped.
void pair_dropped_terms(Enumeration& enumeration, std::span<const EqualPair> paired,
                        const FieldValues& values, const VariantSpace& space,
                        std::span<const std::uint16_t> variants, std::uint64_t seed);

/// A pair for each exchange of two variables that leaves one of the terms as it is: commutativity,
/// and associativity of what commutes.
void add_symmetric_pairs(Enumeration& enumeration, const FieldValues& values,
                         const VariantSpace& space, std::span<const TermId> terms);

/// Removes pairs from number `first` on that agree only because some sum happened to have one sign,
/// or where one side is no number: tries those with delicate operators at other values, in doubles.
void drop_coincidences(Enumeration& enumeration, std::size_t first, const VariantSpace& space,
                       std::uint64_t seed);

/// Pairs of representatives that are equal in doubles, one of which has a function that is random
/// in the prime field.
void add_pairs_in_doubles(Enumeration& enumeration, const VariantSpace& space,
                          const EnumerateOptions& options,
                          std::span<const std::vector<TermId>> representatives);

}  // namespace soapstone::generator

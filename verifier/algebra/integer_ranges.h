// Tells which forms are integers, and bounds them by the types of the inputs alone: a + b lies
// between low(a) + low(b) and high(a) + high(b), and a product between products of bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verifier/algebra/number_formats.h"
#include "verifier/forms/summand.h"

namespace soapstone::verifier {

class IntegerRanges {
 public:
  /// The types of the elements of all inputs.
  void set_types(std::vector<core::DataType> types) { types_ = std::move(types); }
  std::span<const core::DataType> types() const { return types_; }
  /// None: the atom is no element of an input.
  std::optional<core::DataType> type_of(const Atom& atom) const;
  /// Whether the atom is an element of an input that is 0 or 1.
  bool is_boolean(const Atom& atom) const { return type_of(atom) == core::DataType::kBool; }

  /// Whether the form is evidently an integer: a sum or product of integers, or rounded to one.
  bool is_integral(const NormalForm& form) const;
  bool is_integral(const Summand& summand) const;
  /// Bounds that hold whatever the inputs are. None: not known, or no integer.
  std::optional<IntegerRange> range_of(const Atom& atom) const;
  std::optional<IntegerRange> range_of(const NormalForm& form) const;
  /// Whether every value of the form is one of the type.
  bool fits(const NormalForm& form, core::DataType type) const;

 private:
  std::vector<core::DataType> types_;
};

/// The format of a kWrapped atom is its type, with a mark if values outside are undefined.
inline constexpr std::uint32_t kUndefinedOutside = 1U << 8;
/// Whether values outside of the type wrap around.
inline bool is_wrap(const Atom& atom) { return (atom.tensor & kUndefinedOutside) == 0; }
inline core::DataType type_of_wrap(const Atom& atom) {
  return static_cast<core::DataType>(atom.tensor & ~kUndefinedOutside);
}

}  // namespace soapstone::verifier

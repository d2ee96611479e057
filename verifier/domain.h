// Where a graph has values at all: the arguments of 1/x, √x and log that must not be 0 or negative.
// A rule whose sides have values at different inputs changes the range of floats.
#pragma once

#include <span>
#include <vector>

#include "verifier/term.h"

namespace soapstone::verifier {

class Checker;

enum class Demand : std::uint8_t { kNotZero, kNotNegative };

class Domain {
 public:
  /// `outer`: symbols that stand for themselves on both sides; all others in the form are bound,
  /// within the facts. `is_conditional`: the value may be thrown away by a choice.
  void require(Arena& arena, Demand demand, const NormalForm& form, const FactSet& facts,
               std::span<const Symbol> outer, bool is_conditional);
  /// Each demand of one is a demand of the other.
  bool equals(const Domain& other, Checker& checker, const FactSet& context) const;
  void clear() { demands_.clear(); }

 private:
  struct Entry {
    Term term;  ///< The form in a box that tells kinds of demands apart.
    bool is_conditional = false;
  };
  bool covers(const Entry& entry, Checker& checker, const FactSet& context) const;

  std::vector<Entry> demands_;
};

}  // namespace soapstone::verifier

// From sides whose dimensions share symbols because of how they were found to the most general rule
// that they are an instance of: every dimension gets a symbol of its own, and only the equations
// that the two sides need make some of them equal.
#pragma once

#include "core/base/result.h"
#include "generator/terms/term.h"

namespace soapstone::generator {

/// How offsets (where a slice starts, how far a pad reaches), which types do not tell, are chosen.
struct Offsets {
  enum class Kind : std::uint8_t {
    kApart,   ///< Each may be anything.
    kEqual,   ///< Offsets that were found equal stay equal.
    kInputs,  ///< The sizes of the first inputs along `axis`, as many as it was found to span.
  };
  Kind kind = Kind::kApart;
  std::size_t axis = 0;
  bool operator==(const Offsets&) const = default;
};
/// Whether there are any besides numbers.
bool has_offsets(const Sides& sides);

/// The sides with as many different sizes as they allow. Whether they still agree is not looked at.
/// Errors: kInvalidInput where the sides have no types with symbols of their own.
core::Result<Sides> generalized(const Sides& sides, const Offsets& offsets = {});

}  // namespace soapstone::generator

// Named sets of vocabularies. A theme is a small world of operators that have laws in common; a
// preset is a list of themes that are enumerated one after the other, because the terms of all
// operators together would be too many.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/vocabulary/vocabulary.h"

namespace soapstone::generator {

struct Theme {
  std::string name;
  Vocabulary vocabulary;
  /// It has so many terms that it is enumerated to fewer operators by so many.
  int ops_less = 0;
  /// Beyond so many nearly all of its equalities move the same parts past each other.
  int most_ops = std::numeric_limits<int>::max();
  int ops(int of_preset) const { return std::clamp(of_preset - ops_less, 1, most_ops); }
};

struct Preset {
  std::string name;
  std::vector<Theme> themes;
};

/// `taso`, `algebra`, `vision`, `transformer`, `all`.
std::span<const std::string_view> preset_names();
/// Errors: kUsage for an unknown preset; the message lists those there are.
core::Result<Preset> preset(std::string_view name);

}  // namespace soapstone::generator

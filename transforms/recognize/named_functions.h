// Functions of one number that operators compute, known by their values.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "transforms/views/side_text.h"

namespace soapstone::transforms {

using Values = std::vector<double>;

/// A function of x and of a·x with operators for it.
struct Named {
  std::string name;
  bool is_scaled;  ///< It may have a factor a within.
  std::function<double(double x, double ax)> value;
  std::size_t operators;
  std::function<std::string(SideText& text, const std::string& x, const std::string& ax)> write;
};

/// The function c·f + d.
struct Line {
  double factor = 1, offset = 0;
  std::size_t operators() const { return (factor != 1 ? 1U : 0U) + (offset != 0 ? 1U : 0U); }
};

/// c·f(x, a·x) + d.
struct NamedValue {
  Named function;
  double inner = 1;
  Line line;
};

/// Places where functions are compared: dense where they bend, and far out, first three on each
/// side.
Values sample_points();

/// What has these values at the sample points, with fewer operators than that. `numbers`: those
/// that the factors are made of. None: nothing known has.
std::optional<NamedValue> function_of(const Values& values, const std::set<double>& numbers,
                                      std::size_t operators);

}  // namespace soapstone::transforms

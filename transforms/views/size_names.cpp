#include "transforms/views/size_names.h"

#include <algorithm>

#include <fmt/format.h>

namespace soapstone::transforms {

bool SizeNames::has_open() const {
  return std::ranges::any_of(open_, [&](std::int64_t n) { return is_open(n); });
}

std::string SizeNames::text(std::int64_t n) const {
  return symbols_ && is_open(n) ? fmt::format("d{}", n) : std::to_string(n);
}

Names SizeNames::texts(const Sizes& sizes) const {
  Names names;
  for (const std::int64_t n : sizes) names.push_back(text(n));
  return names;
}

}  // namespace soapstone::transforms

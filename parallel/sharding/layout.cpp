#include "parallel/sharding/layout.h"

#include <fmt/format.h>

namespace soapstone::parallel {

Layout gradient_layout(const Layout& values) {
  Layout result = values;
  for (std::int8_t& use : result.axes) {
    if (use == kBroadcast)
      use = kPartial;
    else if (use == kPartial)
      use = kReplicated;
  }
  return result;
}

std::int64_t pieces(const Layout& layout, const std::vector<std::int64_t>& axis_sizes) {
  std::int64_t count = 1;
  for (std::size_t a = 0; a < axis_sizes.size(); ++a)
    if (layout.axes[a] >= 0) count *= axis_sizes[a];
  return count;
}

std::string to_string(const Layout& layout, std::size_t axis_count) {
  std::string text;
  for (std::size_t a = 0; a < axis_count; ++a) {
    const std::int8_t use = layout.axes[a];
    if (!text.empty()) text += ' ';
    if (use >= 0)
      text += fmt::format("axis{}=digit{}", a, use);
    else
      text += fmt::format("axis{}={}", a,
                          use == kPartial     ? "partial"
                          : use == kBroadcast ? "broadcast"
                                              : "replicated");
  }
  return text;
}

}  // namespace soapstone::parallel

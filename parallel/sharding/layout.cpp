#include "parallel/sharding/layout.h"

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

}  // namespace soapstone::parallel

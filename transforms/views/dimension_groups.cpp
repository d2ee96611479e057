#include "transforms/views/dimension_groups.h"

namespace soapstone::transforms {

std::vector<DimensionGroup> dimension_groups(const Sizes& from, const Sizes& to) {
  std::vector<DimensionGroup> groups;
  for (std::size_t i = 0, k = 0; i < from.size() || k < to.size();) {
    const std::size_t first = i, begin = k;
    std::int64_t of_from = i < from.size() ? from[i++] : 1, of_to = k < to.size() ? to[k++] : 1;
    while (of_from != of_to)
      (of_from < of_to ? of_from : of_to) *= of_from < of_to ? from.at(i++) : to.at(k++);
    groups.push_back({{first, i}, {begin, k}});
  }
  return groups;
}

}  // namespace soapstone::transforms

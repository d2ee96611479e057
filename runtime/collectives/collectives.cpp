// See collectives.h.
#include "runtime/collectives/collectives.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::runtime {

core::Status check_subset(std::span<const int> ranks, int rank, int size) {
  const bool is_ascending =
      std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
  if (!ranks.empty() && is_ascending && ranks.front() >= 0 && ranks.back() < size &&
      std::ranges::binary_search(ranks, rank))
    return core::Done{};
  return core::invalid_input(fmt::format("ranks {} are no subset of {} ranks that rank {} is in",
                                         fmt::join(ranks, ", "), size, rank),
                             "give them in ascending order");
}

}  // namespace soapstone::runtime

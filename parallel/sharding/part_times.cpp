#include "parallel/sharding/part_times.h"

namespace soapstone::parallel {

std::vector<std::int64_t> part_lengths(std::span<const ops::Loop> loops,
                                       std::span<const Origin> origins, const AxisLoops& cut,
                                       std::span<const std::int64_t> sizes,
                                       std::int64_t microbatches) {
  std::vector<std::int64_t> lengths;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < sizes.size(); ++a)
      if (cut[a] == static_cast<std::int8_t>(l)) parts *= sizes[a];
    const std::int64_t size =
        origins[l] == Origin::kBatch ? loops[l].size / microbatches : loops[l].size;
    lengths.push_back((size + parts - 1) / parts);
  }
  return lengths;
}

}  // namespace soapstone::parallel

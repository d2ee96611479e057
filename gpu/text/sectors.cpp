// See sectors.h.
#include "gpu/text/sectors.h"

#include <algorithm>

namespace soapstone::gpu {
namespace {

constexpr std::int64_t kSampledWarps = 4;

std::int64_t count_different(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  return std::ranges::unique(values).begin() - values.begin();
}

}  // namespace

std::vector<WarpPoints> warps_along(const runtime::generated::IndexSpace& space,
                                    std::uint32_t variable, std::int64_t width) {
  const auto& [low, high, name, digit] = space.variable(variable);
  const std::int64_t of_warp = kWarpThreads * width;
  const std::int64_t count = (high - low + of_warp - 1) / of_warp;
  std::vector<WarpPoints> warps;
  for (std::int64_t k = 0; k < std::min(count, kSampledWarps); ++k) {
    const std::int64_t first = low + k * count / std::min(count, kSampledWarps) * of_warp;
    WarpPoints& points = warps.emplace_back();
    for (std::int64_t value = first; value < std::min(first + of_warp, high); ++value)
      points.push_back({{variable, value}});
  }
  return warps;
}

Moved& Moved::operator+=(const Moved& other) {
  needed += other.needed;
  excess += other.excess;
  return *this;
}

Moved moved_by(const runtime::generated::Region& region,
               const runtime::generated::IndexSpace& space,
               const runtime::generated::MemoryAccess& access, std::span<const WarpPoints> warps) {
  const runtime::generated::RegionTensor& tensor = region.tensors[access.tensor];
  const auto bytes = static_cast<std::int64_t>(core::size_bytes(tensor.data_type));
  std::int64_t needed = 0, moved = 0;
  std::vector<std::int64_t> positions, sectors;
  for (const WarpPoints& points : warps) {
    positions.clear();
    for (const Point& point : points) positions.push_back(space.value_at(access.position, point));
    sectors = positions;
    for (std::int64_t& at : sectors) at = at * bytes / kSectorBytes;
    needed += count_different(positions) * bytes;
    moved += count_different(sectors) * kSectorBytes;
  }
  const auto whole = static_cast<double>(tensor.elements * bytes);
  if (moved <= needed) return {whole, 0};
  return {whole, whole * (static_cast<double>(moved) / static_cast<double>(needed) - 1)};
}

}  // namespace soapstone::gpu

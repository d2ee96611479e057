#include "parallel/pieces/rank_mesh.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"

namespace soapstone::parallel {

RankMesh::RankMesh(std::int64_t stages, std::vector<std::int64_t> axis_sizes,
                   std::optional<UnevenAxis> uneven)
    : stages_(stages), axis_sizes_(std::move(axis_sizes)), uneven_(std::move(uneven)) {
  for (const std::int64_t size : axis_sizes_) of_stage_ *= size;
}

RankMesh RankMesh::with_axis(std::int64_t size) const {
  std::vector<std::int64_t> sizes = axis_sizes_;
  sizes.push_back(size);
  return RankMesh(stages_, std::move(sizes), uneven_);
}

MeshPosition RankMesh::position_of(std::int64_t rank) const {
  MeshPosition position{};
  std::int64_t rest = rank % of_stage_;
  for (std::size_t a = 0; a < axis_sizes_.size(); ++a) {
    position[a] = rest % axis_sizes_[a];
    rest /= axis_sizes_[a];
  }
  return position;
}

std::vector<std::int64_t> RankMesh::group_of(std::int64_t rank,
                                             const std::vector<std::size_t>& axes) const {
  std::vector<std::int64_t> group;
  const MeshPosition own = position_of(rank);
  const std::int64_t first = first_rank(stage_of(rank));
  for (std::int64_t other = first; other < first + of_stage_; ++other) {
    const MeshPosition there = position_of(other);
    bool is_in = true;
    for (std::size_t a = 0; a < axis_sizes_.size(); ++a)
      is_in &= there[a] == own[a] || std::ranges::find(axes, a) != axes.end();
    if (is_in) group.push_back(other);
  }
  return group;
}

ops::Interval RankMesh::part(std::int64_t size, const std::vector<std::size_t>& axes,
                             const MeshPosition& position) const {
  ops::Interval part{0, size};
  for (std::size_t a = axis_sizes_.size(); a-- > 0;) {
    if (std::ranges::find(axes, a) == axes.end()) continue;
    std::int64_t before = position[a], own = 1, all = axis_sizes_[a];
    if (uneven_ && uneven_->axis == a) {
      const std::vector<std::int64_t>& grains = uneven_->grains;
      const auto here = grains.begin() + position[a];
      before = std::accumulate(grains.begin(), here, std::int64_t{0});
      own = *here;
      all = uneven_->all_grains();
    }
    const std::int64_t length = part.high - part.low;
    CHECK(!uneven_ || uneven_->axis != a || length % all == 0, "grains that divide what is cut");
    const std::int64_t begin = part.low;
    part = {begin + length * before / all, begin + length * (before + own) / all};
  }
  return part;
}

}  // namespace soapstone::parallel

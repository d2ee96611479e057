// See tensor_shards.h.
#include "jobs/plan/tensor_shards.h"

#include <algorithm>
#include <map>

namespace soapstone::jobs {
namespace {

/// A digit of a dimension: the elements e with the same ⌊(e mod period) / stride⌋ are one block.
struct CutDigit {
  std::int64_t period = 0, stride = 1;
  std::vector<std::size_t> axes;  ///< That cut it, outermost first.
};

/// A loop that reads whole blocks cuts between them; any other one cuts anywhere.
std::int64_t block_of(const ops::LoopPlace& place, std::int64_t size) {
  if (place.period != 0) return place.stride;
  const bool has_blocks = place.divisor == 1 && place.window == ops::Interval{0, place.stride};
  return has_blocks && size % place.stride == 0 ? place.stride : 1;
}

/// The digits of one dimension that are cut, the outermost first.
std::vector<CutDigit> digits_of(std::size_t dim, std::int64_t size,
                                std::span<const TensorCut> cuts) {
  std::vector<CutDigit> digits;
  for (const TensorCut& cut : cuts) {
    if (cut.place.dim != dim) continue;
    const std::int64_t period = cut.place.period == 0 ? size : cut.place.period;
    const std::int64_t stride = block_of(cut.place, size);
    const auto known = std::ranges::find(digits, period, &CutDigit::period);
    if (known == digits.end()) {
      digits.push_back({period, stride, {cut.axis}});
      continue;
    }
    known->stride = std::max(known->stride, stride);
    known->axes.push_back(cut.axis);
  }
  std::ranges::stable_sort(digits, std::ranges::greater(), &CutDigit::period);
  return digits;
}

/// The levels of a dimension, and of each the axes that cut it. False: digits do not nest.
bool add_levels(std::int64_t size, const std::vector<CutDigit>& digits, const StageMesh& mesh,
                models::ShardedDim& sharded, std::vector<std::vector<std::size_t>>& axes) {
  std::int64_t rest = size;
  const auto add = [&](std::int64_t level, std::int64_t shards,
                       const std::vector<std::size_t>& by) {
    if (level == 1) return;
    sharded.levels.push_back({level, shards});
    axes.push_back(by);
  };
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const CutDigit& digit = digits[k];
    const bool is_last = k + 1 == digits.size();
    std::int64_t shards = 1;
    for (const std::size_t axis : digit.axes) shards *= mesh.axis_sizes[axis];
    // What is cut within blocks is cut between them, too.
    std::int64_t stride = is_last ? digit.stride : std::max(digit.stride, digits[k + 1].period);
    if (rest % digit.period != 0 || digit.period % stride != 0) return false;
    if (shards > digit.period / stride) return false;
    if (is_last && digit.period / stride % shards == 0) stride = 1;  // Even cuts need no blocks.
    add(rest / digit.period, 1, {});
    add(digit.period / stride, shards, digit.axes);
    rest = stride;
  }
  add(rest, 1, {});
  return true;
}

/// Visits the offsets of all devices along these axes, the last axis fastest.
template <class Visit>
void each_offset(const std::vector<std::size_t>& axes, const StageMesh& mesh,
                 const std::vector<std::int64_t>& strides, const Visit& visit) {
  std::int64_t count = 1;
  for (const std::size_t axis : axes) count *= mesh.axis_sizes[axis];
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t rest = k, offset = 0;
    for (std::size_t a = axes.size(); a-- > 0;) {
      offset += rest % mesh.axis_sizes[axes[a]] * strides[axes[a]];
      rest /= mesh.axis_sizes[axes[a]];
    }
    visit(offset);
  }
}

}  // namespace

std::optional<models::TensorShards>
shards_of(const core::Dims& dims, std::span<const TensorCut> cuts, const StageMesh& mesh) {
  models::TensorShards shards;
  std::vector<std::vector<std::size_t>> axes_of_level;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::vector<CutDigit> digits = digits_of(d, dims[d], cuts);
    if (digits.empty()) continue;
    models::ShardedDim& sharded = shards.dims.emplace_back();
    sharded.dim = d;
    if (!add_levels(dims[d], digits, mesh, sharded, axes_of_level)) return std::nullopt;
  }
  std::vector<std::size_t> cutting, copying;
  for (const auto& axes : axes_of_level) cutting.insert(cutting.end(), axes.begin(), axes.end());
  std::vector<std::int64_t> strides;
  std::int64_t stride = 1;
  for (std::size_t axis = 0; axis < mesh.axis_sizes.size(); ++axis) {
    strides.push_back(stride);
    stride *= mesh.axis_sizes[axis];
    if (std::ranges::find(cutting, axis) == cutting.end()) copying.push_back(axis);
  }
  std::ranges::reverse(copying);  // Holders ascend if the innermost axis varies fastest.
  each_offset(cutting, mesh, strides, [&](std::int64_t shard) {
    std::vector<std::int64_t>& holders = shards.holders.emplace_back();
    each_offset(copying, mesh, strides,
                [&](std::int64_t copy) { holders.push_back(mesh.first_device + shard + copy); });
  });
  return shards;
}

}  // namespace soapstone::jobs

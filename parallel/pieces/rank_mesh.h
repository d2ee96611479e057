// The places of a plan's ranks: in stages of a pipeline, and within a stage on a mesh.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/analysis/analysis.h"
#include "parallel/sharding/mesh.h"

namespace soapstone::parallel {

/// A position on each axis of the mesh.
using MeshPosition = std::array<std::int64_t, kMostAxes>;

class RankMesh {
 public:
  /// `axis_sizes` innermost first, as a plan has them.
  RankMesh(std::int64_t stages, std::vector<std::int64_t> axis_sizes,
           std::optional<UnevenAxis> uneven);

  /// The mesh with an axis more, outside of all others.
  RankMesh with_axis(std::int64_t size) const;

  std::int64_t rank_count() const { return stages_ * of_stage_; }
  std::int64_t ranks_of_stage() const { return of_stage_; }
  std::size_t axis_count() const { return axis_sizes_.size(); }
  std::int64_t axis_size(std::size_t axis) const { return axis_sizes_[axis]; }
  bool is_uneven(std::size_t axis) const { return uneven_ && uneven_->axis == axis; }
  /// Into how many equal pieces an axis divides what it cuts; a rank may have several of them.
  std::int64_t grains(std::size_t axis) const {
    return is_uneven(axis) ? uneven_->all_grains() : axis_sizes_[axis];
  }
  std::int64_t stage_of(std::int64_t rank) const { return rank / of_stage_; }
  std::int64_t first_rank(std::int64_t stage) const { return stage * of_stage_; }
  MeshPosition position_of(std::int64_t rank) const;
  /// The ranks of its stage that differ from it along these axes alone, ascending.
  std::vector<std::int64_t> group_of(std::int64_t rank, const std::vector<std::size_t>& axes) const;

  /// The iterations out of `size` that the axes leave to a position: the outermost axis cuts first,
  /// into pieces that differ by one at most, or in grains where it is uneven.
  /// Precondition: grains divide `size`, if one of the axes is uneven.
  ops::Interval part(std::int64_t size, const std::vector<std::size_t>& axes,
                     const MeshPosition& position) const;

 private:
  std::int64_t stages_, of_stage_ = 1;
  std::vector<std::int64_t> axis_sizes_;
  std::optional<UnevenAxis> uneven_;
};

}  // namespace soapstone::parallel

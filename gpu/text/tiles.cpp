// See tiles.h.
#include "gpu/text/tiles.h"

#include <algorithm>
#include <bit>
#include <set>

namespace soapstone::gpu {
namespace {

using runtime::generated::Affine;
using runtime::generated::dividing;
using runtime::generated::ExpressionText;
using runtime::generated::IndexSpace;
using runtime::generated::MemoryAccess;
using runtime::generated::RegionTensor;

constexpr int kSide = 32;                            ///< Of tiles, if nobody says otherwise.
constexpr std::int64_t kLongestSide = 512;           ///< Where the other axis is short.
constexpr std::int64_t kSmallestTile = 256;          ///< Elements: one for each thread.
constexpr std::int64_t kMostSharedBytes = 32 << 10;  ///< Of 48 KiB that every kernel may have.
constexpr double kWorthTiles = 0.8;                  ///< Of what is moved without tiles, at most.
constexpr int kFewestThreads = 64, kMostThreads = 256;
constexpr std::int64_t kSampledTiles = 2;

std::int64_t bytes_of(const RegionTensor& tensor) {
  return static_cast<std::int64_t>(core::size_bytes(tensor.data_type));
}

/// All that the segment loads and stores, its elements at a position of the space.
std::vector<MemoryAccess> accesses_of(const Region& region, const Segment& segment,
                                      IndexSpace& space, const Affine& element) {
  ExpressionText text(region, space);
  text.block(1, [&] {
    for (const std::uint32_t tensor : segment.tensors) text.store(tensor, element);
  });
  return text.readings().accesses;
}

/// The warps of some tiles, threads going `width` elements each along the axis `fast` first.
std::vector<WarpPoints> warps_of_tiles(const IndexSpace& space, std::uint32_t fast,
                                       std::int64_t fast_side, std::uint32_t slow,
                                       std::int64_t slow_side, std::int64_t width) {
  const std::int64_t fast_count = space.variable(fast).high, slow_count = space.variable(slow).high;
  const std::int64_t rows_of_warp =
      std::clamp<std::int64_t>(kWarpThreads * width / fast_side, 1, slow_side);
  const std::int64_t columns_of_warp = std::min(fast_side, kWarpThreads * width);
  const std::int64_t tiles = std::min((fast_count + fast_side - 1) / fast_side, kSampledTiles);
  std::vector<WarpPoints> warps;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    WarpPoints& points = warps.emplace_back();
    const std::int64_t first = tile * fast_side;
    for (std::int64_t s = 0; s < std::min(rows_of_warp, slow_count); ++s)
      for (std::int64_t f = first; f < std::min(first + columns_of_warp, fast_count); ++f)
        points.push_back({{fast, f}, {slow, s}});
  }
  return warps;
}

/// True if the position follows from these variables alone. One that follows from the variable of a
/// loop as well finds in the cache what the last step of the loop did not need of its sectors.
bool follows_from(const IndexSpace& space, const MemoryAccess& access,
                  std::initializer_list<std::uint32_t> known) {
  std::set<std::uint32_t> variables;
  space.add_variables_of(access.position, variables);
  for (const std::uint32_t variable : known) variables.erase(variable);
  return variables.empty();
}

/// Powers of two that hold about side² elements, no longer than the axes are.
Tile shaped(Tile tile, int side) {
  const auto whole = [](std::int64_t count) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  };
  const std::int64_t area = std::int64_t{side} * side;
  tile.height = std::min<std::int64_t>(side, whole(tile.rows));
  tile.width = std::min({area / tile.height, whole(tile.columns), kLongestSide});
  tile.height = std::min({area / tile.width, whole(tile.rows), kLongestSide});
  return tile;
}

/// The axes that loads may go along: those of digits of the element's number.
std::vector<Tile> axes_of(const Region& region, const Segment& segment) {
  IndexSpace space;
  const std::uint32_t number = space.add("element", 0, segment.elements);
  const Affine element = IndexSpace::value_of(number);
  std::vector<Tile> axes;
  for (const MemoryAccess& access : accesses_of(region, segment, space, element)) {
    std::optional<std::pair<std::int64_t, Tile>> nearest;  // elements of memory from y to y + 1
    for (const auto& [id, c] : access.position.coefficients) {
      const auto& digit = space.variable(id).digit;
      if (!digit || digit->of != element || digit->divisor == 1) continue;
      const std::int64_t rows = space.variable(id).high;
      const std::int64_t in_layer = digit->divisor * rows;
      if (segment.elements % in_layer != 0 || (nearest && nearest->first <= std::abs(c))) continue;
      nearest = {std::abs(c), {digit->divisor, rows, segment.elements / in_layer}};
    }
    const auto is_same = [&](const Tile& t) {
      return t.columns == nearest->second.columns && t.rows == nearest->second.rows;
    };
    if (nearest && std::ranges::none_of(axes, is_same)) axes.push_back(nearest->second);
  }
  return axes;
}

std::optional<Tile> choose_tile(const Region& region, const Segment& segment, int side,
                                std::int64_t width) {
  double least = kWorthTiles * moved_by_segment(region, segment, width).total();
  std::optional<Tile> best;
  for (const Tile& axes : axes_of(region, segment)) {
    const Tile tile = shaped(axes, side);
    if (tile.width * tile.height < kSmallestTile) continue;
    const TiledSegment tiled = tiled_segment(region, segment, tile, width);
    if (tiled.shared_bytes > kMostSharedBytes || tiled.moved.total() >= least) continue;
    least = tiled.moved.total();
    best = tile;
  }
  return best;
}

}  // namespace

std::int64_t pitch_of(const Tile& tile) {
  return tile.height + std::max<std::int64_t>(1, kWarpThreads / tile.width);
}

TiledSegment tiled_segment(const Region& region, const Segment& segment, const Tile& tile,
                           std::int64_t width) {
  TiledSegment tiled;
  IndexSpace& space = tiled.space;
  tiled.x = space.add("x", 0, tile.columns);
  tiled.y = space.add("y", 0, tile.rows);
  tiled.z = space.add("z", 0, tile.layers);
  tiled.element.add(IndexSpace::value_of(tiled.x), 1);
  tiled.element.add(IndexSpace::value_of(tiled.y), tile.columns);
  if (tile.layers > 1) tiled.element.add(IndexSpace::value_of(tiled.z), tile.columns * tile.rows);
  const auto along_x = warps_of_tiles(space, tiled.x, tile.width, tiled.y, tile.height,
                                      dividing(width, tile.columns));
  const auto along_y =
      warps_of_tiles(space, tiled.y, tile.height, tiled.x, tile.width, dividing(width, tile.rows));
  for (const MemoryAccess& access : accesses_of(region, segment, space, tiled.element)) {
    if (!follows_from(space, access, {tiled.x, tiled.y, tiled.z})) continue;
    const Moved by_x = moved_by(region, space, access, along_x);
    const Moved by_y = access.is_store ? by_x : moved_by(region, space, access, along_y);
    const bool is_shared = by_y.total() < kWorthTiles * by_x.total();
    tiled.moved += is_shared ? by_y : by_x;
    if (!is_shared) continue;
    tiled.shared.push_back(access);
    tiled.shared_bytes += tile.width * pitch_of(tile) * bytes_of(region.tensors[access.tensor]);
  }
  return tiled;
}

Moved moved_by_segment(const Region& region, const Segment& segment, std::int64_t width) {
  IndexSpace space;
  const std::uint32_t number = space.add("element", 0, segment.elements);
  const auto warps = warps_along(space, number, dividing(width, segment.elements));
  Moved moved;
  for (const MemoryAccess& access :
       accesses_of(region, segment, space, IndexSpace::value_of(number)))
    if (follows_from(space, access, {number})) moved += moved_by(region, space, access, warps);
  return moved;
}

KernelPlan plan_for_gpu(const Region& region, const KernelOptions& options) {
  const auto planned = plan_kernel(region, options);
  KernelPlan plan = planned ? *planned : plan_map(region, options);
  if (options.tile == 1) return plan;
  std::int64_t most_threads = 0;
  for (Segment& segment : plan.segments) {
    segment.tile =
        choose_tile(region, segment, options.tile > 0 ? options.tile : kSide, plan.width);
    if (segment.tile)
      most_threads = std::max(most_threads, segment.tile->width * segment.tile->height /
                                                dividing(plan.width, segment.tile->columns));
  }
  if (most_threads > 0 && options.threads == 0)
    plan.threads =
        static_cast<int>(std::clamp<std::int64_t>(most_threads, kFewestThreads, kMostThreads));
  return plan;
}

}  // namespace soapstone::gpu

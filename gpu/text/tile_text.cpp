// See tile_text.h.
#include "gpu/text/tile_text.h"

#include <map>

#include <fmt/format.h>

#include "runtime/generated/element_types.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::Chunk;
using runtime::generated::dividing;
using runtime::generated::element_name;
using runtime::generated::ExpressionText;
using runtime::generated::MemoryAccess;
using runtime::generated::RegionTensor;

std::int64_t tiles_along(std::int64_t count, std::int64_t side) {
  return (count + side - 1) / side;
}

class TileWriter {
 public:
  TileWriter(const Region& region, const Segment& segment, const KernelPlan& plan)
      : region_(region), segment_(segment), tile_(*segment.tile), plan_(plan),
        tiled_(tiled_segment(region, segment, tile_, plan.width)), text_(region, tiled_.space) {}

  KernelDraft write(const std::string& block) {
    KernelDraft result;
    result.blocks = tiles_along(tile_.columns, tile_.width) *
                    tiles_along(tile_.rows, tile_.height) * tile_.layers;
    result.has_barriers = !tiled_.shared.empty();
    result.shared_bytes = tiled_.shared_bytes;
    result.body = text_.block(1, [&] {
      write_origin(block);
      write_loads();
      if (result.has_barriers) text_.line("__syncthreads();");
      write_stores();
    });
    return result;
  }

 private:
  void write_origin(const std::string& block) {
    const std::int64_t along_x = tiles_along(tile_.columns, tile_.width),
                       along_y = tiles_along(tile_.rows, tile_.height);
    text_.line(fmt::format("const int tile = {};", block));
    text_.line(fmt::format("const int x0 = tile % {} * {};", along_x, tile_.width));
    text_.line(fmt::format("const int y0 = tile / {} % {} * {};", along_x, along_y, tile_.height));
    if (tile_.layers > 1) text_.line(fmt::format("const int z = tile / {};", along_x * along_y));
    for (std::size_t k = 0; k < tiled_.shared.size(); ++k)
      text_.line(fmt::format("__shared__ Shared<{}, {}> m{};",
                             element_name(region_.tensors[tiled_.shared[k].tensor].data_type),
                             tile_.width * pitch_of(tile_), k));
  }

  std::string place(std::size_t number, const std::string& row) const {
    return fmt::format("m{}[(x - x0) * {} + ({} - y0)]", number, pitch_of(tile_), row);
  }

  /// Opens a loop over all pieces of a tile, `fast` × `slow` of them, each a thread's.
  void open_loop(std::int64_t fast, std::int64_t slow) {
    const std::int64_t pieces = fast * slow;
    text_.line("#pragma unroll");
    text_.line(fmt::format("for (int j = 0; j < {}; j += {}) {{", pieces, plan_.threads));
    text_.line("const int i = j + (int)threadIdx.x;");
    if (pieces % plan_.threads != 0) text_.line(fmt::format("if (i >= {}) break;", pieces));
  }

  /// How many elements along y a thread loads at once.
  std::int64_t width_of(const MemoryAccess& access) {
    const std::int64_t width = dividing(plan_.width, tile_.rows);
    const Chunk chunk{tiled_.y, width};
    const bool is_wide = width > 1 && is_inside(access) &&
                         tiled_.space.step(access.position, chunk) == 1 &&
                         tiled_.space.is_aligned(access.position, chunk);
    return is_wide ? width : 1;
  }

  /// False: conditions keep the result from using positions that are none of the tensor.
  bool is_inside(const MemoryAccess& access) const {
    const auto [low, high] = tiled_.space.bounds(access.position);
    return low >= 0 && high < region_.tensors[access.tensor].elements;
  }

  void write_loads() {
    std::map<std::int64_t, std::vector<std::size_t>> by_width;
    for (std::size_t k = 0; k < tiled_.shared.size(); ++k)
      by_width[width_of(tiled_.shared[k])].push_back(k);
    for (const auto& [width, numbers] : by_width) {
      const std::int64_t fast = tile_.height / width;
      open_loop(fast, tile_.width);
      text_.line(fmt::format("const int x = x0 + i / {};", fast));
      text_.line(fmt::format("const int y = y0 + i % {} * {};", fast, width));
      text_.line(fmt::format("if (x < {} && y < {}) {{", tile_.columns, tile_.rows));
      for (const std::size_t k : numbers) write_load(k, width);
      text_.line("}\n}");
    }
    for (std::size_t k = 0; k < tiled_.shared.size(); ++k)
      text_.hold(tiled_.shared[k].tensor, tiled_.shared[k].position, place(k, "y"));
  }

  void write_load(std::size_t number, std::int64_t width) {
    const MemoryAccess& access = tiled_.shared[number];
    const std::string position = tiled_.space.text(access.position);
    if (width > 1) {
      text_.line(fmt::format("const auto l{} = load<{}>(a{} + {});", number, width, access.tensor,
                             position));
      text_.line("#pragma unroll");
      text_.line(fmt::format("for (int k = 0; k < {}; ++k) {} = l{}.at[k];", width,
                             place(number, "y + k"), number));
    } else if (is_inside(access)) {
      text_.line(fmt::format("{} = a{}[{}];", place(number, "y"), access.tensor, position));
    } else {
      text_.line(fmt::format("const int p{} = {};", number, position));
      text_.line(fmt::format("if (p{0} >= 0 && p{0} < {1}) {2} = a{3}[p{0}];", number,
                             region_.tensors[access.tensor].elements, place(number, "y"),
                             access.tensor));
    }
  }

  void write_stores() {
    const std::int64_t width = dividing(plan_.width, tile_.columns);
    const std::int64_t fast = tile_.width / width;
    const std::string start = width == 1 ? "x" : "xs";
    open_loop(fast, tile_.height);
    text_.line(fmt::format("const int {} = x0 + i % {} * {};", start, fast, width));
    text_.line(fmt::format("const int y = y0 + i / {};", fast));
    text_.line(fmt::format("if (y < {}) {{", tile_.rows));
    text_.one_chunk(start, {tiled_.x, width}, [&](const runtime::generated::Affine&) {
      for (const std::uint32_t tensor : segment_.tensors) text_.store(tensor, tiled_.element);
    });
    text_.line("}\n}");
  }

  const Region& region_;
  const Segment& segment_;
  const Tile& tile_;
  const KernelPlan& plan_;
  TiledSegment tiled_;
  ExpressionText text_;
};

}  // namespace

KernelDraft draft_tiles(const Region& region, const Segment& segment, const KernelPlan& plan,
                        const std::string& block) {
  return TileWriter(region, segment, plan).write(block);
}

}  // namespace soapstone::gpu

// How one kernel computes a region, found by looking at indices alone: every thread elements of its
// own (a map), or groups of threads, the lanes, rows of elements whose sums and maxima they share.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/generated/expression_text.h"
#include "runtime/generated/places.h"

namespace soapstone::runtime::generated {

/// Where the lanes of a row have its elements when a second sum, or what is stored, needs them.
enum class RowValues : std::uint8_t {
  kChosen,     ///< In registers if few are needed.
  kReadAgain,  ///< In memory: the row is read, and computed, in passes.
  kHeld,       ///< In registers, if they are enough.
};

/// What text of equal meaning may differ in.
struct KernelOptions {
  int threads = 0;         ///< Of a block, a multiple of 32; 0: fewer where there are few blocks.
  int lanes = 0;           ///< Threads of a row: 1, 32 or all of a block; 0: chosen by its length.
  std::int64_t width = 0;  ///< Elements that a thread handles at once; 0: as 16 bytes hold.
  int tile = 0;            ///< Side of tiles, where a device has them; 0: chosen; 1: none.
  RowValues values = RowValues::kChosen;
};

/// An output, and where in it the element of a row and column lies: every element exactly once.
struct RowStore {
  std::uint32_t tensor = 0;
  std::int64_t columns = 1;
  std::vector<PlaceDigit> place;
};

/// Element x + columns · (y + rows · z) of a result, by whose x and y threads share tiles: what
/// lies side by side along y is loaded so, and what is computed of it is stored along x.
struct Tile {
  std::int64_t columns = 1, rows = 1, layers = 1;  ///< Of the result: x, y and z lie below.
  std::int64_t width = 1, height = 1;              ///< Of a tile, along x and y: powers of two.
};

/// Outputs of one number of elements, each thread computing the same element of all.
struct Segment {
  std::int64_t elements = 0;
  std::vector<std::uint32_t> tensors;
  std::optional<Tile> tile = {};  ///< None: threads go along the result alone.
};

struct KernelPlan {
  std::vector<Segment> segments;    ///< Of a map.
  std::vector<std::uint32_t> rows;  ///< Tensors with an element for each row, in order.
  std::int64_t row_count = 0;       ///< 0: the kernel is a map.
  std::int64_t row_length = 0;      ///< Terms of the longest sum of a row.
  std::vector<RowStore> stores;
  int threads = 256, lanes = 1;
  std::int64_t width = 1;
  /// Values that lanes keep in registers; see ExpressionText::hold_columns().
  std::set<std::string> held;
  /// By stage: how often each of its elements is computed.
  std::vector<double> computed;
};

/// The largest power of two up to `width`, itself one, that divides `count`.
std::int64_t dividing(std::int64_t width, std::int64_t count);

/// Writes what computes a row and stores its elements. Arrays of the text are to stand before.
void write_row(ExpressionText& text, IndexSpace& space, const KernelPlan& plan, const Affine& row);

/// None: no one kernel computes the region without computing sums again and again.
std::optional<KernelPlan> plan_kernel(const Region& region, const KernelOptions& options = {});
/// Always has an answer: sums that several threads need are computed by each of them.
KernelPlan plan_map(const Region& region, const KernelOptions& options = {});

}  // namespace soapstone::runtime::generated

// What a warp moves when its threads read or store side by side: memory moves in whole sectors,
// however little of one is needed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/generated/expression_text.h"

namespace soapstone::gpu {

inline constexpr std::int64_t kWarpThreads = 32;
inline constexpr std::int64_t kSectorBytes = 32;

/// Values of the variables that the text declares.
using Point = std::map<std::uint32_t, std::int64_t>;
/// The points that the threads of a warp handle at once.
using WarpPoints = std::vector<Point>;

/// Some of the warps whose threads handle `width` values each of a variable, one after the other;
/// other variables have their least value.
std::vector<WarpPoints> warps_along(const runtime::generated::IndexSpace& space,
                                    std::uint32_t variable, std::int64_t width);

/// Bytes that are moved.
struct Moved {
  double needed = 0;
  double excess = 0;  ///< What lies in the same sectors and is not needed.
  double total() const { return needed + excess; }
  Moved& operator+=(const Moved& other);
};

/// What an access to all elements of its tensor moves, if all warps do as these.
Moved moved_by(const runtime::generated::Region& region,
               const runtime::generated::IndexSpace& space,
               const runtime::generated::MemoryAccess& access, std::span<const WarpPoints> warps);

}  // namespace soapstone::gpu

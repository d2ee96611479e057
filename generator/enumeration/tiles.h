// A level is done in tiles: ranges of driver terms whose extensions do not depend on each other.
// Tiles may be computed anywhere (threads, processes, an earlier run); they are merged in order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "generator/terms/extension.h"

namespace soapstone::generator {

/// Drivers number `begin` … `end`−1 of the representatives with `driver_ops` operators, extended
/// to terms of `ops`.
struct TileRange {
  std::int32_t ops = 0, driver_ops = 0;
  std::uint32_t begin = 0, end = 0;
  bool operator==(const TileRange&) const = default;
};

struct TileResult {
  TileRange range;
  std::vector<EvaluatedTerm> candidates;  ///< In the order in which they were made.
};

/// Connects processes that enumerate the same: each computes its part of a batch of tiles, all
/// merge the whole.
class TileExchange {
 public:
  virtual ~TileExchange() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t ranks() const = 0;
  /// The contribution of every rank, by rank. Errors: some rank gave an error, which all ranks then
  /// get.
  virtual core::Result<std::vector<std::vector<std::byte>>>
  all_gather(core::Result<std::vector<std::byte>> mine) = 0;
  /// Whether tile k of a batch is this rank's.
  bool is_mine(std::size_t tile) const { return tile % ranks() == rank(); }
};

/// The bytes of a result with a checksum over all of them, and back. `run` tells runs apart.
std::vector<std::byte> serialize(const TileResult& result, std::uint64_t run);
/// Errors: kInvalidInput if the checksum, the run or the range differs.
core::Result<TileResult> deserialize(std::span<const std::byte> bytes, const TileRange& range,
                                     std::uint64_t run);

/// Puts the tiles of the other ranks into `tiles`, whose ranges are set on all ranks. `mine`: how
/// this rank fared with its own. All ranks call it for the same batches in the same order.
/// Errors: those of any rank; kInvalidInput if another rank enumerates something else.
core::Status share(TileExchange& exchange, std::uint64_t run, const core::Status& mine,
                   std::span<TileResult> tiles);

/// Finished tiles in a folder, one file each, written whole or not at all.
class TileFiles {
 public:
  /// An empty path: nothing is kept. Several processes may write into one folder.
  /// Errors: kInvalidInput if the folder cannot be written or holds tiles of another run.
  static core::Result<TileFiles> open(std::filesystem::path folder, std::uint64_t run);

  /// None if it is not there or damaged (then it is computed again).
  std::optional<TileResult> read(const TileRange& range) const;
  core::Status write(const TileResult& result) const;

 private:
  TileFiles(std::filesystem::path folder, std::uint64_t run)
      : folder_(std::move(folder)), run_(run) {}
  std::filesystem::path path_of(const TileRange& range) const;
  std::filesystem::path folder_;
  std::uint64_t run_;
};

}  // namespace soapstone::generator

// A reduction of long tensors, of which each rank gets a part: every rank sends the others their
// parts and reduces its own, in chunks that stay in the cache. While one chunk is reduced the next
// is on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "parallel/ranks/rank_messages.h"
#include "runtime/collectives/reduction.h"

namespace soapstone::parallel {

/// Memory that is kept for the next call; it is not initialized.
class Scratch {
 public:
  std::span<std::byte> take(std::size_t bytes);

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

struct ReductionParts {
  const std::byte* from = nullptr;   ///< Of this rank, all parts.
  std::byte* to = nullptr;           ///< This rank's part of the result.
  std::vector<std::int64_t> bounds;  ///< Elements: part p is [bounds[p], bounds[p + 1]).
  core::DataType type = core::DataType::kFloat32;
  runtime::Reduction reduction = runtime::Reduction::kSum;
};

/// Elements of a part, as a range within all parts.
struct ElementRange {
  std::int64_t begin = 0, count = 0;
};

class ChunkedReduction {
 public:
  ChunkedReduction(const RankMessages& messages, ReductionParts parts, Scratch& scratch);

  /// Chunk `chunk` of a rank's part.
  ElementRange range(int place, std::int64_t chunk) const;
  std::size_t bytes(const ElementRange& range) const;

  /// `after` is called when a chunk of this rank's part is reduced, and the others have taken
  /// theirs from `from`.
  core::Status run(const CallName& name, const std::function<core::Status(std::int64_t)>& after);

 private:
  core::Status start(std::int64_t chunk);
  core::Status reduce(std::int64_t chunk, const CallName& name);
  std::span<std::byte> received(int place, std::int64_t chunk) const;

  const RankMessages& messages_;
  const ReductionParts parts_;
  const std::int64_t chunk_elements_;
  std::int64_t chunks_ = 0;
  std::span<std::byte> scratch_;
  std::vector<StartedMessage> under_way_[2];  ///< Of even and odd chunks.
};

}  // namespace soapstone::parallel

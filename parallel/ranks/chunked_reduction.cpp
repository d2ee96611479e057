// See chunked_reduction.h.
#include "parallel/ranks/chunked_reduction.h"

#include <algorithm>
#include <utility>

namespace soapstone::parallel {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 19;

}  // namespace

std::span<std::byte> Scratch::take(std::size_t bytes) {
  if (bytes > bytes_) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    bytes_ = bytes;
  }
  return {memory_.get(), bytes};
}

ChunkedReduction::ChunkedReduction(const RankMessages& messages, ReductionParts parts,
                                   Scratch& scratch)
    : messages_(messages), parts_(std::move(parts)),
      chunk_elements_(static_cast<std::int64_t>(kChunkBytes / core::size_bytes(parts_.type))) {
  std::int64_t most = 0;
  for (std::size_t part = 0; part + 1 < parts_.bounds.size(); ++part)
    most = std::max(most, parts_.bounds[part + 1] - parts_.bounds[part]);
  chunks_ = (most + chunk_elements_ - 1) / chunk_elements_;
  const std::size_t chunk_bytes = bytes({0, std::min(most, chunk_elements_)});
  scratch_ = scratch.take(2 * static_cast<std::size_t>(messages_.size()) * chunk_bytes);
}

std::size_t ChunkedReduction::bytes(const ElementRange& range) const {
  return static_cast<std::size_t>(range.count) * core::size_bytes(parts_.type);
}

ElementRange ChunkedReduction::range(int place, std::int64_t chunk) const {
  const auto part = static_cast<std::size_t>(place);
  const std::int64_t end = parts_.bounds[part + 1];
  const std::int64_t begin = std::min(end, parts_.bounds[part] + chunk * chunk_elements_);
  return {begin, std::min(chunk_elements_, end - begin)};
}

std::span<std::byte> ChunkedReduction::received(int place, std::int64_t chunk) const {
  const std::size_t slot_bytes = scratch_.size() / (2 * static_cast<std::size_t>(messages_.size()));
  const auto slot = static_cast<std::size_t>(chunk % 2 * messages_.size() + place);
  return scratch_.subspan(slot * slot_bytes, bytes(range(messages_.place(), chunk)));
}

core::Status ChunkedReduction::start(std::int64_t chunk) {
  auto& started = under_way_[chunk % 2];
  for (int distance = 1; distance < messages_.size(); ++distance) {
    const int other = (messages_.place() + distance) % messages_.size();
    const auto mine = received(other, chunk);
    if (!mine.empty()) SOAPSTONE_RETURN_IF_ERROR(messages_.receive(mine, other, started));
    const ElementRange theirs = range(other, chunk);
    if (theirs.count > 0)
      SOAPSTONE_RETURN_IF_ERROR(
          messages_.send({parts_.from + bytes({0, theirs.begin}), bytes(theirs)}, other, started));
  }
  return core::Done{};
}

core::Status ChunkedReduction::reduce(std::int64_t chunk, const CallName& name) {
  SOAPSTONE_RETURN_IF_ERROR(messages_.finish(under_way_[chunk % 2], name));
  const ElementRange mine = range(messages_.place(), chunk);
  if (mine.count == 0) return core::Done{};
  std::vector<const std::byte*> from;
  for (int place = 0; place < messages_.size(); ++place)
    from.push_back(place == messages_.place() ? parts_.from + bytes({0, mine.begin})
                                              : received(place, chunk).data());
  const std::int64_t begin =
      mine.begin - parts_.bounds[static_cast<std::size_t>(messages_.place())];
  runtime::reduce_in_order(from, mine.count, parts_.type, parts_.reduction,
                           parts_.to + bytes({0, begin}));
  return core::Done{};
}

core::Status ChunkedReduction::run(const CallName& name,
                                   const std::function<core::Status(std::int64_t)>& after) {
  if (chunks_ > 0) SOAPSTONE_RETURN_IF_ERROR(start(0));
  for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
    if (chunk + 1 < chunks_) SOAPSTONE_RETURN_IF_ERROR(start(chunk + 1));
    SOAPSTONE_RETURN_IF_ERROR(reduce(chunk, name));
    SOAPSTONE_RETURN_IF_ERROR(after(chunk));
  }
  return core::Done{};
}

}  // namespace soapstone::parallel

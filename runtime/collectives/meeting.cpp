// See meeting.h.
#include "runtime/collectives/meeting.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::runtime {

void Meeting::fail_locked(std::string reason) {
  if (!failed_) failed_ = std::move(reason);
  changed_.notify_all();
}

void Meeting::fail(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  fail_locked(reason);
}

void Meeting::leave(int rank) {
  const std::lock_guard lock(mutex_);
  has_left_[static_cast<std::size_t>(rank)] = true;
  if (here_ > 0) fail_locked(fmt::format("rank {} has left", rank));
  changed_.notify_all();
}

core::Status Meeting::status() {
  const std::lock_guard lock(mutex_);
  if (failed_) return failure();
  return core::Done{};
}

std::string Meeting::missing() const {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < called_.size(); ++rank)
    if (!called_[rank]) ranks.push_back(rank);
  return fmt::format("{}", fmt::join(ranks, ", "));
}

core::Status Meeting::meet(int rank, const std::string& call) {
  std::unique_lock lock(mutex_);
  const std::size_t mine = meetings_;
  if (failed_) return failure();
  for (std::size_t other = 0; other < called_.size(); ++other) {
    if (has_left_[other]) fail_locked(fmt::format("rank {} has left", other));
    if (called_[other] && *called_[other] != call)
      fail_locked(
          fmt::format("rank {} calls {}, rank {} calls {}", other, *called_[other], rank, call));
  }
  if (failed_) return failure();
  called_[static_cast<std::size_t>(rank)] = call;
  if (++here_ == called_.size()) {
    std::ranges::fill(called_, std::nullopt);
    here_ = 0;
    ++meetings_;
    changed_.notify_all();
    return core::Done{};
  }
  const bool is_over = changed_.wait_for(lock, limit_, [&] { return failed_ || meetings_ > mine; });
  if (meetings_ > mine) return core::Done{};
  if (!is_over)
    fail_locked(
        fmt::format("{}: no call of rank {} within {} ms", call, missing(), limit_.count()));
  return failure();
}

core::Result<std::vector<std::span<const std::byte>>>
Meeting::exchange(int rank, const std::string& call, std::span<const std::byte> mine) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return failure();  // Somebody may still read what was given before.
    data_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
  }
  SOAPSTONE_RETURN_IF_ERROR(meet(rank, call));
  const std::lock_guard lock(mutex_);
  return std::vector<std::span<const std::byte>>(data_.begin(), data_.end());
}

core::Status Meeting::send(int from, int to, std::span<const std::byte> message) {
  const std::lock_guard lock(mutex_);
  if (failed_) return failure();
  messages_[{from, to}].emplace_back(message.begin(), message.end());
  changed_.notify_all();
  return core::Done{};
}

core::Result<std::vector<std::byte>> Meeting::receive(int from, int to) {
  std::unique_lock lock(mutex_);
  auto& waiting = messages_[{from, to}];
  const auto can_end = [&] {
    return failed_ || !waiting.empty() || has_left_[static_cast<std::size_t>(from)];
  };
  const bool is_over = changed_.wait_for(lock, limit_, can_end);
  if (waiting.empty() && !failed_)
    fail_locked(is_over ? fmt::format("rank {} has left, and rank {} waits for a message", from, to)
                        : fmt::format("no message from rank {} to rank {} within {} ms", from, to,
                                      limit_.count()));
  if (failed_) return failure();
  std::vector<std::byte> message = std::move(waiting.front());
  waiting.pop_front();
  return message;
}

}  // namespace soapstone::runtime

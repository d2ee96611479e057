// See meeting.h.
#include "runtime/collectives/meeting.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::runtime {
namespace {

std::vector<int> first_numbers(int size) {
  std::vector<int> numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

Meeting::Meeting(int size, std::chrono::milliseconds limit)
    : Meeting(first_numbers(size), limit, std::make_shared<Shared>()) {}

Meeting::Meeting(std::vector<int> names, std::chrono::milliseconds limit,
                 std::shared_ptr<Shared> shared)
    : names_(std::move(names)), limit_(limit), shared_(std::move(shared)), called_(names_.size()),
      has_left_(names_.size()), data_(names_.size()) {}

void Meeting::fail_locked(std::string reason) {
  if (!shared_->failed) shared_->failed = std::move(reason);
  shared_->changed.notify_all();
}

void Meeting::fail(const std::string& reason) {
  const std::lock_guard lock(shared_->mutex);
  fail_locked(reason);
}

void Meeting::leave(int rank) {
  const std::lock_guard lock(shared_->mutex);
  leave_locked(rank);
}

void Meeting::leave_locked(int rank) {
  has_left_[static_cast<std::size_t>(rank)] = true;
  if (here_ > 0) fail_locked(fmt::format("rank {} has left", name_of(rank)));
  for (auto& [ranks, meetings] : forming_) {
    const auto found = std::ranges::find(ranks, rank);
    if (found == ranks.end()) continue;
    const auto place = static_cast<std::size_t>(found - ranks.begin());
    for (const Forming& one : meetings)
      if (!one.has_joined[place]) one.meeting->leave_locked(static_cast<int>(place));
  }
  shared_->changed.notify_all();
}

core::Status Meeting::status() {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->failed) return failure();
  return core::Done{};
}

std::string Meeting::missing() const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < called_.size(); ++rank)
    if (!called_[rank]) ranks.push_back(names_[rank]);
  return fmt::format("{}", fmt::join(ranks, ", "));
}

core::Status Meeting::meet(int rank, const std::string& call) {
  std::unique_lock lock(shared_->mutex);
  const std::size_t mine = meetings_;
  if (shared_->failed) return failure();
  for (std::size_t other = 0; other < called_.size(); ++other) {
    if (has_left_[other]) fail_locked(fmt::format("rank {} has left", names_[other]));
    if (called_[other] && *called_[other] != call)
      fail_locked(fmt::format("rank {} calls {}, rank {} calls {}", names_[other], *called_[other],
                              name_of(rank), call));
  }
  if (shared_->failed) return failure();
  called_[static_cast<std::size_t>(rank)] = call;
  if (++here_ == called_.size()) {
    std::ranges::fill(called_, std::nullopt);
    here_ = 0;
    ++meetings_;
    shared_->changed.notify_all();
    return core::Done{};
  }
  const bool is_over =
      shared_->changed.wait_for(lock, limit_, [&] { return shared_->failed || meetings_ > mine; });
  if (meetings_ > mine) return core::Done{};
  if (!is_over)
    fail_locked(
        fmt::format("{}: no call of rank {} within {} ms", call, missing(), limit_.count()));
  return failure();
}

core::Result<std::vector<std::span<const std::byte>>>
Meeting::exchange(int rank, const std::string& call, std::span<const std::byte> mine) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->failed) return failure();  // Somebody may still read what was given before.
    data_[static_cast<std::size_t>(rank)].assign(mine.begin(), mine.end());
  }
  SOAPSTONE_RETURN_IF_ERROR(meet(rank, call));
  const std::lock_guard lock(shared_->mutex);
  return std::vector<std::span<const std::byte>>(data_.begin(), data_.end());
}

core::Status Meeting::send(int from, int to, std::span<const std::byte> message) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->failed) return failure();
  messages_[{from, to}].emplace_back(message.begin(), message.end());
  shared_->changed.notify_all();
  return core::Done{};
}

core::Result<std::vector<std::byte>> Meeting::receive(int from, int to) {
  std::unique_lock lock(shared_->mutex);
  auto& waiting = messages_[{from, to}];
  const auto can_end = [&] {
    return shared_->failed || !waiting.empty() || has_left_[static_cast<std::size_t>(from)];
  };
  const bool is_over = shared_->changed.wait_for(lock, limit_, can_end);
  if (waiting.empty() && !shared_->failed)
    fail_locked(is_over ? fmt::format("rank {} has left, and rank {} waits for a message",
                                      name_of(from), name_of(to))
                        : fmt::format("no message from rank {} to rank {} within {} ms",
                                      name_of(from), name_of(to), limit_.count()));
  if (shared_->failed) return failure();
  std::vector<std::byte> message = std::move(waiting.front());
  waiting.pop_front();
  return message;
}

std::shared_ptr<Meeting> Meeting::join(std::size_t place, std::span<const int> ranks) {
  auto& meetings = forming_[{ranks.begin(), ranks.end()}];
  auto found =
      std::ranges::find_if(meetings, [&](const Forming& one) { return !one.has_joined[place]; });
  if (found == meetings.end()) {
    std::vector<int> names;
    for (const int rank : ranks) names.push_back(name_of(rank));
    // The constructor is private, so make_shared cannot call it.
    std::shared_ptr<Meeting> meeting(new Meeting(std::move(names), limit_, shared_));
    for (std::size_t k = 0; k < ranks.size(); ++k)
      meeting->has_left_[k] = has_left_[static_cast<std::size_t>(ranks[k])];
    found = meetings.insert(meetings.end(), {std::move(meeting), std::vector<bool>(ranks.size())});
  }
  found->has_joined[place] = true;
  std::shared_ptr<Meeting> joined = found->meeting;
  if (std::ranges::find(found->has_joined, false) == found->has_joined.end()) meetings.erase(found);
  return joined;
}

core::Result<std::shared_ptr<Meeting>> Meeting::subset(int rank, std::span<const int> ranks) {
  const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard lock(shared_->mutex);
    meeting = join(place, ranks);
  }
  const std::string call = fmt::format("subset of ranks {}", fmt::join(meeting->names_, ", "));
  SOAPSTONE_RETURN_IF_ERROR(meeting->meet(static_cast<int>(place), call));
  return meeting;
}

}  // namespace soapstone::runtime

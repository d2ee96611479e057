// Where virtual ranks meet: each posts what it calls, and when all have come each may read what the
// others have. Some of the ranks may have a meeting of their own; all fail together.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace soapstone::runtime {

class Meeting {
 public:
  Meeting(int size, std::chrono::milliseconds limit);

  /// Waits until all ranks have called it, with equal texts. Errors: kUnavailable.
  core::Status meet(int rank, const std::string& call);
  /// The same, and then copies of the bytes of each rank, which stay until all have met again.
  core::Result<std::vector<std::span<const std::byte>>> exchange(int rank, const std::string& call,
                                                                 std::span<const std::byte> mine);

  /// Keeps a copy for the rank that receives it.
  core::Status send(int from, int to, std::span<const std::byte> message);
  /// Waits for the next message between the two. Errors: kUnavailable.
  core::Result<std::vector<std::byte>> receive(int from, int to);

  /// The meeting of some ranks, ascending, of which `rank` is one: the same one for the n-th call
  /// of each of them with these ranks. Waits for all of them. Errors: kUnavailable.
  core::Result<std::shared_ptr<Meeting>> subset(int rank, std::span<const int> ranks);

  void fail(const std::string& reason);
  /// The rank calls nothing more.
  void leave(int rank);
  core::Status status();
  /// How errors call a rank: by its number in the first meeting.
  int name_of(int rank) const { return names_[static_cast<std::size_t>(rank)]; }

 private:
  /// State that a meeting shares with those of its subsets.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<std::string> failed;
  };
  /// A subset that some have not joined yet.
  struct Forming {
    std::shared_ptr<Meeting> meeting;
    std::vector<bool> has_joined;
  };

  Meeting(std::vector<int> names, std::chrono::milliseconds limit, std::shared_ptr<Shared> shared);

  // With the lock held:
  core::Error failure() const { return core::unavailable(*shared_->failed); }
  void fail_locked(std::string reason);
  void leave_locked(int rank);
  std::string missing() const;
  std::shared_ptr<Meeting> join(std::size_t place, std::span<const int> ranks);

  const std::vector<int> names_;
  const std::chrono::milliseconds limit_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::optional<std::string>> called_;  // by rank: of the meeting that is going on
  std::size_t here_ = 0;
  std::size_t meetings_ = 0;  // that have ended
  std::vector<bool> has_left_;
  std::vector<std::vector<std::byte>> data_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages_;
  std::map<std::vector<int>, std::deque<Forming>> forming_;  // by their ranks
};

}  // namespace soapstone::runtime

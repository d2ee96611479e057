// Where virtual ranks meet: each posts what it calls, and when all have come each may read what the
// others have.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace soapstone::runtime {

class Meeting {
 public:
  Meeting(int size, std::chrono::milliseconds limit)
      : limit_(limit), called_(static_cast<std::size_t>(size)),
        has_left_(static_cast<std::size_t>(size)), data_(static_cast<std::size_t>(size)) {}

  /// Waits until all ranks have called it, with equal texts. Errors: kUnavailable.
  core::Status meet(int rank, const std::string& call);
  /// The same, and then copies of the bytes of each rank, which stay until all have met again.
  core::Result<std::vector<std::span<const std::byte>>> exchange(int rank, const std::string& call,
                                                                 std::span<const std::byte> mine);

  /// Keeps a copy for the rank that receives it.
  core::Status send(int from, int to, std::span<const std::byte> message);
  /// Waits for the next message between the two. Errors: kUnavailable.
  core::Result<std::vector<std::byte>> receive(int from, int to);

  void fail(const std::string& reason);
  /// The rank calls nothing more.
  void leave(int rank);
  core::Status status();

 private:
  core::Error failure() const { return core::unavailable(*failed_); }
  void fail_locked(std::string reason);
  std::string missing() const;

  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> failed_;
  std::vector<std::optional<std::string>> called_;  // by rank: of the meeting that is going on
  std::size_t here_ = 0;
  std::size_t meetings_ = 0;  // that have ended
  std::vector<bool> has_left_;
  std::vector<std::vector<std::byte>> data_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages_;
};

}  // namespace soapstone::runtime

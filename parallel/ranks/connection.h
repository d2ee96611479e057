// Waiting for messages: how, for how long, and what is said when they do not come. All subsets of a
// rank share one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/ranks/messenger.h"

namespace soapstone::parallel {

enum class Waiting : std::uint8_t {
  kSpin,   ///< Asks without a pause: as soon as possible, on a core of its own.
  kSleep,  ///< Sleeps up to a millisecond between, and leaves its core to others.
};

struct WaitOptions {
  Waiting waiting = Waiting::kSpin;
  std::optional<std::chrono::milliseconds> time_limit;  ///< For each message; none: for ever.
};

/// The thing that a rank waits for, written out only if it fails.
class CallName {
 public:
  virtual ~CallName() = default;
  /// `ranks`: those that have not come.
  virtual std::string missing(const std::string& ranks) const = 0;
};

class Connection {
 public:
  Connection(std::unique_ptr<Messenger> messenger, WaitOptions options)
      : messenger_(std::move(messenger)), options_(options) {}

  Messenger& messenger() { return *messenger_; }
  /// Errors: the first failure, after which nothing is sent.
  core::Status status() const;
  /// The first failure, which may be this one.
  core::Error fail(core::Error error);
  /// Fails if `started` has.
  core::Status checked(core::Status started);

  /// Waits until all are done, and forgets them. Errors: kUnavailable, also after the time limit.
  core::Status finish(std::vector<StartedMessage>& messages, const CallName& name);

  /// Numbers for subsets: those of any rank ascend in the order in which they are taken.
  int next_number() const { return next_number_; }
  void take_number(int number) { next_number_ = number + 1; }

 private:
  core::Status finish_one(StartedMessage& message, std::vector<StartedMessage>& all,
                          const CallName& name);
  core::Error too_late(int peer, std::vector<StartedMessage>& messages, const CallName& name);

  std::unique_ptr<Messenger> messenger_;
  WaitOptions options_;
  std::optional<core::Error> failed_;
  int next_number_ = 1;  // 0 is that of all ranks.
};

}  // namespace soapstone::parallel

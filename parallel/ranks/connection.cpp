// See connection.h.
#include "parallel/ranks/connection.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::parallel {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two questions whether a message is done.
class Pause {
 public:
  explicit Pause(Waiting waiting) : waiting_(waiting) {}

  /// Whether it is time to look at the clock.
  bool pass() {
    using namespace std::chrono_literals;
    constexpr auto kLongest = 1000us;
    constexpr int kSpins = 1000, kLongWait = 20 * kSpins;  // Some 50 µs, and a millisecond.
    if (waiting_ == Waiting::kSpin) {
      if (++spins_ % kSpins != 0) return false;
      if (spins_ < kLongWait) return true;
      std::this_thread::yield();  // There may be more ranks than cores.
      spins_ = kLongWait;
      return true;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min<std::chrono::microseconds>(2 * sleep_, kLongest);
    return true;
  }

 private:
  Waiting waiting_;
  int spins_ = 0;
  std::chrono::microseconds sleep_{10};
};

}  // namespace

core::Status Connection::status() const {
  if (failed_) return *failed_;
  return core::Done{};
}

core::Error Connection::fail(core::Error error) {
  if (!failed_) failed_ = std::move(error);
  messenger_->give_up();
  return *failed_;
}

core::Status Connection::checked(core::Status started) {
  if (started) return started;
  return fail(started.error());
}

core::Status Connection::finish(std::vector<StartedMessage>& messages, const CallName& name) {
  SOAPSTONE_RETURN_IF_ERROR(status());
  for (StartedMessage& message : messages)
    SOAPSTONE_RETURN_IF_ERROR(finish_one(message, messages, name));
  messages.clear();
  return core::Done{};
}

core::Status Connection::finish_one(StartedMessage& message, std::vector<StartedMessage>& all,
                                    const CallName& name) {
  Pause pause(options_.waiting);
  std::optional<Clock::time_point> until;
  for (;;) {
    const auto is_done = messenger_->test(message);
    if (!is_done) return fail(is_done.error());
    if (*is_done) return core::Done{};
    if (!pause.pass() || !options_.time_limit) continue;
    const auto now = Clock::now();
    if (!until) until = now + *options_.time_limit;
    if (now >= *until) return fail(too_late(message.peer, all, name));
  }
}

core::Error Connection::too_late(int peer, std::vector<StartedMessage>& messages,
                                 const CallName& name) {
  std::set<int> missing{peer};
  for (StartedMessage& message : messages) {
    const auto is_done = messenger_->test(message);
    if (is_done && !*is_done) missing.insert(message.peer);
  }
  return core::unavailable(fmt::format("{} within {} ms",
                                       name.missing(fmt::format("{}", fmt::join(missing, ", "))),
                                       options_.time_limit->count()));
}

}  // namespace soapstone::parallel

// Runs the programs of all ranks in one thread: each goes on until it waits, then the next one
// does.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "parallel/lowering/rank_program.h"

namespace soapstone::parallel {

/// Takes a step of a rank. `is_first`: it has not been tried before. False: the rank has to wait,
/// and the step is tried again.
using TakeStep =
    std::function<core::Result<bool>(std::size_t rank, const RankStep& step, bool is_first)>;

/// Errors: those of `take`; kInternal says which rank waits for ever.
core::Status run_in_turns(const std::vector<RankProgram>& programs, const TakeStep& take);

/// Messages on their way between ranks, in order.
template <class T>
class Mail {
 public:
  void post(std::int64_t from, std::int64_t to, T message) {
    mail_[{from, to}].push_back(std::move(message));
  }
  /// Whether all that the step receives has been posted.
  bool has_all(const MessageStep& step, std::int64_t to) {
    std::map<std::int64_t, std::size_t> wanted;
    for (const Message& message : step.received)
      if (mail_[{message.peer, to}].size() < ++wanted[message.peer]) return false;
    return true;
  }
  /// Precondition: there is a message.
  T take(std::int64_t from, std::int64_t to) {
    std::deque<T>& mail = mail_[{from, to}];
    T message = std::move(mail.front());
    mail.pop_front();
    return message;
  }
  bool is_empty() const {
    for (const auto& [ranks, mail] : mail_)
      if (!mail.empty()) return false;
    return true;
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<T>> mail_;  ///< By sender, receiver.
};

}  // namespace soapstone::parallel

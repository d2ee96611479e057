// The ranks run without values: each goes on until it waits, then the next one does.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "parallel/lowering/plan_check.h"

namespace soapstone::parallel {
namespace {

core::Error fault(std::string message) {
  return core::Error{core::ErrorCode::kInternal, std::move(message), {}, {}};
}

class WaitingRanks {
 public:
  explicit WaitingRanks(const std::vector<RankProgram>& programs)
      : programs_(programs), next_(programs.size(), 0), has_sent_(programs.size(), false) {}

  core::Status run() {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t r = 0; r < programs_.size(); ++r)
        for (;;) {
          SOAPSTONE_ASSIGN_OR_RETURN(const bool moves, advance(r));
          if (!moves) break;
          has_moved = true;
        }
    }
    for (std::size_t r = 0; r < programs_.size(); ++r)
      if (next_[r] < programs_[r].steps.size())
        return fault(fmt::format("rank {} waits for ever in step {}", r, next_[r]));
    for (const auto& [ranks, mail] : mail_)
      if (!mail.empty())
        return fault(
            fmt::format("rank {} sends what rank {} does not take", ranks.first, ranks.second));
    return core::Done{};
  }

 private:
  core::Result<bool> advance(std::size_t r) {
    if (next_[r] == programs_[r].steps.size()) return false;
    const RankStep& step = programs_[r].steps[next_[r]];
    bool is_done = true;
    if (const auto* messages = std::get_if<MessageStep>(&step)) {
      SOAPSTONE_ASSIGN_OR_RETURN(is_done, exchange(*messages, r));
    } else if (const auto* reduction = std::get_if<AllReduceStep>(&step)) {
      SOAPSTONE_ASSIGN_OR_RETURN(is_done, reduce(*reduction, r));
    }
    if (!is_done) return false;
    ++next_[r];
    has_sent_[r] = false;
    return true;
  }

  core::Result<bool> exchange(const MessageStep& step, std::size_t r) {
    const auto own = static_cast<std::int64_t>(r);
    if (!has_sent_[r])
      for (const Message& message : step.sent) mail_[{own, message.peer}].push_back(&message);
    has_sent_[r] = true;
    std::map<std::int64_t, std::size_t> wanted;
    for (const Message& message : step.received) ++wanted[message.peer];
    for (const auto& [peer, count] : wanted)
      if (mail_[{peer, own}].size() < count) return false;
    for (const Message& message : step.received) {
      std::deque<const Message*>& mail = mail_[{message.peer, own}];
      const Message& sent = *mail.front();
      mail.pop_front();
      const auto sender = static_cast<std::size_t>(message.peer);
      if (sent.number != message.number || programs_[sender].values[sent.value.index()] !=
                                               programs_[r].values[message.value.index()])
        return fault(fmt::format("rank {} waits for message {} of rank {} and gets message {}", r,
                                 message.number, message.peer, sent.number));
    }
    return true;
  }

  core::Result<bool> reduce(const AllReduceStep& step, std::size_t r) {
    Meeting& meeting = meetings_[{step.number, step.group}];
    const core::TensorType& type = programs_[r].values[step.from.index()];
    if (meeting.here.empty()) meeting.type = type;
    if (type != meeting.type)
      return fault(fmt::format("rank {} comes to sum {} with other elements than rank {}", r,
                               step.number, *meeting.here.begin()));
    meeting.here.insert(static_cast<std::int64_t>(r));
    return meeting.here.size() == step.group.size();
  }

  struct Meeting {
    std::set<std::int64_t> here;
    core::TensorType type;
  };

  const std::vector<RankProgram>& programs_;
  std::vector<std::size_t> next_;  ///< By rank.
  std::vector<bool> has_sent_;     ///< By rank: the messages of its step are on their way.
  std::map<std::pair<std::int64_t, std::int64_t>, std::deque<const Message*>> mail_;
  /// By number and group.
  std::map<std::pair<std::size_t, std::vector<std::int64_t>>, Meeting> meetings_;
};

}  // namespace

core::Status check_exchanges(const std::vector<RankProgram>& programs) {
  return WaitingRanks(programs).run();
}

}  // namespace soapstone::parallel

// The ranks run without values.
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "parallel/lowering/plan_check.h"
#include "parallel/lowering/rank_turns.h"

namespace soapstone::parallel {
namespace {

core::Error fault(std::string message) {
  return core::Error{core::ErrorCode::kInternal, std::move(message), {}, {}};
}

/// Ranks without values.
class WaitingRanks {
 public:
  explicit WaitingRanks(const std::vector<RankProgram>& programs) : programs_(programs) {}

  core::Status run() {
    SOAPSTONE_RETURN_IF_ERROR(
        run_in_turns(programs_, [&](std::size_t rank, const RankStep& step, bool is_first) {
          return take(rank, step, is_first);
        }));
    if (mail_.is_empty()) return core::Done{};
    return fault("a rank sends what no other one takes");
  }

 private:
  core::Result<bool> take(std::size_t rank, const RankStep& step, bool is_first) {
    if (const auto* messages = std::get_if<MessageStep>(&step))
      return exchange(*messages, rank, is_first);
    if (const auto* reduction = std::get_if<AllReduceStep>(&step)) return reduce(*reduction, rank);
    return true;
  }

  core::Result<bool> exchange(const MessageStep& step, std::size_t r, bool is_first) {
    const auto own = static_cast<std::int64_t>(r);
    if (is_first)
      for (const Message& message : step.sent) mail_.post(own, message.peer, &message);
    if (!mail_.has_all(step, own)) return false;
    for (const Message& message : step.received) {
      const Message& sent = *mail_.take(message.peer, own);
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
  Mail<const Message*> mail_;
  std::map<std::pair<std::size_t, std::vector<std::int64_t>>, Meeting>
      meetings_;  ///< By number and group.
};

}  // namespace

core::Status check_exchanges(const std::vector<RankProgram>& programs) {
  return WaitingRanks(programs).run();
}

}  // namespace soapstone::parallel

#include "parallel/lowering/message_order.h"

#include <map>
#include <utility>

namespace soapstone::parallel {
namespace {

class ReceivedOrder {
 public:
  explicit ReceivedOrder(std::vector<RankProgram>& programs) : programs_(programs) {
    for (std::size_t r = 0; r < programs.size(); ++r)
      for (const RankStep& step : programs[r].steps)
        if (const auto* messages = std::get_if<MessageStep>(&step))
          for (const Message& message : messages->sent)
            sent_[{static_cast<std::int64_t>(r), message.peer}].push_back(message.number);
  }

  void run() {
    for (std::size_t r = 0; r < programs_.size(); ++r) sort(programs_[r], r);
  }

 private:
  void sort(RankProgram& program, std::size_t rank) {
    std::map<std::size_t, Message> wanted;  // by number
    for (const RankStep& step : program.steps)
      if (const auto* messages = std::get_if<MessageStep>(&step))
        for (const Message& message : messages->received) wanted.emplace(message.number, message);
    std::map<std::int64_t, std::size_t> taken;  // by peer: so many of what it sends
    for (RankStep& step : program.steps) {
      auto* messages = std::get_if<MessageStep>(&step);
      if (!messages) continue;
      std::vector<Message> received;
      for (const Message& message : messages->received) {
        const auto& sent = sent_.at({message.peer, static_cast<std::int64_t>(rank)});
        while (wanted.contains(message.number)) {
          const std::size_t next = sent[taken[message.peer]++];
          received.push_back(wanted.at(next));
          wanted.erase(next);
        }
      }
      messages->received = std::move(received);
    }
    std::erase_if(program.steps, [](const RankStep& step) {
      const auto* messages = std::get_if<MessageStep>(&step);
      return messages && messages->sent.empty() && messages->received.empty();
    });
  }

  std::vector<RankProgram>& programs_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> sent_;
};

}  // namespace

void receive_in_order(std::vector<RankProgram>& programs) { ReceivedOrder(programs).run(); }

}  // namespace soapstone::parallel

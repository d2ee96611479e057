// See run_figures.h. In an exchange a rank waits until all have come that it needs something of:
// those that send to it, or the other ranks of a reduction.
#include "parallel/running/run_figures.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace soapstone::parallel {
namespace {

ExchangeKind kind_of(JoinedValues joined) {
  switch (joined) {
  case JoinedValues::kSum:
    return ExchangeKind::kSum;
  case JoinedValues::kMax:
    return ExchangeKind::kMax;
  case JoinedValues::kMin:
    return ExchangeKind::kMin;
  }
  return ExchangeKind::kSum;
}

class FigureMaker {
 public:
  FigureMaker(const std::vector<std::string>& names, const std::vector<RankProgram>& programs,
              const std::vector<std::vector<RankStepTime>>& times)
      : names_(names), programs_(programs), times_(times) {}

  RunFigures make() {
    for (std::size_t r = 0; r < programs_.size(); ++r) note_arrivals(r);
    for (const std::vector<RankStepTime>& times : times_)
      if (!times.empty()) figures_.step_us = std::max(figures_.step_us, times.back().end_us);
    for (std::size_t r = 0; r < programs_.size(); ++r) tell_rank(r);
    return std::move(figures_);
  }

 private:
  const std::string& name_of(core::TensorId id) const { return names_[id.index()]; }

  /// When messages are sent, and when the last rank comes to a reduction.
  void note_arrivals(std::size_t rank) {
    for (std::size_t k = 0; k < programs_[rank].steps.size(); ++k) {
      const RankStep& step = programs_[rank].steps[k];
      const double start_us = times_[rank][k].start_us;
      if (const auto* messages = std::get_if<MessageStep>(&step)) {
        for (const Message& message : messages->sent) sent_us_[message.number] = start_us;
      } else if (const auto* reduction = std::get_if<AllReduceStep>(&step)) {
        double& last_us = last_us_[key_of(*reduction)];
        last_us = std::max(last_us, start_us);
      }
    }
  }

  /// Until when the rank waits in a step; 0: it does not.
  double awaited_us(const RankStep& step) const {
    double until_us = 0;
    if (const auto* messages = std::get_if<MessageStep>(&step)) {
      for (const Message& message : messages->received)
        until_us = std::max(until_us, sent_us_.at(message.number));
    } else if (const auto* reduction = std::get_if<AllReduceStep>(&step)) {
      until_us = last_us_.at(key_of(*reduction));
    }
    return until_us;
  }

  void tell_rank(std::size_t rank) {
    const RankProgram& program = programs_[rank];
    RankFigures own;
    MeasuredLane lane{fmt::format("rank {}", rank), 0, {}};
    double end_us = 0;
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      const RankStepTime& time = times_[rank][k];
      const double us = time.end_us - time.start_us;
      end_us = time.end_us;
      if (std::holds_alternative<ComputeStep>(program.steps[k])) {
        own.compute_us += us;
        lane.parts.push_back({compute_name(program, k), false, time.start_us, time.end_us, 0, 0});
        continue;
      }
      const double wait_us = std::clamp(awaited_us(program.steps[k]) - time.start_us, 0.0, us);
      own.wait_us += wait_us;
      own.exchange_us += us - wait_us;
      const double bytes = add_exchange(program, program.steps[k], us - wait_us);
      lane.parts.push_back(
          {exchange_name(program.steps[k]), true, time.start_us, time.end_us, wait_us, bytes});
    }
    own.wait_us += figures_.step_us - end_us;
    own.idle_share = figures_.step_us > 0 ? own.wait_us / figures_.step_us : 0;
    lane.idle_share = own.idle_share;
    figures_.ranks.push_back(own);
    figures_.lanes.push_back(std::move(lane));
  }

  /// Adds a step to the figures of its tensors, among which its time is divided by bytes. Returns
  /// what the rank sends, or gives to be joined.
  double add_exchange(const RankProgram& program, const RankStep& step, double us) {
    if (const auto* reduction = std::get_if<AllReduceStep>(&step)) {
      ExchangeFigures& all = figures_of_tensor(kind_of(reduction->joined), reduction->tensor);
      const double bytes = bytes_of(program, reduction->from);
      if (counted_.insert(reduction->number).second) ++all.count;
      all.bytes += bytes;
      all.us += us;
      return bytes;
    }
    const auto& messages = std::get<MessageStep>(step);
    double moved = 0, sent = 0;
    for (const auto* const list : {&messages.sent, &messages.received})
      for (const Message& message : *list) moved += bytes_of(program, message.value);
    for (const auto* const list : {&messages.sent, &messages.received})
      for (const Message& message : *list) {
        ExchangeFigures& all = figures_of_tensor(ExchangeKind::kMessages, message.tensor);
        const double bytes = bytes_of(program, message.value);
        if (moved > 0) all.us += us * bytes / moved;
        if (list != &messages.sent) continue;
        ++all.count;
        all.bytes += bytes;
        sent += bytes;
      }
    return sent;
  }

  ExchangeFigures& figures_of_tensor(ExchangeKind kind, core::TensorId tensor) {
    const auto [at, is_new] =
        places_.try_emplace(std::pair(kind, tensor), figures_.exchanges.size());
    if (is_new) figures_.exchanges.push_back({kind, name_of(tensor), 0, 0, 0});
    return figures_.exchanges[at->second];
  }

  std::string exchange_name(const RankStep& step) const {
    if (const auto* reduction = std::get_if<AllReduceStep>(&step))
      return fmt::format("{} of {}", to_string(kind_of(reduction->joined)),
                         name_of(reduction->tensor));
    const auto& messages = std::get<MessageStep>(step);
    const std::size_t count = messages.sent.size() + messages.received.size();
    const Message& first =
        messages.sent.empty() ? messages.received.front() : messages.sent.front();
    return fmt::format("{} of {}{}", to_string(ExchangeKind::kMessages), name_of(first.tensor),
                       count > 1 ? fmt::format(", {} in all", count) : "");
  }

  /// Graphs are named by what is exchanged behind them.
  std::string compute_name(const RankProgram& program, std::size_t step) const {
    const auto& compute = std::get<ComputeStep>(program.steps[step]);
    const std::size_t operators = compute.graph.order().size();
    std::size_t next = step + 1;
    while (next < program.steps.size() && std::holds_alternative<ComputeStep>(program.steps[next]))
      ++next;
    if (next == program.steps.size()) return fmt::format("{} operators until the end", operators);
    return fmt::format("{} operators until {}", operators, exchange_name(program.steps[next]));
  }

  const std::vector<std::string>& names_;
  const std::vector<RankProgram>& programs_;
  const std::vector<std::vector<RankStepTime>>& times_;
  std::map<std::size_t, double> sent_us_;  ///< By number of a message.
  std::map<ReductionKey, double> last_us_;
  std::set<std::size_t> counted_;  ///< By number of a reduction.
  std::map<std::pair<ExchangeKind, core::TensorId>, std::size_t> places_;
  RunFigures figures_;
};

}  // namespace

std::string_view to_string(ExchangeKind kind) {
  switch (kind) {
  case ExchangeKind::kMessages:
    return "messages";
  case ExchangeKind::kSum:
    return "all-reduce (sum)";
  case ExchangeKind::kMax:
    return "all-reduce (max)";
  case ExchangeKind::kMin:
    return "all-reduce (min)";
  }
  return "";
}

std::vector<std::string> tensor_names(const core::Graph& graph) {
  std::vector<std::string> names(graph.tensor_bound());
  for (std::size_t t = 0; t < names.size(); ++t) {
    const core::TensorId id(t);
    if (!graph.contains(id)) continue;
    const core::Tensor& tensor = graph.tensor(id);
    names[t] = tensor.name;
    if (names[t].empty() && tensor.producer.valid()) names[t] = graph.node(tensor.producer).name;
    if (names[t].empty())
      names[t] = fmt::format(
          "{}#{}", tensor.producer.valid() ? graph.node(tensor.producer).op->name : "tensor", t);
  }
  return names;
}

RunFigures figures_of(const std::vector<std::string>& names,
                      const std::vector<RankProgram>& programs,
                      const std::vector<std::vector<RankStepTime>>& times) {
  return FigureMaker(names, programs, times).make();
}

}  // namespace soapstone::parallel

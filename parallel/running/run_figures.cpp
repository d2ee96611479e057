// See run_figures.h. A rank waits in an exchange for as long as it takes longer than that of the
// rank for which it is shortest, which came last. So clocks of ranks need not agree.
#include "parallel/running/run_figures.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace soapstone::parallel {
namespace {

double bytes_of(const core::TensorType& type) {
  return static_cast<double>(core::element_count(*core::concrete(type.shape)) *
                             static_cast<std::int64_t>(core::size_bytes(type.data_type)));
}

/// One exchange as one rank sees it.
struct ExchangeOfRank {
  std::size_t number = 0;
  ExchangeKind kind = ExchangeKind::kMessages;
  core::TensorId tensor;
  double bytes = 0;
};

std::optional<ExchangeOfRank> exchange_of(const RankProgram& program, const RankStep& step) {
  if (const auto* messages = std::get_if<MessageStep>(&step)) {
    ExchangeOfRank exchange{messages->number, ExchangeKind::kMessages, messages->tensor, 0};
    for (const Message& message : messages->sent)
      exchange.bytes += bytes_of(program.values[message.value.index()]);
    return exchange;
  }
  const auto* reduction = std::get_if<AllReduceStep>(&step);
  if (!reduction) return std::nullopt;
  const ExchangeKind kind = reduction->joined == JoinedValues::kSum   ? ExchangeKind::kSum
                            : reduction->joined == JoinedValues::kMax ? ExchangeKind::kMax
                                                                      : ExchangeKind::kMin;
  return ExchangeOfRank{reduction->number, kind, reduction->tensor,
                        bytes_of(program.values[reduction->from.index()])};
}

class FigureMaker {
 public:
  FigureMaker(const std::vector<std::string>& names, const std::vector<RankProgram>& programs,
              const std::vector<std::vector<RankStepTime>>& times)
      : names_(names), programs_(programs), times_(times) {}

  RunFigures make() {
    for (std::size_t r = 0; r < programs_.size(); ++r) note_exchanges(r);
    for (const std::vector<RankStepTime>& times : times_)
      if (!times.empty()) figures_.step_us = std::max(figures_.step_us, times.back().end_us);
    for (std::size_t r = 0; r < programs_.size(); ++r) tell_rank(r);
    for (auto& [number, exchange] : exchanges_) figures_.exchanges.push_back(exchange);
    return std::move(figures_);
  }

 private:
  const std::string& name_of(core::TensorId id) const { return names_[id.index()]; }

  void note_exchanges(std::size_t rank) {
    for (std::size_t k = 0; k < programs_[rank].steps.size(); ++k) {
      const auto exchange = exchange_of(programs_[rank], programs_[rank].steps[k]);
      if (!exchange) continue;
      const double us = times_[rank][k].end_us - times_[rank][k].start_us;
      const auto [at, is_new] = exchanges_.try_emplace(
          exchange->number, ExchangeFigures{exchange->kind, name_of(exchange->tensor), 0, 0, us});
      ExchangeFigures& all = at->second;
      ++all.ranks;
      all.bytes += exchange->bytes;
      all.us = std::min(all.us, us);
    }
  }

  void tell_rank(std::size_t rank) {
    RankFigures own;
    MeasuredLane lane{fmt::format("rank {}", rank), 0, {}};
    double end_us = 0;
    for (std::size_t k = 0; k < programs_[rank].steps.size(); ++k) {
      const RankStepTime& time = times_[rank][k];
      const double us = time.end_us - time.start_us;
      end_us = time.end_us;
      if (const auto exchange = exchange_of(programs_[rank], programs_[rank].steps[k])) {
        const double alone_us = exchanges_.at(exchange->number).us;
        own.exchange_us += alone_us;
        own.wait_us += us - alone_us;
        lane.parts.push_back(
            {fmt::format("{} of {}", to_string(exchange->kind), name_of(exchange->tensor)), true,
             time.start_us, time.end_us, us - alone_us, exchange->bytes});
      } else {
        own.compute_us += us;
        lane.parts.push_back(
            {compute_name(programs_[rank], k), false, time.start_us, time.end_us, 0, 0});
      }
    }
    own.wait_us += figures_.step_us - end_us;
    own.idle_share = figures_.step_us > 0 ? own.wait_us / figures_.step_us : 0;
    lane.idle_share = own.idle_share;
    figures_.ranks.push_back(own);
    figures_.lanes.push_back(std::move(lane));
  }

  /// Graphs are named by what is exchanged behind them.
  std::string compute_name(const RankProgram& program, std::size_t step) const {
    const auto& compute = std::get<ComputeStep>(program.steps[step]);
    std::string until = "the end";
    if (step + 1 < program.steps.size())
      if (const auto next = exchange_of(program, program.steps[step + 1]))
        until = name_of(next->tensor);
    return fmt::format("{} operators until {}", compute.graph.order().size(), until);
  }

  const std::vector<std::string>& names_;
  const std::vector<RankProgram>& programs_;
  const std::vector<std::vector<RankStepTime>>& times_;
  std::map<std::size_t, ExchangeFigures> exchanges_;  ///< By number.
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
    if (names[t].empty()) names[t] = fmt::format("tensor#{}", t);
  }
  return names;
}

RunFigures figures_of(const std::vector<std::string>& names,
                      const std::vector<RankProgram>& programs,
                      const std::vector<std::vector<RankStepTime>>& times) {
  return FigureMaker(names, programs, times).make();
}

}  // namespace soapstone::parallel

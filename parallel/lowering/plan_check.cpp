#include "parallel/lowering/plan_check.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/valid_values.h"
#include "ops/evaluation/field.h"
#include "parallel/lowering/rank_turns.h"

namespace soapstone::parallel {
namespace {

using Elements = std::vector<ops::Field::Value>;
/// All random functions of a check are the same ones.
constexpr std::uint64_t kFunctionKey = 1;

/// Calls `body` with the position among all elements of the tensor, in the order of the piece.
template <class Body>
void for_each_element(const core::Dims& dims, const TensorPiece& piece, const Body& body,
                      std::size_t dim = 0, std::int64_t before = 0) {
  if (dim == dims.size()) return body(before);
  for (const ops::Interval& interval : piece.dims[dim])
    for (std::int64_t i = interval.low; i < interval.high; ++i)
      for_each_element(dims, piece, body, dim + 1, before * dims[dim] + i);
}

core::Dims index_of(std::int64_t position, const core::Dims& dims) {
  core::Dims index(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    index[d] = position % dims[d];
    position /= dims[d];
  }
  return index;
}

ops::Field::Value joined(JoinedValues how, ops::Field::Value a, ops::Field::Value b) {
  if (how == JoinedValues::kSum) return ops::field::add(a, b);
  const bool is_less = ops::field::to_signed(a) < ops::field::to_signed(b);
  return is_less == (how == JoinedValues::kMin) ? a : b;
}

/// The ranks of one run.
class FieldRanks {
 public:
  FieldRanks(const std::vector<RankProgram>& programs,
             const std::map<core::TensorId, Elements>& given, const core::Graph& graph)
      : programs_(programs), ranks_(programs.size()) {
    for (std::size_t r = 0; r < programs.size(); ++r) {
      ranks_[r].values.resize(programs[r].values.size());
      for (const HeldPiece& input : programs[r].inputs) {
        const core::Dims dims = *core::concrete(graph.tensor(input.tensor).type.shape);
        const Elements& whole = given.at(input.tensor);
        Elements& piece = ranks_[r].values[input.value.index()];
        for_each_element(dims, input.piece, [&](std::int64_t at) {
          piece.push_back(whole[static_cast<std::size_t>(at)]);
        });
      }
    }
  }

  core::Status run() {
    return run_in_turns(programs_, [&](std::size_t rank, const RankStep& step, bool is_first) {
      return take(rank, step, is_first);
    });
  }

  const Elements& value(std::size_t rank, RankValueId id) const {
    return ranks_[rank].values[id.index()];
  }

 private:
  struct Rank {
    std::vector<Elements> values;
  };

  core::Result<bool> take(std::size_t r, const RankStep& step, bool is_first) {
    const auto rank = static_cast<std::int64_t>(r);
    if (const auto* messages = std::get_if<MessageStep>(&step))
      return exchange(*messages, rank, is_first);
    if (const auto* reduction = std::get_if<AllReduceStep>(&step))
      return reduce(*reduction, rank, is_first);
    SOAPSTONE_RETURN_IF_ERROR(compute(std::get<ComputeStep>(step), ranks_[r]));
    return true;
  }

  core::Status compute(const ComputeStep& step, Rank& rank) const {
    std::vector<Elements> inputs;
    for (const RankValueId input : step.inputs) inputs.push_back(rank.values[input.index()]);
    SOAPSTONE_ASSIGN_OR_RETURN(
        std::vector<Elements> outputs,
        ops::evaluate_graph<ops::Field::Value>(step.graph, inputs, kFunctionKey));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      rank.values[step.outputs[k].index()] = std::move(outputs[k]);
    return core::Done{};
  }

  bool exchange(const MessageStep& step, std::int64_t r, bool is_first) {
    std::vector<Elements>& values = ranks_[static_cast<std::size_t>(r)].values;
    if (is_first)
      for (const Message& message : step.sent)
        mail_.post(r, message.peer, values[message.value.index()]);
    if (!mail_.has_all(step, r)) return false;
    for (const Message& message : step.received)
      values[message.value.index()] = mail_.take(message.peer, r);
    return true;
  }

  bool reduce(const AllReduceStep& step, std::int64_t r, bool is_first) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    auto& posted = posted_[step.number];
    if (is_first) posted[r] = rank.values[step.from.index()];
    for (const std::int64_t other : step.group)
      if (!posted.contains(other)) return false;
    Elements all = posted.at(step.group.front());
    for (std::size_t g = 1; g < step.group.size(); ++g) {
      const Elements& more = posted.at(step.group[g]);
      for (std::size_t k = 0; k < all.size(); ++k) all[k] = joined(step.joined, all[k], more[k]);
    }
    rank.values[step.to.index()] = std::move(all);
    return true;
  }

  const std::vector<RankProgram>& programs_;
  std::vector<Rank> ranks_;
  Mail<Elements> mail_;
  std::map<std::size_t, std::map<std::int64_t, Elements>> posted_;  ///< By number and rank.
};

/// The model in the field.
class FieldModel {
 public:
  FieldModel(const core::Graph& graph, std::uint64_t seed) : graph_(graph), random_(seed) {}

  /// Draws elements for the inputs, and computes the results and the constants that ranks hold.
  core::Status run(const std::vector<RankProgram>& programs) {
    std::vector<Elements> inputs;
    const auto valid = ops::valid_values(graph_);
    for (const core::TensorId id : graph_.inputs()) {
      inputs.push_back(drawn(graph_.tensor(id).type, valid[id.index()]));
      values_[id] = inputs.back();
    }
    std::vector<core::TensorId> wanted(graph_.outputs().begin(), graph_.outputs().end());
    for (const RankProgram& program : programs)
      for (const HeldPiece& held : program.inputs)
        if (!values_.contains(held.tensor) &&
            std::ranges::find(wanted, held.tensor) == wanted.end())
          wanted.push_back(held.tensor);
    core::GraphBuilder builder(graph_);
    builder.set_outputs(wanted);
    SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph whole, std::move(builder).finish());
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<Elements> outputs,
                               ops::evaluate_graph<ops::Field::Value>(whole, inputs, kFunctionKey));
    for (std::size_t k = 0; k < wanted.size(); ++k) values_[wanted[k]] = std::move(outputs[k]);
    return core::Done{};
  }

  const std::map<core::TensorId, Elements>& values() const { return values_; }

 private:
  Elements drawn(const core::TensorType& type, const std::optional<ops::ValueRange>& valid) {
    Elements elements(static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))));
    const bool is_any = core::is_floating(type.data_type);
    constexpr ops::ValueRange kSmall{-3, 4}, kFlags{0, 2};
    const ops::ValueRange range = valid && valid->low < valid->high         ? *valid
                                  : type.data_type == core::DataType::kBool ? kFlags
                                                                            : kSmall;
    const auto values = static_cast<std::uint64_t>(range.high - range.low);
    for (ops::Field::Value& element : elements)
      element =
          is_any ? random_() % ops::Field::kPrime
                 : ops::field::from_int(range.low + static_cast<std::int64_t>(random_() % values));
    return elements;
  }

  const core::Graph& graph_;
  std::mt19937_64 random_;
  std::map<core::TensorId, Elements> values_;
};

}  // namespace

core::Result<std::optional<PlanDifference>> check_programs(const core::Graph& graph,
                                                           const std::vector<RankProgram>& programs,
                                                           std::uint64_t seed) {
  FieldModel model(graph, seed);
  SOAPSTONE_RETURN_IF_ERROR(model.run(programs));
  FieldRanks ranks(programs, model.values(), graph);
  SOAPSTONE_RETURN_IF_ERROR(ranks.run());
  for (const core::TensorId output : graph.outputs()) {
    const core::Dims dims = *core::concrete(graph.tensor(output).type.shape);
    const Elements& whole = model.values().at(output);
    std::vector<bool> is_there(whole.size());
    std::optional<PlanDifference> difference;
    for (std::size_t r = 0; r < programs.size(); ++r)
      for (const HeldPiece& held : programs[r].outputs) {
        if (held.tensor != output) continue;
        const Elements& piece = ranks.value(r, held.value);
        std::size_t at = 0;
        for_each_element(dims, held.piece, [&](std::int64_t position) {
          const auto place = static_cast<std::size_t>(position);
          is_there[place] = true;
          const bool is_same = at < piece.size() && piece[at] == whole[place];
          if (!is_same && !difference)
            difference = {static_cast<std::int64_t>(r), output, index_of(position, dims)};
          ++at;
        });
      }
    if (difference) return difference;
    const auto missing = std::ranges::find(is_there, false);
    if (missing != is_there.end())
      return std::optional(PlanDifference{-1, output, index_of(missing - is_there.begin(), dims)});
  }
  return std::optional<PlanDifference>();
}

}  // namespace soapstone::parallel

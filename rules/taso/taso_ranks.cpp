// See taso_ranks.h. Tensors that must have one rank are in one class; a class has a rank or none.
#include "rules/taso/taso_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace soapstone::rules::taso {
namespace {

constexpr std::size_t kImageRank = 4;
constexpr std::int32_t kLargestRank = 8;

class RankClasses {
 public:
  explicit RankClasses(const RuleMessage& rule) : rule_(rule) {}

  core::Result<Ranks> run(std::size_t free_rank) {
    SOAPSTONE_RETURN_IF_ERROR(add_side(rule_.source, 0));
    SOAPSTONE_RETURN_IF_ERROR(add_side(rule_.target, 1));
    Ranks ranks;
    for (const auto& [key, number] : numbers_)
      if (std::get<1>(key).is_input())
        ranks.inputs[std::get<1>(key).op] = rank_[root(number)].value_or(free_rank);
    ranks.source = side_ranks(rule_.source, 0, free_rank);
    ranks.target = side_ranks(rule_.target, 1, free_rank);
    return ranks;
  }

 private:
  /// Inputs of the rule are on both sides and count as the source's.
  std::size_t number_of(TensorRef ref, int side) {
    if (ref.is_input()) ref.output = side = 0;
    const auto [entry, is_new] = numbers_.try_emplace({side, ref}, parent_.size());
    if (is_new) {
      parent_.push_back(parent_.size());
      rank_.emplace_back();
    }
    return entry->second;
  }

  std::size_t root(std::size_t number) const {
    while (parent_[number] != number) number = parent_[number];
    return number;
  }

  core::Status set(std::size_t number, std::size_t rank) {
    std::optional<std::size_t>& known = rank_[root(number)];
    if (known && *known != rank)
      return core::unsupported(fmt::format("a tensor has {} and {} dimensions", *known, rank));
    known = rank;
    return core::Done{};
  }

  core::Status join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return core::Done{};
    const auto rank = rank_[b];
    parent_[b] = a;
    return rank ? set(a, *rank) : core::Status(core::Done{});
  }

  core::Status add_side(const std::vector<Operator>& ops, int side) {
    for (std::size_t k = 0; k < ops.size(); ++k) {
      std::vector<std::size_t> inputs, outputs;
      for (TensorRef ref : ops[k].inputs) inputs.push_back(number_of(ref, side));
      for (std::size_t i = 0; i < output_count(ops[k]); ++i)
        outputs.push_back(
            number_of({static_cast<std::int32_t>(k), static_cast<std::int32_t>(i)}, side));
      SOAPSTONE_RETURN_IF_ERROR(add(ops[k], inputs, outputs));
    }
    return core::Done{};
  }

  core::Status add(const Operator& op, const std::vector<std::size_t>& inputs,
                   const std::vector<std::size_t>& outputs) {
    std::vector<std::size_t> all = inputs;
    all.insert(all.end(), outputs.begin(), outputs.end());
    std::optional<std::size_t> rank;
    switch (op.type) {
    case OpType::kConv:
    case OpType::kMaxPool:
    case OpType::kAveragePool:
    case OpType::kEnlarge:
    case OpType::kMergeGroups:
      rank = kImageRank;
      break;
    case OpType::kMatmul:
      rank = 2;
      break;
    case OpType::kConcat:
    case OpType::kSplit:
    case OpType::kTranspose: {
      SOAPSTONE_ASSIGN_OR_RETURN(rank, stated_rank(op));
      break;
    }
    case OpType::kScalarMul:
      if (inputs.size() != 2) break;
      SOAPSTONE_RETURN_IF_ERROR(set(inputs[1], 0));
      return join(inputs[0], outputs[0]);
    case OpType::kBatchNorm:
      for (std::size_t k = 1; k < inputs.size(); ++k) SOAPSTONE_RETURN_IF_ERROR(set(inputs[k], 1));
      all = {outputs[0]};
      if (!inputs.empty()) all.push_back(inputs[0]);
      rank = kImageRank;
      break;
    default:
      break;
    }
    for (std::size_t number : all) {
      SOAPSTONE_RETURN_IF_ERROR(join(all[0], number));
      if (!rank) continue;
      SOAPSTONE_RETURN_IF_ERROR(set(number, *rank));
    }
    return core::Done{};
  }

  /// A split need not say it.
  static core::Result<std::optional<std::size_t>> stated_rank(const Operator& op) {
    const std::int32_t rank = op.get(Key::kRank, 0);
    if (rank == 0) return std::optional<std::size_t>();
    if (rank < 0 || rank > kLargestRank)
      return core::unsupported(fmt::format("a tensor of {} dimensions", rank));
    return std::optional(static_cast<std::size_t>(rank));
  }

  std::vector<std::vector<std::size_t>> side_ranks(const std::vector<Operator>& ops, int side,
                                                   std::size_t free_rank) {
    std::vector<std::vector<std::size_t>> ranks(ops.size());
    for (std::size_t k = 0; k < ops.size(); ++k)
      for (std::size_t i = 0; i < output_count(ops[k]); ++i) {
        const TensorRef ref{static_cast<std::int32_t>(k), static_cast<std::int32_t>(i)};
        ranks[k].push_back(rank_[root(number_of(ref, side))].value_or(free_rank));
      }
    return ranks;
  }

  const RuleMessage& rule_;
  std::map<std::pair<int, TensorRef>, std::size_t> numbers_;
  std::vector<std::size_t> parent_;
  std::vector<std::optional<std::size_t>> rank_;  // of roots
};

}  // namespace

std::size_t output_count(const Operator& op) {
  constexpr std::int32_t kMost = 64;
  if (op.type != OpType::kSplit) return 1;
  return static_cast<std::size_t>(std::clamp(op.get(Key::kOutputCount, 1), 1, kMost));
}

core::Result<Ranks> ranks_of(const RuleMessage& rule, std::size_t free_rank) {
  return RankClasses(rule).run(free_rank);
}

}  // namespace soapstone::rules::taso

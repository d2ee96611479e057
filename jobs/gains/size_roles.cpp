// See size_roles.h.
#include "jobs/gains/size_roles.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::Node;
using core::Symbol;
using core::TensorId;
using rules::Rule;

std::vector<SizeRole> repeated(std::vector<SizeRole> first, SizeRole rest, std::size_t rank) {
  first.resize(std::max(rank, first.size()), rest);
  first.resize(rank);
  return first;
}

std::vector<SizeRole> image(std::size_t rank) {
  return repeated({SizeRole::kBatch, SizeRole::kChannels}, SizeRole::kSpatial, rank);
}

std::vector<SizeRole> kernel(std::size_t rank) {
  return repeated({SizeRole::kChannels, SizeRole::kChannels}, SizeRole::kKernel, rank);
}

std::vector<SizeRole> matrix(std::size_t rank, SizeRole rows) {
  auto roles = repeated({SizeRole::kBatch}, SizeRole::kHeads, rank);
  if (rank >= 2) roles[rank - 2] = rows;
  if (rank >= 1) roles[rank - 1] = SizeRole::kFeatures;
  return roles;
}

/// The roles that an operator gives to the dimensions of an operand; empty: none.
std::vector<SizeRole> roles_of_operand(const Node& node, std::size_t operand, std::size_t rank) {
  switch (node.op->operand_role(operand)) {
  case core::OperandRole::kImage:
    return image(rank);
  case core::OperandRole::kKernel:
    return kernel(rank);
  case core::OperandRole::kChannels:
    return repeated({}, SizeRole::kChannels, rank);
  case core::OperandRole::kLeftMatrix:
    return matrix(rank, SizeRole::kRows);
  case core::OperandRole::kRightMatrix:
    return matrix(rank, SizeRole::kFeatures);
  default:
    return {};
  }
}

std::vector<SizeRole> roles_of_rank(std::size_t rank) {
  return rank >= 4 ? image(rank) : matrix(rank, SizeRole::kRows);
}

void note(std::vector<SizeRole>& roles, const core::Shape& shape,
          const std::vector<SizeRole>& said) {
  for (std::size_t d = 0; d < said.size(); ++d)
    for (Symbol s : shape[d].symbols()) roles[s.id] = std::max(roles[s.id], said[d]);
}

void note_operands(std::vector<SizeRole>& roles, const Graph& side) {
  for (core::NodeId id : side.order()) {
    const Node& node = side.node(id);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) continue;
      const core::Shape& shape = side.tensor(node.inputs[k]).type.shape;
      note(roles, shape, roles_of_operand(node, k, shape.size()));
    }
  }
}

/// The default roles of a tensor with this many dimensions.
void note_rank(std::vector<SizeRole>& roles, const Graph& side, std::span<const TensorId> ids,
               std::size_t rank) {
  std::vector<SizeRole> by_rank(roles.size(), SizeRole::kNone);
  for (TensorId id : ids)
    if (side.tensor(id).type.shape.size() == rank)
      note(by_rank, side.tensor(id).type.shape, roles_of_rank(rank));
  for (std::size_t s = 0; s < roles.size(); ++s)
    if (roles[s] == SizeRole::kNone) roles[s] = by_rank[s];
}

/// The tensor with the most dimensions decides, as tensors that are spread over it have one of
/// them.
void note_ranks(std::vector<SizeRole>& roles, const Graph& side) {
  std::vector<TensorId> results;  // parts of a split, shapes that are asked for
  for (core::NodeId id : side.order())
    std::ranges::copy(side.node(id).outputs, std::back_inserter(results));
  std::size_t most = 0;
  for (const auto ids : {side.inputs(), std::span<const TensorId>(results)})
    for (TensorId id : ids) most = std::max(most, side.tensor(id).type.shape.size());
  for (std::size_t rank = most; rank > 0; --rank) {
    note_rank(roles, side, side.inputs(), rank);
    note_rank(roles, side, results, rank);
  }
}

}  // namespace

std::vector<SizeRole> size_roles(const Rule& rule) {
  std::vector<SizeRole> roles(rule.source.symbols().size(), SizeRole::kNone);
  note_operands(roles, rule.source);
  note_operands(roles, rule.target);
  note_ranks(roles, rule.source);
  return roles;
}

}  // namespace soapstone::jobs

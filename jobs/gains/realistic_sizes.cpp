// See realistic_sizes.h.
#include "jobs/gains/realistic_sizes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "ops/definition/registry.h"
#include "rules/sampling/sample_sizes.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::Node;
using core::Symbol;
using core::TensorId;
using rules::Bindings;
using rules::Rule;

/// Layers as networks have them: an early, a late and a middle one of a convolutional network, and
/// matrices of language models with a sequence, one token, and a batch.
struct Layer {
  std::int64_t batch, channels, spatial, kernel, rows, features, heads, stride;
};
constexpr std::array kLayers = {
    Layer{1, 64, 56, 3, 128, 512, 8, 1},  Layer{1, 256, 14, 1, 128, 1024, 16, 1},
    Layer{8, 128, 28, 3, 128, 256, 4, 1}, Layer{1, 512, 7, 3, 1, 1024, 8, 1},
    Layer{8, 256, 14, 3, 8, 512, 8, 2},   Layer{1, 128, 28, 1, 1, 512, 8, 2},
};

std::int64_t size_of(SizeRole role, const Layer& layer) {
  switch (role) {
  case SizeRole::kNone:
    return 1;
  case SizeRole::kRows:
    return layer.rows;
  case SizeRole::kFeatures:
    return layer.features;
  case SizeRole::kBatch:
    return layer.batch;
  case SizeRole::kHeads:
    return layer.heads;
  case SizeRole::kSpatial:
    return layer.spatial;
  case SizeRole::kChannels:
    return layer.channels;
  case SizeRole::kKernel:
    return layer.kernel;
  }
  return 1;
}

/// Values that layers have for a symbol in an attribute; none: any value will do.
std::optional<std::int64_t> parameter_of(core::AttributeRole role, const Layer& layer) {
  switch (role) {
  case core::AttributeRole::kStride:
    return layer.stride;
  case core::AttributeRole::kDilation:
    return 1;
  case core::AttributeRole::kPad:
  case core::AttributeRole::kBorder:
    return layer.kernel / 2;
  case core::AttributeRole::kWindow:
    return std::max<std::int64_t>(layer.kernel, 2);
  case core::AttributeRole::kExtent:
  case core::AttributeRole::kParts:
    return layer.channels;
  default:
    return std::nullopt;
  }
}

/// Values of the parameters: those of the layer if they fit, else any.
std::optional<Rule> with_parameters(const Rule& rule, const Layer& layer, std::uint64_t seed) {
  if (rule.parameters.empty()) return rule;
  const auto any = rules::sample_parameters(rule, seed);
  if (!any) return std::nullopt;
  Bindings wanted = *any;
  for (core::NodeId id : rule.source.order())
    for (const auto& [name, value] : rule.source.node(id).attributes.values()) {
      const core::AttributeSchema* schema = rule.source.node(id).op->find_attribute(name);
      const auto* list = std::get_if<std::vector<core::Polynomial>>(&value);
      const auto chosen = schema ? parameter_of(schema->role, layer) : std::nullopt;
      if (!list || !chosen) continue;
      for (const core::Polynomial& p : *list)
        if (p.symbols().size() == 1) wanted[p.symbols()[0].id] = *chosen;
    }
  auto special = rules::specialize(rule, wanted);
  if (!special) special = rules::specialize(rule, *any);
  return special ? std::optional(*std::move(special)) : std::nullopt;
}

/// Neither scalars alone nor more than a layer has.
bool is_moderate(const Graph& side) {
  constexpr std::int64_t kFewestElements = 64, kMostElements = std::int64_t{1} << 25;
  std::int64_t largest = 0;
  const auto fits = [&](TensorId id) {
    const auto dims = core::concrete(side.tensor(id).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    largest = std::max(largest, count.value_or(0));
    return count && *count > 0 && *count <= kMostElements;
  };
  return std::ranges::all_of(side.inputs(), fits) &&
         std::ranges::all_of(
             side.order(),
             [&](core::NodeId id) { return std::ranges::all_of(side.node(id).outputs, fits); }) &&
         largest >= kFewestElements;
}

/// Sizes of one layer; with `mixed`, the widths of different layers.
Bindings sizes_of(const Rule& rule, std::size_t number, bool mixed, rules::Random& random) {
  const auto roles = size_roles(rule);
  Bindings values(roles.size());
  for (std::size_t s = 0; s < roles.size(); ++s) {
    const bool is_width = roles[s] == SizeRole::kChannels || roles[s] == SizeRole::kFeatures;
    const std::size_t from = mixed && is_width ? random.next() : number;
    if (roles[s] != SizeRole::kNone) values[s] = size_of(roles[s], kLayers[from % kLayers.size()]);
  }
  for (const ops::DerivedSize& derived : rule.derived) values[derived.symbol.id].reset();
  return values;
}

/// Values that the rule admits, with as few of these changed as its equations ask for.
std::optional<Bindings> admitted(const Rule& rule, const Bindings& values, rules::Random& random) {
  const rules::SizeSampler sampler(rule);
  if (sampler.admits(values)) return values;
  // One size stays and others follow; which one may stay is not known beforehand.
  for (std::uint32_t s = 0; s < values.size(); ++s) {
    if (!values[s]) continue;
    Bindings repaired = values;
    constexpr int kRounds = 3;  // an equation may upset one before it
    for (int round = 0; round < kRounds && !sampler.admits(repaired); ++round)
      sampler.repair(repaired, Symbol{s}, random);
    if (sampler.admits(repaired)) return repaired;
  }
  return std::nullopt;
}

std::optional<SizedRule> sized(const Rule& rule, const Bindings& wanted, rules::Random& random) {
  const auto values = admitted(rule, wanted, random);
  if (!values) return std::nullopt;
  auto special = rules::specialize(rule, *values);
  if (!special || !is_moderate(special->source) || !is_moderate(special->target))
    return std::nullopt;
  SizedRule result{*std::move(special), {}};
  for (std::uint32_t s = 0; s < values->size(); ++s)
    if ((*values)[s])
      result.sizes.emplace_back(rule.source.symbols().name(Symbol{s}), *(*values)[s]);
  return result;
}

bool is_weight_place(const Graph& side, const Node& node, std::size_t operand, Weights weights) {
  switch (node.op->operand_role(operand)) {
  case core::OperandRole::kKernel:
  case core::OperandRole::kChannels:
  case core::OperandRole::kFeatures:
    return true;
  case core::OperandRole::kRightMatrix:
    return weights != Weights::kAlways;
  default:
    break;
  }
  if (weights == Weights::kAlways) return false;
  const auto* definition = ops::definition_of(node);
  if (!definition || definition->op_class != ops::OpClass::kElementwise) return false;
  const auto count = [&](TensorId id) {
    return core::element_count(*core::concrete(side.tensor(id).type.shape));
  };
  return count(node.inputs[operand]) < count(node.outputs[0]);
}

}  // namespace

std::vector<SizedRule> at_realistic_sizes(const Rule& rule, std::size_t count, std::uint64_t seed) {
  rules::Random random(seed);
  std::vector<SizedRule> found;
  std::set<std::pair<std::uint64_t, std::uint64_t>> known;
  // Each layer as it is, then with widths of others.
  for (std::size_t trial = 0; trial < 2 * count && found.size() < count; ++trial) {
    const auto special = with_parameters(rule, kLayers[trial % kLayers.size()], seed + trial);
    if (!special) continue;
    auto made = sized(*special, sizes_of(*special, trial, trial >= kLayers.size(), random), random);
    if (made && known.emplace(made->rule.source.hash(), made->rule.target.hash()).second)
      found.push_back(*std::move(made));
  }
  return found;
}

std::vector<bool> weight_inputs(const Rule& rule, Weights weights) {
  const Graph& side = rule.source;
  // Backwards from the results, but not into operands that are weights.
  std::vector<bool> is_data(side.tensor_bound());
  for (TensorId id : side.outputs()) is_data[id.index()] = true;
  const auto order = side.order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const Node& node = side.node(order[i]);
    if (std::ranges::none_of(node.outputs, [&](TensorId t) { return is_data[t.index()]; }))
      continue;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].valid() && !is_weight_place(side, node, k, weights))
        is_data[node.inputs[k].index()] = true;
  }
  std::vector<bool> result;
  for (std::size_t k = 0; k < side.inputs().size(); ++k) {
    const TensorId id = side.inputs()[k];
    const bool constant = k < rule.constant_inputs.size() && rule.constant_inputs[k];
    const bool floating = core::is_floating(side.tensor(id).type.data_type);
    result.push_back(constant || (floating && !is_data[id.index()] && !side.consumers(id).empty()));
  }
  return result;
}

}  // namespace soapstone::jobs

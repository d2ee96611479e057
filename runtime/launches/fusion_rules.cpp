// See fusion_rules.h. Called for every candidate graph of a search.
#include "runtime/launches/fusion_rules.h"

#include <algorithm>
#include <array>

#include "ops/definition/registry.h"
#include "ops/parts/product_labels.h"

namespace soapstone::runtime {
namespace {

using core::Graph;

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_contraction(const core::Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition && definition->op_class == ops::OpClass::kContraction;
}

/// A contraction, however it is written.
bool is_product(const core::Node& node) {
  return is_contraction(node) || ops::is_einsum_product(node);
}

/// A step that computes a function of the result alone.
bool is_function(EpilogueKind kind) {
  return kind == EpilogueKind::kActivation || kind == EpilogueKind::kGate;
}

/// The functions that libraries for devices usually have.
class GenericRules final : public EpilogueRules {
 public:
  using EpilogueRules::EpilogueRules;

 private:
  static constexpr std::array<std::string_view, 5> kActivations = {"relu", "sigmoid", "tanh",
                                                                   "clip", "leaky_relu"};
  static constexpr std::array<std::string_view, 3> kMoreActivations = {"hard_swish", "hard_sigmoid",
                                                                       "gelu"};
  static constexpr std::array<std::string_view, 6> kBinaryHeads = {"add", "sub", "mul",
                                                                   "div", "min", "max"};

  std::optional<Fusion> level_of(const core::Node& function) const override {
    if (is_one_of(function.op->name, kActivations)) return Fusion::kActivation;
    if (is_one_of(function.op->name, kMoreActivations)) return Fusion::kFull;
    return std::nullopt;
  }
  bool is_binary_head(const core::Node& head) const override {
    return is_one_of(head.op->name, kBinaryHeads);
  }
};

}  // namespace

bool EpilogueRules::can_append(const Graph& graph, const Launch& so_far,
                               const EpilogueStep& step) const {
  if (fusion_ == Fusion::kNone) return false;
  const core::Node& head = graph.node(so_far.head);
  if (fusion_ == Fusion::kActivation) {
    return step.kind == EpilogueKind::kActivation && so_far.epilogue.empty() &&
           is_contraction(head) && head.inputs.size() == 2 && can_fuse(graph.node(step.node));
  }
  if (!core::is_floating(graph.tensor(head.outputs[0]).type.data_type)) return false;
  if (is_function(step.kind)) return can_compute(graph, head, so_far, step);
  if (!is_product(head)) return false;
  for (const EpilogueStep& before : so_far.epilogue) {
    if (before.kind == EpilogueKind::kResidual) return false;
    if (before.kind == step.kind) return false;
    if (is_function(before.kind) && step.kind != EpilogueKind::kResidual) return false;
  }
  return true;
}

bool EpilogueRules::can_fuse(const core::Node& function) const {
  const auto level = level_of(function);
  return level && *level <= fusion_;
}

bool EpilogueRules::can_gate(const core::Node&, const core::Node&) const { return false; }

bool EpilogueRules::can_compute(const Graph& graph, const core::Node& head, const Launch& so_far,
                                const EpilogueStep& step) const {
  const core::Node& function = graph.node(step.function());
  if (step.gate.valid() ? !can_gate(head, function) : !can_fuse(function)) return false;
  if (so_far.epilogue.empty()) return is_product(head) || is_binary_head(head);
  return is_product(head) && !is_function(so_far.epilogue.back().kind);
}

const FusionRules& generic_fusion(Fusion fusion) {
  static const std::array rules = {GenericRules(Fusion::kNone), GenericRules(Fusion::kActivation),
                                   GenericRules(Fusion::kFull), GenericRules(Fusion::kGenerated)};
  return rules[static_cast<std::size_t>(fusion)];
}

}  // namespace soapstone::runtime

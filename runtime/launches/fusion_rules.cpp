// The epilogues that any backend worth its name can run, by level of fusion.
#include <algorithm>
#include <array>

#include "ops/definition/registry.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime {
namespace {

using core::Graph;

template <std::size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kActivations = {"relu", "sigmoid", "tanh", "clip",
                                                          "leaky_relu"};
constexpr std::array<std::string_view, 3> kMoreActivations = {"hard_swish", "hard_sigmoid", "gelu"};
constexpr std::array<std::string_view, 6> kBinaryHeads = {"add", "sub", "mul", "div", "min", "max"};

bool is_contraction(const core::Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition && definition->op_class == ops::OpClass::kContraction;
}

class NoFusion final : public FusionRules {
 public:
  bool can_append(const Graph&, const Launch&, const EpilogueStep&) const override { return false; }
};

class ActivationFusion final : public FusionRules {
 public:
  bool can_append(const Graph& graph, const Launch& so_far,
                  const EpilogueStep& step) const override {
    const core::Node& head = graph.node(so_far.head);
    return step.kind == EpilogueKind::kActivation && so_far.epilogue.empty() &&
           is_contraction(head) && head.inputs.size() == 2 &&
           is_one_of(graph.node(step.node).op->name, kActivations);
  }
};

class FullFusion final : public FusionRules {
 public:
  bool can_append(const Graph& graph, const Launch& so_far,
                  const EpilogueStep& step) const override {
    const core::Node& head = graph.node(so_far.head);
    if (!core::is_floating(graph.tensor(head.outputs[0]).type.data_type)) return false;
    if (step.kind == EpilogueKind::kActivation) return can_activate(graph, head, so_far, step);
    if (!is_contraction(head)) return false;
    for (const EpilogueStep& before : so_far.epilogue) {
      if (before.kind == EpilogueKind::kResidual) return false;
      if (before.kind == step.kind) return false;
      if (before.kind == EpilogueKind::kActivation && step.kind != EpilogueKind::kResidual)
        return false;
    }
    return true;
  }

 private:
  static bool can_activate(const Graph& graph, const core::Node& head, const Launch& so_far,
                           const EpilogueStep& step) {
    const std::string& name = graph.node(step.node).op->name;
    if (!is_one_of(name, kActivations) && !is_one_of(name, kMoreActivations)) return false;
    if (so_far.epilogue.empty())
      return is_contraction(head) || is_one_of(head.op->name, kBinaryHeads);
    return is_contraction(head) && so_far.epilogue.back().kind != EpilogueKind::kActivation;
  }
};

}  // namespace

const FusionRules& generic_fusion(Fusion fusion) {
  static const NoFusion none;
  static const ActivationFusion activation;
  static const FullFusion full;
  switch (fusion) {
  case Fusion::kNone:
    return none;
  case Fusion::kActivation:
    return activation;
  case Fusion::kFull:
    return full;
  }
  return none;
}

}  // namespace soapstone::runtime

// The backend that every other one is checked against: each node by its comprehension, in doubles,
// whatever type the elements are stored in.

#include <optional>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "runtime/execution/elements.h"
#include "runtime/launches/host_backend.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// One node, and where its inputs come from and its results go: numbers of values.
struct Step {
  ops::CompiledSemantics<double> program;
  std::vector<std::optional<std::size_t>> inputs;  // none: left out
  std::vector<std::size_t> outputs;
};

class ReferenceKernel final : public HostKernel {
 public:
  ReferenceKernel(const Graph& graph, const Launch& launch, const LaunchLayouts& layouts,
                  const ConstantValue& constants) {
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
      const TensorId tensor = launch.inputs[i];
      add_value(graph, tensor);
      if (i < layouts.inputs.size()) values_.back().layout = layouts.inputs[i];
      core::LiteralPtr constant = constants ? constants(tensor) : nullptr;
      values_.back().constant = constant != nullptr;
      if (constant) values_.back().elements = constant->to_doubles();
    }
    inputs_ = values_.size();
    for (NodeId node : launch.nodes()) add_step(graph, node);
    for (std::size_t i = 0; i < launch.outputs.size(); ++i) {
      outputs_.push_back(number_of(launch.outputs[i]));
      if (i < layouts.outputs.size()) values_[outputs_.back()].layout = layouts.outputs[i];
    }
  }

  core::Status run(HostInputs inputs, HostOutputs outputs, std::byte*) override {
    for (std::size_t i = 0; i < inputs_; ++i) {
      Value& value = values_[i];
      if (!value.constant) value.elements = load_elements(value.type, value.layout, inputs[i]);
    }
    for (const Step& step : steps_) SOAPSTONE_RETURN_IF_ERROR(run_step(step));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Value& value = values_[outputs_[i]];
      store_elements(value.type, value.layout, value.elements, outputs[i]);
    }
    return core::Done{};
  }

  std::string implementation() const override { return "reference"; }

 private:
  struct Value {
    TensorId tensor;
    core::TensorType type;
    Layout layout = Layout::kRowMajor;
    bool constant = false;
    std::vector<double> elements;
  };

  void add_value(const Graph& graph, TensorId tensor) {
    Value value;
    value.tensor = tensor;
    value.type = graph.tensor(tensor).type;
    values_.push_back(std::move(value));
  }

  std::size_t number_of(TensorId tensor) const {
    std::size_t i = 0;
    while (values_[i].tensor != tensor) ++i;
    return i;
  }

  void add_step(const Graph& graph, NodeId id) {
    const core::Node& node = graph.node(id);
    std::vector<core::Dims> dims;
    std::vector<std::optional<std::size_t>> inputs;
    for (TensorId input : node.inputs) {
      dims.push_back(input.valid() ? dims_of(graph.tensor(input).type) : core::Dims{});
      inputs.push_back(input.valid() ? std::optional(number_of(input)) : std::nullopt);
    }
    std::vector<std::size_t> outputs;
    for (TensorId output : node.outputs) {
      outputs.push_back(values_.size());
      add_value(graph, output);
      values_.back().elements.resize(
          static_cast<std::size_t>(core::element_count(dims_of(values_.back().type))));
    }
    steps_.emplace_back(Step{ops::CompiledSemantics<double>(ops::semantics_of(graph, id), dims),
                             std::move(inputs), std::move(outputs)});
  }

  core::Status run_step(const Step& step) {
    std::vector<std::span<const double>> inputs;
    for (const auto& input : step.inputs)
      inputs.push_back(input ? std::span<const double>(values_[*input].elements)
                             : std::span<const double>());
    std::vector<std::span<double>> outputs;
    for (std::size_t output : step.outputs) outputs.emplace_back(values_[output].elements);
    return step.program.run(inputs, outputs);
  }

  std::vector<Value> values_;  // the launch's inputs, then results of its nodes
  std::size_t inputs_ = 0;
  std::vector<Step> steps_;
  std::vector<std::size_t> outputs_;
};

class ReferenceConversion final : public HostKernel {
 public:
  ReferenceConversion(const core::TensorType& type, Layout from, Layout to)
      : dims_(dims_of(type)), element_bytes_(core::size_bytes(type.data_type)),
        from_(strides_of(dims_, from)), to_(strides_of(dims_, to)) {}
  core::Status run(HostInputs inputs, HostOutputs outputs, std::byte*) override {
    copy_strided(dims_, element_bytes_, inputs[0], from_, outputs[0], to_);
    return core::Done{};
  }
  std::string implementation() const override { return "reference"; }

 private:
  core::Dims dims_;
  std::size_t element_bytes_;
  core::Dims from_, to_;
};

class ReferenceBackend final : public HostBackend {
 public:
  const DeviceInfo& device() const override { return device_; }
  const FusionRules& fusion(Fusion fusion) const override { return generic_fusion(fusion); }

 private:
  core::Result<std::unique_ptr<HostKernel>> make_kernel(const Graph& graph, const Launch& launch,
                                                        const LaunchLayouts& layouts,
                                                        const ConstantValue& constants,
                                                        std::vector<std::string>*) override {
    return compile_reference(graph, launch, layouts, constants);
  }
  core::Result<std::unique_ptr<HostKernel>> make_conversion(const core::TensorType& type,
                                                            Layout from, Layout to) override {
    return compile_reference_conversion(type, from, to);
  }

  DeviceInfo device_{"reference", "comprehensions in doubles", 1};
};

core::Status check_tensor(const Graph& graph, TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  const bool numeric = type.shape_known && core::concrete(type.shape).has_value();
  if (numeric && core::size_bytes(type.data_type) != 0) return core::Done{};
  const std::string what = numeric ? "elements that are no numbers" : "a shape that is not known";
  return core::unsupported("tensor `" + graph.tensor(id).name + "` has " + what);
}

}  // namespace

void Backend::choose_layouts(const Graph&, const Launch&, std::span<const Layout>,
                             LaunchLayouts&) const {}

std::vector<LaunchLayouts> Backend::layout_ways(const Graph&, const Launch&) const { return {}; }

void Backend::note_cost(const std::string&, double) {}

std::vector<LaunchLayouts> Backend::arrange(const Graph&, std::span<const Launch>) const {
  return {};
}

std::optional<std::vector<Launch>> Backend::cover(const core::Graph&, Fusion) const {
  return std::nullopt;
}

std::vector<std::string> Backend::candidates(const core::Graph&, const Launch&,
                                             const LaunchLayouts&) {
  return {};
}

void Backend::choose(const std::string&, const std::string&) {}

std::optional<std::size_t> Backend::in_place_input(const Graph&, const Launch&) const {
  return std::nullopt;
}

core::Result<std::unique_ptr<HostKernel>> compile_reference(const Graph& graph,
                                                            const Launch& launch,
                                                            const LaunchLayouts& layouts,
                                                            const ConstantValue& constants) {
  for (NodeId id : launch.nodes()) {
    const core::Node& node = graph.node(id);
    if (!ops::definition_of(node)) {
      return core::unsupported("operator " + node.attributes.get_text("op_type") + " of node `" +
                                   node.name + "` has no kernel",
                               "it can be kept in a model, but not run here");
    }
    for (TensorId output : node.outputs) SOAPSTONE_RETURN_IF_ERROR(check_tensor(graph, output));
  }
  for (TensorId input : launch.inputs) SOAPSTONE_RETURN_IF_ERROR(check_tensor(graph, input));
  return std::unique_ptr<HostKernel>(
      std::make_unique<ReferenceKernel>(graph, launch, layouts, constants));
}

std::unique_ptr<HostKernel> compile_reference_conversion(const core::TensorType& type, Layout from,
                                                         Layout to) {
  return std::make_unique<ReferenceConversion>(type, from, to);
}

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace soapstone::runtime

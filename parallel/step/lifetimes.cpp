#include "parallel/step/lifetimes.h"

#include <algorithm>
#include <optional>

#include "ops/definition/registry.h"

namespace soapstone::parallel {
namespace {

bool is_view(const core::Node& node) {
  const ops::OpDefinition* definition = ops::definition_of(node);
  return definition && definition->op_class == ops::OpClass::kView;
}

class LifetimeFinder {
 public:
  LifetimeFinder(const core::Graph& graph, const std::vector<core::NodeId>& order,
                 const std::vector<bool>& is_weight)
      : graph_(graph), order_(order), is_weight_(is_weight), entry_of_(graph.tensor_bound()) {}

  std::vector<Lifetime> run() {
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const core::Node& node = graph_.node(order_[k]);
      for (const core::TensorId input : node.inputs)
        if (input.valid()) read(input, k);
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const core::TensorId output = node.outputs[o];
        std::optional<std::size_t>& entry = entry_of_[output.index()];
        // A view of a weight or of a constant is none of ours either.
        if (o == 0 && is_view(node))
          entry = entry_of_[node.inputs[0].index()];
        else
          begin(output, k, false);
        if (entry && graph_.is_output(output)) found_[*entry].is_result = true;
      }
    }
    return std::move(found_);
  }

 private:
  void read(core::TensorId tensor, std::size_t position) {
    std::optional<std::size_t>& entry = entry_of_[tensor.index()];
    if (!entry) {
      const core::Tensor& read = graph_.tensor(tensor);
      if (read.producer.valid() || read.value || is_weight_[tensor.index()]) return;
      begin(tensor, position, true);
    }
    found_[*entry].last = position;
  }

  void begin(core::TensorId tensor, std::size_t position, bool is_input) {
    entry_of_[tensor.index()] = found_.size();
    found_.push_back({tensor, position, position, is_input, false});
  }

  const core::Graph& graph_;
  const std::vector<core::NodeId>& order_;
  const std::vector<bool>& is_weight_;
  std::vector<std::optional<std::size_t>> entry_of_;  ///< By tensor, in `found_`.
  std::vector<Lifetime> found_;
};

}  // namespace

std::vector<Lifetime> lifetimes(const core::Graph& graph, const std::vector<core::NodeId>& order,
                                const std::vector<bool>& is_weight) {
  return LifetimeFinder(graph, order, is_weight).run();
}

}  // namespace soapstone::parallel

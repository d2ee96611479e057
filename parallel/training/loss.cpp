// Losses are compositions of operators; their gradients follow like all others.
#include "parallel/training/loss.h"

#include <fmt/format.h>

#include <optional>

#include "ops/definition/registry.h"

namespace soapstone::parallel {
namespace {

using core::Polynomial;
using core::Result;
using core::TensorId;
using core::TensorType;
using Sizes = std::vector<Polynomial>;

/// The last floating-point output of known shape that satisfies the condition.
template <class Condition>
std::optional<TensorId> last_output(const core::Graph& graph, const Condition& condition) {
  const auto outputs = graph.outputs();
  for (std::size_t k = outputs.size(); k-- > 0;) {
    const TensorType& type = graph.tensor(outputs[k]).type;
    if (type.shape_known && core::is_floating(type.data_type) && condition(type.shape))
      return outputs[k];
  }
  return std::nullopt;
}

class LossBuilder {
 public:
  explicit LossBuilder(core::GraphBuilder& builder) : builder_(builder) {}

  Result<AppendedLoss> cross_entropy(TensorId logits) {
    const TensorType type = builder_.tensor(logits).type;
    const std::size_t rank = type.shape.size();
    const core::Shape rows(type.shape.begin(), type.shape.end() - 1);
    const TensorId labels = builder_.add_input("labels", {core::DataType::kInt64, rows});
    TensorId classes = labels;
    if (rank != 2) {  // One row for each element that has a class.
      Polynomial count = 1;
      for (const Polynomial& size : rows) count *= size;
      logits = append("reshape", {logits}, {{"shape", Sizes{count, type.shape.back()}}});
      classes = append("reshape", {labels}, {{"shape", Sizes{count}}});
    }
    const TensorId likelihoods = append("log_softmax", {logits}, {{"axis", Polynomial(1)}});
    return finish(append("nll_loss", {likelihoods, classes}), labels);
  }

  Result<AppendedLoss> squared_error(TensorId output) {
    const TensorType type = builder_.tensor(output).type;
    const TensorId target = builder_.add_input("target", type);
    Sizes axes;
    for (std::size_t d = 0; d < type.shape.size(); ++d)
      axes.emplace_back(static_cast<std::int64_t>(d));
    const TensorId error = append("sub", {output, target});
    return finish(append("reduce_mean", {append("mul", {error, error})},
                         {{"axes", axes}, {"keep_dims", Polynomial(0)}}),
                  target);
  }

 private:
  TensorId append(const char* op, std::vector<TensorId> inputs,
                  const core::Attributes& attributes = {}) {
    if (error_) return TensorId::none();
    auto results =
        ops::append(builder_, op, std::move(inputs), attributes, std::string("loss/") + op);
    if (results) return results->front();
    error_ = results.error();
    return TensorId::none();
  }

  Result<AppendedLoss> finish(TensorId loss, TensorId labels) const {
    if (error_) return *error_;
    return AppendedLoss{loss, labels};
  }

  core::GraphBuilder& builder_;
  std::optional<core::Error> error_;
};

}  // namespace

Result<AppendedLoss> append_loss(core::GraphBuilder& builder, const core::Graph& forward,
                                 Loss loss) {
  const auto scalar = last_output(forward, [](const core::Shape& s) { return s.empty(); });
  if (loss == Loss::kOutput || (loss == Loss::kChosen && scalar)) {
    if (scalar) return AppendedLoss{*scalar, TensorId::none()};
    return core::invalid_input("no output is a floating-point scalar, as a loss is",
                               "choose a loss for the last output");
  }
  const std::size_t least_rank = loss == Loss::kCrossEntropy ? 2 : 1;
  const auto output =
      last_output(forward, [&](const core::Shape& s) { return s.size() >= least_rank; });
  if (!output)
    return core::invalid_input(
        fmt::format("no output has floating-point elements, a known shape and {} dimensions or "
                    "more, so none can have this loss",
                    least_rank));
  const bool is_vector = forward.tensor(*output).type.shape.size() == 1;
  if (loss == Loss::kSquared || is_vector) return LossBuilder(builder).squared_error(*output);
  return LossBuilder(builder).cross_entropy(*output);
}

}  // namespace soapstone::parallel

// See batch_statistics.h.
#include "ops/parts/batch_statistics.h"

#include <optional>

#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

class BatchStatistics {
 public:
  BatchStatistics(core::GraphBuilder& builder, const core::Node& node)
      : builder_(builder), node_(node), x_(node.inputs[0]) {
    const core::Shape& shape = builder.tensor(x_).type.shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d != 1) axes_.emplace_back(static_cast<std::int64_t>(d));
      if (d >= 1) per_channel_.push_back(d == 1 ? shape[1] : Polynomial(1));
    }
  }

  core::Result<TrainingForm> run(double momentum) {
    const TensorId mean = mean_of(x_);
    const TensorId centered =
        append("sub", {x_, append("reshape", {mean}, {{"shape", per_channel_}})});
    const TensorId variance = mean_of(append("mul", {centered, centered}));
    TrainingForm form;
    form.results = {append(node_.op->name, {x_, node_.inputs[1], node_.inputs[2], mean, variance},
                           node_.attributes)};
    form.replaced = {{3, followed(node_.inputs[3], mean, momentum)},
                     {4, followed(node_.inputs[4], variance, momentum)}};
    if (error_) return *error_;
    return form;
  }

 private:
  TensorId append(const std::string& op, std::vector<TensorId> inputs,
                  const Attributes& attributes = {}) {
    if (error_) return TensorId::none();
    auto results = ops::append(builder_, op, std::move(inputs), attributes,
                               node_.name.empty() ? std::string() : node_.name + "/" + op);
    if (results) return results->front();
    error_ = results.error();
    return TensorId::none();
  }

  TensorId mean_of(TensorId x) {
    return append("reduce_mean", {x}, {{"axes", axes_}, {"keep_dims", Polynomial(0)}});
  }

  TensorId followed(TensorId running, TensorId of_batch, double momentum) {
    if (error_) return TensorId::none();
    return append("add", {scaled(running, momentum), scaled(of_batch, 1 - momentum)});
  }

  TensorId scaled(TensorId x, double factor) {
    auto literal = filled_literal(builder_.tensor(x).type.data_type, {}, factor);
    return append("mul", {x, builder_.add_constant(
                                 std::make_shared<const core::Literal>(std::move(literal)))});
  }

  core::GraphBuilder& builder_;
  const core::Node& node_;
  TensorId x_;
  std::vector<Polynomial> axes_, per_channel_;
  std::optional<core::Error> error_;
};

}  // namespace

core::Result<TrainingForm> train_on_batch_statistics(core::GraphBuilder& builder,
                                                     const core::Node& given, double momentum) {
  const core::Node node = given;  // Nodes that are added may move it.
  return BatchStatistics(builder, node).run(momentum);
}

}  // namespace soapstone::ops

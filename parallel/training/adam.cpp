// See adam.h. What depends on the number of the step alone is computed once for all weights.
#include "parallel/training/adam.h"

#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::parallel {
namespace {

using core::DataType;
using core::TensorId;

double real_or(const core::Attributes& attributes, const char* name, double fallback) {
  return attributes.find(name) ? attributes.get_real(name) : fallback;
}

}  // namespace

Adam::Adam(core::GraphBuilder& builder, TensorId step, const core::Attributes& attributes,
           std::set<core::NodeId>& updates)
    : builder_(builder), step_(step), beta1_(real_or(attributes, "alpha", 0.9)),
      beta2_(real_or(attributes, "beta", 0.999)), epsilon_(real_or(attributes, "epsilon", 0)),
      decay_(real_or(attributes, "norm_coefficient", 0)), updates_(updates) {}

TensorId Adam::node(const char* op, std::vector<TensorId> inputs,
                    const core::Attributes& attributes) {
  if (error_) return TensorId::none();
  auto results = ops::append(builder_, op, std::move(inputs), attributes);
  if (!results) {
    error_ = results.error();
    return TensorId::none();
  }
  updates_.insert(builder_.tensor(results->front()).producer);
  return results->front();
}

TensorId Adam::number(double value, DataType type) {
  return builder_.add_constant(
      std::make_shared<const core::Literal>(ops::filled_literal(type, {}, value)));
}

TensorId Adam::correction(double decay, DataType type) {
  const auto [known, is_new] = corrections_.emplace(std::pair(decay, type), TensorId::none());
  if (!is_new) return known->second;
  const auto cast = [&](TensorId x, DataType to) {
    return node("cast", {x}, {{"to", std::string(core::to_string(to))}});
  };
  const TensorId count = cast(step_, DataType::kFloat64);
  const TensorId left = node("pow", {number(decay, DataType::kFloat64), count});
  const TensorId missing = node("sub", {number(1, DataType::kFloat64), left});
  known->second = type == DataType::kFloat64 ? missing : cast(missing, type);
  return known->second;
}

TensorId Adam::mixed(double share, TensorId old, TensorId added) {
  if (error_) return TensorId::none();
  const DataType type = builder_.tensor(old).type.data_type;
  return node("add", {node("mul", {old, number(share, type)}),
                      node("mul", {added, number(1 - share, type)})});
}

TensorId Adam::regularized(TensorId weight, TensorId gradient) {
  if (decay_ == 0) return gradient;
  const DataType type = builder_.tensor(weight).type.data_type;
  return node("add", {gradient, node("mul", {weight, number(decay_, type)})});
}

core::Status Adam::append(TensorId rate, TensorId decayed, TrainedWeight& weight) {
  const DataType type = builder_.tensor(weight.value).type.data_type;
  const TensorId gradient = regularized(decayed, weight.gradient);
  const TensorId first = mixed(beta1_, weight.states[0], gradient);
  const TensorId second = mixed(beta2_, weight.states[1], node("mul", {gradient, gradient}));
  const TensorId deviation = node("sqrt", {node("div", {second, correction(beta2_, type)})});
  const TensorId divisor = node("add", {deviation, number(epsilon_, type)});
  const TensorId corrected_rate = node("div", {rate, correction(beta1_, type)});
  const TensorId moved = node("mul", {node("div", {first, divisor}), corrected_rate});
  weight.updated = node("sub", {decayed, moved});
  weight.updated_states = {first, second};
  if (error_) return *error_;
  return core::Done{};
}

}  // namespace soapstone::parallel

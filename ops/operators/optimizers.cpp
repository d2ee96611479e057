// The updates of weights in training: `sgd`, `momentum` and `adam`, as ONNX's preview of training
// operators defines the last two. Scalars that change from step to step, the learning rate and the
// number of the step, are inputs; what an update remembers is an input and a result.
#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;
using core::DataType;

constexpr const char* kTrainingDomain = "ai.onnx.preview.training";

AttributeSchema real_schema(const char* name, std::optional<core::AttributeValue> fallback = {}) {
  return {name, AttributeRole::kReal, std::move(fallback), {}};
}

Expr attribute_of(const OpInstance& op, const char* name) {
  return number(op.attributes.get_real(name));
}

/// The gradient of the loss plus that of ½·norm_coefficient·x².
Expr regularized(const OpInstance& op, std::uint32_t x, std::uint32_t gradient, const Index& i) {
  return read(gradient, i) + attribute_of(op, "norm_coefficient") * read(x, i);
}

/// Whether the first step was made: step 0 has nothing to build on.
Expr is_later_step() { return apply(Function::kLess, {number(0.0), read(1, {})}); }

bool require_reals(InferContext& c, std::string_view op, std::span<const AttributeSchema> all) {
  for (const AttributeSchema& attribute : all)
    if (attribute.role == AttributeRole::kReal && !require_representable(c, op, attribute.name))
      return false;
  return true;
}

/// Inputs from `first` on are alike and floating: the weight, its gradient, what is remembered.
bool require_alike(InferContext& c, std::string_view op, std::size_t first) {
  const TensorType& weight = c.input(first);
  if (!c.require(core::is_floating(weight.data_type), label(op, "element_type"),
                 "weights must have floating-point elements") ||
      !require_same_type(c, op, first))
    return false;
  for (std::size_t k = first + 1; k < c.input_count(); ++k) {
    if (!c.require_rank(k, weight.shape.size(), label(op, "shape"))) return false;
    for (std::size_t d = 0; d < weight.shape.size(); ++d)
      if (!c.require_equal(c.shape(k)[d], weight.shape[d], label(op, "shape"))) return false;
  }
  return true;
}

bool require_rate_and_step(InferContext& c, std::string_view op) {
  return c.require(core::is_floating(c.input(0).data_type), label(op, "rate_type"),
                   "the learning rate must be floating-point") &&
         c.require_rank(0, 0, label(op, "rate")) &&
         c.require(c.input(1).data_type == DataType::kInt64, label(op, "step_type"),
                   "the number of the step must be of type i64") &&
         c.require_rank(1, 0, label(op, "step"));
}

// --- sgd ----------------------------------------------------------------------------------------

std::vector<AttributeSchema> sgd_attributes() { return {real_schema("norm_coefficient", 0.0)}; }

std::vector<TensorType> infer_sgd(InferContext& c) {
  if (!require_reals(c, "sgd", sgd_attributes()) || !require_alike(c, "sgd", 1) ||
      !require_same_type(c, "sgd") || !c.require_rank(0, 0, "sgd.rate"))
    return {};
  return {c.input(1)};
}

Semantics sgd_semantics(const OpInstance& op) {
  SemanticsBuilder builder(3);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    return read(1, i) - read(0, {}) * regularized(op, 1, 2, i);
  });
  return std::move(builder).finish();
}

core::Status write_sgd(OnnxExport& out) {
  Emitter emitter(out);
  const double norm = emitter.attributes().get_real("norm_coefficient");
  const std::string x = emitter.input(1);
  std::string gradient = emitter.input(2);
  if (norm != 0)
    gradient = emitter.emit("Add", {gradient, emitter.emit("Mul", {emitter.scalar(norm), x})});
  return emitter.finish("Sub", {x, emitter.emit("Mul", {emitter.input(0), gradient})});
}

OpDefinition sgd() {
  return OpDefinition({
      .name = "sgd",
      .equation = "rate x gradient → x − rate·(gradient + norm_coefficient·x)",
      .attributes = sgd_attributes(),
      .inputs = std::pair<std::size_t, std::size_t>(3, 3),
      .op_class = OpClass::kElementwise,
      .infer = infer_sgd,
      .semantics = sgd_semantics,
      .onnx = OnnxMapping{{}, write_sgd},
  });
}

// --- momentum and adam --------------------------------------------------------------------------

/// Inputs: rate, step, x, gradient and the states; results: x and the states.
std::vector<TensorType> infer_update(const char* name, std::span<const AttributeSchema> attributes,
                                     InferContext& c) {
  if (!require_reals(c, name, attributes) || !require_rate_and_step(c, name) ||
      !require_alike(c, name, 2))
    return {};
  return std::vector<TensorType>(c.input_count() - 3, c.input(2));
}

std::vector<AttributeSchema> momentum_attributes() {
  return {real_schema("alpha"),
          real_schema("beta"),
          real_schema("norm_coefficient", 0.0),
          {"mode",
           AttributeRole::kVariant,
           std::string("standard"),
           {std::string("standard"), std::string("nesterov")}}};
}

std::vector<TensorType> infer_momentum(InferContext& c) {
  const std::string& mode = c.attributes().get_text("mode");
  if (!c.require(mode == "standard" || mode == "nesterov", "momentum.mode",
                 "mode must be standard or nesterov"))
    return {};
  return infer_update("momentum", momentum_attributes(), c);
}

Semantics momentum_semantics(const OpInstance& op) {
  SemanticsBuilder builder(5);
  const Shape& shape = op.outputs[0].shape;
  const bool nesterov = op.attributes.get_text("mode") == "nesterov";
  const auto velocity = builder.stage(shape, [&](const Index& i) {
    const Expr beta =
        apply(Function::kSelect, {is_later_step(), attribute_of(op, "beta"), number(1.0)});
    return attribute_of(op, "alpha") * read(4, i) + beta * regularized(op, 2, 3, i);
  });
  builder.output(shape, [&](const Index& i) {
    const Expr step = nesterov
                          ? regularized(op, 2, 3, i) + attribute_of(op, "alpha") * read(velocity, i)
                          : read(velocity, i);
    return read(2, i) - read(0, {}) * step;
  });
  Semantics semantics = std::move(builder).finish();
  semantics.outputs.push_back(velocity);
  return semantics;
}

std::vector<AttributeSchema> adam_attributes() {
  return {real_schema("alpha", 0.9), real_schema("beta", 0.999), real_schema("epsilon", 0.0),
          real_schema("norm_coefficient", 0.0), real_schema("norm_coefficient_post", 0.0)};
}

std::vector<TensorType> infer_adam(InferContext& c) {
  return infer_update("adam", adam_attributes(), c);
}

Semantics adam_semantics(const OpInstance& op) {
  SemanticsBuilder builder(6);
  const Shape& shape = op.outputs[0].shape;
  const Expr one = number(1.0), alpha = attribute_of(op, "alpha"), beta = attribute_of(op, "beta");
  const auto mean = builder.stage(shape, [&](const Index& i) {
    return alpha * read(4, i) + (one - alpha) * regularized(op, 2, 3, i);
  });
  const auto square = builder.stage(shape, [&](const Index& i) {
    const Expr g = regularized(op, 2, 3, i);
    return beta * read(5, i) + (one - beta) * (g * g);
  });
  // Means of few steps are near their first value, 0: the rate makes up for it.
  const auto corrected_rate = builder.stage({}, [&](const Index&) {
    const auto missing = [&](const Expr& decay) {
      return one - apply(Function::kPow, {decay, read(1, {})});
    };
    const Expr corrected =
        read(0, {}) * apply(Function::kSqrt, {missing(beta)}) * inverse(missing(alpha));
    return apply(Function::kSelect, {is_later_step(), corrected, read(0, {})});
  });
  builder.output(shape, [&](const Index& i) {
    const Expr deviation = apply(Function::kSqrt, {read(square, i)}) + attribute_of(op, "epsilon");
    const Expr moved = read(2, i) - read(corrected_rate, {}) * read(mean, i) * inverse(deviation);
    return (one - attribute_of(op, "norm_coefficient_post")) * moved;
  });
  Semantics semantics = std::move(builder).finish();
  semantics.outputs.push_back(mean);
  semantics.outputs.push_back(square);
  return semantics;
}

// --- Reading and writing ------------------------------------------------------------------------

/// ONNX updates many weights in one node: all weights, then all gradients, then all of each state.
ReadFunction read_updates(const char* op, std::size_t states,
                          const std::vector<AttributeSchema>& attributes) {
  return [=](OnnxImport& import) -> ReadResult {
    const std::size_t kinds = 2 + states, given = import.input_count();
    if (given < 2 + kinds || (given - 2) % kinds != 0)
      return bad_node(import, fmt::format("each weight needs {} inputs", kinds));
    Attributes values;
    for (const AttributeSchema& a : attributes) {
      if (a.role == AttributeRole::kVariant) {
        values.set(a.name, import.text_or(a.name, std::get<std::string>(*a.default_value)));
        continue;
      }
      if (!a.default_value && !import.attribute(a.name))
        return bad_node(import, fmt::format("it has no {}", a.name));
      values.set(a.name, decimal_or(import, a.name,
                                    a.default_value ? std::get<double>(*a.default_value) : 0));
    }
    const std::size_t weights = (given - 2) / kinds;
    std::vector<TensorId> results(weights * (1 + states));
    for (std::size_t w = 0; w < weights; ++w) {
      std::vector<TensorId> inputs{import.input(0), import.input(1)};
      for (std::size_t kind = 0; kind < kinds; ++kind)
        inputs.push_back(import.input(2 + kind * weights + w));
      SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<TensorId> updated,
                                 import.append(op, std::move(inputs), values));
      for (std::size_t k = 0; k < updated.size(); ++k) results[k * weights + w] = updated[k];
    }
    return results;
  };
}

/// ONNX knows updates of f32 and f64 alone.
WriteFunction write_update(const char* onnx, const std::vector<AttributeSchema>& attributes) {
  return [=](OnnxExport& out) -> core::Status {
    const DataType type = out.graph().tensor(out.node().inputs[2]).type.data_type;
    if (type != DataType::kFloat32 && type != DataType::kFloat64)
      return cannot_write(out, fmt::format("{} updates f32 and f64 alone", onnx));
    OnnxNode node{onnx, kTrainingDomain, {}, {}, {}};
    for (const TensorId t : out.node().inputs) node.inputs.push_back(out.name(t));
    for (const TensorId t : out.node().outputs) node.outputs.push_back(out.name(t));
    for (const AttributeSchema& a : attributes) {
      if (a.role == AttributeRole::kVariant)
        node.attributes.emplace_back(a.name, out.node().attributes.get_text(a.name));
      else
        node.attributes.emplace_back(a.name,
                                     static_cast<float>(out.node().attributes.get_real(a.name)));
    }
    out.emit(std::move(node));
    return core::Done{};
  };
}

OnnxMapping update_mapping(const char* onnx, const char* op, std::size_t states,
                           const std::vector<AttributeSchema>& attributes) {
  OnnxReader read = reader(onnx, Elements::kFloating, read_updates(op, states, attributes));
  read.domain = kTrainingDomain;
  return {{std::move(read)}, write_update(onnx, attributes)};
}

OpDefinition momentum() {
  return OpDefinition({
      .name = "momentum",
      .equation = "rate step x gradient v → x − rate·v', v' = alpha·v + beta·(gradient + "
                  "norm_coefficient·x), beta 1 in step 0; nesterov: rate·(gradient + … + alpha·v')",
      .attributes = momentum_attributes(),
      .inputs = std::pair<std::size_t, std::size_t>(5, 5),
      .op_class = OpClass::kNormalization,
      .infer = infer_momentum,
      .semantics = momentum_semantics,
      .onnx = update_mapping("Momentum", "momentum", 1, momentum_attributes()),
  });
}

OpDefinition adam() {
  return OpDefinition({
      .name = "adam",
      .equation = "rate step x gradient v h → (1 − norm_coefficient_post)·(x − rate'·v'/(√h' + "
                  "epsilon)), v', h': means of gradient and gradient², rate' corrects their start",
      .attributes = adam_attributes(),
      .inputs = std::pair<std::size_t, std::size_t>(6, 6),
      .op_class = OpClass::kNormalization,
      .infer = infer_adam,
      .semantics = adam_semantics,
      .onnx = update_mapping("Adam", "adam", 2, adam_attributes()),
  });
}

}  // namespace

std::vector<OpDefinition> optimizers_ops() { return {sgd(), momentum(), adam()}; }

}  // namespace soapstone::ops

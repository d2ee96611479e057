// Batch, layer and root-mean-square normalization. Each is written in stages, as it is computed:
// statistics first, then the elements.
#include <numeric>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
#include "ops/parts/batch_statistics.h"
namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::AttributeSchema;

AttributeSchema epsilon_attribute() {
  return {"epsilon", AttributeRole::kPositiveReal, 1e-5, {1e-5}};
}

Expr epsilon_of(const OpInstance& op) { return number(op.attributes.get_real("epsilon")); }

Expr root(Expr value) { return apply(Function::kSqrt, {std::move(value)}); }

bool require_epsilon(InferContext& c, std::string_view op) {
  return require_representable(c, op, "epsilon") &&
         c.require(c.attributes().get_real("epsilon") >= 0, label(op, "epsilon"),
                   "epsilon must not be negative");
}

// --- batch_norm ---------------------------------------------------------------------------------

std::vector<TensorType> infer_batch_norm(InferContext& c) {
  if (!require_one_type(c, "batch_norm", Elements::kFloating) ||
      !require_epsilon(c, "batch_norm") ||
      !c.require(c.rank(0) >= 2, "batch_norm.rank", "x must be [n, c, …]"))
    return {};
  for (std::size_t k = 1; k < 5; ++k)
    if (!c.require_rank(k, 1, "batch_norm.parameter_rank") ||
        !c.require_equal(c.shape(k)[0], c.shape(0)[1], "batch_norm.channels"))
      return {};
  return {c.input(0)};
}

Semantics batch_norm_semantics(const OpInstance& op) {
  SemanticsBuilder builder(5);
  builder.output(op.outputs[0].shape, [&](const Index& i) {
    const auto parameter = [&](std::uint32_t tensor) { return read(tensor, {i[1]}); };
    return (read(0, i) - parameter(3)) * inverse(root(parameter(4) + epsilon_of(op))) *
               parameter(1) +
           parameter(2);
  });
  return std::move(builder).finish();
}

ReadResult read_batch_norm(OnnxImport& import) {
  const bool inference = import.opset() < 7 ? import.int_or("is_test", 0) != 0
                                            : import.int_or("training_mode", 0) == 0;
  if (import.output_count() > 1 || !inference) return cannot_read(import, "training");
  if (import.opset() < 9 && import.int_or("spatial", 1) == 0)
    return cannot_read(import, "statistics for each position");
  std::vector<TensorId> inputs;
  for (std::size_t k = 0; k < 5; ++k) inputs.push_back(import.input(k));
  return import.append("batch_norm", std::move(inputs),
                       {{"epsilon", decimal_or(import, "epsilon", 1e-5)}});
}

core::Status write_batch_norm(OnnxExport& out) {
  const auto epsilon = static_cast<float>(out.node().attributes.get_real("epsilon"));
  out.emit_same("BatchNormalization", {{"epsilon", epsilon}});
  return core::Done{};
}

OpDefinition batch_norm() {
  return OpDefinition({
      .name = "batch_norm",
      .equation = "x[n,c,…] scale[c] bias[c] mean[c] var[c] → y[n,c,…] = "
                  "(x − mean)/√(var + epsilon)·scale + bias",
      .attributes = std::vector{epsilon_attribute()},
      .inputs = Arity(5, 5),
      .op_class = OpClass::kNormalization,
      .operands = {OperandRole::kImage, OperandRole::kChannels},
      .infer = infer_batch_norm,
      .semantics = batch_norm_semantics,
      .onnx = OnnxMapping{{reader("BatchNormalization", Elements::kFloating, read_batch_norm)},
                          write_batch_norm},
      .in_training = train_on_batch_statistics,
  });
}

// --- layer_norm and rms_norm --------------------------------------------------------------------

InferFunction infer_layer(std::string op) {
  return [op = std::move(op)](InferContext& c) -> std::vector<TensorType> {
    if (!require_one_type(c, op, Elements::kFloating) || !require_epsilon(c, op)) return {};
    const auto axis = require_axis(c, op, c.rank(0));
    if (!axis || !require_broadcasts_to(c, op, "scale", c.shape(1), c.shape(0))) return {};
    if (c.has_input(2) && !require_broadcasts_to(c, op, "bias", c.shape(2), c.shape(0))) return {};
    return {c.input(0)};
  };
}

/// The mean of value(i) over dimensions axis … last, one element for each leading index.
std::uint32_t mean_stage(SemanticsBuilder& builder, const Shape& shape, std::size_t axis,
                         const std::function<Expr(const Index&)>& value) {
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return builder.stage(Shape(shape.begin(), middle), [&](const Index& lead) {
    Index i = lead;
    std::vector<Binder> binders;
    for (std::size_t d = axis; d < shape.size(); ++d) {
      binders.push_back({builder.fresh(), 0, shape[d]});
      i.push_back(binders.back().variable);
    }
    const Polynomial count = product(std::span(shape).subspan(axis));
    return sum(std::move(binders), value(i)) * inverse(size_value(count));
  });
}

Semantics layer_norm_semantics(const OpInstance& op) {
  SemanticsBuilder builder(static_cast<std::uint32_t>(op.inputs.size()));
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto lead = [&](const Index& i) {
    return Index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
  };
  const auto mean = mean_stage(builder, shape, axis, [](const Index& i) { return read(0, i); });
  const auto centered = [&](const Index& i) { return read(0, i) - read(mean, lead(i)); };
  const auto variance =
      mean_stage(builder, shape, axis, [&](const Index& i) { return centered(i) * centered(i); });
  builder.output(shape, [&](const Index& i) {
    Expr y = centered(i) * inverse(root(read(variance, lead(i)) + epsilon_of(op))) *
             read_broadcast(1, op.inputs[1].shape, i);
    return op.has_input(2) ? y + read_broadcast(2, op.inputs[2].shape, i) : y;
  });
  return std::move(builder).finish();
}

Semantics rms_norm_semantics(const OpInstance& op) {
  SemanticsBuilder builder(2);
  const Shape& shape = op.outputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const auto mean =
      mean_stage(builder, shape, axis, [](const Index& i) { return read(0, i) * read(0, i); });
  builder.output(shape, [&](const Index& i) {
    const Index lead(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(axis));
    return read(0, i) * inverse(root(read(mean, lead) + epsilon_of(op))) *
           read_broadcast(1, op.inputs[1].shape, i);
  });
  return std::move(builder).finish();
}

/// The mean over axis … last and 1 over the deviation, which a layer norm may have as outputs.
std::vector<TensorId> statistics(Composer& compose, TensorId x, std::int64_t axis, double epsilon) {
  std::vector<std::int64_t> axes(compose.dims(x).size() - static_cast<std::size_t>(axis));
  std::iota(axes.begin(), axes.end(), axis);
  const Attributes over{{"axes", to_sizes(axes)}};
  const TensorId mean = compose.append("reduce_mean", {x}, over);
  const TensorId centered = compose.append("sub", {x, mean});
  const TensorId variance =
      compose.append("reduce_mean", {compose.append("mul", {centered, centered})}, over);
  const TensorId shifted =
      compose.append("add", {variance, compose.scalar(compose.data_type(x), epsilon)});
  return {mean, compose.append("reciprocal", {compose.append("sqrt", {shifted})})};
}

ReadFunction read_layer(std::string op) {
  return [op = std::move(op)](OnnxImport& import) -> ReadResult {
    const TensorId x = import.input(0);
    const bool has_statistics = import.output_count() > 1;
    if (has_statistics &&
        (op != "layer_norm" || import.type(x).data_type != core::DataType::kFloat32))
      return cannot_read(import, "its statistics as outputs");
    SOAPSTONE_ASSIGN_OR_RETURN(
        const std::int64_t axis,
        non_negative_axis(import, import.int_or("axis", -1), input_dims(import, 0).size()));
    std::vector<TensorId> inputs{x, import.input(1)};
    if (has_input(import, 2)) inputs.push_back(import.input(2));
    const double epsilon = decimal_or(import, "epsilon", 1e-5);
    auto results =
        import.append(op, std::move(inputs), {{"axis", Polynomial(axis)}, {"epsilon", epsilon}});
    if (!results || !has_statistics) return results;
    Composer compose(import);
    for (const TensorId each : statistics(compose, x, axis, epsilon)) results->push_back(each);
    results->resize(import.output_count());
    return compose.finish(*std::move(results));
  };
}

/// Root of the mean of squares, plus epsilon, over axis … last.
std::string deviation(Emitter& emitter, const std::string& x) {
  std::vector<std::int64_t> axes(emitter.dims(0).size() - axis_of(emitter.attributes()));
  std::iota(axes.begin(), axes.end(), emitter.attributes().get_int("axis"));
  const std::string mean = emitter.reduce_mean(emitter.emit("Mul", {x, x}), axes);
  const std::string epsilon = emitter.scalar(emitter.attributes().get_real("epsilon"));
  return emitter.emit("Sqrt", {emitter.emit("Add", {mean, epsilon})});
}

OnnxAttributes layer_attributes(const Attributes& attributes) {
  return {{"axis", attributes.get_int("axis")},
          {"epsilon", static_cast<float>(attributes.get_real("epsilon"))}};
}

core::Status write_layer_norm(OnnxExport& out) {
  Emitter emitter(out);
  if (out.opset() >= 17) {
    out.emit_same("LayerNormalization", layer_attributes(emitter.attributes()));
    return core::Done{};
  }
  std::vector<std::int64_t> axes(emitter.dims(0).size() - axis_of(emitter.attributes()));
  std::iota(axes.begin(), axes.end(), emitter.attributes().get_int("axis"));
  const std::string x = emitter.input(0);
  const std::string centered = emitter.emit("Sub", {x, emitter.reduce_mean(x, axes)});
  const std::string unit = emitter.emit("Div", {centered, deviation(emitter, centered)});
  if (!emitter.has_input(2)) return emitter.finish("Mul", {unit, emitter.input(1)});
  return emitter.finish("Add", {emitter.emit("Mul", {unit, emitter.input(1)}), emitter.input(2)});
}

core::Status write_rms_norm(OnnxExport& out) {
  Emitter emitter(out);
  if (out.opset() >= 23) {
    out.emit_same("RMSNormalization", layer_attributes(emitter.attributes()));
    return core::Done{};
  }
  const std::string x = emitter.input(0);
  const std::string unit = emitter.emit("Div", {x, deviation(emitter, x)});
  return emitter.finish("Mul", {unit, emitter.input(1)});
}

OpDefinition layer_norm() {
  return OpDefinition({
      .name = "layer_norm",
      .equation =
          "x[a…,b…] scale bias? → y[a…,b…] = (x − mean)/√(variance + epsilon)·scale + bias, "
          "mean and variance over b…, the dimensions from axis on",
      .attributes = std::vector{axis_attribute(), epsilon_attribute()},
      .inputs = Arity(2, 3),
      .op_class = OpClass::kNormalization,
      .operands = {OperandRole::kData, OperandRole::kFeatures},
      .infer = infer_layer("layer_norm"),
      .semantics = layer_norm_semantics,
      .onnx = OnnxMapping{{reader("LayerNormalization", Elements::kFloating,
                                  read_layer("layer_norm"), 17)},
                          write_layer_norm},
  });
}

OpDefinition rms_norm() {
  return OpDefinition({
      .name = "rms_norm",
      .equation = "x[a…,b…] scale → y[a…,b…] = x/√(mean of x² over b… + epsilon)·scale, b… the "
                  "dimensions from axis on",
      .attributes = std::vector{axis_attribute(), epsilon_attribute()},
      .inputs = Arity(2, 2),
      .op_class = OpClass::kNormalization,
      .operands = {OperandRole::kData, OperandRole::kFeatures},
      .infer = infer_layer("rms_norm"),
      .semantics = rms_norm_semantics,
      .onnx =
          OnnxMapping{{reader("RMSNormalization", Elements::kFloating, read_layer("rms_norm"), 23)},
                      write_rms_norm},
  });
}

}  // namespace

std::vector<OpDefinition> normalization_ops() { return {batch_norm(), layer_norm(), rms_norm()}; }

}  // namespace soapstone::ops

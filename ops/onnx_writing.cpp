// What the ONNX writers of all families share. Names of new tensors come from the exporter.
#include "ops/onnx_writing.h"

#include <fmt/format.h>

#include "ops/onnx_reading.h"

namespace soapstone::ops {

using core::Dims;

WriteFunction write_same(std::string op_type) {
  return [op_type = std::move(op_type)](OnnxExport& out) -> core::Status {
    out.emit_same(op_type);
    return core::Done{};
  };
}

core::Error cannot_write(const OnnxExport& out, std::string_view why) {
  return core::unsupported(
      fmt::format("{} cannot be written for opset {}: {}", out.node().op->name, out.opset(), why),
      "convert the model to a newer opset first");
}

std::string Emitter::emit(std::string op_type, std::vector<std::string> inputs,
                          OnnxAttributes attributes) {
  std::string result = out_.fresh_name(op_type);
  out_.emit({std::move(op_type), {}, std::move(inputs), {result}, std::move(attributes)});
  return result;
}

core::Status Emitter::finish(std::string op_type, std::vector<std::string> inputs,
                             OnnxAttributes attributes) {
  std::string result = out_.name(out_.node().outputs[0]);
  out_.emit({std::move(op_type), {}, std::move(inputs), {result}, std::move(attributes)});
  return core::Done{};
}

bool Emitter::has_input(std::size_t k) const {
  return k < out_.node().inputs.size() && out_.node().inputs[k].valid();
}

core::DataType Emitter::data_type(std::size_t k) const {
  return out_.graph().tensor(out_.node().inputs[k]).type.data_type;
}

Dims Emitter::dims(std::size_t k) const {
  return core::concrete(out_.graph().tensor(out_.node().inputs[k]).type.shape).value_or(Dims{});
}

std::string Emitter::scalar(double value) {
  return out_.constant(filled_literal(data_type(0), {}, value));
}

std::string Emitter::integer(std::int64_t value) {
  return out_.constant(core::Literal::ints({}, std::span(&value, 1)));
}

std::string Emitter::ints(const std::vector<std::int64_t>& values) {
  return out_.constant(core::Literal::ints({static_cast<std::int64_t>(values.size())}, values));
}

std::string Emitter::reshape(std::string x, const Dims& shape) {
  return emit("Reshape", {std::move(x), ints(shape)});
}

std::string Emitter::reduce_mean(std::string x, const std::vector<std::int64_t>& axes) {
  if (opset() < 18)
    return emit("ReduceMean", {std::move(x)}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  return emit("ReduceMean", {std::move(x), ints(axes)}, {{"keepdims", std::int64_t{1}}});
}

}  // namespace soapstone::ops

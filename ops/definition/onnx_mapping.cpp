// The conveniences that readers and writers of ONNX nodes share: attributes with defaults, integer
// lists that moved from attributes to inputs between opsets, nodes that keep their inputs.
#include "ops/definition/onnx_mapping.h"

#include <fmt/format.h>

namespace soapstone::ops {
namespace {

template <class T>
const T* attribute_as(const OnnxImport& import, std::string_view name) {
  const OnnxAttribute* value = import.attribute(name);
  return value ? std::get_if<T>(value) : nullptr;
}

}  // namespace

std::int64_t OnnxImport::int_or(std::string_view name, std::int64_t fallback) const {
  const auto* value = attribute_as<std::int64_t>(*this, name);
  return value ? *value : fallback;
}

double OnnxImport::real_or(std::string_view name, double fallback) const {
  const auto* value = attribute_as<float>(*this, name);
  return value ? static_cast<double>(*value) : fallback;
}

std::string OnnxImport::text_or(std::string_view name, std::string_view fallback) const {
  const auto* value = attribute_as<std::string>(*this, name);
  return value ? *value : std::string(fallback);
}

std::optional<std::vector<std::int64_t>> OnnxImport::ints(std::string_view name) const {
  const auto* value = attribute_as<std::vector<std::int64_t>>(*this, name);
  if (!value) return std::nullopt;
  return *value;
}

core::Result<std::optional<std::vector<std::int64_t>>>
OnnxImport::ints_or_input(std::string_view name, std::size_t k) const {
  if (auto list = ints(name)) return list;
  if (k >= input_count() || !input(k).valid()) return std::optional<std::vector<std::int64_t>>();
  const core::LiteralPtr value = constant_input(k);
  if (!value)
    return core::unsupported(
        fmt::format("{}: input {} ({}) is computed at run time", op_type(), k, name));
  auto list = value->to_ints();
  if (!list)
    return core::unsupported(fmt::format("{}: input {} ({}) is {}, not integers", op_type(), k,
                                         name, core::to_string(value->data_type())));
  return list;
}

void OnnxExport::emit_same(std::string op_type,
                           std::vector<std::pair<std::string, OnnxAttribute>> attributes) {
  OnnxNode written;
  written.op_type = std::move(op_type);
  written.attributes = std::move(attributes);
  for (core::TensorId id : node().inputs) written.inputs.push_back(name(id));
  for (core::TensorId id : node().outputs) written.outputs.push_back(name(id));
  while (!written.inputs.empty() && written.inputs.back().empty()) written.inputs.pop_back();
  emit(std::move(written));
}

}  // namespace soapstone::ops

// Attributes, constants and appended nodes of one ONNX node, within the limits of what shape rules
// calculate with.
#include "models/onnx/nodes/node_import.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/files/size_limits.h"
#include "ops/definition/registry.h"

namespace soapstone::models {
namespace {

using core::TensorId;
using ops::OnnxAttribute;

bool is_small(std::int64_t value) {
  return value >= -kLargestParameter && value <= kLargestParameter;
}

core::Error too_large(std::string_view what) {
  return core::unsupported(fmt::format("{} is too large to calculate with", what));
}

}  // namespace

core::Status NodeImport::read_attributes() {
  for (const auto& attribute : node_.attribute()) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto value, convert(attribute));
    if (value) attributes_.emplace(attribute.name(), *std::move(value));
  }
  return core::Done{};
}

const OnnxAttribute* NodeImport::attribute(std::string_view name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : &found->second;
}

core::LiteralPtr NodeImport::constant_input(std::size_t k) const {
  const TensorId id = input(k);
  if (!id.valid()) return nullptr;
  const core::LiteralPtr& value = builder_.tensor(id).value;
  constexpr std::int64_t kLongestParameter = 4096;
  if (!value || may_be_large() || value->count() > kLongestParameter) return value;
  const auto ints = value->to_ints();
  return !ints || std::all_of(ints->begin(), ints->end(), is_small) ? value : nullptr;
}

TensorId NodeImport::constant(core::Literal value) {
  return builder_.add_constant(std::make_shared<const core::Literal>(std::move(value)));
}

core::Result<std::vector<TensorId>>
NodeImport::append(std::string_view op, std::vector<TensorId> inputs, core::Attributes attributes) {
  auto results = ops::append(builder_, op, std::move(inputs), attributes, node_.name());
  if (!results) return results;
  for (TensorId id : *results) {
    if (!is_bearable(type(id))) return too_large("its result");
  }
  if (!results->empty()) appended_.push_back(builder_.tensor(results->front()).producer);
  return results;
}

core::Result<std::optional<OnnxAttribute>>
NodeImport::convert(const onnx::AttributeProto& attribute) {
  using Proto = onnx::AttributeProto;
  switch (attribute.type()) {
  case Proto::INT:
    if (!is_small(attribute.i()) && !may_be_large()) return too_large(attribute.name());
    return std::optional<OnnxAttribute>(std::int64_t{attribute.i()});
  case Proto::FLOAT:
    return std::optional<OnnxAttribute>(attribute.f());
  case Proto::STRING:
    return std::optional<OnnxAttribute>(attribute.s());
  case Proto::INTS: {
    std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
    if (!may_be_large() && !std::all_of(values.begin(), values.end(), is_small)) {
      return too_large(attribute.name());
    }
    return std::optional<OnnxAttribute>(std::move(values));
  }
  case Proto::FLOATS:
    return std::optional<OnnxAttribute>(
        std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
  case Proto::TENSOR: {
    if (!fits_literal(attribute.t())) return std::optional<OnnxAttribute>();
    onnx::TensorProto copy = attribute.t();  // the node may have to be kept whole
    SOAPSTONE_ASSIGN_OR_RETURN(auto literal, to_literal(copy, files_));
    return std::optional<OnnxAttribute>(std::move(literal));
  }
  default:
    return std::optional<OnnxAttribute>();
  }
}

}  // namespace soapstone::models

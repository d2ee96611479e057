// Writes and reads lists of shapes and types.
#include "ops/gradients/gradient_attributes.h"

#include <algorithm>
#include <sstream>

#include "ops/gradients/adjoint.h"

namespace soapstone::ops::gradients {

using core::DataType;
using Sizes = std::vector<Polynomial>;

namespace {

/// Types with the shapes of the list, element types still unknown. None: it is no list of shapes.
std::optional<std::vector<TensorType>> read_shapes(const Sizes& list) {
  std::vector<TensorType> types;
  for (std::size_t at = 0; at < list.size();) {
    const auto rank = list[at++].as_constant();
    const auto left = static_cast<std::int64_t>(list.size() - at);
    if (!rank || *rank < -1 || *rank > left) return std::nullopt;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(at);
    const std::int64_t count = std::max<std::int64_t>(*rank, 0);
    types.push_back({DataType::kOther, Shape(first, first + count), *rank >= 0});
    at += static_cast<std::size_t>(count);
  }
  return types;
}

}  // namespace

Sizes written_shapes(std::span<const TensorType> inputs) {
  Sizes list;
  for (const TensorType& type : inputs) {
    list.emplace_back(type.shape_known ? static_cast<std::int64_t>(type.shape.size()) : -1);
    list.insert(list.end(), type.shape.begin(), type.shape.end());
  }
  return list;
}

std::string written_types(std::span<const TensorType> inputs, DataType of_cotangents) {
  const auto is_other = [&](const TensorType& type) {
    return type.shape_known && type.data_type != of_cotangents;
  };
  std::string text;
  if (std::ranges::none_of(inputs, is_other)) return text;
  for (const TensorType& type : inputs) {
    const DataType written = type.shape_known ? type.data_type : of_cotangents;
    text += (text.empty() ? "" : " ") + std::string(core::to_string(written));
  }
  return text;
}

DataType type_of_cotangents(std::span<const TensorType> cotangents) {
  const auto given = std::ranges::find_if(cotangents, &TensorType::shape_known);
  return given == cotangents.end() ? DataType::kOther : given->data_type;
}

bool read_types(const core::Attributes& attributes, Forward& forward) {
  const std::string& text = attributes.get_text(kTypes);
  const DataType of_cotangents = type_of_cotangents(forward.outputs);
  std::istringstream words(text);
  std::string word;
  for (TensorType& type : forward.inputs) {
    type.data_type = of_cotangents;
    if (text.empty()) continue;
    const auto parsed = words >> word ? core::parse_data_type(word) : std::nullopt;
    if (!parsed) return false;
    type.data_type = *parsed;
  }
  return !(words >> word);
}

std::optional<Forward> forward_of(const core::Attributes& attributes,
                                  std::span<const TensorType> types) {
  auto inputs = read_shapes(attributes.get_sizes(kShapes));
  if (!inputs || inputs->empty() || inputs->size() >= types.size()) return std::nullopt;
  Forward forward;
  forward.inputs = *std::move(inputs);
  const auto cotangents = types.subspan(forward.inputs.size());
  forward.outputs.assign(cotangents.begin(), cotangents.end());
  for (const TensorType& type : cotangents) forward.has_cotangent.push_back(type.shape_known);
  return forward;
}

Semantics semantics_of_gradient(const OpDefinition& op, const core::Attributes& attributes,
                                const Forward& forward) {
  const Semantics meaning = op.semantics({attributes, forward.inputs, forward.outputs});
  std::vector<Shape> shapes;
  for (const TensorType& type : forward.inputs) shapes.push_back(type.shape);
  return adjoint(
      {meaning, shapes, static_cast<std::uint32_t>(forward.input), forward.has_cotangent});
}

}  // namespace soapstone::ops::gradients

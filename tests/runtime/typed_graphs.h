// Graphs over another type of elements, and inputs for them. Without GoogleTest: programs that run
// where it is not use it, too.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "runtime/execution/elements.h"
#include "runtime/execution/executor.h"

namespace soapstone::runtime::test {

/// For values of this type, relative to the larger of 1 and the value that is right.
inline double tolerance_of(core::DataType type) {
  return type == core::DataType::kFloat32 ? 1e-4 : type == core::DataType::kFloat16 ? 1e-2 : 8e-2;
}

/// The text of a graph over f32 with another type in its place.
inline std::string text_over(std::string text, core::DataType type) {
  const std::string_view name = core::to_string(type);
  for (std::size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += name.size())
    text.replace(at, 3, name);
  return text;
}

/// Random inputs; all reals at least 0.5 if `positive`.
inline std::vector<core::Literal> inputs_of(const core::Graph& graph, bool positive) {
  std::vector<core::Literal> inputs = random_inputs(graph, 1);
  if (!positive) return inputs;
  for (core::Literal& input : inputs) {
    std::vector<double> values = input.to_doubles();
    for (double& value : values) value = std::fabs(value) + 0.5;
    const core::TensorType type{input.data_type(), core::to_shape(input.dims())};
    std::vector<std::byte> bytes(input.bytes().size());
    store_elements(type, Layout::kRowMajor, values, bytes.data());
    input = core::Literal::copy(input.data_type(), input.dims(), bytes);
  }
  return inputs;
}

}  // namespace soapstone::runtime::test

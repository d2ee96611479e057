// Settles open sizes: first those given by the name of a dimension, then whole shapes given by
// the name of an input, which must agree; what is open then is assumed or refused.
#include "models/onnx/reading/onnx_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace soapstone::models {
namespace {

using core::Dims;
using Dimension = onnx::TensorShapeProto::Dimension;

/// A negative number is how some exporters write "open".
bool is_number(const Dimension& dimension) {
  return dimension.has_dim_value() && dimension.dim_value() >= 0;
}

core::Error at_input(const onnx::ValueInfoProto& input, std::string message, std::string hint) {
  return core::invalid_input(std::move(message), std::move(hint))
      .at(fmt::format("input '{}'", input.name()));
}

class Settling {
 public:
  Settling(const onnx::GraphProto& graph, const ImportOptions& options)
      : graph_(graph), options_(options) {}

  core::Result<SettledInputs> run() {
    SOAPSTONE_RETURN_IF_ERROR(take_dimensions());
    for (const auto& input : graph_.input()) SOAPSTONE_RETURN_IF_ERROR(take_shape(input));
    for (const auto& input : graph_.input()) SOAPSTONE_RETURN_IF_ERROR(settle(input));
    return std::move(settled_);
  }

 private:
  std::vector<std::string> input_names() const {
    std::vector<std::string> names;
    for (const auto& input : graph_.input()) names.push_back(input.name());
    return names;
  }

  std::set<std::string> dimension_names() const {
    std::set<std::string> names;
    for (const auto& input : graph_.input()) {
      for (const auto& dimension : input.type().tensor_type().shape().dim()) {
        if (!dimension.dim_param().empty()) names.insert(dimension.dim_param());
      }
    }
    return names;
  }

  core::Status take_dimensions() {
    const auto inputs = input_names();
    const auto dimensions = dimension_names();
    for (const auto& [name, given] : options_.shapes) {
      if (std::any_of(given.begin(), given.end(), [](std::int64_t size) { return size < 0; })) {
        return core::invalid_input(fmt::format("the shape {} given for '{}' has a negative size",
                                               core::to_string(given), name));
      }
      if (std::find(inputs.begin(), inputs.end(), name) != inputs.end()) continue;
      if (!dimensions.contains(name) && options_.skip_unknown) continue;
      if (!dimensions.contains(name)) return names_nothing(name, inputs, dimensions);
      if (given.size() != 1) {
        return core::invalid_input(fmt::format(
            "'{}' is one dimension, but {} sizes are given for it", name, given.size()));
      }
      settled_.sizes[name] = given[0];
    }
    return core::Done{};
  }

  static core::Error names_nothing(const std::string& name, const std::vector<std::string>& inputs,
                                   const std::set<std::string>& dimensions) {
    std::string hint = fmt::format("its inputs are {}", fmt::join(inputs, ", "));
    if (!dimensions.empty()) {
      hint += fmt::format("; its open dimensions are {}", fmt::join(dimensions, ", "));
    }
    return core::invalid_input(
        fmt::format("a shape is given for '{}', but the model has no such input or dimension",
                    name),
        std::move(hint));
  }

  const Dims* given_for(const onnx::ValueInfoProto& input) const {
    const auto found = options_.shapes.find(input.name());
    return found == options_.shapes.end() ? nullptr : &found->second;
  }

  core::Status take_shape(const onnx::ValueInfoProto& input) {
    const Dims* given = given_for(input);
    if (!given || !input.type().tensor_type().has_shape()) return core::Done{};
    const auto& declared = input.type().tensor_type().shape();
    if (given->size() != static_cast<std::size_t>(declared.dim_size())) {
      return at_input(input,
                      fmt::format("has {} dimensions, but the shape {} is given for it",
                                  declared.dim_size(), core::to_string(*given)),
                      {});
    }
    for (int i = 0; i < declared.dim_size(); ++i) {
      const std::int64_t size = (*given)[static_cast<std::size_t>(i)];
      const Dimension& dimension = declared.dim(i);
      std::int64_t expected = size;
      if (is_number(dimension))
        expected = dimension.dim_value();
      else if (!dimension.dim_param().empty()) {
        expected = settled_.sizes.emplace(dimension.dim_param(), size).first->second;
      }
      if (expected != size) {
        return at_input(
            input,
            fmt::format("has size {} in dimension {}, but {} is given for it", expected, i, size),
            {});
      }
    }
    return core::Done{};
  }

  core::Status settle(const onnx::ValueInfoProto& input) {
    core::TensorType type = type_from_onnx(input.type(), settled_.sizes);
    if (input.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) {
      return at_input(input, "the model does not say its type", {});
    }
    if (!input.type().has_tensor_type()) {
      // A sequence, say: only opaque nodes read it, and nobody else may ask for its sizes.
      type.shape_known = true;
      settled_.types.push_back(std::move(type));
      return core::Done{};
    }
    if (!data_type_from_onnx(input.type().tensor_type().elem_type())) {
      return at_input(
          input, fmt::format("{} is no ONNX element type", input.type().tensor_type().elem_type()),
          {});
    }
    if (const Dims* given = given_for(input)) {
      type.shape = core::to_shape(*given);
    } else if (!input.type().tensor_type().has_shape()) {
      return no_shape(input);
    } else if (!type.shape_known) {
      SOAPSTONE_ASSIGN_OR_RETURN(type.shape, assumed(input));
    }
    type.shape_known = true;
    if (const auto dims = core::concrete(type.shape);
        !dims || !core::checked_element_count(*dims)) {
      return at_input(
          input, fmt::format("its shape {} has too many elements", core::to_string(type.shape, {})),
          {});
    }
    settled_.types.push_back(std::move(type));
    return core::Done{};
  }

  core::Error no_shape(const onnx::ValueInfoProto& input) const {
    return at_input(input, "the model does not say its shape",
                    fmt::format("give it, as in --shape {}=1,3,224,224", input.name()));
  }

  core::Result<core::Shape> assumed(const onnx::ValueInfoProto& input) {
    core::Shape shape;
    int i = 0;
    for (const auto& dimension : input.type().tensor_type().shape().dim()) {
      const auto known = settled_.sizes.find(dimension.dim_param());
      if (is_number(dimension)) {
        shape.push_back(dimension.dim_value());
      } else if (!dimension.dim_param().empty() && known != settled_.sizes.end()) {
        shape.push_back(known->second);
      } else if (!options_.assume_ones) {
        return open_size(input, i);
      } else {
        const std::string& name = dimension.dim_param();
        if (!name.empty()) settled_.sizes[name] = 1;
        settled_.warnings.push_back(
            fmt::format("input '{}': dimension {}{} is open; assumed to be 1", input.name(), i,
                        name.empty() ? "" : fmt::format(" ('{}')", name)));
        shape.push_back(1);
      }
      ++i;
    }
    return shape;
  }

  static core::Error open_size(const onnx::ValueInfoProto& input, int i) {
    const auto& shape = input.type().tensor_type().shape();
    const std::string& name = shape.dim(i).dim_param();
    if (!name.empty()) {
      return at_input(input, fmt::format("the size of dimension {} ('{}') is open", i, name),
                      fmt::format("give it, as in --shape {}=1", name));
    }
    std::vector<std::string> example;
    for (const auto& dimension : shape.dim()) {
      example.push_back(is_number(dimension) ? std::to_string(dimension.dim_value()) : "1");
    }
    return at_input(
        input, fmt::format("the size of dimension {} is open", i),
        fmt::format("give its shape, as in --shape {}={}", input.name(), fmt::join(example, ",")));
  }

  const onnx::GraphProto& graph_;
  const ImportOptions& options_;
  SettledInputs settled_;
};

}  // namespace

core::Result<SettledInputs> settle_inputs(const onnx::GraphProto& graph,
                                          const ImportOptions& options) {
  return Settling(graph, options).run();
}

}  // namespace soapstone::models

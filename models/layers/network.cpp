// Inputs, weights and nodes of the built-in networks. A random weight depends on the seed and its
// own name alone, so two variants of a network have the same weights where they share layers.
#include "models/layers/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/float16.h"
#include "core/base/hash.h"
#include "models/files/size_limits.h"
#include "ops/definition/registry.h"

namespace soapstone::models {

using core::DataType;
using core::Dims;

namespace {

/// More elements in one weight are a mistake in the parameters.
constexpr std::int64_t kMostWeightElements = std::int64_t{1} << 31;

core::Literal literal_of(DataType type, const Dims& dims, const std::vector<float>& values) {
  if (type == DataType::kFloat32) return core::Literal::floats(dims, values);
  const auto convert = type == DataType::kFloat16 ? core::f16_from_float : core::bf16_from_float;
  std::vector<std::uint16_t> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), convert);
  return core::Literal::copy(type, dims, std::as_bytes(std::span(halves)));
}

}  // namespace

void Network::fail(core::Error error) {
  if (!error_) error_ = std::move(error);
}

Network::Tensor Network::input(std::string name, const Dims& dims, std::optional<DataType> type) {
  if (error_) return Tensor::none();
  core::TensorType described{type.value_or(options_.type), core::to_shape(dims), true};
  if (!is_bearable(described)) {
    fail(core::invalid_input(fmt::format("the input {} is too large", core::to_string(dims))));
    return Tensor::none();
  }
  return builder_.add_input(std::move(name), std::move(described));
}

Network::Numbers Network::random(const std::string& name, const Dims& dims, double deviation,
                                 double mean) {
  if (error_ || !has_random_weights()) return {};
  const auto count = core::checked_element_count(dims);
  if (!count || *count > kMostWeightElements) {
    fail(core::invalid_input(
        fmt::format("the weight {} of shape {} is too large", name, core::to_string(dims))));
    return {};
  }
  std::vector<float> values(static_cast<std::size_t>(*count));
  const std::uint64_t key = core::hash_combine(options_.seed, core::hash_text(name));
  const double half_width = deviation * std::sqrt(3.0);  // of a uniform distribution
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit =
        static_cast<double>(core::hash_mix(key + i * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
    values[i] = static_cast<float>(mean + (2.0 * unit - 1.0) * half_width);
  }
  return values;
}

Network::Tensor Network::given(const std::string& name, const Dims& dims, const Numbers& values,
                               std::vector<Tensor>& list) {
  if (error_) return Tensor::none();
  const Tensor id = has_random_weights() ? constant(name, dims, values) : input(name, dims);
  list.push_back(id);
  return id;
}

Network::Tensor Network::weight(const std::string& name, const Dims& dims, double deviation,
                                double mean) {
  return given(name, dims, random(name, dims, deviation, mean), weights_);
}

Network::Tensor Network::constant(const std::string& name, const Dims& dims,
                                  const Numbers& values) {
  if (error_) return Tensor::none();
  return constant(literal_of(type(), dims, values), name);
}

Network::Tensor Network::constant(core::Literal value, std::string name) {
  if (error_) return Tensor::none();
  return builder_.add_constant(std::make_shared<const core::Literal>(std::move(value)),
                               std::move(name));
}

std::vector<Network::Tensor> Network::append_all(std::string_view op, std::vector<Tensor> inputs,
                                                 const core::Attributes& attributes,
                                                 const std::string& name) {
  if (error_) return {};
  auto results = ops::append(builder_, op, std::move(inputs), attributes, name);
  if (!results) {
    fail(results.error().at(name));
    return {};
  }
  for (Tensor result : *results) {
    const core::TensorType& type = builder_.tensor(result).type;
    const auto dims = core::concrete(type.shape);
    const bool empty = dims && core::checked_element_count(*dims) == 0;
    if (!empty && is_bearable(type)) continue;
    fail(core::invalid_input(fmt::format("its result has the shape {}",
                                         core::to_string(type.shape, builder_.symbols())),
                             "choose other parameters")
             .at(name));
  }
  return *std::move(results);
}

Network::Tensor Network::append(std::string_view op, std::vector<Tensor> inputs,
                                const core::Attributes& attributes, const std::string& name) {
  const auto results = append_all(op, std::move(inputs), attributes, name);
  return results.empty() ? Tensor::none() : results.front();
}

Dims Network::dims(Tensor x) const {
  constexpr std::size_t kHighestRank = 5;
  if (error_) return Dims(kHighestRank, 0);
  return core::concrete(builder_.tensor(x).type.shape).value_or(Dims{});
}

core::Result<BuiltNetwork>
Network::finish(const std::vector<std::pair<Tensor, std::string>>& outputs) {
  if (error_) return *error_;
  std::vector<Tensor> ids;
  for (const auto& [id, name] : outputs) {
    builder_.set_name(id, name);
    ids.push_back(id);
  }
  builder_.set_outputs(std::move(ids));
  SOAPSTONE_ASSIGN_OR_RETURN(core::Graph graph, std::move(builder_).finish());
  return BuiltNetwork{std::move(graph), std::move(weights_), std::move(statistics_)};
}

}  // namespace soapstone::models

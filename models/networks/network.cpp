// Layers and random weights of the built-in networks. A weight depends on the seed and its own
// name alone, so two variants of a network have the same weights where they share layers.
#include "models/networks/network.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/hash.h"
#include "models/files/size_limits.h"
#include "ops/definition/registry.h"

namespace soapstone::models {

using core::Dims;
using core::Polynomial;

namespace {

/// More elements in one weight are a mistake in the parameters.
constexpr std::int64_t kMostWeightElements = std::int64_t{1} << 31;

std::vector<Polynomial> sizes(const Dims& values) { return {values.begin(), values.end()}; }

}  // namespace

void Network::fail(core::Error error) {
  if (!error_) error_ = std::move(error);
}

Network::Tensor Network::input(std::string name, const Dims& dims, core::DataType type) {
  if (error_) return Tensor::none();
  core::TensorType described{type, core::to_shape(dims), true};
  if (!is_bearable(described)) {
    fail(core::invalid_input(fmt::format("the input {} is too large", core::to_string(dims))));
    return Tensor::none();
  }
  return builder_.add_input(std::move(name), std::move(described));
}

std::vector<float> Network::random(const std::string& name, const Dims& dims, double deviation,
                                   double mean) {
  const auto count = core::checked_element_count(dims);
  if (!count || *count > kMostWeightElements) {
    fail(core::invalid_input(
        fmt::format("the weight {} of shape {} is too large", name, core::to_string(dims))));
  }
  if (error_) return {};
  std::vector<float> values(static_cast<std::size_t>(*count));
  const std::uint64_t key = core::hash_combine(seed_, core::hash_text(name));
  const double half_width = deviation * std::sqrt(3.0);  // of a uniform distribution
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit =
        static_cast<double>(core::hash_mix(key + i * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
    values[i] = static_cast<float>(mean + (2.0 * unit - 1.0) * half_width);
  }
  return values;
}

Network::Tensor Network::floats(const std::string& name, const Dims& dims,
                                const std::vector<float>& values) {
  if (error_) return Tensor::none();
  return constant(core::Literal::floats(dims, values), name);
}

Network::Tensor Network::weight(const std::string& name, const Dims& dims, double deviation,
                                double mean) {
  return floats(name, dims, random(name, dims, deviation, mean));
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

core::Attributes Network::conv_attributes(const ConvOptions& o) const {
  return {{"strides", sizes({o.stride, o.stride})},
          {"pads", sizes({o.pad_height, o.pad_width, o.pad_height, o.pad_width})},
          {"group", Polynomial(o.group)}};
}

Network::Tensor Network::conv(const std::string& name, Tensor x, std::int64_t channels,
                              std::int64_t kernel_height, std::int64_t kernel_width,
                              const ConvOptions& options) {
  const Dims shape = {channels, dims(x)[1] / options.group, kernel_height, kernel_width};
  const double fan_in = static_cast<double>(shape[1] * kernel_height * kernel_width);
  const Tensor w = weight(name + ".weight", shape, std::sqrt(2.0 / std::max(fan_in, 1.0)));
  const Tensor b = weight(name + ".bias", {channels}, 0.05);
  return append("conv", {x, w, b}, conv_attributes(options), name);
}

Network::Tensor Network::conv_batch_norm(const std::string& name, Tensor x, std::int64_t channels,
                                         std::int64_t kernel_height, std::int64_t kernel_width,
                                         const ConvOptions& options, double epsilon, bool folded) {
  const Dims shape = {channels, dims(x)[1] / options.group, kernel_height, kernel_width};
  const double fan_in = static_cast<double>(shape[1] * kernel_height * kernel_width);
  std::vector<float> w =
      random(name + ".weight", shape, std::sqrt(2.0 / std::max(fan_in, 1.0)), 0.0);
  const auto draw = [&](const char* part, double center, double deviation) {
    return random(name + ".norm" + part, {channels}, deviation, center);
  };
  const std::vector<float> scale = draw(".scale", options.scale, 0.1 * options.scale);
  const std::vector<float> bias = draw(".bias", 0.0, 0.1), mean = draw(".mean", 0.0, 0.1);
  const std::vector<float> variance = draw(".variance", 1.0, 0.2);
  if (error_) return Tensor::none();
  if (!folded) {
    const Tensor y =
        append("conv", {x, floats(name + ".weight", shape, w)}, conv_attributes(options), name);
    return append("batch_norm",
                  {y, floats(name + ".norm.scale", {channels}, scale),
                   floats(name + ".norm.bias", {channels}, bias),
                   floats(name + ".norm.mean", {channels}, mean),
                   floats(name + ".norm.variance", {channels}, variance)},
                  {{"epsilon", epsilon}}, name + ".norm");
  }
  std::vector<float> b(bias);
  const std::size_t chunk = w.size() / b.size();
  for (std::size_t o = 0; o < b.size(); ++o) {
    const double factor = scale[o] / std::sqrt(variance[o] + epsilon);
    b[o] = static_cast<float>(bias[o] - mean[o] * factor);
    for (std::size_t i = o * chunk; i < (o + 1) * chunk; ++i) {
      w[i] = static_cast<float>(w[i] * factor);
    }
  }
  return append("conv",
                {x, floats(name + ".weight", shape, w), floats(name + ".bias", {channels}, b)},
                conv_attributes(options), name);
}

Network::Tensor Network::linear(const std::string& name, Tensor x, std::int64_t width) {
  const Dims shape = dims(x);
  const std::int64_t depth = shape.back();
  const double fans = static_cast<double>(std::max<std::int64_t>(depth + width, 1));
  const Tensor w = weight(name + ".weight", {depth, width}, std::sqrt(2.0 / fans));
  const Tensor y = append("matmul", {x, w}, {}, name);
  return append("add", {y, weight(name + ".bias", {width}, 0.05)}, {}, name + ".add");
}

Network::Tensor Network::layer_norm(const std::string& name, Tensor x, double epsilon) {
  const Dims shape = dims(x);
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  const Tensor scale = weight(name + ".scale", {shape.back()}, 0.1, 1.0);
  const Tensor bias = weight(name + ".bias", {shape.back()}, 0.1);
  return append("layer_norm", {x, scale, bias}, {{"axis", Polynomial(axis)}, {"epsilon", epsilon}},
                name);
}

Network::Tensor Network::max_pool(const std::string& name, Tensor x, std::int64_t kernel,
                                  std::int64_t stride, std::int64_t pad, bool ceil_mode) {
  return append("max_pool", {x},
                {{"kernel", sizes({kernel, kernel})},
                 {"strides", sizes({stride, stride})},
                 {"pads", sizes({pad, pad, pad, pad})},
                 {"ceil_mode", Polynomial(ceil_mode)}},
                name);
}

Network::Tensor Network::average_pool(const std::string& name, Tensor x, std::int64_t kernel,
                                      std::int64_t stride, std::int64_t pad) {
  return append("average_pool", {x},
                {{"kernel", sizes({kernel, kernel})},
                 {"strides", sizes({stride, stride})},
                 {"pads", sizes({pad, pad, pad, pad})}},
                name);
}

Network::Tensor Network::reshape(const std::string& name, Tensor x, const Dims& shape) {
  return append("reshape", {x}, {{"shape", sizes(shape)}}, name);
}

Network::Tensor Network::transpose(const std::string& name, Tensor x, const Dims& perm) {
  return append("transpose", {x}, {{"perm", sizes(perm)}}, name);
}

Network::Tensor Network::global_average(Tensor x) {
  const Tensor mean = append("global_average_pool", {x}, {}, "pool");
  const Dims shape = dims(mean);
  return reshape("flatten", mean, {shape[0], shape[1]});
}

core::Result<core::Graph>
Network::finish(const std::vector<std::pair<Tensor, std::string>>& outputs) {
  if (error_) return *error_;
  std::vector<Tensor> ids;
  for (const auto& [id, name] : outputs) {
    builder_.set_name(id, name);
    ids.push_back(id);
  }
  builder_.set_outputs(std::move(ids));
  return std::move(builder_).finish();
}

}  // namespace soapstone::models

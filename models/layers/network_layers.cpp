// Layers of the built-in networks, each with the names and the scale of its weights.
#include <algorithm>
#include <cmath>

#include "models/layers/network.h"

namespace soapstone::models {

using core::Dims;
using core::Polynomial;

namespace {

constexpr double kTableDeviation = 0.02;

std::vector<Polynomial> sizes(const Dims& values) { return {values.begin(), values.end()}; }

/// For a kernel [channels, inputs, height, width] with a relu behind it.
double he_deviation(const Dims& kernel) {
  const auto fan_in = static_cast<double>(kernel[1] * kernel[2] * kernel[3]);
  return std::sqrt(2.0 / std::max(fan_in, 1.0));
}

}  // namespace

core::Attributes Network::conv_attributes(const ConvOptions& o) const {
  return {{"strides", sizes({o.stride, o.stride})},
          {"pads", sizes({o.pad_height, o.pad_width, o.pad_height, o.pad_width})},
          {"group", Polynomial(o.group)}};
}

Network::Tensor Network::conv(const std::string& name, Tensor x, std::int64_t channels,
                              std::int64_t kernel_height, std::int64_t kernel_width,
                              const ConvOptions& options) {
  const Dims shape = {channels, dims(x)[1] / options.group, kernel_height, kernel_width};
  const Tensor w = weight(name + ".weight", shape, he_deviation(shape));
  std::vector<Tensor> inputs{x, w};
  if (options.bias) inputs.push_back(weight(name + ".bias", {channels}, 0.05));
  return append("conv", std::move(inputs), conv_attributes(options), name);
}

struct Network::Norm {
  Numbers scale, bias, mean, variance;
};

Network::Norm Network::random_norm(const std::string& name, std::int64_t channels, double scale) {
  const auto draw = [&](const char* part, double center, double deviation) {
    return random(name + part, {channels}, deviation, center);
  };
  return {draw(".scale", scale, 0.1 * scale), draw(".bias", 0.0, 0.1), draw(".mean", 0.0, 0.1),
          draw(".variance", 1.0, 0.2)};
}

Network::Tensor Network::batch_norm(const std::string& name, Tensor x, double epsilon,
                                    double scale) {
  const std::int64_t channels = dims(x)[1];
  const Norm norm = random_norm(name, channels, scale);
  const auto part = [&](const char* suffix, const Numbers& values, std::vector<Tensor>& list) {
    return given(name + suffix, {channels}, values, list);
  };
  return append("batch_norm",
                {x, part(".scale", norm.scale, weights_), part(".bias", norm.bias, weights_),
                 part(".mean", norm.mean, statistics_),
                 part(".variance", norm.variance, statistics_)},
                {{"epsilon", epsilon}}, name);
}

Network::Tensor Network::conv_batch_norm(const std::string& name, Tensor x, std::int64_t channels,
                                         std::int64_t kernel_height, std::int64_t kernel_width,
                                         const ConvOptions& options, double epsilon, bool folded) {
  const Dims shape = {channels, dims(x)[1] / options.group, kernel_height, kernel_width};
  Numbers w = random(name + ".weight", shape, he_deviation(shape), 0.0);
  if (!folded) {
    const Tensor kernel = given(name + ".weight", shape, w, weights_);
    const Tensor y = append("conv", {x, kernel}, conv_attributes(options), name);
    return batch_norm(name + ".norm", y, epsilon, options.scale);
  }
  const Norm norm = random_norm(name + ".norm", channels, options.scale);
  Numbers b(norm.bias);
  const std::size_t chunk = w.size() / std::max<std::size_t>(b.size(), 1);
  for (std::size_t o = 0; o < b.size(); ++o) {
    const double factor = norm.scale[o] / std::sqrt(norm.variance[o] + epsilon);
    b[o] = static_cast<float>(norm.bias[o] - norm.mean[o] * factor);
    for (std::size_t i = o * chunk; i < (o + 1) * chunk; ++i) {
      w[i] = static_cast<float>(w[i] * factor);
    }
  }
  const Tensor kernel = given(name + ".weight", shape, w, weights_);
  const Tensor shift = given(name + ".bias", {channels}, b, weights_);
  return append("conv", {x, kernel, shift}, conv_attributes(options), name);
}

Network::Tensor Network::linear(const std::string& name, Tensor x, std::int64_t width, bool bias) {
  const Dims shape = dims(x);
  const std::int64_t depth = shape.back();
  const double fans = static_cast<double>(std::max<std::int64_t>(depth + width, 1));
  const Tensor w = weight(name + ".weight", {depth, width}, std::sqrt(2.0 / fans));
  const Tensor y = matmul(name, x, w);
  return bias ? add(name + ".add", y, weight(name + ".bias", {width}, 0.05)) : y;
}

Network::Tensor Network::perceptron(const std::string& name, Tensor x, const Dims& widths) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string layer = name + std::to_string(i);
    x = relu(layer + "/relu", linear(layer, x, widths[i]));
  }
  return x;
}

Network::Tensor Network::table(const std::string& name, std::int64_t rows, std::int64_t width) {
  return weight(name + ".table", {rows, width}, kTableDeviation);
}

Network::Tensor Network::look_up(const std::string& name, Tensor table, Tensor ids) {
  return append("gather", {table, ids}, {{"axis", Polynomial(0)}}, name);
}

Network::Tensor Network::layer_norm(const std::string& name, Tensor x, double epsilon) {
  const Dims shape = dims(x);
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  const Tensor scale = weight(name + ".scale", {shape.back()}, 0.1, 1.0);
  const Tensor bias = weight(name + ".bias", {shape.back()}, 0.1);
  return append("layer_norm", {x, scale, bias}, {{"axis", Polynomial(axis)}, {"epsilon", epsilon}},
                name);
}

Network::Tensor Network::rms_norm(const std::string& name, Tensor x, double epsilon) {
  const Dims shape = dims(x);
  const auto axis = static_cast<std::int64_t>(shape.size()) - 1;
  return append("rms_norm", {x, weight(name + ".scale", {shape.back()}, 0.1, 1.0)},
                {{"axis", Polynomial(axis)}, {"epsilon", epsilon}}, name);
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

Network::Tensor Network::add(const std::string& name, Tensor a, Tensor b) {
  return append("add", {a, b}, {}, name);
}

Network::Tensor Network::mul(const std::string& name, Tensor a, Tensor b) {
  return append("mul", {a, b}, {}, name);
}

Network::Tensor Network::swish(const std::string& name, Tensor x) {
  return mul(name + "/swish", x, append("sigmoid", {x}, {}, name + "/sigmoid"));
}

Network::Tensor Network::matmul(const std::string& name, Tensor a, Tensor b) {
  return append("matmul", {a, b}, {}, name);
}

Network::Tensor Network::softmax(const std::string& name, Tensor x, std::int64_t axis) {
  return append("softmax", {x}, {{"axis", Polynomial(axis)}}, name);
}

Network::Tensor Network::reduce(std::string_view op, const std::string& name, Tensor x,
                                const Dims& axes, bool keep) {
  return append(op, {x}, {{"axes", sizes(axes)}, {"keep_dims", Polynomial(keep)}}, name);
}

Network::Tensor Network::concat(const std::string& name, std::vector<Tensor> parts,
                                std::int64_t axis) {
  return append("concat", std::move(parts), {{"axis", Polynomial(axis)}}, name);
}

Network::Tensor Network::slice(const std::string& name, Tensor x, std::int64_t axis,
                               std::int64_t start, std::int64_t size) {
  return append("slice", {x},
                {{"axes", sizes({axis})},
                 {"starts", sizes({start})},
                 {"sizes", sizes({size})},
                 {"steps", sizes({1})}},
                name);
}

Network::Tensor Network::reshape(const std::string& name, Tensor x, const Dims& shape) {
  return append("reshape", {x}, {{"shape", sizes(shape)}}, name);
}

Network::Tensor Network::transpose(const std::string& name, Tensor x, const Dims& perm) {
  return append("transpose", {x}, {{"perm", sizes(perm)}}, name);
}

Network::Tensor Network::cast(const std::string& name, Tensor x, core::DataType type) {
  return append("cast", {x}, {{"to", std::string(core::to_string(type))}}, name);
}

Network::Tensor Network::expand(const std::string& name, Tensor x, const Dims& shape) {
  return append("expand", {x}, {{"shape", sizes(shape)}}, name);
}

Network::Tensor Network::iota(const std::string& name, const Dims& dims, std::int64_t axis) {
  return append("iota", {}, {{"shape", sizes(dims)}, {"axis", Polynomial(axis)}}, name);
}

Network::Tensor Network::flatten(Tensor x) {
  const Dims shape = dims(x);
  return reshape("flatten", x, {shape[0], error_ ? 0 : core::element_count(shape) / shape[0]});
}

Network::Tensor Network::global_average(Tensor x) {
  const Tensor mean = append("global_average_pool", {x}, {}, "pool");
  return flatten(mean);
}

}  // namespace soapstone::models

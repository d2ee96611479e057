// A builder for the built-in networks: layers with names and random weights. It keeps the first
// error that any layer met. Private to the builders.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/networks/builders.h"

namespace soapstone::models {

/// The parameters of one build, complete and in range.
class BuildParameters {
 public:
  /// Errors: kInvalidInput for unknown names and values out of range.
  static core::Result<BuildParameters> make(std::span<const ModelParameter> known,
                                            const std::map<std::string, std::int64_t>& given);
  /// Precondition: the network has that parameter.
  std::int64_t operator[](std::string_view name) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> values_;
};

struct ConvOptions {
  std::int64_t stride = 1;
  std::int64_t pad_height = 0, pad_width = 0;  ///< On either side.
  std::int64_t group = 1;
  double scale = 1.0;  ///< Mean of the scale of the batch norm behind it.
};

/// Appends layers. After the first error nothing more happens; finish() returns it.
class Network {
 public:
  using Tensor = core::TensorId;

  Network(std::string name, std::uint64_t seed) : builder_(std::move(name)), seed_(seed) {}

  Tensor input(std::string name, const core::Dims& dims,
               core::DataType type = core::DataType::kFloat32);
  /// Uniform with the given mean and standard deviation; the same for the same name and seed.
  Tensor weight(const std::string& name, const core::Dims& dims, double deviation,
                double mean = 0.0);
  Tensor constant(core::Literal value, std::string name);
  Tensor append(std::string_view op, std::vector<Tensor> inputs,
                const core::Attributes& attributes = {}, const std::string& name = {});
  std::vector<Tensor> append_all(std::string_view op, std::vector<Tensor> inputs,
                                 const core::Attributes& attributes, const std::string& name);

  /// With a bias. Kernel and scaling after He et al., for a relu behind it.
  Tensor conv(const std::string& name, Tensor x, std::int64_t channels, std::int64_t kernel_height,
              std::int64_t kernel_width, const ConvOptions& options);
  /// A convolution without bias, then batch norm; or one convolution that does the same.
  Tensor conv_batch_norm(const std::string& name, Tensor x, std::int64_t channels,
                         std::int64_t kernel_height, std::int64_t kernel_width,
                         const ConvOptions& options, double epsilon, bool folded);
  /// x · w + b over the last dimension, scaled after Xavier.
  Tensor linear(const std::string& name, Tensor x, std::int64_t width);
  Tensor layer_norm(const std::string& name, Tensor x, double epsilon);
  Tensor max_pool(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t stride,
                  std::int64_t pad = 0, bool ceil_mode = false);
  Tensor average_pool(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t stride,
                      std::int64_t pad);
  Tensor relu(const std::string& name, Tensor x) { return append("relu", {x}, {}, name); }
  Tensor reshape(const std::string& name, Tensor x, const core::Dims& dims);
  Tensor transpose(const std::string& name, Tensor x, const core::Dims& perm);
  /// [n, c, …] to [n, c]: the mean over everything else.
  Tensor global_average(Tensor x);

  /// Zeros after an error.
  core::Dims dims(Tensor x) const;
  core::Result<core::Graph> finish(const std::vector<std::pair<Tensor, std::string>>& outputs);

 private:
  std::vector<float> random(const std::string& name, const core::Dims& dims, double deviation,
                            double mean);
  Tensor floats(const std::string& name, const core::Dims& dims, const std::vector<float>& values);
  core::Attributes conv_attributes(const ConvOptions& options) const;
  void fail(core::Error error);

  core::GraphBuilder builder_;
  std::uint64_t seed_;
  std::optional<core::Error> error_;
};

}  // namespace soapstone::models

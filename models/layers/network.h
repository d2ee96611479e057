// A builder for the built-in networks: layers with names and weights. It keeps the first error
// that any layer met. Private to the builders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/layers/build_parameters.h"

namespace soapstone::models {

struct ConvOptions {
  std::int64_t stride = 1;
  std::int64_t pad_height = 0, pad_width = 0;  ///< On either side.
  std::int64_t group = 1;
  double scale = 1.0;  ///< Mean of the scale of the batch norm behind it.
  bool bias = true;    ///< Where there is no batch norm.
};

/// Appends layers. After the first error nothing more happens; finish() returns it.
class Network {
 public:
  using Tensor = core::TensorId;

  Network(std::string name, const NetworkOptions& options)
      : builder_(std::move(name)), options_(options) {}

  /// Of the network's element type, if no other is given.
  Tensor input(std::string name, const core::Dims& dims, std::optional<core::DataType> type = {});
  /// Uniform with the given mean and standard deviation; the same for the same name and seed.
  Tensor weight(const std::string& name, const core::Dims& dims, double deviation,
                double mean = 0.0);
  /// A constant that is no weight, of the network's element type.
  Tensor constant(const std::string& name, const core::Dims& dims,
                  const std::vector<float>& values);
  Tensor scalar(const std::string& name, float value) { return constant(name, {}, {value}); }
  Tensor constant(core::Literal value, std::string name);
  Tensor append(std::string_view op, std::vector<Tensor> inputs,
                const core::Attributes& attributes = {}, const std::string& name = {});
  std::vector<Tensor> append_all(std::string_view op, std::vector<Tensor> inputs,
                                 const core::Attributes& attributes, const std::string& name);

  /// Kernel and scaling after He et al., for a relu behind it.
  Tensor conv(const std::string& name, Tensor x, std::int64_t channels, std::int64_t kernel_height,
              std::int64_t kernel_width, const ConvOptions& options);
  /// `scale`: the mean of its scale.
  Tensor batch_norm(const std::string& name, Tensor x, double epsilon, double scale = 1.0);
  /// A convolution without bias, then batch norm; or one convolution that does the same.
  Tensor conv_batch_norm(const std::string& name, Tensor x, std::int64_t channels,
                         std::int64_t kernel_height, std::int64_t kernel_width,
                         const ConvOptions& options, double epsilon, bool folded);
  /// x · w + b over the last dimension, or without b, scaled after Xavier.
  Tensor linear(const std::string& name, Tensor x, std::int64_t width, bool bias = true);
  /// Linear layers of these widths, a relu behind each.
  Tensor perceptron(const std::string& name, Tensor x, const core::Dims& widths);
  /// The weights of an embedding; look_up() takes the rows that `ids` names.
  Tensor table(const std::string& name, std::int64_t rows, std::int64_t width);
  Tensor look_up(const std::string& name, Tensor table, Tensor ids);
  Tensor layer_norm(const std::string& name, Tensor x, double epsilon);
  /// Over the last dimension.
  Tensor rms_norm(const std::string& name, Tensor x, double epsilon);
  Tensor max_pool(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t stride,
                  std::int64_t pad = 0, bool ceil_mode = false);
  Tensor average_pool(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t stride,
                      std::int64_t pad);
  Tensor add(const std::string& name, Tensor a, Tensor b);
  Tensor mul(const std::string& name, Tensor a, Tensor b);
  Tensor relu(const std::string& name, Tensor x) { return append("relu", {x}, {}, name); }
  /// x·sigmoid(x).
  Tensor swish(const std::string& name, Tensor x);
  Tensor matmul(const std::string& name, Tensor a, Tensor b);
  Tensor softmax(const std::string& name, Tensor x, std::int64_t axis);
  Tensor reduce(std::string_view op, const std::string& name, Tensor x, const core::Dims& axes,
                bool keep);
  Tensor concat(const std::string& name, std::vector<Tensor> parts, std::int64_t axis);
  Tensor slice(const std::string& name, Tensor x, std::int64_t axis, std::int64_t start,
               std::int64_t size);
  Tensor reshape(const std::string& name, Tensor x, const core::Dims& dims);
  Tensor transpose(const std::string& name, Tensor x, const core::Dims& perm);
  Tensor cast(const std::string& name, Tensor x, core::DataType type);
  Tensor expand(const std::string& name, Tensor x, const core::Dims& dims);
  Tensor iota(const std::string& name, const core::Dims& dims, std::int64_t axis);
  /// [n, …] to [n, m].
  Tensor flatten(Tensor x);
  /// [n, c, …] to [n, c]: the mean over everything else.
  Tensor global_average(Tensor x);

  core::DataType type() const { return options_.type; }
  /// Zeros after an error.
  core::Dims dims(Tensor x) const;
  core::Result<BuiltNetwork> finish(const std::vector<std::pair<Tensor, std::string>>& outputs);

 private:
  using Numbers = std::vector<float>;
  struct Norm;
  Norm random_norm(const std::string& name, std::int64_t channels, double scale);
  bool has_random_weights() const { return options_.weights == Weights::kRandom; }
  Numbers random(const std::string& name, const core::Dims& dims, double deviation, double mean);
  /// Keeps the tensor in `list`. The values are needed for random weights alone.
  Tensor given(const std::string& name, const core::Dims& dims, const Numbers& values,
               std::vector<Tensor>& list);
  core::Attributes conv_attributes(const ConvOptions& options) const;
  void fail(core::Error error);

  core::GraphBuilder builder_;
  NetworkOptions options_;
  std::vector<Tensor> weights_, statistics_;
  std::optional<core::Error> error_;
};

}  // namespace soapstone::models

// Batch and root-mean-square normalization by our own loops.
#include <cmath>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_functions.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using runtime::Layout;

constexpr std::size_t kNormalizationGrain = 1 << 15;

/// y = a·x + b with a and b for each channel, which come from the four parameters.
class BatchNormKernel final : public runtime::HostKernel {
 public:
  explicit BatchNormKernel(const KernelRequest& request)
      : threads_(request.threads), inputs_(request),
        epsilon_(request.attributes().get_real("epsilon")) {
    for (std::size_t k = 0; k < 5; ++k) numbers_[k] = request.number(request.head_input(k));
    const Dims dims = request.dims(request.head_input(0));
    batch_ = static_cast<std::size_t>(dims[0]);
    channels_ = static_cast<std::size_t>(dims[1]);
    pixels_ = product(dims, 2, dims.size());
    // Channels innermost: also where there is one pixel, whatever the layout says.
    channels_last_ = pixels_ == 1 || request.layout(request.head_input(0)) == Layout::kChannelsLast;
    factors_.resize(channels_);
    shifts_.resize(channels_);
    constant_ = true;
    for (std::size_t k = 1; k < 5; ++k) constant_ = constant_ && inputs_.is_constant(numbers_[k]);
    if (constant_) prepare({});
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    if (!constant_) prepare(inputs);
    const float* x = parameter(0, inputs);
    auto* y = reinterpret_cast<float*>(outputs[0]);
    const std::size_t run = channels_last_ ? channels_ : pixels_;
    const std::size_t runs = batch_ * channels_ * pixels_ / run;
    parallel_ranges(
        threads_, runs, kNormalizationGrain / run + 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            const std::size_t c = i % channels_;
            if (channels_last_)
              scale_shift_loop(x + i * run, y + i * run, run, factors_.data(), shifts_.data());
            else
              scale_shift_loop(x + i * run, y + i * run, run, factors_[c], shifts_[c]);
          }
        });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  const float* parameter(std::size_t k, runtime::HostInputs inputs) const {
    return reinterpret_cast<const float*>(inputs_.find(numbers_[k], inputs));
  }
  void prepare(runtime::HostInputs inputs) {
    const float *scale = parameter(1, inputs), *bias = parameter(2, inputs);
    const float *mean = parameter(3, inputs), *variance = parameter(4, inputs);
    for (std::size_t c = 0; c < channels_; ++c) {
      const double factor = scale[c] / std::sqrt(variance[c] + epsilon_);
      factors_[c] = static_cast<float>(factor);
      shifts_[c] = static_cast<float>(bias[c] - mean[c] * factor);
    }
  }

  int threads_;
  Inputs inputs_;
  double epsilon_;
  std::array<std::size_t, 5> numbers_{};
  std::size_t batch_, channels_, pixels_;
  bool channels_last_, constant_;
  std::vector<float> factors_, shifts_;
};

class RmsNormKernel final : public runtime::HostKernel {
 public:
  explicit RmsNormKernel(const KernelRequest& request)
      : threads_(request.threads), inputs_(request),
        epsilon_(static_cast<float>(request.attributes().get_real("epsilon"))),
        x_(request.number(request.head_input(0))), scale_(request.number(request.head_input(1))) {
    const Dims dims = request.dims(request.head_input(0));
    const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
    rows_ = product(dims, 0, axis);
    size_ = product(dims, axis, dims.size());
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* scale = reinterpret_cast<const float*>(inputs_.find(scale_, inputs));
    const auto* from = reinterpret_cast<const float*>(inputs_.find(x_, inputs));
    auto* to = reinterpret_cast<float*>(outputs[0]);
    parallel_ranges(threads_, rows_, kNormalizationGrain / size_ + 1,
                    [&](std::size_t begin, std::size_t end) {
                      for (std::size_t i = begin; i < end; ++i)
                        rms_norm_row(from + i * size_, scale, to + i * size_, size_, epsilon_);
                    });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  int threads_;
  Inputs inputs_;
  float epsilon_;
  std::size_t x_, scale_, rows_, size_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_normalization_kernel(const KernelRequest& request) {
  const bool batch = request.op() == "batch_norm";
  if (!batch && request.op() != "rms_norm") return not_mine();
  if (!request.all_floats()) return refuse("normalization: elements are not f32");
  if (!request.has_elements()) return refuse("normalization: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("normalization: has no epilogue");
  if (batch) {
    if (request.layout(request.head_input(0)) != request.output_layout())
      return refuse("normalization: the layout changes");
    return std::unique_ptr<runtime::HostKernel>(std::make_unique<BatchNormKernel>(request));
  }
  if (!request.row_major()) return refuse("normalization: not row-major");
  const Dims dims = request.dims(request.head_input(0));
  const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
  if (!covers_tail(request.dims(request.head_input(1)), dims, axis))
    return refuse("normalization: scale is not of the normalized shape");
  return std::unique_ptr<runtime::HostKernel>(std::make_unique<RmsNormKernel>(request));
}

}  // namespace soapstone::cpu

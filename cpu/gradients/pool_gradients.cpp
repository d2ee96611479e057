// Gradients of pooling by our own loops: window by window, all channels of a place at once.
#include <algorithm>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"
#include "ops/gradients/gradient_operator.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using runtime::Layout;

SOAPSTONE_VECTOR_CLONES void add_share(const float* slope, float share, std::size_t channels,
                                       float* sum) {
  for (std::size_t c = 0; c < channels; ++c) sum[c] += slope[c] * share;
}

SOAPSTONE_VECTOR_CLONES void note_largest(const float* x, std::size_t channels, float* largest,
                                          float* ties) {
  for (std::size_t c = 0; c < channels; ++c) {
    ties[c] = x[c] > largest[c] ? 1.0F : ties[c] + (x[c] == largest[c] ? 1.0F : 0.0F);
    largest[c] = x[c] > largest[c] ? x[c] : largest[c];
  }
}

SOAPSTONE_VECTOR_CLONES void add_to_largest(const float* x, const float* largest,
                                            const float* slope, std::size_t channels, float* sum) {
  for (std::size_t c = 0; c < channels; ++c) sum[c] += x[c] == largest[c] ? slope[c] : 0.0F;
}

SOAPSTONE_VECTOR_CLONES void divide(const float* slope, const float* ties, std::size_t channels,
                                    float* shares) {
  for (std::size_t c = 0; c < channels; ++c) shares[c] = slope[c] / ties[c];
}

/// The places of an image that a window at each place of the result reads.
class Windows {
 public:
  Windows(const core::Attributes& attributes, const Dims& image, const Dims& result)
      : kernel_(attributes.get_ints("kernel")), strides_(attributes.get_ints("strides")),
        pads_(attributes.get_ints("pads")), dilations_(attributes.get_ints("dilations")),
        image_(image.begin() + 2, image.end()), result_(result.begin() + 2, result.end()) {}

  std::int64_t places() const { return core::element_count(result_); }
  std::int64_t pixels() const { return core::element_count(image_); }

  /// The pixels under the window at a place, each a number in row-major order.
  void pixels_under(std::int64_t place, std::vector<std::size_t>& pixels) const {
    Dims begin(result_.size());
    for (std::size_t d = result_.size(); d-- > 0; place /= result_[d])
      begin[d] = place % result_[d] * strides_[d] - pads_[d];
    pixels.assign(1, 0);
    for (std::size_t d = 0; d < begin.size(); ++d) {
      std::vector<std::size_t> next;
      for (const std::size_t pixel : pixels)
        for (std::int64_t k = 0; k < kernel_[d]; ++k) {
          const std::int64_t at = begin[d] + k * dilations_[d];
          if (at >= 0 && at < image_[d])
            next.push_back(pixel * static_cast<std::size_t>(image_[d]) +
                           static_cast<std::size_t>(at));
        }
      pixels = std::move(next);
    }
  }

  /// An average at a place divides by this. Padding counts as far as it was declared.
  float positions_at(std::int64_t place, bool padding_counts) const {
    float count = 1;
    for (std::size_t d = result_.size(); d-- > 0; place /= result_[d]) {
      const std::int64_t begin = place % result_[d] * strides_[d] - pads_[d];
      const std::int64_t low = padding_counts ? -pads_[d] : 0;
      const std::int64_t high = image_[d] + (padding_counts ? pads_[d + result_.size()] : 0);
      float inside = 0;
      for (std::int64_t k = 0; k < kernel_[d]; ++k) {
        const std::int64_t at = begin + k * dilations_[d];
        if (at >= low && at < high) ++inside;
      }
      count *= inside;
    }
    return count;
  }

 private:
  Dims kernel_, strides_, pads_, dilations_;
  Dims image_, result_;
};

/// Image, cotangent and result lie channels-last. Several largest elements share the cotangent.
class PoolGradient final : public runtime::HostKernel {
 public:
  PoolGradient(const KernelRequest& request, const Dims& image, const Dims& pooled, bool is_average)
      : threads_(request.threads), inputs_(request),
        cotangent_(request.number(request.head().inputs.back())),
        samples_(static_cast<std::size_t>(image[0])), channels_(static_cast<std::size_t>(image[1])),
        windows_(request.attributes(), image, pooled), is_average_(is_average) {
    if (is_average)
      padding_counts_ = request.attributes().get_int("count_include_pad") != 0;
    else
      image_ = request.number(request.head_input(0));
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* const image =
        is_average_ ? nullptr : reinterpret_cast<const float*>(inputs_.find(image_, inputs));
    const auto* const slopes = reinterpret_cast<const float*>(inputs_.find(cotangent_, inputs));
    auto* const sums = reinterpret_cast<float*>(outputs[0]);
    const auto pixels = static_cast<std::size_t>(windows_.pixels()) * channels_;
    const auto places = static_cast<std::size_t>(windows_.places()) * channels_;
    parallel_ranges(threads_, samples_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n) {
        std::fill_n(sums + n * pixels, pixels, 0.0F);
        if (is_average_)
          spread(slopes + n * places, sums + n * pixels);
        else
          select(image + n * pixels, slopes + n * places, sums + n * pixels);
      }
    });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  void spread(const float* slopes, float* sums) const {
    std::vector<std::size_t> under;
    for (std::int64_t place = 0; place < windows_.places(); ++place, slopes += channels_) {
      windows_.pixels_under(place, under);
      const float share = 1.0F / windows_.positions_at(place, padding_counts_);
      for (const std::size_t pixel : under)
        add_share(slopes, share, channels_, sums + pixel * channels_);
    }
  }

  void select(const float* image, const float* slopes, float* sums) const {
    std::vector<std::size_t> under;
    std::vector<float> largest(channels_), ties(channels_), shares(channels_);
    for (std::int64_t place = 0; place < windows_.places(); ++place, slopes += channels_) {
      windows_.pixels_under(place, under);
      if (under.empty()) continue;
      std::copy_n(image + under.front() * channels_, channels_, largest.begin());
      std::ranges::fill(ties, 1.0F);
      for (std::size_t k = 1; k < under.size(); ++k)
        note_largest(image + under[k] * channels_, channels_, largest.data(), ties.data());
      divide(slopes, ties.data(), channels_, shares.data());
      for (const std::size_t pixel : under)
        add_to_largest(image + pixel * channels_, largest.data(), shares.data(), channels_,
                       sums + pixel * channels_);
    }
  }

  int threads_;
  Inputs inputs_;
  std::size_t image_ = 0, cotangent_;
  std::size_t samples_, channels_;
  Windows windows_;
  bool is_average_, padding_counts_ = false;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_pool_gradient(const KernelRequest& request) {
  const bool is_average = request.op() == ops::gradient_name("average_pool");
  if (!is_average && request.op() != ops::gradient_name("max_pool")) return not_mine();
  if (!request.all_floats()) return refuse("gradient of pooling: elements are not f32");
  if (!request.has_elements()) return refuse("gradient of pooling: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("gradient of pooling: has no epilogue");
  const auto is_last = [](Layout layout) { return layout == Layout::kChannelsLast; };
  const core::TensorId image = request.launch.outputs[0], pooled = request.head().inputs.back();
  if (request.dims(image).size() < 3) return refuse("gradient of pooling: no channels");
  if (!std::ranges::all_of(request.layouts.inputs, is_last) || !is_last(request.output_layout()))
    return refuse("gradient of pooling: not channels-last");
  return std::unique_ptr<runtime::HostKernel>(std::make_unique<PoolGradient>(
      request, request.dims(image), request.dims(pooled), is_average));
}

}  // namespace soapstone::cpu

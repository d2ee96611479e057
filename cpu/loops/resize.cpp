// Resizing by our own loops, one dimension after the other: each row of the result is a row of the
// source or lies between two of them.
#include <cstring>
#include <utility>
#include <vector>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"
#include "ops/parts/resize_sampling.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

SOAPSTONE_VECTOR_CLONES void mix(const float* low, const float* high, float weight,
                                 std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = low[i] * (1 - weight) + high[i] * weight;
}

/// [outer, input, inner] to [outer, taps, inner].
struct ResizePass {
  std::size_t outer = 1, input = 1, inner = 1;
  std::vector<ops::ResizeTap> taps;

  std::size_t output_elements() const { return outer * taps.size() * inner; }

  void run(const float* from, float* to, int threads) const {
    constexpr std::size_t kGrain = 1 << 14;
    const std::size_t rows = outer * taps.size();
    parallel_ranges(threads, rows, kGrain / inner + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const ops::ResizeTap& tap = taps[r % taps.size()];
        const float* low =
            from + (r / taps.size() * input + static_cast<std::size_t>(tap.position)) * inner;
        float* y = to + r * inner;
        if (tap.upper == 0)
          std::memcpy(y, low, inner * sizeof(float));
        else
          mix(low, low + inner, static_cast<float>(tap.upper), inner, y);
      }
    });
  }
};

class ResizeKernel final : public runtime::HostKernel {
 public:
  ResizeKernel(const KernelRequest& request, std::vector<ResizePass> passes)
      : threads_(request.threads), inputs_(request), passes_(std::move(passes)) {}

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    const auto* from = reinterpret_cast<const float*>(inputs_.find(0, inputs));
    auto* between = reinterpret_cast<float*>(scratch);
    for (std::size_t k = 0; k < passes_.size(); ++k) {
      const bool last = k + 1 == passes_.size();
      float* to = last ? reinterpret_cast<float*>(outputs[0]) : between;
      passes_[k].run(from, to, threads_);
      from = to;
      if (!last) between += passes_[k].output_elements();
    }
    return core::Done{};
  }
  std::size_t scratch_bytes() const override {
    std::size_t elements = 0;
    for (std::size_t k = 0; k + 1 < passes_.size(); ++k) elements += passes_[k].output_elements();
    return elements * sizeof(float);
  }
  std::string implementation() const override { return "own loops"; }

 private:
  int threads_;
  Inputs inputs_;
  std::vector<ResizePass> passes_;
};

std::vector<ResizePass> passes_of(const KernelRequest& request) {
  const core::Attributes& attributes = request.attributes();
  const auto mode = *ops::parse_resize_mode(attributes.get_text("mode"));
  const auto rounding = *ops::parse_resize_rounding(attributes.get_text("rounding"));
  const auto kind = *ops::parse_resize_coordinates(attributes.get_text("coordinates"));
  const auto up = attributes.get_ints("up");
  auto down = attributes.get_ints("down");
  if (down.empty()) down.resize(up.size(), 1);
  const Dims to = request.dims(request.launch.outputs[0]);
  Dims dims = request.dims(request.head_input(0));
  std::vector<ResizePass> passes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (up[d] == down[d]) continue;
    ResizePass pass;
    pass.taps = ops::resize_taps(mode, rounding, ops::ResizeCoordinate::make(kind, up[d], down[d]),
                                 dims[d], to[d]);
    pass.input = static_cast<std::size_t>(dims[d]);
    for (std::size_t e = 0; e < d; ++e) pass.outer *= static_cast<std::size_t>(dims[e]);
    for (std::size_t e = d + 1; e < dims.size(); ++e)
      pass.inner *= static_cast<std::size_t>(dims[e]);
    passes.push_back(std::move(pass));
    dims[d] = to[d];
  }
  return passes;
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_resize_kernel(const KernelRequest& request) {
  if (request.op() != "resize") return not_mine();
  if (!request.all_floats()) return refuse("resize: elements are not f32");
  if (!request.row_major()) return refuse("resize: not row-major");
  if (!request.has_elements()) return refuse("resize: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("resize: has no epilogue");
  std::vector<ResizePass> passes = passes_of(request);
  if (passes.empty()) return refuse("resize: nothing changes");
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<ResizeKernel>(request, std::move(passes)));
}

}  // namespace soapstone::cpu

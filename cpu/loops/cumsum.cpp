// Cumulative sums by our own loops, over [outer, size, inner].
#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"

namespace soapstone::cpu {
namespace {

class CumsumKernel final : public runtime::HostKernel {
 public:
  explicit CumsumKernel(const KernelRequest& request)
      : threads_(request.threads), inputs_(request),
        exclusive_(request.attributes().get_int("exclusive") != 0),
        reverse_(request.attributes().get_int("reverse") != 0) {
    const core::Dims dims = request.dims(request.head_input(0));
    const auto axis = static_cast<std::size_t>(request.attributes().get_int("axis"));
    for (std::size_t d = 0; d < dims.size(); ++d) {
      std::size_t& part = d < axis ? outer_ : d == axis ? size_ : inner_;
      part *= static_cast<std::size_t>(dims[d]);
    }
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* from = reinterpret_cast<const float*>(inputs_.find(0, inputs));
    auto* to = reinterpret_cast<float*>(outputs[0]);
    constexpr std::size_t kGrain = 1 << 14;
    const std::size_t block = size_ * inner_;
    parallel_ranges(threads_, outer_, kGrain / block + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t o = begin; o < end; ++o) run_block(from + o * block, to + o * block);
    });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  /// Row after row: each is the row before it and the new elements, or those of the row before.
  void run_block(const float* x, float* y) const {
    for (std::size_t k = 0; k < size_; ++k) {
      const std::size_t at = reverse_ ? size_ - 1 - k : k;
      const std::size_t before = reverse_ ? at + 1 : at - 1;
      const float* terms = x + (exclusive_ ? before : at) * inner_;
      float* row = y + at * inner_;
      for (std::size_t i = 0; i < inner_; ++i) {
        if (k == 0)
          row[i] = exclusive_ ? 0.0F : terms[i];
        else
          row[i] = y[before * inner_ + i] + terms[i];
      }
    }
  }

  int threads_;
  Inputs inputs_;
  bool exclusive_, reverse_;
  std::size_t outer_ = 1, size_ = 1, inner_ = 1;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_cumsum_kernel(const KernelRequest& request) {
  if (request.op() != "cumsum") return not_mine();
  if (!request.all_floats()) return refuse("cumsum: elements are not f32");
  if (!request.row_major()) return refuse("cumsum: not row-major");
  if (!request.has_elements()) return refuse("cumsum: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("cumsum: has no epilogue");
  return std::unique_ptr<runtime::HostKernel>(std::make_unique<CumsumKernel>(request));
}

}  // namespace soapstone::cpu

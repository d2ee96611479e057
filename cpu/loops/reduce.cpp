// Reductions and global pooling by our own loops: one pass for each group of dimensions that are
// neighbors in memory and are all reduced.
#include <algorithm>
#include <limits>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"

namespace soapstone::cpu {
namespace {

using core::Dims;
using runtime::Layout;

enum class Combine : std::uint8_t { kSum, kMax, kMin };

constexpr std::size_t kLanes = 16;

// The sum runs in lanes, so that it is the same for every instruction set.
#define SOAPSTONE_REDUCTION(name, initial, combine)                                                \
  SOAPSTONE_VECTOR_CLONES float name##_of_row(const float* x, std::size_t count) {                 \
    float lanes[kLanes];                                                                           \
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = (initial);                                 \
    std::size_t i = 0;                                                                             \
    for (; i + kLanes <= count; i += kLanes) {                                                     \
      for (std::size_t l = 0; l < kLanes; ++l) {                                                   \
        const float a = lanes[l], b = x[i + l];                                                    \
        lanes[l] = (combine);                                                                      \
      }                                                                                            \
    }                                                                                              \
    float a = (initial);                                                                           \
    for (std::size_t l = 0; l < kLanes; ++l) {                                                     \
      const float b = lanes[l];                                                                    \
      a = (combine);                                                                               \
    }                                                                                              \
    for (; i < count; ++i) {                                                                       \
      const float b = x[i];                                                                        \
      a = (combine);                                                                               \
    }                                                                                              \
    return a;                                                                                      \
  }                                                                                                \
  SOAPSTONE_VECTOR_CLONES void name##_of_column(const float* x, std::size_t rows,                  \
                                                std::size_t stride, std::size_t count, float* y) { \
    for (std::size_t i = 0; i < count; ++i) y[i] = (initial);                                      \
    for (std::size_t r = 0; r < rows; ++r) {                                                       \
      for (std::size_t i = 0; i < count; ++i) {                                                    \
        const float a = y[i], b = x[r * stride + i];                                               \
        y[i] = (combine);                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

SOAPSTONE_REDUCTION(sum, 0.0f, a + b)
// NaN if one is.
SOAPSTONE_REDUCTION(max, -std::numeric_limits<float>::infinity(), b > a || b != b ? b : a)
SOAPSTONE_REDUCTION(min, std::numeric_limits<float>::infinity(), b < a || b != b ? b : a)

float row(Combine combine, const float* x, std::size_t count) {
  if (combine == Combine::kSum) return sum_of_row(x, count);
  return combine == Combine::kMax ? max_of_row(x, count) : min_of_row(x, count);
}

void column(Combine combine, const float* x, std::size_t rows, std::size_t stride,
            std::size_t count, float* y) {
  if (combine == Combine::kSum) return sum_of_column(x, rows, stride, count, y);
  if (combine == Combine::kMax) return max_of_column(x, rows, stride, count, y);
  return min_of_column(x, rows, stride, count, y);
}

/// [outer, size, inner] to [outer, inner].
struct Pass {
  std::size_t outer, size, inner;

  void run(Combine combine, const float* from, float* to, int threads) const {
    constexpr std::size_t kGrain = 1 << 15;
    if (inner == 1) {
      parallel_ranges(threads, outer, kGrain / size + 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) to[i] = row(combine, from + i * size, size);
      });
      return;
    }
    // Blocks of columns that stay in the first-level cache.
    constexpr std::size_t kBlock = 1024;
    const std::size_t blocks = (inner + kBlock - 1) / kBlock;
    parallel_ranges(threads, outer * blocks, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t o = i / blocks, at = i % blocks * kBlock;
        column(combine, from + o * size * inner + at, size, inner, std::min(kBlock, inner - at),
               to + o * inner + at);
      }
    });
  }
};

/// Passes from the innermost group of reduced dimensions outwards.
std::vector<Pass> passes(const Dims& dims, Layout layout, const std::vector<bool>& reduced) {
  std::vector<std::pair<std::size_t, bool>> groups;  // outermost first: size, reduced
  for (std::size_t axis : runtime::memory_order(dims.size(), layout)) {
    const auto size = static_cast<std::size_t>(dims[axis]);
    if (size == 1) continue;
    if (!groups.empty() && groups.back().second == reduced[axis])
      groups.back().first *= size;
    else
      groups.emplace_back(size, reduced[axis]);
  }
  std::vector<Pass> result;
  std::size_t inner = 1;
  for (std::size_t g = groups.size(); g-- > 0;) {
    if (!groups[g].second) {
      inner *= groups[g].first;
      continue;
    }
    std::size_t outer = 1;
    for (std::size_t before = 0; before < g; ++before) outer *= groups[before].first;
    result.push_back({outer, groups[g].first, inner});
  }
  if (result.empty()) result.push_back({1, 1, inner});
  return result;
}

class ReduceKernel final : public runtime::HostKernel {
 public:
  ReduceKernel(const KernelRequest& request, Combine combine, std::vector<Pass> passes,
               float factor)
      : threads_(request.threads), inputs_(request), combine_(combine), passes_(std::move(passes)),
        factor_(factor), count_(static_cast<std::size_t>(
                             core::element_count(request.dims(request.launch.outputs[0])))) {}

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    const auto* from = reinterpret_cast<const float*>(inputs_.find(0, inputs));
    auto* result = reinterpret_cast<float*>(outputs[0]);
    auto* between = reinterpret_cast<float*>(scratch);
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      float* to = i + 1 == passes_.size() ? result : between;
      passes_[i].run(combine_, from, to, threads_);
      from = to;
      between += passes_[i].outer * passes_[i].inner;
    }
    if (factor_ != 1)
      for (std::size_t i = 0; i < count_; ++i) result[i] *= factor_;
    return core::Done{};
  }
  std::size_t scratch_bytes() const override {
    std::size_t elements = 0;
    for (const Pass& pass : passes_) elements += pass.outer * pass.inner;
    return elements * sizeof(float);
  }
  std::string implementation() const override { return "own loops"; }

 private:
  int threads_;
  Inputs inputs_;
  Combine combine_;
  std::vector<Pass> passes_;
  float factor_;
  std::size_t count_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_reduce_kernel(const KernelRequest& request) {
  const std::string& op = request.op();
  const bool pools = op == "global_average_pool";
  if (!pools && (!op.starts_with("reduce_") || op == "reduce_log_sum_exp")) return not_mine();
  if (!request.all_floats()) return refuse("reduction: elements are not f32");
  if (!request.has_elements()) return refuse("reduction: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("reduction: has no epilogue");
  const Dims dims = request.dims(request.head_input(0));
  std::vector<bool> reduced(dims.size(), false);
  if (pools)
    std::fill(reduced.begin() + 2, reduced.end(), true);
  else
    for (std::int64_t axis : request.attributes().get_ints("axes"))
      reduced[static_cast<std::size_t>(axis)] = true;
  std::int64_t size = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) size *= reduced[d] ? dims[d] : 1;
  const float factor = pools || op == "reduce_mean" ? 1.0f / static_cast<float>(size) : 1.0f;
  const Combine combine = op == "reduce_max"   ? Combine::kMax
                          : op == "reduce_min" ? Combine::kMin
                                               : Combine::kSum;
  return std::unique_ptr<runtime::HostKernel>(std::make_unique<ReduceKernel>(
      request, combine, passes(dims, request.layout(request.head_input(0)), reduced), factor));
}

}  // namespace soapstone::cpu

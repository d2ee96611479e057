// Softmax, its logarithm, and logarithms of sums of exponentials by our own loops: maximum, sum of
// exponentials, result. oneDNN's leave parts of a row finite beside a NaN, and its logarithm of 1
// is not 0.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"
#include "cpu/base/vector_math.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

enum class Form : std::uint8_t { kSoftmax, kLogSoftmax, kLogSumExp };

constexpr std::size_t kColumnBlock = 256;
constexpr std::size_t kLanes = 16;
constexpr std::size_t kRowBlock = 512;

/// The subtrahend: the maximum. A sum alone subtracts 0 where that is infinite: −∞ − −∞ would be no
/// number. A NaN need not be the maximum, as sums of exponentials become NaN by it.
float shift_of(Form form, float largest) {
  return form == Form::kLogSumExp && std::fabs(largest) == kInfinity ? 0.0f : largest;
}

// Parts of a row are inlined into functions that have a clone for each instruction set. Loops
// become vector code if their length is no small constant, so what is left of a row is padded.

[[gnu::always_inline]] inline float largest_of_row(const float* x, std::size_t count) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -kInfinity;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  float a = -kInfinity;
  for (const float b : lanes) a = b > a ? b : a;
  for (; i < count; ++i) a = x[i] > a ? x[i] : a;
  return a;
}

[[gnu::always_inline]] inline void exponentials(const float* x, std::size_t count, float shift,
                                                float* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = exp1(x[i] - shift);
}

/// Precondition: `count` is a multiple of kLanes.
[[gnu::always_inline]] inline void add_to_lanes(const float* x, std::size_t count, float* lanes) {
  for (std::size_t i = 0; i < count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
}

/// Σ exp(x − shift), in lanes, so that it is the same for every instruction set. The exponentials
/// go to y, unless that is null.
[[gnu::always_inline]] inline float sum_of_row(const float* x, std::size_t count, float shift,
                                               float* y) {
  float lanes[kLanes] = {};
  float terms[kRowBlock];
  const std::size_t whole = count / kLanes * kLanes, rest = count - whole;
  for (std::size_t i = 0; i < whole; i += kRowBlock) {
    const std::size_t size = std::min(kRowBlock, whole - i);
    float* const to = y ? y + i : terms;
    exponentials(x + i, size, shift, to);
    add_to_lanes(to, size, lanes);
  }
  if (rest > 0) {
    float padded[2 * kLanes] = {};
    for (std::size_t l = 0; l < rest; ++l) padded[l] = x[whole + l];
    exponentials(padded, 2 * kLanes, shift, terms);
    for (std::size_t l = 0; l < rest; ++l) lanes[l] += terms[l];
    if (y) std::copy(terms, terms + rest, y + whole);
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

SOAPSTONE_VECTOR_CLONES void row(Form form, const float* x, std::size_t count, float* y) {
  const float shift = shift_of(form, largest_of_row(x, count));
  const float total = sum_of_row(x, count, shift, form == Form::kSoftmax ? y : nullptr);
  if (form == Form::kSoftmax) {
    for (std::size_t i = 0; i < count; ++i) y[i] /= total;
  } else if (form == Form::kLogSoftmax) {
    const float logarithm = log1(total);
    for (std::size_t i = 0; i < count; ++i) y[i] = (x[i] - shift) - logarithm;
  } else {
    *y = shift + log1(total);
  }
}

/// Neighboring columns at once: element r of column i is x[r·stride + i].
SOAPSTONE_VECTOR_CLONES void largest_of_columns(const float* x, std::size_t rows,
                                                std::size_t stride, std::size_t count,
                                                float* largest) {
  for (std::size_t i = 0; i < count; ++i) largest[i] = -kInfinity;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < count; ++i) {
      const float a = largest[i], b = x[r * stride + i];
      largest[i] = b > a ? b : a;
    }
}

SOAPSTONE_VECTOR_CLONES void sum_of_columns(const float* x, std::size_t rows, std::size_t stride,
                                            std::size_t count, const float* shift, float* total) {
  for (std::size_t i = 0; i < count; ++i) total[i] = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < count; ++i) total[i] += exp1(x[r * stride + i] - shift[i]);
}

SOAPSTONE_VECTOR_CLONES void softmax_of_columns(const float* x, std::size_t rows,
                                                std::size_t stride, std::size_t count,
                                                const float* shift, const float* total, float* y) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < count; ++i)
      y[r * stride + i] = exp1(x[r * stride + i] - shift[i]) / total[i];
}

SOAPSTONE_VECTOR_CLONES void log_of_columns(const float* shift, const float* total,
                                            std::size_t count, float* y) {
  for (std::size_t i = 0; i < count; ++i) y[i] = shift[i] + log1(total[i]);
}

SOAPSTONE_VECTOR_CLONES void log_softmax_of_columns(const float* x, std::size_t rows,
                                                    std::size_t stride, std::size_t count,
                                                    const float* shift, const float* logarithm,
                                                    float* y) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = 0; i < count; ++i)
      y[r * stride + i] = (x[r * stride + i] - shift[i]) - logarithm[i];
}

/// Precondition: count ≤ kColumnBlock.
void columns(Form form, const float* x, std::size_t rows, std::size_t stride, std::size_t count,
             float* y) {
  std::array<float, kColumnBlock> shift, total;
  largest_of_columns(x, rows, stride, count, shift.data());
  for (std::size_t i = 0; i < count; ++i) shift[i] = shift_of(form, shift[i]);
  sum_of_columns(x, rows, stride, count, shift.data(), total.data());
  if (form == Form::kSoftmax)
    return softmax_of_columns(x, rows, stride, count, shift.data(), total.data(), y);
  if (form == Form::kLogSumExp) return log_of_columns(shift.data(), total.data(), count, y);
  constexpr std::array<float, kColumnBlock> kZeros{};
  log_of_columns(kZeros.data(), total.data(), count, total.data());
  log_softmax_of_columns(x, rows, stride, count, shift.data(), total.data(), y);
}

/// Over the middle of [outer, size, inner].
class SoftmaxKernel final : public runtime::HostKernel {
 public:
  SoftmaxKernel(const KernelRequest& request, Form form, const std::array<std::size_t, 3>& sizes)
      : threads_(request.threads), inputs_(request), form_(form), outer_(sizes[0]), size_(sizes[1]),
        inner_(sizes[2]), result_(form == Form::kLogSumExp ? 1 : size_) {}

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* x = reinterpret_cast<const float*>(inputs_.find(0, inputs));
    auto* y = reinterpret_cast<float*>(outputs[0]);
    constexpr std::size_t kGrain = 1 << 12;
    const std::size_t blocks = (inner_ + kColumnBlock - 1) / kColumnBlock;
    parallel_ranges(threads_, outer_ * blocks, kGrain / size_ + 1,
                    [&](std::size_t begin, std::size_t end) {
                      for (std::size_t i = begin; i < end; ++i) run_block(x, y, i, blocks);
                    });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  void run_block(const float* x, float* y, std::size_t i, std::size_t blocks) const {
    if (inner_ == 1) return row(form_, x + i * size_, size_, y + i * result_);
    const std::size_t o = i / blocks, at = i % blocks * kColumnBlock;
    columns(form_, x + o * size_ * inner_ + at, size_, inner_, std::min(kColumnBlock, inner_ - at),
            y + o * result_ * inner_ + at);
  }

  int threads_;
  Inputs inputs_;
  Form form_;
  std::size_t outer_, size_, inner_, result_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_softmax_kernel(const KernelRequest& request) {
  const std::string& op = request.op();
  const bool sums = op == "reduce_log_sum_exp";
  if (!sums && op != "softmax" && op != "log_softmax") return not_mine();
  if (!request.all_floats()) return refuse(op + ": elements are not f32");
  if (!request.row_major()) return refuse(op + ": not row-major");
  if (!request.has_elements()) return refuse(op + ": an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse(op + ": has no epilogue");
  const auto axes = sums ? request.attributes().get_ints("axes")
                         : std::vector{request.attributes().get_int("axis")};
  if (axes.empty() || axes.back() - axes.front() + 1 != static_cast<std::int64_t>(axes.size()))
    return refuse(op + ": the dimensions are not neighbors");
  const Dims dims = request.dims(request.head_input(0));
  std::array<std::size_t, 3> sizes{1, 1, 1};  // outer, reduced, inner
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    sizes[axis < axes.front()  ? 0
          : axis > axes.back() ? 2
                               : 1] *= static_cast<std::size_t>(dims[d]);
  }
  const Form form = sums ? Form::kLogSumExp : op == "softmax" ? Form::kSoftmax : Form::kLogSoftmax;
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<SoftmaxKernel>(request, form, sizes));
}

}  // namespace soapstone::cpu

// Products of one row and constant weights. All that counts is how fast weights are read, each of
// them once, so they are packed into panels of columns that are read from one end to the other.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "cpu/base/packed_weights.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_clones.h"
#include "cpu/primitives/contraction_kernel.h"
#include "cpu/primitives/steps_behind.h"

namespace soapstone::cpu {
namespace {

constexpr std::size_t kPanel = 64;  ///< Columns.
constexpr std::size_t kPanelLanes = 16;
/// Weights that are worth a thread.
constexpr std::size_t kWeightsOfThread = 65536;

using PanelVector [[gnu::vector_size(kPanelLanes * sizeof(float)), gnu::may_alias]] = float;

/// y = x · panel, for all columns of a panel.
SOAPSTONE_VECTOR_CLONES
void multiply_panel(const float* x, const float* panel, std::size_t depth, float* y) {
  constexpr std::size_t kVectors = kPanel / kPanelLanes;
  const auto* weights = reinterpret_cast<const PanelVector*>(panel);
  PanelVector sums[kVectors] = {};
  for (std::size_t k = 0; k < depth; ++k, weights += kVectors)
    for (std::size_t v = 0; v < kVectors; ++v) sums[v] += x[k] * weights[v];
  std::memcpy(y, sums, sizeof(sums));
}

/// [depth, columns] as [panels, depth, kPanel]; what is no column is 0.
std::shared_ptr<std::byte> pack_panels(const float* weights, std::size_t depth,
                                       std::size_t columns) {
  const std::size_t panels = (columns + kPanel - 1) / kPanel;
  const auto memory = allocate_packed(panels * depth * kPanel * sizeof(float));
  auto* to = reinterpret_cast<float*>(memory.get());
  for (std::size_t p = 0; p < panels; ++p) {
    const std::size_t first = p * kPanel, count = std::min(kPanel, columns - first);
    for (std::size_t k = 0; k < depth; ++k, to += kPanel) {
      std::copy_n(weights + k * columns + first, count, to);
      std::fill_n(to + count, kPanel - count, 0.0f);
    }
  }
  return memory;
}

class VectorMatrixKernel final : public runtime::HostKernel {
 public:
  VectorMatrixKernel(const KernelRequest& request, std::size_t depth, std::size_t columns)
      : threads_(request.threads), inputs_(request), depth_(depth), columns_(columns),
        row_(request.number(request.head_input(0))) {
    const core::LiteralPtr weights = request.constant(request.head_input(1));
    const auto form = describe({static_cast<std::int64_t>((columns + kPanel - 1) / kPanel),
                                static_cast<std::int64_t>(depth), kPanel},
                               runtime::Layout::kRowMajor);
    panels_ = request.packed.get(weights, form, [&] {
      return pack_panels(reinterpret_cast<const float*>(weights->bytes().data()), depth, columns);
    });
  }

  core::Status add_steps(const KernelRequest& request) {
    SOAPSTONE_ASSIGN_OR_RETURN(StepsBehind steps, StepsBehind::make(request));
    behind_.emplace(std::move(steps));
    in_place_ = contraction_in_place_input(request.graph, request.launch);
    if (in_place_ && inputs_.is_constant(*in_place_)) in_place_.reset();
    return core::Done{};
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    std::byte* const product = behind_ ? scratch : outputs[0];
    multiply(reinterpret_cast<const float*>(inputs_.find(row_, inputs)),
             reinterpret_cast<float*>(product));
    return behind_ ? behind_->run(product, inputs_, inputs, outputs) : core::Done{};
  }
  std::size_t scratch_bytes() const override { return behind_ ? columns_ * sizeof(float) : 0; }
  std::optional<std::size_t> in_place_input() const override { return in_place_; }
  std::string implementation() const override { return "own panels"; }

 private:
  void multiply(const float* x, float* y) const {
    const std::size_t panels = (columns_ + kPanel - 1) / kPanel;
    const std::size_t grain = kWeightsOfThread / (depth_ * kPanel) + 1;
    const auto* weights = reinterpret_cast<const float*>(panels_.get());
    parallel_ranges(threads_, panels, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        const float* panel = weights + p * depth_ * kPanel;
        const std::size_t count = std::min(kPanel, columns_ - p * kPanel);
        if (count == kPanel) {
          multiply_panel(x, panel, depth_, y + p * kPanel);
        } else {
          std::array<float, kPanel> last;
          multiply_panel(x, panel, depth_, last.data());
          std::copy_n(last.data(), count, y + p * kPanel);
        }
      }
    });
  }

  int threads_;
  Inputs inputs_;
  std::size_t depth_, columns_, row_;
  std::shared_ptr<const std::byte> panels_;
  // The steps behind the product, which read it in scratch memory: the result may lie where they
  // read a residual.
  std::optional<StepsBehind> behind_;
  std::optional<std::size_t> in_place_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_vector_matrix_kernel(const KernelRequest& request) {
  if (request.op() != "matmul" || !request.all_floats() || !request.row_major() ||
      !request.has_elements())
    return not_mine();
  const core::Dims weights = request.dims(request.head_input(1));
  const core::Dims row = request.dims(request.head_input(0));
  if (weights.size() != 2 || !request.constant(request.head_input(1)) ||
      core::element_count(row) != weights[0])
    return not_mine();
  const auto& epilogue = request.launch.epilogue;
  auto kernel = std::make_unique<VectorMatrixKernel>(request, static_cast<std::size_t>(weights[0]),
                                                     static_cast<std::size_t>(weights[1]));
  if (!epilogue.empty()) SOAPSTONE_RETURN_IF_ERROR(kernel->add_steps(request));
  return std::unique_ptr<runtime::HostKernel>(std::move(kernel));
}

}  // namespace soapstone::cpu

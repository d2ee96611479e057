// The negative log likelihood of labels by our own loops; sums run in doubles.
#include <fmt/format.h>

#include <optional>

#include "cpu/base/kernel_request.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

enum class LossReduction : std::uint8_t { kNone, kSum, kMean };

/// x is [batch, classes, places], labels are [batch, places].
template <class Label>
class NllLossKernel final : public runtime::HostKernel {
 public:
  explicit NllLossKernel(const KernelRequest& request)
      : inputs_(request), x_(request.number(request.head_input(0))),
        labels_(request.number(request.head_input(1))) {
    if (request.has_head_input(2)) weights_ = request.number(request.head_input(2));
    const std::string& reduction = request.attributes().get_text("reduction");
    reduction_ = reduction == "none"  ? LossReduction::kNone
                 : reduction == "sum" ? LossReduction::kSum
                                      : LossReduction::kMean;
    const std::vector<std::int64_t> ignored = request.attributes().get_ints("ignore_index");
    if (!ignored.empty()) ignored_ = ignored[0];
    const Dims dims = request.dims(request.head_input(0));
    classes_ = dims[1];
    batch_ = static_cast<std::size_t>(dims[0]);
    for (std::size_t d = 2; d < dims.size(); ++d) places_ *= static_cast<std::size_t>(dims[d]);
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    const auto* x = reinterpret_cast<const float*>(inputs_.find(x_, inputs));
    const auto* labels = reinterpret_cast<const Label*>(inputs_.find(labels_, inputs));
    const auto* weights =
        weights_ ? reinterpret_cast<const float*>(inputs_.find(*weights_, inputs)) : nullptr;
    auto* y = reinterpret_cast<float*>(outputs[0]);
    double total = 0, total_weight = 0;
    for (std::size_t i = 0; i < batch_ * places_; ++i) {
      const auto label = static_cast<std::int64_t>(labels[i]);
      const bool is_ignored = ignored_ && label == *ignored_;
      if (!is_ignored && (label < 0 || label >= classes_))
        return core::invalid_input(fmt::format("nll_loss: label {} (element {} of the labels) is "
                                               "not in [0, {})",
                                               label, i, classes_));
      const auto c = static_cast<std::size_t>(is_ignored ? 0 : label);
      const auto row = i / places_ * static_cast<std::size_t>(classes_) + c;
      const float weight = is_ignored ? 0.0f : weights ? weights[c] : 1.0f;
      const float loss = is_ignored ? 0.0f : -x[row * places_ + i % places_] * weight;
      if (reduction_ == LossReduction::kNone) y[i] = loss;
      total += static_cast<double>(loss);
      total_weight += static_cast<double>(weight);
    }
    if (reduction_ == LossReduction::kSum) y[0] = static_cast<float>(total);
    if (reduction_ == LossReduction::kMean) y[0] = static_cast<float>(total / total_weight);
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  Inputs inputs_;
  std::size_t x_, labels_;
  std::optional<std::size_t> weights_;
  LossReduction reduction_ = LossReduction::kMean;
  std::optional<std::int64_t> ignored_;
  std::int64_t classes_ = 0;
  std::size_t batch_ = 0, places_ = 1;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>> make_loss_kernel(const KernelRequest& request) {
  if (request.op() != "nll_loss") return not_mine();
  if (request.output_type().data_type != core::DataType::kFloat32)
    return refuse("nll_loss: elements are not f32");
  if (!request.row_major()) return refuse("nll_loss: not row-major");
  if (!request.has_elements()) return refuse("nll_loss: an empty tensor");
  if (!request.launch.epilogue.empty()) return refuse("nll_loss: has no epilogue");
  if (request.type(request.head_input(1)).data_type == core::DataType::kInt64)
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<NllLossKernel<std::int64_t>>(request));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<NllLossKernel<std::int32_t>>(request));
}

}  // namespace soapstone::cpu

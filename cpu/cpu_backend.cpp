// See cpu_backend.h.
#include "cpu/cpu_backend.h"

#include <algorithm>
#include <array>
#include <dnnl.hpp>
#include <map>
#include <mutex>

#include "cpu/base/kernel_request.h"
#include "cpu/base/packed_weights.h"
#include "cpu/base/threads.h"
#include "cpu/fusion.h"
#include "cpu/generated/chains.h"
#include "cpu/generated/generated_kernel.h"
#include "cpu/layouts.h"
#include "cpu/precision.h"
#include "cpu/primitives/contraction_kernel.h"
#include "cpu/primitives/strided_copy.h"
#include "ops/definition/registry.h"
#include "ops/gradients/gradient_operator.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::cpu {
namespace {

using core::DataType;
using runtime::HostKernel;
using runtime::Layout;

class ConversionKernel final : public HostKernel {
 public:
  ConversionKernel(StridedCopy copy, const dnnl::stream& stream, int threads)
      : copy_(std::move(copy)), stream_(stream), threads_(threads) {}
  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    copy_.run(inputs[0], outputs[0], stream_, threads_, scratch);
    return core::Done{};
  }
  std::size_t scratch_bytes() const override { return copy_.scratch_bytes(); }
  std::string implementation() const override {
    return copy_.by_onednn() ? "oneDNN reorder" : "own copy";
  }

 private:
  StridedCopy copy_;
  const dnnl::stream& stream_;
  int threads_;
};

class CpuBackend final : public runtime::HostBackend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : device_(describe_device(options.precision, options.threads)), loops_(options.loops),
        precision_(options.precision), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const runtime::DeviceInfo& device() const override { return device_; }

  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return fusions_[static_cast<std::size_t>(fusion)];
  }

  void choose_layouts(const core::Graph& graph, const runtime::Launch& launch,
                      std::span<const Layout> stored,
                      runtime::LaunchLayouts& wanted) const override {
    cpu::choose_layouts(graph, launch, stored, wanted);
  }

  /// The kernel that runs unless someone measured, Winograd's algorithm, and rounded factors.
  std::vector<std::string> candidates(const core::Graph& graph, const runtime::Launch& launch,
                                      const runtime::LaunchLayouts& layouts) override {
    use_threads(device_.threads);
    const runtime::ConstantValue value = [&](core::TensorId id) { return graph.tensor(id).value; };
    const KernelRequest request{graph,   launch,  layouts,         value,
                                engine_, stream_, device_.threads, packed_};
    if (!launch.others.empty() || !ops::definition_of(request.head())) return {};
    std::vector<std::string> others;
    for (const Way& way : ways_) {
      if (!allows(way)) continue;
      if (const auto kernel = make_by(way, request)) others.push_back((*kernel)->implementation());
    }
    if (others.empty()) return {};
    const auto usual = make_usual_kernel(request, nullptr);
    if (!usual) return {};
    others.insert(others.begin(), (*usual)->implementation());
    return others;
  }

  void choose(const std::string& signature, const std::string& candidate) override {
    choices_[signature] = candidate;
  }

  std::optional<std::size_t> in_place_input(const core::Graph& graph,
                                            const runtime::Launch& launch) const override {
    return contraction_in_place_input(graph, launch);
  }

  std::optional<std::vector<runtime::Launch>> cover(const core::Graph& graph,
                                                    runtime::Fusion fusion) const override {
    if (fusion != runtime::Fusion::kGenerated || !compiler()) return std::nullopt;
    return cover_with_chains(graph, this->fusion(fusion));
  }

 private:
  core::Result<std::unique_ptr<HostKernel>>
  make_kernel(const core::Graph& graph, const runtime::Launch& launch,
              const runtime::LaunchLayouts& layouts, const runtime::ConstantValue& constants,
              std::vector<std::string>* why_not) override {
    use_threads(device_.threads);  // oneDNN divides work among threads when it compiles.
    const KernelRequest request{graph,   launch,  layouts,         constants,
                                engine_, stream_, device_.threads, packed_};
    if (!launch.others.empty()) {
      if (!compiler()) return core::unavailable("there is no compiler for generated loops");
      return make_generated_kernel(request, *compiler());
    }
    if (const Way* const way = chosen_way(request)) {
      auto kernel = make_by(*way, request);
      if (kernel) return kernel;
    }
    return make_usual_kernel(request, why_not);
  }

  static core::Result<std::unique_ptr<HostKernel>>
  make_usual_kernel(const KernelRequest& request, std::vector<std::string>* why_not) {
    if (ops::definition_of(request.head())) {
      const bool is_gradient = ops::gradient_of(request.graph, request.launch.head).has_value();
      for (MakeKernel make : is_gradient ? gradient_makers() : kernel_makers()) {
        auto kernel = make(request);
        if (kernel) return kernel;
        if (why_not && !kernel.error().message.empty()) why_not->push_back(kernel.error().message);
      }
    }
    return runtime::compile_reference(request.graph, request.launch, request.layouts,
                                      request.constants);
  }

  core::Result<std::unique_ptr<HostKernel>> make_conversion(const core::TensorType& type,
                                                            Layout from, Layout to) override {
    use_threads(device_.threads);
    const core::Dims dims = runtime::dims_of(type);
    return guarded([&]() -> core::Result<std::unique_ptr<HostKernel>> {
      StridedCopy copy({dims, runtime::strides_of(dims, from), runtime::strides_of(dims, to)},
                       core::size_bytes(type.data_type), engine_);
      return std::unique_ptr<HostKernel>(
          std::make_unique<ConversionKernel>(std::move(copy), stream_, device_.threads));
    });
  }

  /// A way to run a launch besides the usual one, which runs only where it was chosen.
  struct Way {
    std::string_view mark;  ///< In the names of its kernels, and of no others.
    MakeKernel make;
    DataType factors;
  };

  bool allows(const Way& way) const {
    return way.factors == DataType::kFloat32 || way.factors == precision_;
  }

  static core::Result<std::unique_ptr<HostKernel>> make_by(const Way& way, KernelRequest request) {
    request.factors = way.factors;
    return way.make(request);
  }

  /// Null: the usual one.
  const Way* chosen_way(const KernelRequest& request) const {
    if (choices_.empty()) return nullptr;
    const auto choice =
        choices_.find(runtime::launch_signature(request.graph, request.launch, request.layouts));
    if (choice == choices_.end()) return nullptr;
    const auto way = std::ranges::find_if(ways_, [&](const Way& each) {
      return allows(each) && choice->second.find(each.mark) != std::string::npos;
    });
    return way == ways_.end() ? nullptr : &*way;
  }

  /// Looked for when it is needed first; null: there is none.
  LoopCompiler* compiler() const {
    std::call_once(is_compiler_known_, [this] {
      compiler_ = LoopCompiler::find(loops_.empty() ? default_loop_folder() : loops_);
    });
    return compiler_.get();
  }

  runtime::DeviceInfo device_;
  std::filesystem::path loops_;
  DataType precision_;
  std::array<Way, 3> ways_ = {{{"wino", make_winograd_kernel, DataType::kFloat32},
                               {"bf16 factors", make_rounded_kernel, DataType::kBFloat16},
                               {"int8 factors", make_rounded_kernel, DataType::kInt8}}};
  mutable std::once_flag is_compiler_known_;
  mutable std::unique_ptr<LoopCompiler> compiler_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  PackedWeights packed_;
  std::map<std::string, std::string> choices_;  // candidates by signature
  std::array<CpuFusion, 4> fusions_ = {
      CpuFusion(runtime::Fusion::kNone), CpuFusion(runtime::Fusion::kActivation),
      CpuFusion(runtime::Fusion::kFull), CpuFusion(runtime::Fusion::kGenerated)};
};

}  // namespace

core::Result<std::unique_ptr<runtime::Backend>> make_cpu_backend(const CpuOptions& options) {
  if (options.threads < 1) return core::invalid_input("a CPU backend needs at least one thread");
  SOAPSTONE_RETURN_IF_ERROR(check_precision(options.precision));
  try {
    return std::unique_ptr<runtime::Backend>(std::make_unique<CpuBackend>(options));
  } catch (const dnnl::error& error) {
    return core::unavailable(std::string("oneDNN does not work on this processor: ") +
                             error.what());
  }
}

}  // namespace soapstone::cpu

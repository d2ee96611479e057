// See generated_kernel.h.
#include "cpu/generated/generated_kernel.h"

#include <algorithm>

#include "cpu/base/threads.h"
#include "cpu/generated/loop_text.h"
#include "runtime/generated/region_layouts.h"

namespace soapstone::cpu {
namespace {

using runtime::generated::Region;

/// Elements that are worth a thread.
constexpr std::int64_t kElementsOfThread = 16384;

class GeneratedKernel final : public runtime::HostKernel {
 public:
  GeneratedKernel(const KernelRequest& request, const LoopText& text, LoopFunction function)
      : inputs_(request), phases_(text.phases), function_(function), threads_(request.threads),
        pointers_(text.arguments.size()) {
    const auto& outputs = request.launch.outputs;
    for (const core::TensorId id : text.arguments) {
      const auto at = std::ranges::find(outputs, id);
      const bool is_output = at != outputs.end();
      arguments_.push_back({is_output, is_output ? static_cast<std::size_t>(at - outputs.begin())
                                                 : request.number(id)});
    }
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    for (std::size_t k = 0; k < arguments_.size(); ++k)
      pointers_[k] = arguments_[k].is_output
                         ? outputs[arguments_[k].number]
                         : const_cast<std::byte*>(inputs_.find(arguments_[k].number, inputs));
    for (std::size_t p = 0; p < phases_.size(); ++p) {
      const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(
          kElementsOfThread / std::max<std::int64_t>(phases_[p].elements, 1), 1));
      parallel_ranges(threads_, static_cast<std::size_t>(phases_[p].count), grain,
                      [&](std::size_t begin, std::size_t end) {
                        function_.run(pointers_.data(), static_cast<long>(p),
                                      static_cast<long>(begin), static_cast<long>(end));
                      });
    }
    return core::Done{};
  }
  std::string implementation() const override { return "generated loops"; }

 private:
  struct Argument {
    bool is_output;
    std::size_t number;
  };
  Inputs inputs_;
  std::vector<LoopPhase> phases_;
  LoopFunction function_;
  int threads_;
  std::vector<Argument> arguments_;
  std::vector<void*> pointers_;
};

void arrange_all(const KernelRequest& request, Region& region) {
  const auto arrange = [&](std::span<const core::TensorId> tensors,
                           std::span<const runtime::Layout> layouts) {
    for (std::size_t k = 0; k < tensors.size(); ++k)
      if (layouts[k] != runtime::Layout::kRowMajor)
        runtime::generated::arrange(region, tensors[k], request.dims(tensors[k]), layouts[k]);
  };
  arrange(request.launch.inputs, request.layouts.inputs);
  arrange(request.launch.outputs, request.layouts.outputs);
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_generated_kernel(const KernelRequest& request, LoopCompiler& compiler) {
  const std::vector<core::NodeId> nodes = request.launch.nodes();
  SOAPSTONE_ASSIGN_OR_RETURN(
      Region region, runtime::generated::make_region(request.graph, nodes, request.launch.outputs));
  arrange_all(request, region);
  const LoopText text = loop_text(region, plan_loops(region));
  SOAPSTONE_ASSIGN_OR_RETURN(const LoopFunction function, compiler.get(text.source));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<GeneratedKernel>(request, text, function));
}

}  // namespace soapstone::cpu

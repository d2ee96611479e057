// The reference backend with wishes: convolutions and what follows them are channels-last, and
// every result may be written over the first input (reference kernels read all inputs before they
// write). So plans can be tested to the full without any foreign library.
#pragma once

#include <algorithm>
#include <memory>

#include "runtime/launches/host_backend.h"

namespace soapstone::runtime::test {

class InPlaceKernel final : public HostKernel {
 public:
  explicit InPlaceKernel(std::unique_ptr<HostKernel> kernel, bool has_inputs)
      : kernel_(std::move(kernel)), has_inputs_(has_inputs) {}
  core::Status run(HostInputs inputs, HostOutputs outputs, std::byte* scratch) override {
    return kernel_->run(inputs, outputs, scratch);
  }
  std::optional<std::size_t> in_place_input() const override {
    return has_inputs_ ? std::optional<std::size_t>(0) : std::nullopt;
  }
  std::string implementation() const override { return kernel_->implementation(); }

 private:
  std::unique_ptr<HostKernel> kernel_;
  bool has_inputs_;
};

class ChannelsLastBackend final : public HostBackend {
 public:
  const DeviceInfo& device() const override { return device_; }
  const FusionRules& fusion(Fusion fusion) const override { return generic_fusion(fusion); }
  void choose_layouts(const core::Graph& graph, const Launch& launch,
                      std::span<const Layout> stored, LaunchLayouts& wanted) const override {
    const std::string& op = graph.node(launch.head).op->name;
    const bool arrives = std::ranges::find(stored, Layout::kChannelsLast) != stored.end();
    const bool follows = op == "add" || op == "relu" || op == "concat" || op == "split";
    if (op != "conv" && !(arrives && follows)) return;
    std::ranges::fill(wanted.inputs, Layout::kChannelsLast);
    std::ranges::fill(wanted.outputs, Layout::kChannelsLast);
  }

 private:
  core::Result<std::unique_ptr<HostKernel>>
  make_kernel(const core::Graph& graph, const Launch& launch, const LaunchLayouts& layouts,
              const ConstantValue& constants, std::vector<std::string>*) override {
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel, compile_reference(graph, launch, layouts, constants));
    return std::unique_ptr<HostKernel>(
        std::make_unique<InPlaceKernel>(std::move(kernel), !launch.inputs.empty()));
  }
  core::Result<std::unique_ptr<HostKernel>> make_conversion(const core::TensorType& type,
                                                            Layout from, Layout to) override {
    return compile_reference_conversion(type, from, to);
  }

  DeviceInfo device_{"reference", "comprehensions in doubles", 1};
};

}  // namespace soapstone::runtime::test

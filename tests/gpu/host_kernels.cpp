// See host_kernels.h.
#include "tests/gpu/host_kernels.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/kernels/cover.h"
#include "gpu/text/prelude.h"
#include "runtime/device/host_memory.h"
#include "runtime/execution/elements.h"
#include "runtime/execution/fold.h"
#include "runtime/generated/extent.h"

namespace soapstone::gpu::test {
namespace {

using runtime::generated::region_of;

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A folder that is removed with all that is in it.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "kernels-XXXXXX").string();
    if (!mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder";
    path = name;
  }
  ~TemporaryFolder() { fs::remove_all(path); }
  fs::path path;
};

}  // namespace

HostKernels::~HostKernels() {
  if (library_) dlclose(library_);
}

KernelText HostKernels::add(const Region& region, const KernelPlan& plan) {
  KernelText text = kernel_text(region, plan, "kernel");
  const auto [at, is_new] = by_source_.try_emplace(text.source, texts_.size());
  if (is_new) texts_.push_back(kernel_text(region, plan, "kernel" + std::to_string(texts_.size())));
  text.name = texts_[at->second].name;
  return text;
}

namespace {

/// The kernel and a function that runs all of its blocks.
std::string with_runner(const KernelText& text) {
  std::string arguments;
  for (std::size_t k = 0; k < text.parameters.size(); ++k)
    arguments += fmt::format("{}({})a[{}]", k == 0 ? "" : ", ", text.parameters[k], k);
  return text.source + fmt::format("extern \"C\" void run_{0}(void* const* a) {{\n"
                                   "  (void)a;\n"
                                   "  run_blocks({1}, {2}, {3}, [=] {{ {0}({4}); }});\n}}\n",
                                   text.name, text.blocks, text.threads, text.has_barriers,
                                   arguments);
}

}  // namespace

std::string HostKernels::compile() {
  const TemporaryFolder folder;
  const fs::path source = folder.path / "kernels.cpp", library = folder.path / "kernels.so",
                 errors = folder.path / "errors.txt";
  std::ofstream file(source);
  file << "#include \"tests/gpu/host_device.h\"\n" << prelude();
  for (const KernelText& text : texts_) file << with_runner(text);
  file.close();
  // Not optimized: most kernels take longer to compile than to run.
  const std::string command =
      fmt::format("c++ -std=c++20 -O0 -shared -fPIC -w -I {} {} -o {} 2> {}", SOAPSTONE_SOURCE_DIR,
                  source.string(), library.string(), errors.string());
  if (std::system(command.c_str()) != 0) return text_of(errors).substr(0, 4000);
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library_ ? "" : dlerror();
}

HostKernels::Function HostKernels::function(const std::string& name) const {
  return reinterpret_cast<Function>(dlsym(library_, ("run_" + name).c_str()));
}

KernelGraph::KernelGraph(core::Graph graph, HostKernels& kernels, const GroupingOptions& options)
    : graph_(std::move(graph)), groups_(gpu_groups(graph_, options)) {
  add_kernels(kernels, options.kernel);
}

KernelGraph::KernelGraph(core::Graph graph, HostKernels& kernels, const KernelOptions& kernel)
    : graph_(std::move(graph)), groups_(gpu_groups(graph_)) {
  add_kernels(kernels, kernel);
}

void KernelGraph::add_kernels(HostKernels& kernels, const KernelOptions& options) {
  for (const Group& group : groups_) {
    const auto region = region_of(graph_, group.nodes, group.through);
    if (!region) {
      ADD_FAILURE() << region.error().to_string();
      continue;
    }
    texts_.push_back(kernels.add(*region, plan_for_gpu(*region, options)));
  }
}

std::vector<std::vector<double>> KernelGraph::run(const HostKernels& kernels,
                                                  const std::vector<core::Literal>& inputs) const {
  runtime::HostMemory memory;
  std::map<core::TensorId, runtime::DeviceBlock> blocks;
  const auto place = [&](core::TensorId id) {
    auto& block = blocks[id];
    const std::size_t bytes = runtime::storage_bytes(graph_.tensor(id).type);
    if (!block.address())
      block = *runtime::DeviceBlock::allocate(memory, std::max<std::size_t>(bytes, 1));
    return runtime::host_pointer(block.address());
  };
  const auto put = [&](core::TensorId id, const core::Literal& value) {
    std::copy(value.bytes().begin(), value.bytes().end(), place(id));
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) put(graph_.inputs()[k], inputs[k]);
  const auto reference = runtime::make_reference_backend();
  const auto folded = runtime::fold_constants(graph_, *reference);
  EXPECT_TRUE(folded.ok());
  const runtime::ConstantValue constant = runtime::constant_value(graph_, *folded);
  for (const KernelText& text : texts_) {
    std::vector<void*> arguments;
    for (core::TensorId id : text.arguments) {
      if (graph_.is_constant_expression(id)) put(id, *constant(id));
      arguments.push_back(place(id));
    }
    const auto function = kernels.function(text.name);
    if (!function) throw std::runtime_error("no kernel " + text.name);
    function(arguments.data());
  }
  std::vector<std::vector<double>> results;
  for (core::TensorId id : graph_.outputs()) {
    if (graph_.is_constant_expression(id)) put(id, *constant(id));
    results.push_back(
        runtime::load_elements(graph_.tensor(id).type, runtime::Layout::kRowMajor, place(id)));
  }
  return results;
}

}  // namespace soapstone::gpu::test

// See fake_driver.h.
#include "tests/gpu/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace soapstone::gpu::test {

KernelCompiler FakeCompiler::compiler() {
  return [this](std::span<const KernelText> texts) -> core::Result<std::vector<std::byte>> {
    std::string source;
    for (const KernelText& text : texts) source += text.source;
    const auto [at, is_new] = numbers_.try_emplace(source, libraries_.size());
    if (is_new) {
      libraries_.push_back(std::make_unique<HostKernels>());
      for (const KernelText& text : texts) libraries_.back()->add(text);
      const std::string errors = libraries_.back()->compile();
      if (!errors.empty()) return core::Error{core::ErrorCode::kInternal, errors, {}, {}};
      for (const KernelText& text : texts)
        parameters_[libraries_.back()->function(text.name)] = text.parameters.size();
    }
    std::vector<std::byte> binary(sizeof at->second);
    std::memcpy(binary.data(), &at->second, sizeof at->second);
    return binary;
  };
}

FakeDriver::~FakeDriver() {
  for (const DriverAddress block : blocks_)
    std::free(reinterpret_cast<void*>(block));  // NOLINT(performance-no-int-to-ptr)
  for (DriverHandle handle : handles_) std::free(handle);
}

Driver FakeDriver::driver() {
  Driver driver;
  add_queries(driver);
  add_memory(driver);
  add_streams(driver);
  add_modules(driver);
  add_graphs(driver);
  return driver;
}

void FakeDriver::run_pending() {
  for (const auto& work : pending_) work();
  pending_.clear();
}

void FakeDriver::put(DriverHandle stream, std::function<void()> work) {
  if (!handles_.contains(stream)) std::abort();
  ++launches_;
  if (!origin_) return pending_.push_back(std::move(work));
  const auto last = capture_.streams.find(stream);
  if (last == capture_.streams.end()) std::abort();  // no part of the capture
  capture_.nodes.push_back({std::move(work), last->second});
  last->second = {capture_.nodes.size() - 1};
}

/// Always the last of those that may run.
void FakeDriver::run(const CapturedGraph& graph) {
  std::set<std::size_t> done;
  while (done.size() < graph.nodes.size()) {
    std::size_t next = graph.nodes.size();
    const auto may_run = [&](std::size_t k) {
      return !done.contains(k) &&
             std::ranges::all_of(graph.nodes[k].after,
                                 [&](std::size_t before) { return done.contains(before); });
    };
    do --next;
    while (!may_run(next));
    graph.nodes[next].work();
    done.insert(next);
  }
}

void FakeDriver::add_graphs(Driver& d) {
  d.wait_for_event = [this](DriverHandle stream, DriverHandle event, unsigned) {
    if (!handles_.contains(stream) || !handles_.contains(event)) std::abort();
    if (const auto found = capture_.events.find(event); origin_ && found != capture_.events.end())
      capture_.streams[stream].insert(found->second.begin(), found->second.end());
    return done();
  };
  d.begin_capture = [this](DriverHandle stream, int) {
    if (fails()) return done();
    origin_ = stream;
    capture_ = {};
    capture_.streams[stream] = {};
    return done();
  };
  d.end_capture = [this](DriverHandle stream, DriverHandle* graph) {
    if (stream != origin_) std::abort();
    origin_ = nullptr;
    // All other streams must have been joined.
    std::set<std::size_t> open = capture_.streams[stream], joined;
    while (!open.empty()) {
      const std::size_t node = *open.begin();
      open.erase(open.begin());
      if (!joined.insert(node).second) continue;
      open.insert(capture_.nodes[node].after.begin(), capture_.nodes[node].after.end());
    }
    *graph = nullptr;
    if (joined.size() < capture_.nodes.size()) return done() ? 999 : 904;
    const int result = make(graph);
    if (*graph) graphs_[*graph] = capture_;
    captured_ = capture_.nodes.size();
    return result;
  };
  d.instantiate = [this](DriverHandle* executable, DriverHandle graph, unsigned long long) {
    const int result = make(executable);
    if (*executable) graphs_[*executable] = graphs_.at(graph);
    return result;
  };
  d.launch_graph = [this](DriverHandle executable, DriverHandle stream) {
    if (!handles_.contains(stream)) std::abort();
    ++graph_launches_;
    launches_ += static_cast<int>(graphs_.at(executable).nodes.size());
    pending_.push_back([graph = graphs_.at(executable)] { run(graph); });
    return done();
  };
  d.destroy_graph = d.destroy_executable = [this](DriverHandle graph) {
    graphs_.erase(graph);
    return destroy(graph);
  };
}

int FakeDriver::make(DriverHandle* handle) {
  *handle = nullptr;
  if (fails()) return done();
  *handle = std::malloc(1);
  handles_.insert(*handle);
  return done();
}

int FakeDriver::destroy(DriverHandle handle) {
  if (handles_.erase(handle) == 0) std::abort();
  std::free(handle);
  return done();
}

void FakeDriver::add_queries(Driver& d) {
  const auto set = [this](int* to, int value) {
    *to = value;
    return done();
  };
  d.init = [this](unsigned) { return done(); };
  d.version = [=](int* version) { return set(version, 13000); };
  d.device_count = [=](int* count) { return set(count, 1); };
  d.device = [=](int* device, int ordinal) { return set(device, ordinal + 7); };
  d.device_name = [this](char* name, int size, int) {
    std::strncpy(name, "Fake", static_cast<std::size_t>(size));
    return done();
  };
  d.device_attribute = [=](int* value, int attribute, int) { return set(value, attribute); };
  d.total_memory = [this](std::size_t* bytes, int) {
    *bytes = 1 << 20;
    return done();
  };
  d.error_name = [](int, const char** name) {
    *name = "CUDA_ERROR_OF_A_TEST";
    return 0;
  };
  d.retain_context = [this](DriverHandle* context, int) {
    if (fails()) return done();
    *context = this;
    ++contexts_;
    return done();
  };
  d.release_context = [this](int) {
    --contexts_;
    return done();
  };
  d.set_context = [this](DriverHandle context) { return context == this ? done() : 201; };
  d.wait_context = [this] {
    run_pending();
    return done();
  };
}

void FakeDriver::add_memory(Driver& d) {
  const auto pointer = [](DriverAddress address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): a number
  };
  d.allocate = [this](DriverAddress* address, std::size_t bytes) {
    if (fails()) return done();
    *address = reinterpret_cast<DriverAddress>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    blocks_.insert(*address);
    return done();
  };
  d.free = [=, this](DriverAddress address) {
    if (blocks_.erase(address) == 0) std::abort();
    std::free(pointer(address));
    return done();
  };
  d.fill = [=, this](DriverAddress address, unsigned char value, std::size_t bytes) {
    std::memset(pointer(address), value, bytes);
    return done();
  };
  // Streams do not wait for copies, nor copies for them.
  d.copy_in = [=, this](DriverAddress to, const void* from, std::size_t bytes) {
    std::memcpy(pointer(to), from, bytes);
    return done();
  };
  d.copy_out = [=, this](void* to, DriverAddress from, std::size_t bytes) {
    std::memcpy(to, pointer(from), bytes);
    return done();
  };
  d.copy = [=, this](DriverAddress to, DriverAddress from, std::size_t bytes) {
    std::memcpy(pointer(to), pointer(from), bytes);
    return done();
  };
}

void FakeDriver::add_streams(Driver& d) {
  d.make_stream = [this](DriverHandle* stream, unsigned) { return make(stream); };
  d.destroy_stream = [this](DriverHandle stream) { return destroy(stream); };
  d.wait_stream = [this](DriverHandle stream) {
    if (!handles_.contains(stream)) std::abort();
    run_pending();
    return done();
  };
  d.make_event = [this](DriverHandle* event, unsigned) { return make(event); };
  d.destroy_event = [this](DriverHandle event) { return destroy(event); };
  d.record_event = [this](DriverHandle event, DriverHandle stream) {
    recorded_[event] = launches_;
    if (origin_) capture_.events[event] = capture_.streams.at(stream);
    return done();
  };
  d.wait_event = [this](DriverHandle) {
    run_pending();
    return done();
  };
  d.elapsed_ms = [this](float* ms, DriverHandle from, DriverHandle to) {
    *ms = 0.007F * static_cast<float>(recorded_[to] - recorded_[from]);
    return done();
  };
}

void FakeDriver::add_modules(Driver& d) {
  d.load_module = [this](DriverHandle* module, const void* binary) {
    const int result = make(module);
    if (*module) std::memcpy(&modules_[*module], binary, sizeof(std::size_t));
    return result;
  };
  d.unload_module = [this](DriverHandle module) { return destroy(module); };
  d.find_function = [this](DriverHandle* function, DriverHandle module, const char* name) {
    *function = reinterpret_cast<void*>(compiler_.library(modules_.at(module)).function(name));
    return *function ? done() : 500;
  };
  d.launch = [this](DriverHandle function, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, unsigned, DriverHandle stream, void** parameters, void**) {
    const auto run = reinterpret_cast<HostKernels::Function>(function);
    std::vector<void*> arguments;
    for (std::size_t k = 0; k < compiler_.parameters_of(run); ++k)
      arguments.push_back(*static_cast<void**>(parameters[k]));
    if (fails()) return done();
    if (computes_)
      put(stream, [=] { run(arguments.data()); });
    else
      put(stream, [] {});
    return done();
  };
}

}  // namespace soapstone::gpu::test

// A driver of a device that is the host: kernels are compiled for it, and run when somebody waits.
// Graphs run in the least likely order that their dependencies admit.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu/gpu_backend.h"
#include "tests/gpu/host_kernels.h"

namespace soapstone::gpu::test {

/// Libraries of kernels by their text, kept for as many drivers as a test makes.
class FakeCompiler {
 public:
  /// The binary is the number of the library.
  KernelCompiler compiler();
  const HostKernels& library(std::size_t number) const { return *libraries_[number]; }
  /// How many a function takes.
  std::size_t parameters_of(HostKernels::Function function) const {
    return parameters_.at(function);
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::unique_ptr<HostKernels>> libraries_;
  std::map<HostKernels::Function, std::size_t> parameters_;
};

class FakeDriver {
 public:
  /// A driver that recovers from a call that failed, or one that is lost from there on.
  enum class After : std::uint8_t { kRecovers, kStaysLost };
  /// Call number `failing` fails, after it did what it should, and those behind it if the device is
  /// lost; −1: none. What is given back is given back in any case. `computes`: whether kernels are
  /// more than a place in the stream.
  explicit FakeDriver(const FakeCompiler& compiler, int failing = -1,
                      After after = After::kRecovers, bool computes = true)
      : compiler_(compiler), failing_(failing), after_(after), computes_(computes) {}
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  /// Its functions refer to this object.
  Driver driver();
  int calls() const { return calls_; }
  int launches() const { return launches_; }
  /// Kernels of the last graph that was captured, and how often graphs were launched.
  std::size_t captured() const { return captured_; }
  int graph_launches() const { return graph_launches_; }
  /// Runs when the queue is waited for, or becomes a part of a graph: as a library's kernel does.
  void put(DriverHandle stream, std::function<void()> work);
  /// Allocations, streams, events, modules and contexts that were not given back.
  std::size_t alive() const { return handles_.size() + blocks_.size() + contexts_; }

 private:
  /// Work of a graph, and the numbers of what must have run before it.
  struct GraphNode {
    std::function<void()> work;
    std::set<std::size_t> after;
  };
  struct CapturedGraph {
    std::vector<GraphNode> nodes;
    std::map<DriverHandle, std::set<std::size_t>> streams, events;  ///< What they end with.
  };
  bool fails() const {
    return failing_ >= 0 && (after_ == After::kStaysLost ? calls_ >= failing_ : calls_ == failing_);
  }
  int done() {
    const bool is_failing = fails();
    ++calls_;
    return is_failing ? 999 : 0;
  }
  void run_pending();
  void add_queries(Driver& driver);
  void add_memory(Driver& driver);
  void add_streams(Driver& driver);
  void add_modules(Driver& driver);
  void add_graphs(Driver& driver);
  static void run(const CapturedGraph& graph);
  int make(DriverHandle* handle);
  int destroy(DriverHandle handle);

  const FakeCompiler& compiler_;
  int failing_, calls_ = 0, launches_ = 0;
  After after_;
  bool computes_;
  std::size_t contexts_ = 0;
  std::set<DriverHandle> handles_;
  std::set<DriverAddress> blocks_;
  std::map<DriverHandle, int> recorded_;         // by event: launches until then
  std::map<DriverHandle, std::size_t> modules_;  // the numbers of libraries
  std::vector<std::function<void()>> pending_;
  DriverHandle origin_ = nullptr;  // the stream of an open capture
  CapturedGraph capture_;
  std::map<DriverHandle, CapturedGraph> graphs_;  // captured ones and executables
  std::size_t captured_ = 0;
  int graph_launches_ = 0;
};

}  // namespace soapstone::gpu::test

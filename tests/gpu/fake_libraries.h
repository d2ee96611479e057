// Libraries that fail at a call of choice. The fake cuBLASLt multiplies on the host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn.h"
#include "tests/gpu/fake_driver.h"

namespace soapstone::gpu::test {

/// Counts calls and what is alive. Call number `failing` fails; −1: none.
class FailingCalls {
 public:
  explicit FailingCalls(int failing) : failing_(failing) {}
  int calls() const { return calls_; }
  std::size_t alive() const { return alive_.size(); }

 protected:
  ~FailingCalls();
  /// True if this call is to fail.
  bool fails() { return calls_++ == failing_; }
  bool make(void** made);
  void destroy(void* made);

 private:
  int failing_, calls_ = 0;
  std::set<void*> alive_;
};

/// Finalizes all that it is given, and knows one engine for each graph.
class FakeCudnn : public FailingCalls {
 public:
  /// Puts work into a stream; by default it is done at once.
  using Put = std::function<void(void* stream, std::function<void()> work)>;
  explicit FakeCudnn(
      int failing = -1, Put put = [](void*, const auto& work) { work(); })
      : FailingCalls(failing), put_(std::move(put)) {}
  /// Its functions refer to this object.
  std::shared_ptr<const Cudnn> library();
  int executions() const { return executions_; }
  /// What the last execution was given.
  const std::vector<void*>& pointers() const { return pointers_; }
  void* workspace() const { return workspace_; }

 private:
  int result() { return fails() ? 5000 : 0; }
  Put put_;
  void* stream_ = nullptr;
  int executions_ = 0;
  std::vector<void*> pointers_;
  void* workspace_ = nullptr;
};

/// Knows two algorithms for each product, of which the second needs a workspace of 64 bytes.
class FakeCublasLt : public FailingCalls {
 public:
  /// Puts work into a stream; by default it is done at once.
  using Put = std::function<void(void* stream, std::function<void()> work)>;
  explicit FakeCublasLt(
      int failing = -1, Put put = [](void*, const auto& work) { work(); })
      : FailingCalls(failing), put_(std::move(put)) {}
  std::shared_ptr<const CublasLt> library();
  int products() const { return products_; }

 private:
  struct Layout {
    std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
    std::int32_t batch = 1;
  };
  struct Matmul {
    std::int32_t transposes_left = 0, transposes_right = 0;
    std::uint32_t epilogue = 1;
    const float* bias = nullptr;
  };
  int result() { return fails() ? 14 : 0; }
  void add_descriptors(CublasLt& library);
  void multiply(const Matmul& matmul, float alpha, const float* left, const Layout& left_layout,
                const float* right, const Layout& right_layout, float beta, const float* addend,
                const Layout& addend_layout, float* result, const Layout& result_layout);

  std::map<void*, Layout> layouts_;
  std::map<void*, Matmul> matmuls_;
  int products_ = 0;
  Put put_;
};

/// A cuBLASLt whose products run when the driver's kernels do.
FakeCublasLt cublaslt_of(FakeDriver& driver);

}  // namespace soapstone::gpu::test

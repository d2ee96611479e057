// See fake_libraries.h.
#include "tests/gpu/fake_libraries.h"

#include <cublasLt.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace soapstone::gpu::test {

FailingCalls::~FailingCalls() {
  for (void* made : alive_) std::free(made);
}

bool FailingCalls::make(void** made) {
  *made = nullptr;
  if (fails()) return false;
  *made = std::malloc(1);
  alive_.insert(*made);
  return true;
}

void FailingCalls::destroy(void* made) {
  if (alive_.erase(made) == 0) std::abort();
  std::free(made);
}

std::shared_ptr<const Cudnn> FakeCudnn::library() {
  auto c = std::make_shared<Cudnn>();
  c->version = [] { return std::size_t{91900}; };
  c->error_name = [](int) { return "A_TEST"; };
  c->last_error = [](char* text, std::size_t) { *text = '\0'; };
  c->create_handle = [this](void** handle) { return make(handle) ? 0 : 5000; };
  c->destroy_handle = [this](void* handle) { return destroy(handle), 0; };
  c->set_stream = [this](void*, void* stream) {
    stream_ = stream;
    return result();
  };
  c->create_descriptor = [this](int, void** made) { return make(made) ? 0 : 5000; };
  c->destroy_descriptor = [this](void* made) { return destroy(made), 0; };
  c->finalize = [this](void*) { return result(); };
  c->set_attribute = [this](void*, int attribute, int, std::int64_t count, const void* values) {
    void* const* const pointers = static_cast<void* const*>(values);
    if (attribute == static_cast<int>(cudnn::Attribute::kPackPointers))
      pointers_.assign(pointers, pointers + count);
    if (attribute == static_cast<int>(cudnn::Attribute::kPackWorkspace)) workspace_ = *pointers;
    return result();
  };
  c->get_attribute = [this](void*, int, int type, std::int64_t, std::int64_t* count, void* values) {
    *count = type == static_cast<int>(cudnn::Type::kNumericalNote) ? 0 : 1;
    if (type == static_cast<int>(cudnn::Type::kInteger)) *static_cast<std::int64_t*>(values) = 32;
    return result();
  };
  c->execute = [this](void*, void*, void*) {
    ++executions_;
    const int answer = result();
    if (answer == 0) put_(stream_, [] {});
    return answer;
  };
  return c;
}

void FakeCublasLt::add_descriptors(CublasLt& c) {
  c.create_matmul = [this](void** made, int, int) {
    if (!make(made)) return 14;
    matmuls_[*made] = {};
    return 0;
  };
  c.set_matmul = [this](void* made, int attribute, const void* value, std::size_t size) {
    Matmul& matmul = matmuls_.at(made);
    void* const field =
        attribute == CUBLASLT_MATMUL_DESC_TRANSA     ? &matmul.transposes_left
        : attribute == CUBLASLT_MATMUL_DESC_TRANSB   ? static_cast<void*>(&matmul.transposes_right)
        : attribute == CUBLASLT_MATMUL_DESC_EPILOGUE ? &matmul.epilogue
                                                     : static_cast<void*>(&matmul.bias);
    std::memcpy(field, value, size);
    return result();
  };
  c.create_layout = [this](void** made, int, std::uint64_t rows, std::uint64_t columns,
                           std::int64_t leading) {
    if (!make(made)) return 14;
    if (leading < static_cast<std::int64_t>(rows)) std::abort();
    layouts_[*made] = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading,
                       0, 1};
    return 0;
  };
  c.set_layout = [this](void* made, int attribute, const void* value, std::size_t size) {
    Layout& layout = layouts_.at(made);
    std::memcpy(attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? static_cast<void*>(&layout.batch)
                                                                : &layout.batch_stride,
                value, size);
    return result();
  };
  c.create_preference = [this](void** made) { return make(made) ? 0 : 14; };
  c.set_preference = [this](void*, int, const void*, std::size_t) { return result(); };
  c.destroy_matmul = c.destroy_layout = c.destroy_preference =
      c.destroy_handle = [this](void* made) { return destroy(made), 0; };
}

std::shared_ptr<const CublasLt> FakeCublasLt::library() {
  auto c = std::make_shared<CublasLt>();
  c->version = [] { return std::size_t{130100}; };
  c->error_name = [](int) { return "A_TEST"; };
  c->create_handle = [this](void** handle) { return make(handle) ? 0 : 14; };
  add_descriptors(*c);
  c->heuristics = [this](void*, void*, void*, void*, void*, void*, void*, int most, void* found,
                         int* count) {
    auto* const results = static_cast<cublasLtMatmulHeuristicResult_t*>(found);
    *count = std::min(most, 2);
    for (int k = 0; k < *count; ++k) {
      results[k] = {};
      results[k].workspaceSize = static_cast<std::size_t>(k) * 64;
    }
    return result();
  };
  c->multiply = [this](void*, void* matmul, const void* alpha, const void* left, void* left_layout,
                       const void* right, void* right_layout, const void* beta, const void* addend,
                       void* addend_layout, void* to, void* to_layout, const void*, void*,
                       std::size_t, void* stream) {
    if (fails()) return 14;
    ++products_;
    const auto floats = [](const void* p) { return static_cast<const float*>(p); };
    put_(stream, [=, this, product = matmuls_.at(matmul), a = *floats(alpha), b = *floats(beta)] {
      multiply(product, a, floats(left), layouts_.at(left_layout), floats(right),
               layouts_.at(right_layout), b, floats(addend), layouts_.at(addend_layout),
               static_cast<float*>(to), layouts_.at(to_layout));
    });
    return 0;
  };
  return c;
}

void FakeCublasLt::multiply(const Matmul& matmul, float alpha, const float* left,
                            const Layout& left_layout, const float* right,
                            const Layout& right_layout, float beta, const float* addend,
                            const Layout& addend_layout, float* to, const Layout& to_layout) {
  const auto at = [](const Layout& layout, std::int64_t batch, std::int64_t row,
                     std::int64_t column) {
    return batch * layout.batch_stride + row + column * layout.leading;
  };
  const std::int64_t summed = matmul.transposes_left ? left_layout.rows : left_layout.columns;
  for (std::int64_t b = 0; b < to_layout.batch; ++b)
    for (std::int64_t m = 0; m < to_layout.rows; ++m)
      for (std::int64_t n = 0; n < to_layout.columns; ++n) {
        float sum = 0;
        for (std::int64_t k = 0; k < summed; ++k)
          sum +=
              left[matmul.transposes_left ? at(left_layout, b, k, m) : at(left_layout, b, m, k)] *
              right[matmul.transposes_right ? at(right_layout, b, n, k)
                                            : at(right_layout, b, k, n)];
        sum *= alpha;
        if (beta != 0) sum += beta * addend[at(addend_layout, b, m, n)];
        if (matmul.epilogue & CUBLASLT_EPILOGUE_BIAS) sum += matmul.bias[m];
        if (matmul.epilogue & CUBLASLT_EPILOGUE_RELU) sum = std::max(sum, 0.0F);
        if (matmul.epilogue & CUBLASLT_EPILOGUE_GELU)
          sum = 0.5F * sum * (1 + std::tanh(0.7978845F * (sum + 0.044715F * sum * sum * sum)));
        to[at(to_layout, b, m, n)] = sum;
      }
}

FakeCublasLt cublaslt_of(FakeDriver& driver) {
  return FakeCublasLt(-1, [&driver](void* stream, std::function<void()> work) {
    driver.put(stream, std::move(work));
  });
}

}  // namespace soapstone::gpu::test

// cuDNN, found at run time. Functions are values, so that tests can make any of them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gpu/libraries/cudnn_names.h"

namespace soapstone::gpu {

/// The functions of cuDNN's backend interface. Results are those of the library: 0 is success.
struct Cudnn {
  std::function<std::size_t()> version;
  std::function<const char*(int)> error_name;
  std::function<void(char*, std::size_t)> last_error;

  std::function<int(void**)> create_handle;
  std::function<int(void*)> destroy_handle;
  std::function<int(void*, void*)> set_stream;  ///< Handle, stream.

  std::function<int(int, void**)> create_descriptor;
  std::function<int(void*)> destroy_descriptor;
  std::function<int(void*)> finalize;
  /// Descriptor, attribute, type, number of elements, elements.
  std::function<int(void*, int, int, std::int64_t, const void*)> set_attribute;
  /// Likewise, with the number of elements that are there.
  std::function<int(void*, int, int, std::int64_t, std::int64_t*, void*)> get_attribute;
  std::function<int(void*, void*, void*)> execute;  ///< Handle, plan, variant pack.
};

/// Errors: kUnavailable if the library is not there or lacks a function.
core::Result<std::shared_ptr<const Cudnn>> load_cudnn(const std::string& library = "libcudnn.so.9");

/// Success; kUnsupported for what cuDNN refuses or lacks, kUnavailable for all else, with its
/// words.
core::Status checked(const Cudnn& cudnn, int result, const std::string& call);

/// Owns a descriptor. Setters remember the first error, which finalize() reports.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const Cudnn& cudnn, cudnn::Descriptor kind);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  CudnnDescriptor& set(cudnn::Attribute attribute, cudnn::Type type, std::int64_t count,
                       const void* values);
  CudnnDescriptor& set(cudnn::Attribute attribute, const std::vector<std::int64_t>& values);
  CudnnDescriptor& set(cudnn::Attribute attribute, std::int64_t value);
  CudnnDescriptor& set(cudnn::Attribute attribute, float value);
  CudnnDescriptor& set(cudnn::Attribute attribute, bool value);
  CudnnDescriptor& set(cudnn::Attribute attribute, const CudnnDescriptor& other);
  CudnnDescriptor& set(cudnn::Attribute attribute, std::span<void* const> others);
  /// A value of one of the library's enumerations.
  template <class Enumeration>
  requires std::is_enum_v<Enumeration> CudnnDescriptor& set(cudnn::Attribute attribute,
                                                            cudnn::Type type, Enumeration value) {
    return set(attribute, type, 1, &value);
  }
  core::Status finalize();

  core::Result<std::int64_t> integer(cudnn::Attribute attribute) const;
  /// Up to `most` elements of four bytes or less each.
  core::Result<std::vector<int>> numbers(cudnn::Attribute attribute, cudnn::Type type,
                                         std::int64_t most) const;
  /// The descriptors that the attribute holds. `most`: for attributes that do not say how many.
  core::Result<std::vector<CudnnDescriptor>>
  descriptors(cudnn::Attribute attribute, cudnn::Descriptor kind, std::int64_t most = 0) const;
  void* get() const { return descriptor_; }

 private:
  const Cudnn* cudnn_;
  cudnn::Descriptor kind_;
  void* descriptor_ = nullptr;
  core::Status made_ = core::Done{};
};

}  // namespace soapstone::gpu

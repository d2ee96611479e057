// The libraries of a device, made ready when the first kernel needs them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "gpu/device/device.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn_graph.h"

namespace soapstone::gpu {

/// Those that were found; null: it is not there.
struct Libraries {
  std::shared_ptr<const Cudnn> cudnn;
  std::shared_ptr<const CublasLt> cublaslt;
};
Libraries load_libraries();

/// Owns the libraries' handles, and makes them when they are needed. Safe from several threads;
/// what is done with a handle is not.
class LibraryHandles {
 public:
  LibraryHandles(DevicePtr device, Libraries libraries)
      : device_(std::move(device)), libraries_(std::move(libraries)) {}
  ~LibraryHandles();
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  const Libraries& libraries() const { return libraries_; }
  /// Errors: kUnavailable; if the library is not there, too.
  core::Result<void*> cudnn();
  core::Result<void*> cublaslt();
  core::Result<const CudnnDescriptor*> cudnn_device();

 private:
  DevicePtr device_;
  Libraries libraries_;
  std::mutex mutex_;
  void* cudnn_ = nullptr;
  void* cublaslt_ = nullptr;
  std::optional<CudnnDescriptor> cudnn_device_;
};

}  // namespace soapstone::gpu

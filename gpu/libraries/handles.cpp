// See handles.h.
#include "gpu/libraries/handles.h"

namespace soapstone::gpu {

Libraries load_libraries() {
  Libraries libraries;
  if (auto cudnn = load_cudnn()) libraries.cudnn = *std::move(cudnn);
  if (auto cublaslt = load_cublaslt()) libraries.cublaslt = *std::move(cublaslt);
  return libraries;
}

LibraryHandles::~LibraryHandles() {
  if (cudnn_ || cublaslt_) device_->release();
  if (cudnn_) libraries_.cudnn->destroy_handle(cudnn_);
  if (cublaslt_) libraries_.cublaslt->destroy_handle(cublaslt_);
}

core::Result<void*> LibraryHandles::cudnn() {
  const std::lock_guard lock(mutex_);
  if (cudnn_) return cudnn_;
  if (!libraries_.cudnn) return core::unavailable("there is no cuDNN");
  SOAPSTONE_RETURN_IF_ERROR(device_->use());
  SOAPSTONE_RETURN_IF_ERROR(
      checked(*libraries_.cudnn, libraries_.cudnn->create_handle(&cudnn_), "cudnnCreate"));
  return cudnn_;
}

core::Result<void*> LibraryHandles::cublaslt() {
  const std::lock_guard lock(mutex_);
  if (cublaslt_) return cublaslt_;
  if (!libraries_.cublaslt) return core::unavailable("there is no cuBLASLt");
  SOAPSTONE_RETURN_IF_ERROR(device_->use());
  SOAPSTONE_RETURN_IF_ERROR(checked(
      *libraries_.cublaslt, libraries_.cublaslt->create_handle(&cublaslt_), "cublasLtCreate"));
  return cublaslt_;
}

core::Result<const CudnnDescriptor*> LibraryHandles::cudnn_device() {
  const std::lock_guard lock(mutex_);
  if (cudnn_device_) return &*cudnn_device_;
  if (!libraries_.cudnn) return core::unavailable("there is no cuDNN");
  SOAPSTONE_RETURN_IF_ERROR(device_->use());
  SOAPSTONE_ASSIGN_OR_RETURN(cudnn_device_,
                             present_device(*libraries_.cudnn, device_->facts().ordinal));
  return &*cudnn_device_;
}

}  // namespace soapstone::gpu

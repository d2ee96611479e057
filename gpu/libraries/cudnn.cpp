// See cudnn.h.
#include "gpu/libraries/cudnn.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {
namespace {

using cudnn::Attribute;
using cudnn::Type;

std::string attribute_call(const char* call, Attribute attribute) {
  return fmt::format("{}(attribute {})", call, static_cast<int>(attribute));
}

}  // namespace

core::Result<std::shared_ptr<const Cudnn>> load_cudnn(const std::string& name) {
  SOAPSTONE_ASSIGN_OR_RETURN(const DynamicLibrary library, DynamicLibrary::open(name));
  auto c = std::make_shared<Cudnn>();
  if (!library.find("cudnnGetVersion", c->version) ||
      !library.find("cudnnGetErrorString", c->error_name) ||
      !library.find("cudnnGetLastErrorString", c->last_error) ||
      !library.find("cudnnCreate", c->create_handle) ||
      !library.find("cudnnDestroy", c->destroy_handle) ||
      !library.find("cudnnSetStream", c->set_stream) ||
      !library.find("cudnnBackendCreateDescriptor", c->create_descriptor) ||
      !library.find("cudnnBackendDestroyDescriptor", c->destroy_descriptor) ||
      !library.find("cudnnBackendFinalize", c->finalize) ||
      !library.find("cudnnBackendSetAttribute", c->set_attribute) ||
      !library.find("cudnnBackendGetAttribute", c->get_attribute) ||
      !library.find("cudnnBackendExecute", c->execute))
    return core::unavailable(name + " is no cuDNN 9");
  return std::shared_ptr<const Cudnn>(std::move(c));
}

core::Status checked(const Cudnn& cudnn, int result, const std::string& call) {
  if (result == 0) return core::Done{};
  std::array<char, 512> words{};
  cudnn.last_error(words.data(), words.size() - 1);
  const std::string message =
      fmt::format("{} says {} ({}){}{}", call, result, cudnn.error_name(result),
                  words[0] ? ": " : "", words.data());
  const bool is_refused = result >= cudnn::kBadParameter && result < cudnn::kNotSupportedEnd;
  return is_refused ? core::unsupported(message) : core::unavailable(message);
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& cudnn, cudnn::Descriptor kind)
    : cudnn_(&cudnn), kind_(kind) {
  made_ = checked(cudnn, cudnn.create_descriptor(static_cast<int>(kind), &descriptor_),
                  fmt::format("cudnnBackendCreateDescriptor({})", static_cast<int>(kind)));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) cudnn_->destroy_descriptor(descriptor_);
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : cudnn_(other.cudnn_), kind_(other.kind_),
      descriptor_(std::exchange(other.descriptor_, nullptr)), made_(std::move(other.made_)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(cudnn_, other.cudnn_);
  std::swap(kind_, other.kind_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(made_, other.made_);
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, Type type, std::int64_t count,
                                      const void* values) {
  if (made_)
    made_ = checked(*cudnn_,
                    cudnn_->set_attribute(descriptor_, static_cast<int>(attribute),
                                          static_cast<int>(type), count, values),
                    attribute_call("cudnnBackendSetAttribute", attribute));
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute,
                                      const std::vector<std::int64_t>& values) {
  return set(attribute, Type::kInteger, static_cast<std::int64_t>(values.size()), values.data());
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, std::int64_t value) {
  return set(attribute, Type::kInteger, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, float value) {
  return set(attribute, Type::kFloat, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, bool value) {
  return set(attribute, Type::kBoolean, 1, &value);
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, const CudnnDescriptor& other) {
  return set(attribute, Type::kDescriptor, 1, &other.descriptor_);
}

CudnnDescriptor& CudnnDescriptor::set(Attribute attribute, std::span<void* const> others) {
  return set(attribute, Type::kDescriptor, static_cast<std::int64_t>(others.size()), others.data());
}

core::Status CudnnDescriptor::finalize() {
  SOAPSTONE_RETURN_IF_ERROR(made_);
  return checked(*cudnn_, cudnn_->finalize(descriptor_),
                 fmt::format("cudnnBackendFinalize(descriptor {})", static_cast<int>(kind_)));
}

core::Result<std::int64_t> CudnnDescriptor::integer(Attribute attribute) const {
  std::int64_t value = 0, count = 0;
  SOAPSTONE_RETURN_IF_ERROR(
      checked(*cudnn_,
              cudnn_->get_attribute(descriptor_, static_cast<int>(attribute),
                                    static_cast<int>(Type::kInteger), 1, &count, &value),
              attribute_call("cudnnBackendGetAttribute", attribute)));
  return value;
}

core::Result<std::vector<int>> CudnnDescriptor::numbers(Attribute attribute, Type type,
                                                        std::int64_t most) const {
  std::vector<int> values(static_cast<std::size_t>(most));
  std::int64_t count = 0;
  SOAPSTONE_RETURN_IF_ERROR(
      checked(*cudnn_,
              cudnn_->get_attribute(descriptor_, static_cast<int>(attribute),
                                    static_cast<int>(type), most, &count, values.data()),
              attribute_call("cudnnBackendGetAttribute", attribute)));
  values.resize(static_cast<std::size_t>(std::min(count, most)));
  return values;
}

core::Result<std::vector<CudnnDescriptor>>
CudnnDescriptor::descriptors(Attribute attribute, cudnn::Descriptor kind, std::int64_t most) const {
  const std::string call = attribute_call("cudnnBackendGetAttribute", attribute);
  const auto get = [&](std::int64_t asked, std::int64_t& found, void* values) {
    return checked(*cudnn_,
                   cudnn_->get_attribute(descriptor_, static_cast<int>(attribute),
                                         static_cast<int>(Type::kDescriptor), asked, &found,
                                         values),
                   call);
  };
  std::int64_t count = most;
  if (most == 0) SOAPSTONE_RETURN_IF_ERROR(get(0, count, nullptr));
  std::vector<CudnnDescriptor> result;
  std::vector<void*> handles;
  for (std::int64_t k = 0; k < count; ++k) {
    result.emplace_back(*cudnn_, kind);
    SOAPSTONE_RETURN_IF_ERROR(result.back().made_);
    handles.push_back(result.back().descriptor_);
  }
  if (handles.empty()) return result;
  SOAPSTONE_RETURN_IF_ERROR(get(count, count, handles.data()));
  result.erase(result.begin() + std::min<std::ptrdiff_t>(count, std::ssize(result)), result.end());
  return result;
}

}  // namespace soapstone::gpu

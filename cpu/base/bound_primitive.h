// A oneDNN primitive with its arguments, run without the maps that oneDNN's C++ interface builds
// on each call.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "cpu/base/kernel_request.h"
#include "cpu/base/onednn_v2.h"

namespace soapstone::cpu {

/// Dimensions and strides as a oneDNN descriptor of f32.
Descriptor describe(const core::Dims& dims, const core::Dims& strides);
/// The descriptor of a tensor in a layout.
Descriptor describe(const core::Dims& dims, runtime::Layout layout);
/// oneDNN chooses how it lies.
Descriptor describe_any(const core::Dims& dims);
/// The attributes of all our primitives: scratch memory comes from the caller.
dnnl::primitive_attr plain_attributes();

class BoundPrimitive {
 public:
  BoundPrimitive(const dnnl::engine& engine, Primitive primitive);
  const Primitive& primitive() const { return primitive_; }
  /// Declares an argument; returns its number for set().
  std::size_t add(int argument, const Descriptor& descriptor);
  void set(std::size_t number, const void* data);
  void run(const dnnl::stream& stream, std::byte* scratch);
  std::size_t scratch_bytes() const { return primitive_.scratchpad.get_size(); }
  std::string implementation() const { return "oneDNN " + primitive_.implementation; }

 private:
  dnnl::engine engine_;
  Primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratchpad_;
};

/// A copy of a tensor from one form to another.
class Reorder {
 public:
  Reorder(const dnnl::engine& engine, const Descriptor& from, const Descriptor& to);
  void run(const void* from, void* to, const dnnl::stream& stream, std::byte* scratch);
  std::size_t scratch_bytes() const { return primitive_.scratch_bytes(); }

 private:
  BoundPrimitive primitive_;
  std::size_t from_, to_;
};

/// Calls `make`, which uses oneDNN. Errors: a dnnl::error as a refusal.
template <class Make>
auto guarded(const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    return refuse(std::string("oneDNN: ") + error.what());
  }
}

/// A constant that a primitive wants in a layout of its own, converted once. `elements`: what
/// `from` describes, made of the constant; none: the constant itself.
std::shared_ptr<const std::byte>
packed(const KernelRequest& request, const core::LiteralPtr& literal, const Descriptor& from,
       const Descriptor& to, const std::function<std::vector<std::byte>()>& elements = {});

}  // namespace soapstone::cpu

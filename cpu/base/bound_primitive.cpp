// See bound_primitive.h.
#include "cpu/base/bound_primitive.h"

#include "cpu/base/packed_weights.h"
#include "cpu/base/threads.h"

namespace soapstone::cpu {

Descriptor describe(const core::Dims& dims, const core::Dims& strides) {
  return {dims, dnnl::memory::data_type::f32, strides};
}

Descriptor describe(const core::Dims& dims, runtime::Layout layout) {
  return describe(dims, runtime::strides_of(dims, layout));
}

Descriptor describe_any(const core::Dims& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

dnnl::primitive_attr plain_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

BoundPrimitive::BoundPrimitive(const dnnl::engine& engine, Primitive primitive)
    : engine_(engine), primitive_(std::move(primitive)),
      scratchpad_(add(DNNL_ARG_SCRATCHPAD, primitive_.scratchpad)) {}

std::size_t BoundPrimitive::add(int argument, const Descriptor& descriptor) {
  memories_.emplace_back(descriptor, engine_, nullptr);
  arguments_.push_back({argument, memories_.back().get()});
  return memories_.size() - 1;
}

void BoundPrimitive::set(std::size_t number, const void* data) {
  // oneDNN has no pointers to const; it does not write to inputs.
  memories_[number].set_data_handle(const_cast<void*>(data));
}

void BoundPrimitive::run(const dnnl::stream& stream, std::byte* scratch) {
  set(scratchpad_, scratch);
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.primitive.get(), stream.get(),
                             static_cast<int>(arguments_.size()), arguments_.data());
  CHECK(status == dnnl_success, "oneDNN refuses to run what it agreed to");
}

Reorder::Reorder(const dnnl::engine& engine, const Descriptor& from, const Descriptor& to)
    : primitive_(engine, make_reorder(engine, from, to, plain_attributes())),
      from_(primitive_.add(DNNL_ARG_FROM, from)), to_(primitive_.add(DNNL_ARG_TO, to)) {}

void Reorder::run(const void* from, void* to, const dnnl::stream& stream, std::byte* scratch) {
  primitive_.set(from_, from);
  primitive_.set(to_, to);
  primitive_.run(stream, scratch);
}

std::shared_ptr<const std::byte> packed(const KernelRequest& request,
                                        const core::LiteralPtr& literal, const Descriptor& from,
                                        const Descriptor& to,
                                        const std::function<std::vector<std::byte>()>& elements) {
  return request.packed.get(literal, to, [&] {
    const std::shared_ptr<std::byte> memory = allocate_packed(to.get_size());
    use_threads(request.threads);
    const std::vector<std::byte> made = elements ? elements() : std::vector<std::byte>();
    BoundPrimitive reorder(request.engine, make_reorder(request.engine, from, to, {}));
    reorder.set(reorder.add(DNNL_ARG_FROM, from), elements ? made.data() : literal->bytes().data());
    reorder.set(reorder.add(DNNL_ARG_TO, to), memory.get());
    reorder.run(request.stream, nullptr);
    return memory;
  });
}

}  // namespace soapstone::cpu

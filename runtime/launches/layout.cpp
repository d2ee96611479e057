// See layout.h. canonical() and is_outermost() are called for every candidate graph of a search,
// so they do not allocate.
#include "runtime/launches/layout.h"

namespace soapstone::runtime {

std::string_view to_string(Layout layout) {
  return layout == Layout::kRowMajor ? "row-major" : "channels-last";
}

Layout canonical(const core::TensorType& type, Layout layout) {
  if (layout == Layout::kRowMajor || type.shape.size() < 3) return Layout::kRowMajor;
  if (type.shape[1].as_constant() == 1) return Layout::kRowMajor;
  for (std::size_t i = 2; i < type.shape.size(); ++i) {
    if (type.shape[i].as_constant() != 1) return Layout::kChannelsLast;
  }
  return Layout::kRowMajor;
}

std::vector<std::size_t> memory_order(std::size_t rank, Layout layout) {
  std::vector<std::size_t> order;
  order.reserve(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (layout == Layout::kRowMajor || i != 1) order.push_back(i);
  }
  if (order.size() < rank) order.push_back(1);
  return order;
}

core::Dims strides_of(const core::Dims& dims, Layout layout) {
  const std::vector<std::size_t> order = memory_order(dims.size(), layout);
  core::Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return strides;
}

bool is_outermost(const core::TensorType& type, Layout layout, std::size_t axis) {
  const auto is_one = [&](std::size_t i) { return type.shape[i].as_constant() == 1; };
  const bool channels_last = layout == Layout::kChannelsLast;
  for (std::size_t i = 0; i < axis; ++i) {
    if ((i != 1 || !channels_last) && !is_one(i)) return false;
  }
  if (!channels_last || axis != 1) return true;
  for (std::size_t i = 2; i < type.shape.size(); ++i) {
    if (!is_one(i)) return false;
  }
  return true;
}

std::size_t storage_bytes(const core::TensorType& type) {
  std::size_t bytes = core::size_bytes(type.data_type);
  for (const core::Size& size : type.shape) bytes *= static_cast<std::size_t>(size.constant());
  return bytes;
}

core::Dims dims_of(const core::TensorType& type) {
  auto dims = core::concrete(type.shape);
  CHECK(dims, "a shape that is not numeric");
  return *std::move(dims);
}

}  // namespace soapstone::runtime

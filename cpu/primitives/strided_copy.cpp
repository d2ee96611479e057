// See strided_copy.h. Rows that are contiguous on both sides are copied as such; a transpose of
// floats is a oneDNN reorder, which goes through it in tiles; the rest goes element by element.
#include "cpu/primitives/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cpu/base/threads.h"

namespace soapstone::cpu {
namespace {

using core::Dims;

/// Drops dimensions of size 1, orders by target stride, merges neighbors that are contiguous.
CopyBox merged(const CopyBox& box) {
  std::vector<std::size_t> axes;
  for (std::size_t d = 0; d < box.dims.size(); ++d) {
    if (box.dims[d] != 1) axes.push_back(d);
  }
  std::ranges::stable_sort(axes, [&](std::size_t a, std::size_t b) {
    return std::abs(box.to_strides[a]) > std::abs(box.to_strides[b]);
  });
  CopyBox result{{}, {}, {}, box.from_offset, box.to_offset};
  for (std::size_t d : axes) {
    const std::int64_t size = box.dims[d];
    if (!result.dims.empty() && result.from_strides.back() == box.from_strides[d] * size &&
        result.to_strides.back() == box.to_strides[d] * size) {
      result.dims.back() *= size;
      result.from_strides.back() = box.from_strides[d];
      result.to_strides.back() = box.to_strides[d];
    } else {
      result.dims.push_back(size);
      result.from_strides.push_back(box.from_strides[d]);
      result.to_strides.push_back(box.to_strides[d]);
    }
  }
  if (result.dims.empty()) return {{1}, {1}, {1}, box.from_offset, box.to_offset};
  return result;
}

/// Copies that oneDNN's compiled reorders are good at.
bool suits_reorder(const CopyBox& box, std::size_t element_bytes) {
  constexpr std::size_t kMaxRank = 6;
  constexpr std::int64_t kSmall = 256;
  if (element_bytes != 4 || box.dims.size() > kMaxRank || box.from_strides.back() == 1)
    return false;
  const auto positive = [](std::int64_t stride) { return stride > 0; };
  const bool has_unit = std::ranges::find(box.from_strides, 1) != box.from_strides.end();
  return has_unit && box.to_strides.back() == 1 && core::element_count(box.dims) >= kSmall &&
         std::ranges::all_of(box.from_strides, positive);
}

template <class Element>
void copy_elements(const std::byte* from, std::int64_t from_stride, std::byte* to,
                   std::int64_t to_stride, std::int64_t count) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  if (from_stride == 0 && to_stride == 1) {
    std::fill_n(target, count, *source);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) target[i * to_stride] = source[i * from_stride];
}

}  // namespace

StridedCopy::StridedCopy(const CopyBox& box, std::size_t element_bytes, const dnnl::engine& engine)
    : box_(merged(box)), element_bytes_(element_bytes) {
  for (std::size_t d = 0; d + 1 < box_.dims.size(); ++d) rows_ *= box_.dims[d];
  if (core::element_count(box_.dims) == 0) rows_ = 0;
  if (!suits_reorder(box_, element_bytes)) return;
  const Descriptor from = describe(box_.dims, box_.from_strides);
  const Descriptor to = describe(box_.dims, box_.to_strides);
  reorder_.emplace(engine, make_reorder(engine, from, to, plain_attributes()));
  reorder_from_ = reorder_->add(DNNL_ARG_FROM, from);
  reorder_to_ = reorder_->add(DNNL_ARG_TO, to);
}

void StridedCopy::run(const std::byte* from, std::byte* to, const dnnl::stream& stream, int threads,
                      std::byte* scratch) {
  const auto element = static_cast<std::int64_t>(element_bytes_);
  from += box_.from_offset * element;
  to += box_.to_offset * element;
  if (reorder_) {
    use_threads(threads);
    reorder_->set(reorder_from_, from);
    reorder_->set(reorder_to_, to);
    reorder_->run(stream, scratch);
    return;
  }
  constexpr std::size_t kGrainBytes = 1 << 17;
  const std::size_t row_bytes = static_cast<std::size_t>(box_.dims.back()) * element_bytes_;
  const std::size_t grain = kGrainBytes / std::max<std::size_t>(row_bytes, 1) + 1;
  parallel_ranges(
      threads, static_cast<std::size_t>(rows_), grain, [&](std::size_t begin, std::size_t end) {
        copy_rows(from, to, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
      });
}

void StridedCopy::copy_rows(const std::byte* from, std::byte* to, std::int64_t begin,
                            std::int64_t end) const {
  const auto element = static_cast<std::int64_t>(element_bytes_);
  const std::size_t outer = box_.dims.size() - 1;
  Dims index(outer);
  std::int64_t rest = begin, source = 0, target = 0;
  for (std::size_t d = outer; d-- > 0;) {
    index[d] = rest % box_.dims[d];
    rest /= box_.dims[d];
    source += index[d] * box_.from_strides[d];
    target += index[d] * box_.to_strides[d];
  }
  for (std::int64_t row = begin; row < end; ++row) {
    copy_row(from + source * element, to + target * element);
    for (std::size_t d = outer; d-- > 0;) {
      source += box_.from_strides[d];
      target += box_.to_strides[d];
      if (++index[d] < box_.dims[d]) break;
      source -= index[d] * box_.from_strides[d];
      target -= index[d] * box_.to_strides[d];
      index[d] = 0;
    }
  }
}

void StridedCopy::copy_row(const std::byte* from, std::byte* to) const {
  const std::int64_t count = box_.dims.back();
  const std::int64_t from_stride = box_.from_strides.back(), to_stride = box_.to_strides.back();
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element_bytes_);
    return;
  }
  switch (element_bytes_) {
  case 1:
    return copy_elements<std::uint8_t>(from, from_stride, to, to_stride, count);
  case 2:
    return copy_elements<std::uint16_t>(from, from_stride, to, to_stride, count);
  case 4:
    return copy_elements<std::uint32_t>(from, from_stride, to, to_stride, count);
  default:
    return copy_elements<std::uint64_t>(from, from_stride, to, to_stride, count);
  }
}

}  // namespace soapstone::cpu

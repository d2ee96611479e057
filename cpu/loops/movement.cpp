// See movement.h.
#include "cpu/loops/movement.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace soapstone::cpu {
namespace {

using core::Dims;

/// The shapes and strides of one launch.
struct View {
  const KernelRequest& request;
  Dims in(std::size_t k) const { return request.dims(request.head_input(k)); }
  Dims in_strides(std::size_t k) const {
    return runtime::strides_of(in(k), request.layout(request.head_input(k)));
  }
  Dims out(std::size_t k = 0) const { return request.dims(request.launch.outputs[k]); }
  Dims out_strides(std::size_t k = 0) const {
    return runtime::strides_of(out(k), request.output_layout(k));
  }
  Copy copy(std::size_t input, std::size_t output, CopyBox box) const {
    return {request.number(request.head_input(input)), output, std::move(box)};
  }
  const core::Attributes& attributes() const { return request.attributes(); }
};

Movement transpose(const View& view) {
  const Dims strides = view.in_strides(0);
  CopyBox box{view.out(), {}, view.out_strides()};
  for (std::int64_t axis : view.attributes().get_ints("perm"))
    box.from_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  return {{view.copy(0, 0, std::move(box))}, {}};
}

Movement reshape(const View& view) {
  return {{view.copy(0, 0, {{core::element_count(view.out())}, {1}, {1}})}, {}};
}

Movement expand(const View& view) {
  const Dims in = view.in(0), strides = view.in_strides(0);
  CopyBox box{view.out(), Dims(view.out().size(), 0), view.out_strides()};
  const std::size_t shift = box.dims.size() - in.size();
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (in[d] != 1) box.from_strides[d + shift] = strides[d];
  }
  return {{view.copy(0, 0, std::move(box))}, {}};
}

Movement slice(const View& view) {
  CopyBox box{view.out(), view.in_strides(0), view.out_strides()};
  const auto axes = view.attributes().get_ints("axes"),
             starts = view.attributes().get_ints("starts"),
             steps = view.attributes().get_ints("steps");
  for (std::size_t k = 0; k < axes.size(); ++k) {
    std::int64_t& stride = box.from_strides[static_cast<std::size_t>(axes[k])];
    box.from_offset += starts[k] * stride;
    stride *= steps[k];
  }
  return {{view.copy(0, 0, std::move(box))}, {}};
}

Movement split(const View& view) {
  const auto axis = static_cast<std::size_t>(view.attributes().get_int("axis"));
  Movement movement;
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < view.request.launch.outputs.size(); ++k) {
    CopyBox box{view.out(k), view.in_strides(0), view.out_strides(k)};
    box.from_offset = offset * box.from_strides[axis];
    offset += box.dims[axis];
    movement.copies.push_back(view.copy(0, k, std::move(box)));
  }
  return movement;
}

Movement concat(const View& view) {
  const auto axis = static_cast<std::size_t>(view.attributes().get_int("axis"));
  Movement movement;
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < view.request.head().inputs.size(); ++k) {
    CopyBox box{view.in(k), view.in_strides(k), view.out_strides()};
    box.to_offset = offset * box.to_strides[axis];
    offset += box.dims[axis];
    movement.copies.push_back(view.copy(k, 0, std::move(box)));
  }
  return movement;
}

/// The part of the input that lies within the result, `interior` + 1 places apart from `begin` on.
void place(CopyBox& box, std::size_t axis, std::int64_t begin, std::int64_t interior,
           std::int64_t result_size) {
  const std::int64_t step = interior + 1;
  const std::int64_t first = begin < 0 ? (-begin + step - 1) / step : 0;
  const std::int64_t end =
      begin >= result_size ? 0 : (result_size - 1 - begin) / step + 1;  // one past the last
  box.from_offset += first * box.from_strides[axis];
  box.to_offset += (begin + first * step) * box.to_strides[axis];
  box.dims[axis] = std::max<std::int64_t>(std::min(box.dims[axis], end) - first, 0);
  box.to_strides[axis] *= step;
}

Movement pad(const View& view) {
  CopyBox box{view.in(0), view.in_strides(0), view.out_strides()};
  const auto pads = view.attributes().get_ints("pads");
  const auto interior = view.attributes().get_ints("interior");
  const Dims out = view.out();
  for (std::size_t d = 0; d < out.size(); ++d)
    place(box, d, pads[d], interior.empty() ? 0 : interior[d], out[d]);
  return {{view.copy(0, 0, std::move(box))}, view.attributes().get_real("value")};
}

Movement enlarge(const View& view) {
  CopyBox box{view.in(0), view.in_strides(0), view.out_strides()};
  const Dims out = view.out();
  for (std::size_t d = 2; d < out.size(); ++d) place(box, d, (out[d] - box.dims[d]) / 2, 0, out[d]);
  return {{view.copy(0, 0, std::move(box))}, 0.0};
}

Movement full(const View& view) { return {{}, view.attributes().get_real("value")}; }

using MakeMovement = Movement (*)(const View&);

}  // namespace

std::optional<Movement> movement_of(const KernelRequest& request) {
  constexpr std::array<std::pair<std::string_view, MakeMovement>, 9> kMovements = {{
      {"transpose", transpose},
      {"reshape", reshape},
      {"expand", expand},
      {"slice", slice},
      {"split", split},
      {"concat", concat},
      {"pad", pad},
      {"enlarge", enlarge},
      {"full", full},
  }};
  for (const auto& [name, movement] : kMovements) {
    if (name == request.op()) return movement(View{request});
  }
  return std::nullopt;
}

}  // namespace soapstone::cpu

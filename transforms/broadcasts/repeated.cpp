#include "transforms/broadcasts/repeated.h"

#include <algorithm>

#include <fmt/format.h>

#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {

Repeated Repeated::plain(const Sizes& shape, std::size_t base) {
  return {shape, shape, std::vector<std::optional<Repetition>>(shape.size()), base};
}

bool Repeated::is_plain() const {
  return std::ranges::none_of(axes, [](const auto& axis) { return axis.has_value(); });
}

Sizes shape_without(const Repeated& tensor, const std::vector<bool>& left_out) {
  Sizes shape = tensor.shape;
  for (std::size_t d = 0; d < left_out.size(); ++d)
    if (left_out[d]) shape[d] = tensor.base_shape[d];
  return shape;
}

std::string RepetitionText::input(const std::string& name, const core::TensorType& type,
                                  const Sizes& shape) {
  const std::string line = fmt::format("  {}: {}\n", name, declared(type, sizes_.texts(shape)));
  if (head_.find(line) == std::string::npos) head_ += line;
  return name;
}

std::string RepetitionText::repeated(SideText& side, const Repeated& tensor,
                                     const std::string& base, const std::vector<bool>& left_out) {
  std::string name = base;
  Sizes shape = tensor.base_shape;
  const auto is_left_out = [&](std::size_t d) { return d < left_out.size() && left_out[d]; };
  // What is chosen is chosen from less if it is not repeated yet.
  for (std::size_t d = 0; d < tensor.axes.size(); ++d) {
    if (!tensor.axes[d] || !tensor.axes[d]->indices.valid() || is_left_out(d)) continue;
    const core::TensorId indices = tensor.axes[d]->indices;
    const core::TensorType& type = graph_.tensor(indices).type;
    const std::string its =
        input(fmt::format("i{}", indices.index()), type, known_sizes(type.shape));
    name = side.line(fmt::format("gather({}, {}; axis={})", name, its, d));
    shape[d] = tensor.shape[d];
  }
  bool expands = false;
  for (std::size_t d = 0; d < tensor.axes.size(); ++d) {
    if (!tensor.axes[d] || tensor.axes[d]->indices.valid() || is_left_out(d)) continue;
    expands = true;
    shape[d] = tensor.shape[d];
  }
  if (!expands) return name;
  return side.line(fmt::format("expand({}; shape=[{}])", name, list_of(sizes_.texts(shape))));
}

std::string RepetitionText::call(const core::Node& node, const Names& operands,
                                 const Sizes& result) const {
  return call_of(graph_, node, operands, sizes_.texts(result));
}

}  // namespace soapstone::transforms

#include "transforms/layout_changes/phases.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;

class PhaseWriter {
 public:
  PhaseWriter(const Graph& graph, const Node& node, const View& image)
      : graph_(graph), node_(node), image_(image), phases_(image.dims().size()) {}

  std::optional<MovedOperator> run() {
    if (!find_phases()) return std::nullopt;
    const Node dilated = scaled(scaled(node_, AttributeRole::kDilation), AttributeRole::kPad);
    std::string head = fmt::format(
        "  x: {}\n", declared(graph_.tensor(node_.inputs[0]).type, image_.base_shape_text()));
    SideText source, target;
    Names before{source.viewed("x", image_)}, after{target.viewed("x", whole_image())};
    for (const std::string& name : declared_weights(graph_, node_, head)) {
      before.push_back(name);
      after.push_back(name);
    }
    MovedOperator moved{{}, result()};
    const std::string from = source.line(call_of(graph_, node_, before));
    const std::string to = target.line(call_of(graph_, dilated, after));
    moved.text = rule_text("moves_of_" + node_.op->name, head, source, {from}, target,
                           {target.viewed(to, moved.result)});
    return moved;
  }

 private:
  /// By axis of places: the factor that follows its last one, if it stands among the images.
  bool find_phases() {
    const View::Factors& images = image_.dims()[0];
    const core::Dims strides = ops::ints_by_role(node_, AttributeRole::kStride);
    for (std::size_t d = kFirstPlaces; d < image_.dims().size(); ++d) {
      if (image_.dims()[d].empty() || strides[d - kFirstPlaces] != 1) continue;
      const std::size_t next = image_.dims()[d].back() + 1;
      if (std::ranges::find(images, next) != images.end()) phases_[d] = next;
    }
    return image_.is_whole() && std::ranges::any_of(phases_, [](const auto& f) { return !!f; });
  }

  std::int64_t size_of_phases(std::size_t d) const {
    return phases_[d] ? image_.factors()[*phases_[d]].size : 1;
  }
  bool is_phase(std::size_t factor) const {
    return std::ranges::find(phases_, std::optional(factor)) != phases_.end();
  }

  /// Of begins and ends alike.
  Node scaled(const Node& node, AttributeRole role) const {
    core::Dims all = ops::ints_by_role(node, role);
    const std::size_t axes = image_.dims().size() - kFirstPlaces;
    for (std::size_t k = 0; k < all.size(); ++k) all[k] *= size_of_phases(kFirstPlaces + k % axes);
    return ops::with_ints(node, role, all);
  }

  /// The image with all its places.
  View whole_image() const {
    std::vector<View::Factors> dims = image_.dims();
    std::erase_if(dims[0], [&](std::size_t factor) { return is_phase(factor); });
    for (std::size_t d = kFirstPlaces; d < dims.size(); ++d)
      if (phases_[d]) dims[d].push_back(*phases_[d]);
    return View(image_.base_shape(), image_.factors(), std::move(dims));
  }

  /// What the convolution gives, as a view of what the dilated one does.
  View result() const {
    const Sizes shape = known_sizes(graph_.tensor(node_.outputs[0]).type.shape);
    Sizes base_shape(shape.size(), 1);
    std::vector<View::Factor> factors;
    std::vector<View::Factors> dims(shape.size());
    const auto add = [&](std::size_t d, std::int64_t size) {
      base_shape[d] *= size;
      factors.push_back({size});
      return factors.size() - 1;
    };
    std::map<std::size_t, std::size_t> images;  // by factor of the image
    for (const std::size_t factor : image_.dims()[0])
      if (!is_phase(factor)) images[factor] = add(0, image_.factors()[factor].size);
    for (std::size_t d = 1; d < shape.size(); ++d) {
      if (shape[d] > 1) dims[d].push_back(add(d, shape[d]));
      if (phases_[d]) images[*phases_[d]] = add(d, size_of_phases(d));
    }
    for (const std::size_t factor : image_.dims()[0]) dims[0].push_back(images.at(factor));
    return View(std::move(base_shape), std::move(factors), std::move(dims));
  }

  const Graph& graph_;
  const Node& node_;
  const View& image_;
  std::vector<std::optional<std::size_t>> phases_;
};

}  // namespace

std::optional<MovedOperator> convolution_of_phases(const Graph& graph, const Node& node,
                                                   const std::vector<MovedOperand>& operands) {
  const auto stays = [](const MovedOperand& operand) { return operand.view.is_identity(); };
  if (!ops::is_convolution(node) || !std::all_of(operands.begin() + 1, operands.end(), stays))
    return std::nullopt;
  return PhaseWriter(graph, node, operands[0].view).run();
}

}  // namespace soapstone::transforms

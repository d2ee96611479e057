#include "transforms/receptive/mirrors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/op_definition.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/base/source_text.h"
#include "transforms/receptive/convolution_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Dims;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::OperandRole;

constexpr std::size_t kMostPlaceDims = 3, kMostMirrors = 50;

/// Rows and columns of an image, exchanged.
Dims exchanged() { return {0, 1, 3, 2}; }

constexpr std::string_view kMirrorDescription =
    "What is done to a mirror image is the mirror image of what is done with a mirrored kernel.";

/// A symmetry of the places of an image: the two dimensions of them are exchanged, and then some of
/// them are mirrored.
struct Symmetry {
  bool exchanges = false;
  std::vector<bool> mirrors;  ///< By dimension of the places.

  bool is_none() const { return !exchanges && std::ranges::find(mirrors, true) == mirrors.end(); }
  bool operator==(const Symmetry&) const = default;

  void exchange() {
    exchanges = !exchanges;
    std::vector<bool>::swap(mirrors[0], mirrors[1]);
  }
  /// This one, and then the other one.
  Symmetry then(const Symmetry& next) const {
    Symmetry both = *this;
    if (next.exchanges) both.exchange();
    for (std::size_t d = 0; d < mirrors.size(); ++d)
      both.mirrors[d] = both.mirrors[d] != next.mirrors[d];
    return both;
  }
  /// Entries of an attribute by dimension of the places, as they are before the symmetry.
  void undo(std::span<core::Polynomial> entries) const {
    if (exchanges) std::swap(entries[0], entries[1]);
  }
};

class MirrorPlanner {
 public:
  explicit MirrorPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    std::vector<NodeId> all;
    for (const NodeId id : graph_.order())
      if (!graph_.is_constant_expression(id) && symmetry_of(graph_.node(id))) all.push_back(id);
    if (all.empty()) return {};
    if (all.size() > 1) plan({all.begin(), all.end()});
    if (all.size() <= kMostMirrors)
      for (const NodeId id : all) plan({id});
    return std::move(found_);
  }

 private:
  /// What makes the tensor of the image of which it is a mirror image.
  struct Image {
    Symmetry symmetry;
    bool is_moved = false;  ///< It is computed as mirrored() says; else by the node of the graph.
  };

  // --- Plans ---

  void plan(const std::set<NodeId>& begins) {
    images_.clear();
    steps_.clear();
    bool ends = false;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.op->is_opaque() || node.outputs.size() != 1 || !are_known(node)) continue;
      const bool moves = std::ranges::any_of(
          node.inputs, [&](TensorId input) { return input.valid() && images_.contains(input); });
      if (moves)
        ends |= move(node);
      else if (begins.contains(id))
        images_.emplace(node.outputs[0], Image{*symmetry_of(node), false});
    }
    if (ends) found_.push_back({std::move(steps_)});
  }

  bool are_known(const Node& node) const {
    const auto is_known = [&](TensorId id) {
      const core::TensorType& type = graph_.tensor(id).type;
      return !id.valid() || (type.shape_known && core::concrete(type.shape));
    };
    return std::ranges::all_of(node.inputs, is_known) && is_known(node.outputs[0]);
  }

  /// Whether the mirror is gone.
  bool move(const Node& node) {
    const TensorId result = node.outputs[0];
    if (const auto next = symmetry_of(node)) {
      const Symmetry before = images_.at(node.inputs[0]).symmetry, both = before.then(*next);
      // Exchanged and then mirrored, by two nodes of the graph: that is what mirrored() writes.
      const bool is_in_form =
          !next->exchanges && before == Symmetry{true, std::vector<bool>(before.mirrors.size())};
      if (!is_in_form) add_step(node, both);
      if (!both.is_none()) images_.emplace(result, Image{both, true});
      return both.is_none();
    }
    const std::optional<Symmetry> symmetry = of_operands(node);
    if (!symmetry) return false;
    if (is_sum_over_places(node)) {
      add_step(node, {});
      return true;
    }
    if (!slides(node, *symmetry) && !goes_by_place(node)) return false;
    const Symmetry left = without_single_places(*symmetry, result);
    add_step(node, left);
    if (!left.is_none()) images_.emplace(result, Image{left, true});
    return left.is_none();
  }

  /// That of all images among the operands.
  std::optional<Symmetry> of_operands(const Node& node) const {
    std::optional<Symmetry> all;
    for (const TensorId input : node.inputs) {
      const auto image = images_.find(input);
      if (image == images_.end()) continue;
      if (all && !(*all == image->second.symmetry)) return std::nullopt;
      all = image->second.symmetry;
    }
    return all;
  }

  /// What it does to a tensor of that shape: nothing along a dimension of one place.
  Symmetry without_single_places(Symmetry symmetry, TensorId id) const {
    const Dims sizes = dims(id);
    const auto is_single = [&](std::size_t d) { return sizes[kPlaces + d] == 1; };
    for (std::size_t d = 0; d < symmetry.mirrors.size(); ++d)
      if (is_single(d)) symmetry.mirrors[d] = false;
    if (symmetry.exchanges && is_single(0) && is_single(1)) symmetry.exchanges = false;
    return symmetry;
  }

  // --- Operators ---

  const core::Shape& shape(TensorId id) const { return graph_.tensor(id).type.shape; }
  /// Precondition: they are known.
  Dims dims(TensorId id) const { return *core::concrete(shape(id)); }
  static std::size_t places(const core::Shape& shape) { return shape.size() - kPlaces; }

  /// What the node does to an image, if it does nothing else.
  std::optional<Symmetry> symmetry_of(const Node& node) const {
    if (node.inputs.empty() || node.op->is_opaque() || !are_known(node)) return std::nullopt;
    const core::Shape& image = shape(node.inputs[0]);
    if (image.size() <= kPlaces || image.size() > kPlaces + kMostPlaceDims) return std::nullopt;
    Symmetry symmetry{false, std::vector<bool>(places(image))};
    if (node.op->movement == Movement::kPermute) {
      const Dims order = ops::ints_by_role(node, AttributeRole::kPermutation);
      symmetry.exchanges = order == exchanged();
    } else if (node.op->movement == Movement::kCut && node.inputs.size() == 1) {
      const Dims axes = ops::ints_by_role(node, AttributeRole::kAxes),
                 steps = ops::ints_by_role(node, AttributeRole::kStep);
      if (shape(node.outputs[0]) != image) return std::nullopt;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        const auto axis = static_cast<std::size_t>(axes[k]);
        if (steps[k] != -1 || axis < kPlaces) return std::nullopt;
        symmetry.mirrors[axis - kPlaces] = true;
      }
    }
    return symmetry.is_none() ? std::nullopt : std::optional(symmetry);
  }

  /// Whether it is a window that sees the mirror image where it saw the image.
  bool slides(const Node& node, const Symmetry& symmetry) const {
    using enum AttributeRole;
    const bool has_kernel = node.op->has_operand(OperandRole::kKernel);
    if (!images_.contains(node.inputs[0]) || node.op->find_role(kStride) == nullptr) return false;
    for (std::size_t k = 1; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) continue;
      if (!has_kernel || !graph_.is_constant_expression(node.inputs[k])) return false;
    }
    if (is_transposed(node)) return adds_nothing(node);
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const auto role = schema.role;
      if (role != kStride && role != kPad && role != kDilation && role != kWindow &&
          role != kGroup && role != kCountsPad && role != kFlag)
        return false;
    }
    const std::size_t count = ops::ints_by_role(node, kStride).size();
    if (count + kPlaces != dims(node.inputs[0]).size()) return false;
    const Dims unseen = unseen_places(node), pads = ops::ints_by_role(node, kPad);
    for (std::size_t d = 0; d < count; ++d) {
      if (!symmetry.mirrors[d] || unseen[d] == 0) continue;
      // They are padding: there is less of it then.
      const bool is_padding = ops::is_convolution(node) && !symmetry.exchanges;
      if (!is_padding || unseen[d] > pads[count + d]) return false;
    }
    return true;
  }

  /// By dimension: how many places at the end, padding included, no window reaches.
  Dims unseen_places(const Node& node) const {
    using enum AttributeRole;
    const bool has_kernel = node.op->has_operand(OperandRole::kKernel);
    const Dims image = dims(node.inputs[0]), strides = ops::ints_by_role(node, kStride),
               dilations = ops::ints_by_role(node, kDilation), pads = ops::ints_by_role(node, kPad),
               window = has_kernel ? dims(node.inputs[1]) : ops::ints_by_role(node, kWindow);
    const std::size_t count = strides.size();
    Dims unseen;
    for (std::size_t d = 0; d < count; ++d) {
      const std::int64_t length = window[has_kernel ? d + kPlaces : d];
      const std::int64_t left =
          image[d + kPlaces] + pads[d] + pads[count + d] - dilations[d] * (length - 1) - 1;
      unseen.push_back(left % strides[d]);
    }
    return unseen;
  }

  /// Whether each place of the image is spread over places of the result.
  static bool is_transposed(const Node& node) {
    return node.op->has_operand(OperandRole::kKernel) &&
           node.op->find_role(AttributeRole::kGap) != nullptr;
  }
  /// Whether nothing is put behind what a transposed convolution gives.
  static bool adds_nothing(const Node& node) {
    const Dims behind = ops::ints_by_role(node, AttributeRole::kGap);
    return std::ranges::all_of(behind, [](std::int64_t places) { return places == 0; });
  }

  /// Whether it does the same at each place, and has places where they were.
  bool goes_by_place(const Node& node) const {
    const std::size_t rank = shape(node.outputs[0]).size();
    const auto is_image = [&](TensorId id) { return id.valid() && images_.contains(id); };
    for (const TensorId input : node.inputs)
      if (is_image(input) && shape(input).size() != rank) return false;
    for (std::size_t axis = kPlaces; axis < rank; ++axis) {
      std::vector<std::optional<std::size_t>> axes(node.inputs.size());
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        if (is_image(node.inputs[k])) axes[k] = axis;
      const auto kept = kept_axis(graph_, node, axes);
      if (!kept || kept->front() != axis) return false;
    }
    return true;
  }

  /// Whether all places of an image become one, or none, whatever their order.
  bool is_sum_over_places(const Node& node) const {
    const ops::OpDefinition* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kReduction || node.inputs.size() != 1)
      return false;
    const std::size_t rank = shape(node.inputs[0]).size();
    if (op->find_role(AttributeRole::kAxes) == nullptr) {
      // A pool over all places.
      const Dims result = dims(node.outputs[0]);
      return op->attributes.empty() && result.size() == rank &&
             std::all_of(result.begin() + kPlaces, result.end(),
                         [](std::int64_t n) { return n == 1; });
    }
    const Dims axes = ops::ints_by_role(node, AttributeRole::kAxes);
    for (std::size_t axis = kPlaces; axis < rank; ++axis)
      if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) == axes.end()) return false;
    return true;
  }

  // --- Rules ---

  void add_step(const Node& node, const Symmetry& after) {
    Texts texts;
    for (const bool any_sizes : {true, false}) texts.push_back(text(node, after, any_sizes));
    if (texts[0] == texts[1]) texts.pop_back();
    steps_.push_back({.results = {node.outputs[0]},
                      .texts = std::move(texts),
                      .description = kMirrorDescription,
                      .floats = FloatBehavior::kReassociates});
  }

  /// A window keeps its numbers.
  std::string declared(TensorId id, const SizeTexts& sizes, bool is_kernel) const {
    if (!is_kernel) return sizes.declared(id);
    Texts its = sizes.shape(id);
    const Dims numbers = dims(id);
    for (std::size_t d = kPlaces; d < its.size(); ++d) its[d] = std::to_string(numbers[d]);
    return sizes.declared(id, its);
  }
  /// The image itself, of which that is a mirror image.
  static std::string declared_image(TensorId id, const SizeTexts& sizes, const Symmetry& symmetry) {
    Texts its = sizes.shape(id);
    if (symmetry.exchanges) std::swap(its[kPlaces], its[kPlaces + 1]);
    return sizes.declared(id, its);
  }

  /// Lines that compute the mirror image of a tensor; `sizes` as they are after it, by dimension of
  /// the places.
  static std::string mirrored(const std::string& from, const std::string& to,
                              const Symmetry& symmetry, const Texts& sizes) {
    Texts axes, lengths, starts, steps;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!symmetry.mirrors[d]) continue;
      axes.push_back(std::to_string(d + kPlaces));
      lengths.push_back(sizes[d]);
      starts.push_back(sizes[d] + " - 1");
      steps.emplace_back("-1");
    }
    const bool both = symmetry.exchanges && !axes.empty();
    std::string lines;
    if (symmetry.exchanges) lines += transposed(both ? to + "t" : to, from, exchanged());
    if (!axes.empty())
      lines += cut_out(to, both ? to + "t" : from,
                       {list_of(axes), list_of(starts), list_of(lengths), list_of(steps)});
    return lines;
  }
  static Texts place_sizes(TensorId id, const SizeTexts& sizes) {
    Texts its = sizes.shape(id);
    its.erase(its.begin(), its.begin() + kPlaces);
    return its;
  }

  std::string text(const Node& node, const Symmetry& after, bool any_sizes) const {
    // Other sizes behind a window are sums, of which a rule would have to say which ones.
    const bool is_window = node.op->find_role(AttributeRole::kStride) != nullptr;
    const SizeTexts numbers(graph_, false);
    const bool keeps_sizes =
        !is_window || place_sizes(node.inputs[0], numbers) == place_sizes(node.outputs[0], numbers);
    const SizeTexts sizes(graph_, any_sizes && keeps_sizes);
    std::string head, source, target;
    Texts read, instead;
    std::set<std::string> declared_names;
    const bool is_mirror = symmetry_of(node).has_value();
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const TensorId id = node.inputs[k];
      if (!id.valid()) {
        read.emplace_back("_");
        instead.emplace_back("_");
        continue;
      }
      const std::string name = SourceText::name(id);
      const auto image = images_.find(id);
      const bool is_image = image != images_.end();
      read.push_back(is_image ? name + "m" : name);
      instead.push_back(name);
      const bool is_kernel = node.op->operand_role(k) == OperandRole::kKernel;
      if (is_kernel) {
        const Symmetry& symmetry = images_.at(node.inputs[0]).symmetry;
        instead.back() = name + "m";
        target += unmirrored_kernel(id, name, symmetry);
      }
      if (!declared_names.insert(name).second) continue;
      if (!is_image) {
        head += fmt::format("  {}: {}\n", name, declared(id, sizes, is_kernel));
        continue;
      }
      head += fmt::format("  {}: {}\n", name, declared_image(id, sizes, image->second.symmetry));
      source += image_lines(id, name, sizes);
    }
    source += fmt::format("    y = {}\n", call(node, read, {}));
    if (is_mirror) {
      target += after.is_none()
                    ? fmt::format("    y = {}\n", instead[0])
                    : mirrored(instead[0], "y", after, place_sizes(node.outputs[0], sizes));
    } else if (after.is_none()) {
      target += fmt::format("    y = {}\n", call(node, instead, *of_operands(node)));
    } else {
      target += fmt::format("    z = {}\n", call(node, instead, *of_operands(node)));
      target += mirrored("z", "y", after, place_sizes(node.outputs[0], sizes));
    }
    return fmt::format("rule {}{}\n{}  placed\n  source\n{}  target\n{}", kMirrorPrefix,
                       node.op->name, head, source, target);
  }

  /// How the graph, or a step, computes the mirror image.
  std::string image_lines(TensorId id, const std::string& name, const SizeTexts& sizes) const {
    const Image& image = images_.at(id);
    if (image.is_moved) return mirrored(name, name + "m", image.symmetry, place_sizes(id, sizes));
    const Node& node = graph_.node(graph_.tensor(id).producer);
    if (node.op->movement == Movement::kPermute) return transposed(name + "m", name, exchanged());
    return mirrored(name, name + "m", image.symmetry, place_sizes(id, sizes));
  }

  /// The kernel for the image itself, `NAMEm`.
  std::string unmirrored_kernel(TensorId id, const std::string& name,
                                const Symmetry& symmetry) const {
    Symmetry flips = symmetry;
    flips.exchanges = false;
    std::string from = name, lines;
    if (!flips.is_none()) {
      const std::string to = symmetry.exchanges ? name + "f" : name + "m";
      lines += mirrored(from, to, flips, place_sizes(id, SizeTexts(graph_, false)));
      from = to;
    }
    if (symmetry.exchanges) lines += transposed(name + "m", from, exchanged());
    return lines;
  }

  /// The node's call, for the image instead of a mirror image.
  std::string call(const Node& node, const Texts& operands, const Symmetry& symmetry) const {
    Node there = node;
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* const value = node.attributes.find(schema.name);
      if (value == nullptr) continue;
      core::AttributeValue moved = *value;
      if (auto* const sizes = std::get_if<std::vector<core::Polynomial>>(&moved))
        move_entries(schema.role, symmetry, *sizes);
      if (schema.role == AttributeRole::kPad && ops::is_convolution(node) &&
          !symmetry.mirrors.empty())
        take_unseen(node, symmetry, std::get<std::vector<core::Polynomial>>(moved));
      there.attributes.set(schema.name, std::move(moved));
    }
    return call_of(graph_, there, operands);
  }

  /// Padding that no window reached stands in front now, where windows begin.
  void take_unseen(const Node& node, const Symmetry& symmetry,
                   std::vector<core::Polynomial>& pads) const {
    const Dims unseen = unseen_places(node);
    for (std::size_t d = 0; d < unseen.size(); ++d)
      if (symmetry.mirrors[d]) pads[d] = pads[d] - core::Polynomial(unseen[d]);
  }

  static void move_entries(AttributeRole role, const Symmetry& symmetry,
                           std::vector<core::Polynomial>& entries) {
    const std::size_t count = symmetry.mirrors.size();
    if (count == 0) return;
    if (role == AttributeRole::kPad && entries.size() == 2 * count) {
      for (std::size_t d = 0; d < count; ++d)
        if (symmetry.mirrors[d]) std::swap(entries[d], entries[count + d]);
      symmetry.undo(std::span(entries).first(count));
      symmetry.undo(std::span(entries).last(count));
    }
    const bool is_by_place = role == AttributeRole::kStride || role == AttributeRole::kDilation ||
                             role == AttributeRole::kWindow;
    if (is_by_place && entries.size() == count) symmetry.undo(entries);
  }

  const Graph& graph_;
  std::vector<RewriteSequence> found_;
  // Of the plan that is being made:
  std::map<TensorId, Image> images_;
  std::vector<RewriteStep> steps_;
};

}  // namespace

std::vector<RewriteSequence> find_mirrors(const Graph& graph) { return MirrorPlanner(graph).run(); }

}  // namespace soapstone::transforms

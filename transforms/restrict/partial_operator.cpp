// Rules are written twice: with symbols for sizes that nothing cuts, so that one proof serves many
// places, and with the numbers of the graph.
#include "transforms/restrict/partial_operator.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "ops/partition/loops.h"
#include "ops/partition/part_regions.h"
#include "ops/restriction/restrict.h"
#include "transforms/restrict/demand.h"
#include "transforms/restrict/separation.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"
#include "transforms/views/size_names.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::TensorId;
using ops::Interval;

Box box_around(const ops::DigitRegion& region) { return region.hull(); }

/// The iterations that touch elements of that interval. None: all may.
std::optional<Interval> iterations(const ops::Loop& loop, const ops::LoopPlace& place,
                                   Interval wanted) {
  if (place.period != 0) {
    if (wanted.low / place.period != (wanted.high - 1) / place.period) return std::nullopt;
    wanted = {wanted.low % place.period, (wanted.high - 1) % place.period + 1};
  }
  const auto floor_of = [](std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  };
  const std::int64_t first = place.divisor * wanted.low - (place.window.high - 1);
  const std::int64_t last = place.divisor * (wanted.high - 1) - place.window.low;
  const Interval range{std::max<std::int64_t>(0, -floor_of(-first, place.stride)),
                       std::min(loop.size, floor_of(last, place.stride) + 1)};
  if (range.low >= range.high) return std::nullopt;
  return range;
}

/// The fewest iterations of each loop that give the wanted pieces.
ops::PartBox box_of(const ops::PartitionSpace& space,
                    const std::vector<std::optional<Box>>& wanted) {
  ops::PartBox box = ops::whole_box(space);
  for (std::size_t l = 0; l < space.loops.size(); ++l) {
    const ops::Loop& loop = space.loops[l];
    if (!loop.between.empty()) continue;
    std::optional<Interval> range;
    bool is_all = !loop.is_index();
    for (const ops::LoopPlace& place : loop.outputs) {
      if (place.tensor >= wanted.size() || !wanted[place.tensor]) continue;
      const auto its = iterations(loop, place, (*wanted[place.tensor])[place.dim]);
      is_all = is_all || !its;
      if (is_all) break;
      range =
          range ? Interval{std::min(range->low, its->low), std::max(range->high, its->high)} : *its;
    }
    if (!is_all && range) box[l] = *range;
  }
  return box;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d)
    if (inner[d].low < outer[d].low || inner[d].high > outer[d].high) return false;
  return true;
}

/// `wanted` within `outer`.
Box relative(Box wanted, const Box& outer) {
  for (std::size_t d = 0; d < outer.size(); ++d) {
    wanted[d].low -= outer[d].low;
    wanted[d].high -= outer[d].low;
  }
  return wanted;
}

/// `slice(x; …)`; the name itself if that is all of it.
std::string cut_call(const std::string& name, const Box& box, const Sizes& shape) {
  Sizes axes, starts, sizes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (box[d] == Interval{0, shape[d]}) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    starts.push_back(box[d].low);
    sizes.push_back(box[d].high - box[d].low);
  }
  if (axes.empty()) return name;
  return fmt::format("slice({}; axes=[{}], starts=[{}], sizes=[{}], steps=[{}])", name,
                     list_of(axes), list_of(starts), list_of(sizes),
                     list_of(Sizes(axes.size(), 1)));
}

Sizes sizes_of(const Box& box) {
  Sizes sizes;
  for (const Interval& interval : box) sizes.push_back(interval.high - interval.low);
  return sizes;
}

class PartialText {
 public:
  PartialText(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  Sizes shape(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  SizeNames& sizes() { return sizes_; }
  const SizeNames& sizes() const { return sizes_; }

  /// Sizes of the tensor that no piece cuts may be any.
  void see(const Sizes& shape, const Sizes& part) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == part[d]) {
        sizes_.leave_open(shape[d]);
      } else {
        sizes_.fix(shape[d]);
        sizes_.fix(part[d]);
      }
    }
  }

  void begin(bool any_sizes) {
    sizes_.write_symbols(any_sizes);
    inputs_.clear();
    head_.clear();
    source_.clear();
    target_ = SideText();
  }
  Names names(const Sizes& sizes) const { return sizes_.texts(sizes); }

  /// Numbered as they come, so that one rule serves all nodes that are alike.
  std::string input(TensorId id) {
    const auto [known, is_new] = inputs_.try_emplace(id, fmt::format("x{}", inputs_.size()));
    if (is_new)
      head_ += fmt::format("  {}: {}\n", known->second,
                           declared(graph_.tensor(id).type, names(shape(id))));
    return known->second;
  }
  /// The node itself, with these names for its results.
  void write_source(const Names& results) {
    Names operands;
    for (const TensorId id : node_.inputs) operands.push_back(id.valid() ? input(id) : "_");
    add_source(fmt::format("{}", fmt::join(results, ", ")), call_of_node(graph_, node_, operands));
  }
  void add_source(const std::string& name, const std::string& call) {
    source_ += fmt::format("    {} = {}\n", name, call);
  }
  std::string call_of_node(const Graph& graph, const Node& node, const Names& operands) const {
    if (node.op->find_role(AttributeRole::kShape) == nullptr) return call_of(graph, node, operands);
    Sizes shape;
    for (const core::Polynomial& n : ops::sizes_by_role(node, AttributeRole::kShape))
      shape.push_back(n.constant());
    return call_of(graph, node, operands, names(shape));
  }
  SideText& target() { return target_; }
  std::string cut(const std::string& name, const Box& box, const Sizes& shape) {
    const std::string call = cut_call(name, box, shape);
    return call == name ? name : target_.line(call);
  }
  std::string finished(std::string_view prefix, const Names& results) const {
    std::string aliases;
    for (std::size_t k = 0; k < results.size(); ++k)
      aliases += fmt::format("    y{} = {}\n", k, results[k]);
    std::string text = fmt::format("rule {}{}\n{}  placed\n  source\n{}  target\n{}{}", prefix,
                                   node_.op->name, head_, source_, target_.text({}, 't'), aliases);
    std::ranges::replace(text, '$', 't');
    return text;
  }

 private:
  const Graph& graph_;
  const Node& node_;
  SizeNames sizes_;
  std::map<TensorId, std::string> inputs_;
  std::string head_, source_;
  SideText target_;
};

class PartialWriter {
 public:
  PartialWriter(const Graph& graph, core::NodeId id)
      : graph_(graph), id_(id), node_(graph.node(id)), writer_(graph, node_),
        space_(ops::partition_space(graph, id, std::vector<bool>(node_.inputs.size(), false))) {}

  std::optional<PartialOperator> partial(const std::vector<WantedPiece>& wanted) {
    const auto part = part_for(wanted);
    if (!part) return std::nullopt;
    PartialOperator result;
    result.operands = pieces_of(*part);
    for (const bool any_sizes : ways()) {
      writer_.begin(any_sizes);
      write_source(wanted);
      result.texts.push_back(writer_.finished(kDemandPrefix, written(*part, wanted)));
    }
    return result;
  }

  std::optional<SeparateOperators> separate(const std::vector<Box>& pieces, const Node* division) {
    SeparateOperators result{{}, std::vector<std::vector<OperandPiece>>(node_.inputs.size())};
    std::vector<ops::Part> parts;
    for (const Box& piece : pieces) {
      auto part = part_for({{0, piece}});
      if (!part) return std::nullopt;
      const auto operands = pieces_of(*part);
      if (std::ranges::all_of(operands, &OperandPiece::is_whole)) return std::nullopt;
      for (std::size_t k = 0; k < operands.size(); ++k) result.operands[k].push_back(operands[k]);
      parts.push_back(*std::move(part));
    }
    for (const bool any_sizes : ways()) {
      writer_.begin(any_sizes);
      write_source(pieces, division);
      Names results;
      for (std::size_t k = 0; k < pieces.size(); ++k)
        results.push_back(written(parts[k], {{0, pieces[k]}}).front());
      result.texts.push_back(writer_.finished(kSeparationPrefix, results));
    }
    return result;
  }

 private:
  std::vector<bool> ways() const {
    return writer_.sizes().has_open() ? std::vector<bool>{true, false} : std::vector<bool>{false};
  }

  /// What computes the least with these pieces in it. None: that is all, or not understood.
  std::optional<ops::Part> part_for(const std::vector<WantedPiece>& wanted) const {
    if (!space_.digits) return std::nullopt;
    std::vector<std::optional<Box>> hulls(node_.outputs.size());
    for (const WantedPiece& piece : wanted)
      hulls[piece.output] = hulls[piece.output] ? hull(*hulls[piece.output], piece.box) : piece.box;
    const ops::PartBox box = box_of(space_, hulls);
    if (box == ops::whole_box(space_)) return std::nullopt;
    auto part = ops::restrict_to(graph_, id_, space_, box);
    if (!part || !is_understood(*part, wanted)) return std::nullopt;
    return *std::move(part);
  }

  /// Whether all that is read and given are boxes, and nothing in the graph has no text.
  static bool is_understood(const ops::Part& part, const std::vector<WantedPiece>& wanted) {
    const auto is_box = [](const ops::DigitRegion& region) { return region.is_box(); };
    const auto is_plain = [&](core::NodeId id) {
      return std::ranges::none_of(part.graph.node(id).inputs, [&](TensorId input) {
        return input.valid() && part.graph.tensor(input).value;
      });
    };
    if (!std::ranges::all_of(part.regions.outputs, is_box) ||
        !std::ranges::all_of(part.graph.order(), is_plain))
      return false;
    for (const std::size_t k : part.inputs)
      if (!is_box(part.regions.inputs[k])) return false;
    return std::ranges::all_of(wanted, [&](const WantedPiece& piece) {
      return contains(box_around(part.regions.outputs[piece.output]), piece.box);
    });
  }

  /// By operand.
  std::vector<OperandPiece> pieces_of(const ops::Part& part) {
    std::vector<OperandPiece> operands(node_.inputs.size());
    for (const std::size_t k : part.inputs) {
      const TensorId id = node_.inputs[k];
      const Box box = box_around(part.regions.inputs[k]);
      writer_.see(writer_.shape(id), sizes_of(box));
      if (box == whole_box(graph_, id)) {
        operands[k].is_whole = true;
      } else {
        operands[k].box = box;
      }
    }
    for (std::size_t o = 0; o < node_.outputs.size(); ++o)
      writer_.see(writer_.shape(node_.outputs[o]), part.regions.outputs[o].extents());
    return operands;
  }

  /// Of the node, and cuts of its results.
  void write_source(const std::vector<WantedPiece>& wanted) {
    Names given;
    for (std::size_t o = 0; o < node_.outputs.size(); ++o) given.push_back(fmt::format("s{}", o));
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (is_all(wanted[k])) given[wanted[k].output] = fmt::format("y{}", k);
    writer_.write_source(given);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (const WantedPiece& piece = wanted[k]; !is_all(piece))
        writer_.add_source(
            fmt::format("y{}", k),
            cut_call(given[piece.output], piece.box, writer_.shape(node_.outputs[piece.output])));
  }
  bool is_all(const WantedPiece& piece) const {
    return piece.box == whole_box(graph_, node_.outputs[piece.output]);
  }

  /// Of the node, and what takes all pieces of its result.
  void write_source(const std::vector<Box>& pieces, const Node* division) {
    writer_.write_source({"s0"});
    Names results;
    for (std::size_t k = 0; k < pieces.size(); ++k) results.push_back(fmt::format("y{}", k));
    if (division != nullptr)
      return writer_.add_source(fmt::format("{}", fmt::join(results, ", ")),
                                call_of(graph_, *division, {"s0"}));
    for (std::size_t k = 0; k < pieces.size(); ++k)
      writer_.add_source(results[k], cut_call("s0", pieces[k], writer_.shape(node_.outputs[0])));
  }

  /// Writes the part; the names of the pieces.
  Names written(const ops::Part& part, const std::vector<WantedPiece>& wanted) {
    std::map<TensorId, std::string> names;
    for (std::size_t j = 0; j < part.inputs.size(); ++j) {
      const std::size_t k = part.inputs[j];
      const TensorId id = node_.inputs[k];
      names[part.graph.inputs()[j]] =
          writer_.cut(writer_.input(id), box_around(part.regions.inputs[k]), writer_.shape(id));
    }
    for (const core::NodeId id : part.graph.order()) add(part.graph, part.graph.node(id), names);
    Names results;
    for (const WantedPiece& piece : wanted) {
      const Box outer = box_around(part.regions.outputs[piece.output]);
      results.push_back(writer_.cut(names.at(part.graph.outputs()[piece.output]),
                                    relative(piece.box, outer), sizes_of(outer)));
    }
    return results;
  }
  void add(const Graph& graph, const Node& node, std::map<TensorId, std::string>& names) {
    Names operands;
    for (const TensorId input : node.inputs)
      operands.push_back(input.valid() ? names.at(input) : "_");
    const Names results =
        writer_.target().lines(writer_.call_of_node(graph, node, operands), node.outputs.size());
    for (std::size_t k = 0; k < results.size(); ++k) names[node.outputs[k]] = results[k];
  }

  const Graph& graph_;
  core::NodeId id_;
  const Node& node_;
  PartialText writer_;
  ops::PartitionSpace space_;
};

}  // namespace

Box whole_box(const Graph& graph, TensorId id) {
  Box box;
  for (const std::int64_t n : known_sizes(graph.tensor(id).type.shape)) box.push_back({0, n});
  return box;
}

Box hull(Box a, const Box& b) {
  for (std::size_t d = 0; d < a.size(); ++d)
    a[d] = {std::min(a[d].low, b[d].low), std::max(a[d].high, b[d].high)};
  return a;
}

std::optional<Box> piece_taken(const Node& node, const Graph& graph) {
  if (node.op->movement != Movement::kCut) return std::nullopt;
  Box box = whole_box(graph, node.inputs[0]);
  const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
  const auto& starts = ops::sizes_by_role(node, AttributeRole::kStart);
  const auto& sizes = ops::sizes_by_role(node, AttributeRole::kExtent);
  const auto& steps = ops::sizes_by_role(node, AttributeRole::kStep);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (sizes[k].constant() != 1 && steps[k].constant() != 1) return std::nullopt;
    const std::int64_t start = starts[k].constant();
    box[static_cast<std::size_t>(axes[k].constant())] = {start, start + sizes[k].constant()};
  }
  return box;
}

std::optional<PartialOperator> partial_operator(const Graph& graph, core::NodeId id,
                                                const std::vector<WantedPiece>& wanted) {
  return PartialWriter(graph, id).partial(wanted);
}

std::optional<SeparateOperators> separate_operators(const Graph& graph, core::NodeId id,
                                                    const std::vector<Box>& pieces,
                                                    const Node* division) {
  return PartialWriter(graph, id).separate(pieces, division);
}

std::optional<PartialOperator> partial_split(const Graph& graph, const Node& node,
                                             const std::vector<std::size_t>& read) {
  const std::size_t axis = ops::axis_by_role(node);
  PartialText writer(graph, node);
  const Sizes shape = writer.shape(node.inputs[0]);
  Sizes begins{0};
  for (const TensorId id : node.outputs) begins.push_back(begins.back() + writer.shape(id)[axis]);
  Box box = whole_box(graph, node.inputs[0]);
  box[axis] = {begins[read.front()], begins[read.back() + 1]};
  if (box[axis] == Interval{0, shape[axis]}) return std::nullopt;
  writer.see(shape, sizes_of(box));
  for (const TensorId id : node.outputs) writer.sizes().fix(writer.shape(id)[axis]);
  PartialOperator result{{}, {{false, box}}};
  for (const bool any_sizes : {true, false}) {
    if (any_sizes && !writer.sizes().has_open()) continue;
    writer.begin(any_sizes);
    Names given;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) given.push_back(fmt::format("s{}", o));
    for (std::size_t k = 0; k < read.size(); ++k) given[read[k]] = fmt::format("y{}", k);
    writer.write_source(given);
    const std::string piece = writer.cut(writer.input(node.inputs[0]), box, shape);
    Sizes sizes;
    for (std::size_t o = read.front(); o <= read.back(); ++o)
      sizes.push_back(begins[o + 1] - begins[o]);
    Names parts{piece};
    if (sizes.size() > 1)
      parts = writer.target().lines(
          fmt::format("split({}; axis={}, sizes=[{}])", piece, axis, list_of(sizes)), sizes.size());
    Names results;
    for (const std::size_t o : read) results.push_back(parts[o - read.front()]);
    result.texts.push_back(writer.finished(kDemandPrefix, results));
  }
  return result;
}

}  // namespace soapstone::transforms

// Everything is written as text, so that what a rule is and whether its types fit is decided in one
// place, the parser of rules.
#include "transforms/affine/composed_map.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/op_definition.h"
#include "ops/parts/einsum_equation.h"
#include "transforms/affine/map_writer.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::TensorId;

class ComposedMap {
 public:
  ComposedMap(const Composition& composition, bool any_sizes)
      : all_(composition), node_(composition.node),
        op_(static_cast<const ops::OpDefinition&>(*node_.op)),
        writer_(composition.graph, composition.source, any_sizes) {
    if (any_sizes && op_.movement == core::Movement::kReshape) relate_sizes();
  }

  std::string text() {
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) add_operand(k);
    head_ = writer_.declared_source() + head_;
    target_ = writer_.summed_source("") + target_;
    Names results, matrices, offsets;
    for (std::size_t k = 0; k < node_.outputs.size(); ++k) {
      results.push_back(fmt::format("y{}", k));
      matrices.push_back(fmt::format("vy{}", k));
      offsets.push_back(fmt::format("cy{}", k));
    }
    source_ += fmt::format("    {} = {}\n", joined(results), call(operands_, ""));
    target_ += fmt::format("    {} = {}\n", joined(matrices), call(of_matrix_, writer_.count()));
    if (has_offset())
      target_ += fmt::format("    {} = {}\n", joined(offsets),
                             call(of_offset_, is_offset_whole() ? "" : "1"));
    for (std::size_t k = 0; k < results.size(); ++k)
      target_ += writer_.applied(node_.outputs[k], all_.results[k], fmt::format("y{}", k),
                                 results[k], writer_.source_name(""));
    return fmt::format("rule linear_map_of_{}\n{}  placed\n  source\n{}  target\n{}", op_.name,
                       head_, source_, target_);
  }

 private:
  using Kind = MapOperand::Kind;

  bool has_offset() const { return all_.results[0].has_offset; }
  bool is_offset_whole() const { return all_.results[0].is_offset_whole; }

  /// Sizes on one side of a reshape that are products of sizes on the other.
  void relate_sizes() {
    const TensorId ids[] = {node_.inputs[0], node_.outputs[0]};
    Names names[] = {writer_.sizes(ids[0]), writer_.sizes(ids[1])};
    std::size_t begin[] = {0, 0}, end[] = {0, 0};
    std::int64_t count[] = {1, 1};
    const auto take = [&](int side) {
      count[side] *= writer_.shape_of(ids[side])[end[side]++].constant();
    };
    const auto more = [&](int side) { return end[side] < names[side].size(); };
    while (more(0) && more(1)) {
      take(0);
      take(1);
      while (count[0] != count[1] && more(count[0] < count[1] ? 0 : 1))
        take(count[0] < count[1] ? 0 : 1);
      for (const int one : {0, 1}) {
        if (end[one] - begin[one] != 1 || end[1 - one] - begin[1 - one] < 2) continue;
        Names factors;
        for (std::size_t d = begin[1 - one]; d < end[1 - one]; ++d)
          if (names[1 - one][d] != "1") factors.push_back(names[1 - one][d]);
        if (!factors.empty()) names[one][begin[one]] = fmt::format("{}", fmt::join(factors, "*"));
      }
      for (const int side : {0, 1}) begin[side] = end[side];
      count[0] = count[1] = 1;
    }
    for (const int side : {0, 1}) writer_.write_sizes(ids[side], names[side]);
  }

  void add_operand(std::size_t k) {
    const TensorId id = node_.inputs[k];
    const MapOperand& operand = all_.operands[k];
    if (operand.kind == Kind::kMissing) {
      operands_.emplace_back("_");
      of_matrix_.emplace_back("_");
      of_offset_.emplace_back("_");
      return;
    }
    const auto [known, is_new] = suffixes_.emplace(id, std::to_string(k));
    const std::string& suffix = known->second;
    if (operand.kind == Kind::kSource) {
      operands_.emplace_back(writer_.is_one_axis() ? "x" : "u");
      if (is_new) target_ += writer_.unit_matrix();
      of_matrix_.emplace_back("unit");
      add_nothing_as_offset(suffix, id, all_.source.kept, is_new);
    } else if (operand.kind == Kind::kMap) {
      add_map(suffix, id, operand.map, is_new);
    } else if (operand.is_repeated) {
      add_repeated(k, suffix, is_new);
      of_matrix_.push_back(nothing(k, suffix, is_new));
    } else {
      const std::string name = "k" + suffix;
      if (is_new) head_ += fmt::format("  {}: {}\n", name, writer_.declared(id));
      operands_.push_back(name);
      of_offset_.push_back(name);
      of_matrix_.push_back(operand.kind == Kind::kConstant ? name : nothing(k, suffix, is_new));
    }
  }

  void add_map(const std::string& suffix, TensorId id, const LinearMap& map, bool is_new) {
    if (is_new) {
      head_ += fmt::format("  v{}: [{}]\n", suffix,
                           joined(writer_.lying_as(id, map.kept, writer_.count())));
      if (map.has_offset)
        head_ += fmt::format("  c{}: [{}]\n", suffix, joined(writer_.offset(id, map)));
      source_ += writer_.summed_source(suffix) +
                 writer_.applied(id, map, suffix, "t" + suffix, writer_.source_name(suffix));
    }
    operands_.push_back("t" + suffix);
    of_matrix_.push_back("v" + suffix);
    if (!map.has_offset) {
      add_nothing_as_offset(suffix, id, map.kept, is_new);
    } else if (is_offset_whole() && !map.is_offset_whole) {
      of_offset_.push_back("whole" + suffix);
      if (is_new) target_ += expanded("whole" + suffix, "c" + suffix, id);
    } else {
      of_offset_.push_back("c" + suffix);
    }
  }

  /// A constant of which one place along the kept axes says all.
  void add_repeated(std::size_t k, const std::string& suffix, bool is_new) {
    const TensorId id = node_.inputs[k];
    const core::Node& node = all_.graph.node(all_.graph.tensor(id).producer);
    const bool is_whole = is_offset_whole();
    operands_.push_back("t" + suffix);
    of_offset_.push_back((is_whole ? "whole" : "k") + suffix);
    if (!is_new) return;
    const Names sizes = writer_.sizes(id);
    if (node.op->movement == core::Movement::kRepeat) {
      head_ += fmt::format("  k{}: {}\n", suffix, writer_.declared(node.inputs[0]));
      source_ += expanded("t" + suffix, "k" + suffix, id);
      if (is_whole) target_ += expanded("whole" + suffix, "k" + suffix, id);
      return;
    }
    Names small = sizes;
    for (const auto& axis : all_.operands[k].axes)
      if (axis) small[*axis] = "1";
    source_ += fmt::format("    t{} = {}\n", suffix, filled(node, sizes));
    target_ +=
        fmt::format("    {} = {}\n", of_offset_.back(), filled(node, is_whole ? sizes : small));
  }

  std::string expanded(const std::string& name, const std::string& from, TensorId id) const {
    return fmt::format("    {} = expand({}; shape=[{}])\n", name, from, joined(writer_.sizes(id)));
  }

  /// The call of a node that fills a tensor, of that shape.
  std::string filled(const core::Node& node, const Names& shape) const {
    return fmt::format("{}(; {})", node.op->name, joined(attributes_of(node, shape)));
  }

  /// Settings of the node, with another shape if it names one.
  Names attributes_of(const core::Node& node, const Names& shape) const {
    Names attributes;
    for (const core::AttributeSchema& schema : node.op->attributes)
      if (const core::AttributeValue* const value = node.attributes.find(schema.name))
        attributes.push_back(fmt::format("{}={}", schema.name,
                                         schema.role == core::AttributeRole::kShape
                                             ? fmt::format("[{}]", joined(shape))
                                             : core::to_string(*value, all_.graph.symbols())));
    return attributes;
  }

  void add_nothing_as_offset(const std::string& suffix, TensorId id,
                             const std::vector<std::size_t>& kept, bool is_new) {
    of_offset_.push_back("o" + suffix);
    if (is_new && has_offset())
      add_zeros(of_offset_.back(),
                is_offset_whole() ? writer_.sizes(id) : writer_.lying_as(id, kept, "1"));
  }

  /// What is only added is left out of the matrix.
  std::string nothing(std::size_t k, const std::string& suffix, bool is_new) {
    if (k >= op_.min_inputs && op_.max_inputs != core::OpSchema::kAnyNumber) return "_";
    Names shape = writer_.sizes(node_.inputs[k]);
    const auto& axes = all_.operands[k].axes;
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d]) shape[*axes[d]] = d == 0 ? writer_.count() : "1";
    if (is_new) add_zeros("n" + suffix, shape);
    return "n" + suffix;
  }
  void add_zeros(const std::string& name, const Names& shape) {
    target_ += fmt::format("    {} = full(; shape=[{}], value=0.0)\n", name, joined(shape));
  }

  /// The operator on operands whose first kept axis has that many places and whose others have one.
  /// Empty: as it stands in the graph.
  std::string call(const Names& operands, const std::string& first) const {
    Names given = operands;
    while (!given.empty() && given.back() == "_") given.pop_back();
    const TensorId result = node_.outputs[0];
    const Names attributes =
        attributes_of(node_, first.empty() ? writer_.sizes(result)
                                           : writer_.lying_as(result, all_.results[0].kept, first));
    return fmt::format("{}({}{}{})", op_.name, joined(given), attributes.empty() ? "" : "; ",
                       joined(attributes));
  }

  const Composition& all_;
  const core::Node& node_;
  const ops::OpDefinition& op_;
  MapWriter writer_;
  std::string head_, source_, target_;
  Names operands_, of_matrix_, of_offset_;
  std::map<TensorId, std::string> suffixes_;
};

/// The end of maps of one kind, each with its matrix: as one product or contraction.
class PlainMaps {
 public:
  PlainMaps(const Graph& graph, const MapSource& source, std::span<const TensorId> ids,
            const LinearMap& map)
      : writer_(graph, source, false), id_(ids[0]), count_(ids.size()), map_(map), kept_(map.kept),
        all_(writer_.sizes(id_)), labels_(writer_.labels()),
        summed_(labels_.find(MapWriter::kSummed)), behind_(labels_.size() - 1 - summed_) {
    if (count_ > 1) {
      all_.insert(all_.begin(), std::to_string(count_));
      for (std::size_t& d : kept_) ++d;
    }
    for (std::size_t d = 0; d < all_.size(); ++d)
      if (!is_kept(d)) free_.push_back(d);
  }

  std::string text() const {
    const Names matrix = writer_.lying_as(id_, map_.kept, writer_.count());
    const Names offset = writer_.offset(id_, map_);
    std::string head, source, target;
    for (const std::string& k : suffixes()) {
      head += fmt::format("  v{}: [{}]\n", k, joined(matrix));
      if (map_.has_offset) head += fmt::format("  c{}: [{}]\n", k, joined(offset));
      if (count_ > 1) source += writer_.summed_source(k);
      source += writer_.applied(id_, map_, k, "y" + k, count_ > 1 ? writer_.source_name(k) : "x");
    }
    if (count_ > 1) {
      target += writer_.summed_source("") + stacked("v", matrix);
      if (map_.has_offset) target += stacked("c", offset);
    }
    target += is_product() ? product() : is_batch() ? batch_of_products() : contraction();
    if (count_ > 1) target += parted();
    const std::string of_source = count_ > 1
                                      ? writer_.declared_source()
                                      : fmt::format("  x: [{}]\n", joined(writer_.summed_shape()));
    return fmt::format("rule linear_map_of_{}\n{}{}  placed\n  source\n{}  target\n{}",
                       is_product() || is_batch() ? "matmul" : "einsum", of_source, head, source,
                       target);
  }

  /// Whether there is nothing to change.
  bool is_plain() const { return count_ == 1 && !is_product() && !is_batch() && kept_.size() == 1; }

 private:
  bool is_kept(std::size_t d) const { return std::ranges::find(kept_, d) != kept_.end(); }

  Names suffixes() const {
    if (count_ == 1) return {""};
    Names all;
    for (std::size_t k = 1; k <= count_; ++k) all.push_back(std::to_string(k));
    return all;
  }

  /// Lines that put what each of them has above each other.
  std::string stacked(const std::string& name, const Names& shape) const {
    std::string text;
    for (const std::string& k : suffixes())
      text +=
          fmt::format("    {0}{1}r = reshape({0}{1}; shape=[1, {2}])\n", name, k, joined(shape));
    Names parts;
    for (const std::string& k : suffixes()) parts.push_back(fmt::format("{}{}r", name, k));
    return text + fmt::format("    {} = concat({}; axis=0)\n", name, joined(parts));
  }
  std::string parted() const {
    Names parts;
    std::string text;
    for (const std::string& k : suffixes()) {
      parts.push_back("z" + k);
      text += fmt::format("    y{0} = reshape(z{0}; shape=[{1}])\n", k, joined(writer_.sizes(id_)));
    }
    return fmt::format("    {} = split(y; axis=0, sizes=[{}])\n", joined(parts),
                       joined(Names(count_, "1"))) +
           text;
  }

  /// Free axes lie where the summed one does, and at most one kept axis behind it.
  bool is_product() const {
    return behind_ <= 1 && std::ranges::is_sorted(kept_) &&
           std::ranges::all_of(
               free_, [&](std::size_t d) { return d >= summed_ && d + behind_ < all_.size(); });
  }

  /// A product for each place of axes in front of the rows, kept ones and free ones.
  bool is_batch() const {
    const std::size_t rank = all_.size();
    if (rank < 3 || behind_ > 1 || !std::ranges::is_sorted(kept_)) return false;
    const bool ends_kept = kept_.back() == rank - 1;
    return behind_ == 1 ? ends_kept && free_.back() == rank - 2
                        : !ends_kept && kept_.back() == rank - 2;
  }

  std::string product() const {
    std::int64_t width = 1;
    for (const std::size_t d : free_) width *= std::stoll(all_[d]);
    const std::string n = writer_.count(), m = writer_.size(width);
    // The summed axis of the matrix lies where the first kept one of the tensor does.
    const bool left = behind_ == 1, summed_is_last = left && kept_.size() == 1;
    const Names rows{summed_is_last ? m : n, summed_is_last ? n : m};
    std::string text = fmt::format("    w = reshape(v; shape=[{}])\n", joined(rows)), w = "w";
    if (left && !summed_is_last) {
      text += "    wt = transpose(w; perm=[1, 0])\n";
      w = "wt";
    }
    Names shape = writer_.summed_shape();
    shape[summed_] = m;
    const bool splits = shape != all_;
    const std::string y = splits ? "q" : "y", p = map_.has_offset ? "p" : y;
    text += left ? fmt::format("    {} = matmul({}, x)\n", p, w)
                 : fmt::format("    {} = matmul(x, {})\n", p, w);
    const std::string offset = map_.is_offset_whole ? joined(shape) : left ? m + ", 1" : m;
    return text + behind_product(offset, splits);
  }

  /// Lines that add an offset of that shape to `p` and bring `q` into the shape of the result, as
  /// far as there is something to do.
  std::string behind_product(const std::string& offset, bool reshapes) const {
    std::string text;
    if (map_.has_offset) {
      const bool lies_so = count_ == 1 && joined(writer_.offset(id_, map_)) == offset;
      if (!lies_so) text += fmt::format("    b = reshape(c; shape=[{}])\n", offset);
      text += fmt::format("    {} = add(p, {})\n", reshapes ? "q" : "y", lies_so ? "c" : "b");
    }
    if (reshapes) text += fmt::format("    y = reshape(q; shape=[{}])\n", joined(all_));
    return text;
  }

  std::string batch_of_products() const {
    const std::string n = writer_.count();
    const std::size_t rows = all_.size() - 2;
    const bool left = behind_ == 1;
    Names of_source, of_matrix, lying;
    std::vector<std::size_t> order;  // of the matrix as it lies, its summed axis before the last
    std::size_t summed = 0;
    for (std::size_t d = 0; d < all_.size(); ++d) {
      const bool is_free = !is_kept(d);
      if (d == kept_[0]) summed = lying.size();
      if (is_free) order.push_back(lying.size());
      if (is_free || d == kept_[0]) lying.push_back(is_free ? all_[d] : n);
      if (d >= rows) continue;
      const std::string kept = is_free ? "1" : all_[d], own = is_free ? all_[d] : "1";
      if (kept != "1" || !of_source.empty()) of_source.push_back(kept);
      if (own != "1" || !of_matrix.empty()) of_matrix.push_back(own);
    }
    order.insert(left ? order.end() : order.end() - 1, summed);
    of_source.insert(of_source.end(), {left ? n : all_[rows], left ? all_[rows + 1] : n});
    of_matrix.insert(of_matrix.end(), {left ? all_[rows] : n, left ? n : all_[rows + 1]});
    std::string text = fmt::format("    w0 = reshape(v; shape=[{}])\n", joined(lying));
    text += fmt::format("    w1 = transpose(w0; perm=[{}])\n", fmt::join(order, ", "));
    text += fmt::format("    w = reshape(w1; shape=[{}])\n", joined(of_matrix));
    text += fmt::format("    xs = reshape(x; shape=[{}])\n", joined(of_source));
    const std::size_t rank = std::max(of_source.size(), of_matrix.size());
    const bool reshapes = rank != all_.size();
    text += fmt::format("    {} = matmul({})\n",
                        map_.has_offset ? "p"
                        : reshapes      ? "q"
                                        : "y",
                        left ? "w, xs" : "xs, w");
    Names places;
    for (std::size_t d = all_.size() - rank; d < all_.size(); ++d)
      places.push_back(is_kept(d) && !map_.is_offset_whole ? "1" : all_[d]);
    return text + behind_product(joined(places), reshapes);
  }

  /// Without axes of one place.
  std::string contraction() const {
    Names shape;
    std::string matrix, result;
    for (std::size_t d = 0; d < all_.size(); ++d) {
      const auto at = std::ranges::find(kept_, d);
      const bool is_free = at == kept_.end();
      const char own = static_cast<char>('k' + d);
      result += is_free ? own : static_cast<char>('a' + (at - kept_.begin()));
      if (!is_free && d != kept_[0]) continue;
      matrix += is_free ? own : MapWriter::kSummed;
      shape.push_back(is_free ? all_[d] : writer_.count());
    }
    const std::string p = map_.has_offset ? "p" : "y";
    std::string text = fmt::format("    w = reshape(v; shape=[{}])\n", joined(shape));
    const std::array ranks{labels_.size(), matrix.size()};
    const auto equation =
        ops::EinsumEquation::from_onnx(fmt::format("{},{}->{}", labels_, matrix, result), ranks);
    text += fmt::format("    {} = einsum(x, w; equation=\"{}\")\n", p, equation->to_string());
    if (map_.has_offset) text += "    y = add(p, c)\n";
    return text;
  }

  MapWriter writer_;
  TensorId id_;
  std::size_t count_;
  const LinearMap& map_;
  std::vector<std::size_t> kept_;  // with an axis in front for the maps, if they are several
  Names all_;                      // sizes, likewise
  std::string labels_;
  std::size_t summed_, behind_;
  std::vector<std::size_t> free_;
};

}  // namespace

std::vector<std::string> composed_map(const Composition& composition) {
  return {ComposedMap(composition, true).text(), ComposedMap(composition, false).text()};
}

std::vector<std::string> plain_maps(const Graph& graph, const MapSource& source,
                                    std::span<const TensorId> tensors, const LinearMap& map) {
  const PlainMaps plain(graph, source, tensors, map);
  if (plain.is_plain()) return {};
  return {plain.text()};
}

}  // namespace soapstone::transforms

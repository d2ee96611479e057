#include "transforms/receptive/shifts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/receptive/convolution_text.h"
#include "transforms/receptive/shift_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using ops::Arithmetic;

/// Cuts in one rule, and nodes that add them up.
constexpr std::size_t kMostCuts = 32, kMostSums = 200;

constexpr std::string_view kShiftDescription =
    "A window over shifted places has the places and factors of all cuts.";

/// Places of a cut before `low` and from `high` on are zeros that were put there.
struct Zeros {
  std::int64_t low = 0, high = 0;
};
struct Reading {
  Shift shift;
  std::vector<Zeros> zeros;
};

class ShiftPlanner {
 public:
  explicit ShiftPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> plan_sums() {
    for (const TensorId whole : wholes()) {
      if (!take(whole)) continue;
      find_sums();
      for (const auto& [sum, ignored] : sums_)
        if (std::ranges::none_of(graph_.consumers(sum), [&](NodeId reader) {
              return sums_.contains(graph_.node(reader).outputs[0]);
            }))
          add_plan({whole, used_by(sum), sum}, sum_of_shifts);
    }
    return std::move(plans_);
  }

  std::vector<RewriteSequence> plan_joins() {
    for (const TensorId whole : wholes()) {
      if (!take(whole)) continue;
      std::set<NodeId> joins;
      for (const auto& [cut, ignored] : readings_)
        for (const NodeId reader : graph_.consumers(cut))
          if (graph_.node(reader).op->movement == core::Movement::kJoin) joins.insert(reader);
      for (const NodeId join : joins) plan_join(whole, graph_.node(join));
    }
    return std::move(plans_);
  }

 private:
  static bool is_cut(const Node& node) {
    return node.op->movement == core::Movement::kCut ||
           node.op->movement == core::Movement::kFrame ||
           node.op->movement == core::Movement::kSplit;
  }
  core::Dims dims(TensorId id) const { return dims_of(graph_, id); }
  bool is_known(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.data_type == core::DataType::kFloat32 && type.shape_known &&
           core::concrete(type.shape);
  }

  /// What nodes cut, in order.
  std::vector<TensorId> wholes() const {
    std::vector<TensorId> all;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (is_cut(node) && is_known(node.inputs[0]) &&
          !graph_.is_constant_expression(node.inputs[0]) &&
          std::ranges::find(all, node.inputs[0]) == all.end())
        all.push_back(node.inputs[0]);
    }
    return all;
  }

  /// False: nothing cuts it so that at most zeros are added.
  bool take(TensorId whole) {
    readings_.clear();
    read(whole);
    std::erase_if(readings_,
                  [&](const auto& entry) { return !reads_zeros_only(whole, entry.second); });
    return readings_.size() > 1;
  }

  /// The whole, and all cuts of it.
  void read(TensorId whole) {
    Reading all;
    for (const std::int64_t n : dims(whole)) {
      all.shift.push_back({.count = n});
      all.zeros.push_back({0, n});
    }
    std::vector<TensorId> behind{whole};
    readings_.emplace(whole, std::move(all));
    while (!behind.empty()) {
      const TensorId from = behind.back();
      behind.pop_back();
      for (const NodeId id : graph_.consumers(from)) {
        const Node& node = graph_.node(id);
        std::int64_t start = 0;
        for (const TensorId result : node.outputs) {
          auto reading = is_known(result) ? read_by(from, node, result, start) : std::nullopt;
          if (!reading) break;
          readings_.insert_or_assign(result, *std::move(reading));
          behind.push_back(result);
        }
      }
    }
  }

  /// `start`: where the result begins, of a split. None: it is something else.
  std::optional<Reading> read_by(TensorId from, const Node& node, TensorId result,
                                 std::int64_t& start) const {
    const Reading& reading = readings_.at(from);
    if (node.op->movement == core::Movement::kJoin) return beside_zeros(reading, from, node);
    if (!is_cut(node) || node.inputs[0] != from) return std::nullopt;
    if (node.op->movement == core::Movement::kCut) return piece(reading, node);
    if (node.op->movement == core::Movement::kFrame) return framed(reading, node);
    return part(reading, ops::axis_by_role(node), start, result);
  }

  static std::optional<Reading> piece(Reading reading, const Node& node) {
    const core::Dims starts = ops::ints_by_role(node, AttributeRole::kStart),
                     counts = ops::ints_by_role(node, AttributeRole::kExtent),
                     steps = ops::ints_by_role(node, AttributeRole::kStep),
                     axes = ops::ints_by_role(node, AttributeRole::kAxes);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (steps[k] < 1) return std::nullopt;
      cut_along(reading, static_cast<std::size_t>(axes[k]), {starts[k], steps[k], counts[k]});
    }
    return reading;
  }

  /// The next part of what is split along an axis; moves `start` behind it.
  std::optional<Reading> part(Reading reading, std::size_t axis, std::int64_t& start,
                              TensorId result) const {
    const std::int64_t count = dims(result)[axis];
    cut_along(reading, axis, {start, 1, count});
    start += count;
    return reading;
  }

  static void cut_along(Reading& reading, std::size_t axis, const Cut& piece) {
    Cut& cut = reading.shift[axis];
    Zeros& zeros = reading.zeros[axis];
    cut = {cut.start + cut.step * piece.start, cut.step * piece.step, piece.count};
    const auto place = [&](std::int64_t p) {  // the first one that is not before p
      return std::clamp<std::int64_t>((p - piece.start + piece.step - 1) / piece.step, 0,
                                      piece.count);
    };
    zeros = {zeros.low <= piece.start ? 0 : place(zeros.low),
             zeros.high <= piece.start ? 0 : place(zeros.high)};
  }

  static std::optional<Reading> framed(Reading reading, const Node& node) {
    const core::Dims around = ops::ints_by_role(node, AttributeRole::kBorder),
                     between = ops::ints_by_role(node, AttributeRole::kGap);
    if (node.attributes.get_real(node.op->find_role(AttributeRole::kReal)->name) != 0 ||
        std::ranges::any_of(between, [](std::int64_t n) { return n != 0; }))
      return std::nullopt;
    const std::size_t rank = reading.shift.size();
    for (std::size_t d = 0; d < rank; ++d) put_zeros(reading, d, around[d], around[rank + d]);
    return reading;
  }

  /// Joined with zeros alone.
  std::optional<Reading> beside_zeros(Reading reading, TensorId from, const Node& node) const {
    const std::size_t axis = ops::axis_by_role(node);
    std::int64_t before = 0, behind = 0;
    bool is_found = false;
    for (const TensorId input : node.inputs) {
      if (input == from && !is_found) {
        is_found = true;
      } else if (is_known(input) && is_filled_with_zero(input)) {
        (is_found ? behind : before) += dims(input)[axis];
      } else {
        return std::nullopt;
      }
    }
    put_zeros(reading, axis, before, behind);
    return reading;
  }
  bool is_filled_with_zero(TensorId id) const {
    const NodeId producer = graph_.tensor(id).producer;
    return producer.valid() && graph_.node(producer).op->movement == core::Movement::kFill &&
           ops::fill_value(graph_.node(producer)) == 0;
  }

  static void put_zeros(Reading& reading, std::size_t d, std::int64_t before, std::int64_t behind) {
    Cut& cut = reading.shift[d];
    Zeros& zeros = reading.zeros[d];
    cut.start -= cut.step * before;
    cut.count += before + behind;
    zeros = {std::clamp<std::int64_t>(zeros.low + before, 0, cut.count),
             std::clamp<std::int64_t>(zeros.high + before, 0, cut.count)};
  }

  /// Whether it has zeros where the whole has nothing, and nowhere else.
  bool reads_zeros_only(TensorId whole, const Reading& reading) const {
    const core::Dims all = dims(whole);
    for (std::size_t d = 0; d < all.size(); ++d) {
      const Cut& cut = reading.shift[d];
      const auto [low, high] = reading.zeros[d];
      if ((low > 0 && cut.start + cut.step * (low - 1) >= 0) ||
          (high < cut.count && cut.start + cut.step * high < all[d]))
        return false;
    }
    return true;
  }

  /// What is added up of cuts: by tensor, the cuts. None of them is alone.
  void find_sums() {
    sums_.clear();
    std::map<TensorId, std::set<TensorId>> linear;
    for (const auto& [id, ignored] : readings_) linear[id] = {id};
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.outputs.size() != 1 || linear.contains(node.outputs[0])) continue;
      auto cuts = cuts_of(node, linear);
      if (cuts.empty() || cuts.size() > kMostCuts || sums_.size() == kMostSums) continue;
      if (cuts.size() > 1) sums_[node.outputs[0]] = cuts;
      linear[node.outputs[0]] = std::move(cuts);
    }
  }

  /// Empty: the node makes no sum of the tensors with constants as factors.
  std::set<TensorId> cuts_of(const Node& node,
                             const std::map<TensorId, std::set<TensorId>>& linear) const {
    std::set<TensorId> cuts;
    std::vector<bool> operands;
    bool has_constant = false;
    for (const TensorId input : node.inputs) {
      if (!input.valid()) return {};
      const auto known = linear.find(input);
      operands.push_back(known != linear.end());
      if (known != linear.end())
        cuts.insert(known->second.begin(), known->second.end());
      else if (is_known(input) && graph_.is_constant_expression(input))
        has_constant = true;
      else
        return {};
    }
    if (cuts.empty() || !is_known(node.outputs[0])) return {};
    const core::Dims result = dims(node.outputs[0]);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (operands[k] && dims(node.inputs[k]) != result) return {};
    const auto* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise) return {};
    const Arithmetic what = ops::arithmetic_of(*node.op);
    const bool is_sum = what == Arithmetic::kSum || what == Arithmetic::kDifference;
    const bool is_factor = what == Arithmetic::kProduct || what == Arithmetic::kQuotient;
    if (node.inputs.size() == 2 ? !(has_constant ? is_factor : is_sum) : node.inputs.size() != 1)
      return {};
    return linearity_in(graph_, node, operands) ? cuts : std::set<TensorId>();
  }

  std::map<TensorId, Shift> used_by(TensorId sum) const {
    std::map<TensorId, Shift> used;
    for (const TensorId cut : sums_.at(sum)) used.emplace(cut, readings_.at(cut).shift);
    return used;
  }

  /// What multiplies or convolves the join.
  void plan_join(TensorId whole, const Node& join) {
    if (join.inputs.size() < 2 || join.inputs.size() > kMostCuts) return;
    std::map<TensorId, Shift> used;
    for (const TensorId input : join.inputs) {
      const auto known = readings_.find(input);
      if (known == readings_.end()) return;
      used.emplace(input, known->second.shift);
    }
    for (const NodeId reader : graph_.consumers(join.outputs[0])) {
      const Node& node = graph_.node(reader);
      if (node.inputs[0] == join.outputs[0] && node.inputs.size() > 1 &&
          is_known(node.outputs[0]) && is_known(node.inputs[1]) &&
          graph_.is_constant_expression(node.inputs[1]))
        add_plan({whole, used, node.outputs[0]}, join_of_shifts);
    }
  }

  template <class Text>
  void add_plan(const Shifted& all, const Text& text_of) {
    auto texts = text_of(graph_, all);
    if (texts.empty()) return;
    plans_.push_back({{{.results = {all.result},
                        .texts = std::move(texts),
                        .description = kShiftDescription,
                        .floats = FloatBehavior::kReassociates}}});
  }

  const Graph& graph_;
  std::map<TensorId, Reading> readings_;         // of the whole that is looked at
  std::map<TensorId, std::set<TensorId>> sums_;  // likewise
  std::vector<RewriteSequence> plans_;
};

}  // namespace

std::vector<RewriteSequence> find_shifted_sums(const Graph& graph) {
  return ShiftPlanner(graph).plan_sums();
}

std::vector<RewriteSequence> find_shifted_joins(const Graph& graph) {
  return ShiftPlanner(graph).plan_joins();
}

}  // namespace soapstone::transforms

// From trees to programs: chooses the lane, gives every affine form a slot, assigns each constraint
// to the loop that it can narrow, and finds the sums of products.
#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "core/base/check.h"
#include "ops/evaluation/evaluate_program.h"
#include "ops/evaluation/field.h"
#include "ops/evaluation/integer_arithmetic.h"
#include "ops/language/rational.h"

namespace soapstone::ops::evaluation {
namespace {

template <class T>
T element(Rational value) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(value.numerator) / static_cast<double>(value.denominator);
  else if constexpr (std::is_same_v<T, Integer>)
    return integers::from_rational(value);
  else
    return field_from_rational(canonical_constant(value));
}

/// The innermost index, if it is long enough to pay for the overhead of a run of lanes; else the
/// longest.
std::size_t choose_lane(const std::vector<Range>& index) {
  constexpr std::int64_t kLongEnough = 4;
  std::size_t best = index.size() - 1;
  if (index[best].high >= kLongEnough) return best;
  for (std::size_t k = index.size(); k-- > 0;)
    if (index[k].high > index[best].high) best = k;
  return best;
}

template <class T>
class Lowering {
 public:
  explicit Lowering(const StageTree& stage) : stage_(stage) {}

  StageProgram<T> run() {
    constexpr auto kNone = static_cast<std::size_t>(-1);
    const std::size_t lane = stage_.index.empty() ? kNone : choose_lane(stage_.index);
    if (lane != kNone) {
      has_lane_ = true;
      lane_ = stage_.index[lane].variable;
      program_.lanes = stage_.index[lane].high;
    }
    program_.root = lower(stage_.body);
    program_.out = form(stage_.position);
    program_.scratch_buffers = 1 + buffers(stage_.body);
    for (Node<T>& node : program_.nodes) finish(node);
    if (has_lane_) program_.lane_updates = updates(lane_);
    for (std::size_t k = 0; k < stage_.index.size(); ++k) {
      program_.is_empty |= stage_.index[k].high <= 0;
      if (k != lane)
        program_.dimensions.push_back({stage_.index[k].high, updates(stage_.index[k].variable)});
    }
    return std::move(program_);
  }

 private:
  Form form(const Affine& a) {
    const auto found = std::find(forms_.begin(), forms_.end(), a);
    const auto slot = static_cast<std::uint32_t>(found - forms_.begin());
    if (found == forms_.end()) {
      forms_.push_back(a);
      program_.slots.push_back(a.constant);
    }
    return {slot, has_lane_ ? a.coefficient(lane_) : 0};
  }

  std::vector<Update> updates(std::uint32_t variable) const {
    std::vector<Update> result;
    for (std::uint32_t slot = 0; slot < forms_.size(); ++slot)
      if (const auto c = forms_[slot].coefficient(variable)) result.push_back({slot, c});
    return result;
  }

  /// Scratch buffers that a node takes besides the one for its own value: at most three here.
  static std::uint32_t buffers(const TreeNode& tree) {
    std::uint32_t most = 0;
    for (const TreeNode& child : tree.children) most = std::max(most, buffers(child));
    return tree.children.empty() ? 0 : 3 + most;
  }

  std::uint32_t lower(const TreeNode& tree) {
    Node<T> node;
    node.kind = tree.kind;
    node.function = tree.function;
    node.tensor = tree.tensor;
    node.uniform = !has_lane_ || !mentions(tree, lane_);
    if (tree.kind == NodeKind::kNumber) node.number = element<T>(tree.number);
    node.form = form(tree.position);
    for (const TreeNode& child : tree.children) node.children.push_back(lower(child));
    for (const Domain& domain : tree.domains) node.nests.push_back(nest(domain));
    program_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(program_.nodes.size() - 1);
  }

  /// Each constraint goes to the innermost loop whose variable it mentions.
  Nest nest(const Domain& domain) {
    Nest result;
    for (const Range& r : domain.ranges)
      result.loops.push_back({r.variable, r.low, r.high, {}, {}, {}});
    for (const AffineConstraint& c : domain.constraints) {
      Bound bound{c.kind, form(c.expression), 0};
      auto* range_bounds = &result.range_bounds;
      auto* lane_bounds = &result.lane_bounds;
      for (Loop& loop : result.loops)
        if (const auto step = c.expression.coefficient(loop.variable)) {
          bound.step = step;
          range_bounds = &loop.range_bounds;
          lane_bounds = &loop.lane_bounds;
        }
      (bound.form.lane != 0 ? lane_bounds : range_bounds)->push_back(bound);
    }
    return result;
  }

  /// Completes a node once every form of the stage has its slot.
  void finish(Node<T>& node) {
    for (Nest& nest : node.nests)
      for (Loop& loop : nest.loops) loop.updates = updates(loop.variable);
    if (node.kind == NodeKind::kSum) recognize_product(node);
  }

  std::int64_t stride(const Node<T>& read, const Loop& loop) const {
    return forms_[read.form.slot].coefficient(loop.variable);
  }

  void recognize_product(Node<T>& sum) {
    const std::uint32_t body = sum.children[0];
    std::vector<std::uint32_t> reads, factors{body};
    if (program_.nodes[body].kind == NodeKind::kMul) factors = program_.nodes[body].children;
    T number = element<T>({1, 1});
    bool has_number = false;
    for (std::uint32_t f : factors) {
      const Node<T>& node = program_.nodes[f];
      if (node.kind == NodeKind::kRead)
        reads.push_back(f);
      else if (node.kind == NodeKind::kNumber && !has_number)
        number = node.number, has_number = true;
      else
        return;
    }
    if (reads.empty() || reads.size() > 2) return;
    const Node<T>&a = program_.nodes[reads[0]], &b = program_.nodes[reads.back()];
    const Loop& last = sum.nests[0].loops.back();
    Product p{reads[0], reads.back(), stride(a, last), stride(b, last), false};
    // Inside is the loop along which fewer reads jump; lanes, if it makes no difference.
    const auto jumps = [](std::int64_t x, std::int64_t y) {
      return (std::abs(x) > 1 ? 1 : 0) + (std::abs(y) > 1 ? 1 : 0);
    };
    const int lane_jumps = jumps(a.form.lane, b.form.lane);
    const int loop_jumps = jumps(p.a_stride, p.b_stride);
    const bool lanes_are_long = program_.lanes >= 8 || program_.lanes >= last.high - last.low;
    p.lanes_inside = std::is_same_v<T, double> && !sum.uniform &&
                     (lane_jumps < loop_jumps || (lane_jumps == loop_jumps && lanes_are_long));
    sum.is_product = true;
    sum.number = number;
    sum.product = p;
  }

  const StageTree& stage_;
  StageProgram<T> program_;
  std::vector<Affine> forms_;  // of each slot
  bool has_lane_ = false;
  std::uint32_t lane_ = 0;
};

}  // namespace

template <class T>
StageProgram<T> lower(const StageTree& stage) {
  return Lowering<T>(stage).run();
}

template StageProgram<double> lower(const StageTree& stage);
template StageProgram<std::uint64_t> lower(const StageTree& stage);
template StageProgram<Integer> lower(const StageTree& stage);

}  // namespace soapstone::ops::evaluation

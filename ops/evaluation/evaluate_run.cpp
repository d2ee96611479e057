// Interprets a stage program. Each node is evaluated for lanes low ≤ l < high of the current block;
// its value is either a view of data that is there already or is written to the buffer it is given.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/base/check.h"
#include "core/base/stop_scope.h"
#include "ops/evaluation/evaluate_lanes.h"
#include "ops/evaluation/evaluate_products.h"
#include "ops/evaluation/evaluate_program.h"

namespace soapstone::ops::evaluation {
namespace {

template <class T>
class Runner {
 public:
  explicit Runner(const Frame<T>& frame)
      : frame_(frame), nodes_(frame.program.nodes.data()), slots_(frame.slots),
        block_(frame.program.block()),
        elements_to_look_(frame.may_stop ? kElementsPerLook : kNeverLook) {}

  void run() {
    const StageProgram<T>& p = frame_.program;
    if (p.is_empty) return;
    std::copy(p.slots.begin(), p.slots.end(), slots_);
    for (std::int64_t base = 0; base < p.lanes && !is_stopped_; base += block_) {
      dimensions(0, std::min(block_, p.lanes - base));
      advance(p.lane_updates, block_);
    }
  }

 private:
  using A = Arithmetic<T>;
  using View = Operand<T>;

  void advance(const std::vector<Update>& updates, std::int64_t times) {
    for (const Update& u : updates) slots_[u.slot] += u.stride * times;
  }

  void dimensions(std::size_t level, std::int64_t lanes) {
    const StageProgram<T>& p = frame_.program;
    if (level == p.dimensions.size()) return element_run(lanes);
    const Dimension& d = p.dimensions[level];
    for (std::int64_t i = 0; i < d.extent; ++i) {
      if (is_stopped_) return;
      dimensions(level + 1, lanes);
      advance(d.updates, 1);
    }
    advance(d.updates, -d.extent);
  }

  void element_run(std::int64_t lanes) {
    const StageProgram<T>& p = frame_.program;
    elements_to_look_ -= lanes;
    if (elements_to_look_ < 0 && look_at_stop()) return;
    T* const out = frame_.out + slots_[p.out.slot];
    const Node<T>& root = nodes_[p.root];
    const bool in_place = p.out.lane == 1 && !root.uniform;
    T* const buffer = in_place ? out : frame_.scratch;
    const View value = eval(root, 0, lanes, buffer, frame_.scratch + block_);
    if (in_place && !is_leaf(root) && value.data == out) return;
    for (std::int64_t l = 0; l < lanes; ++l) out[l * p.out.lane] = value[l];
  }

  /// Looked at seldom: most runs are short.
  bool look_at_stop() {
    elements_to_look_ = frame_.may_stop ? kElementsPerLook : kNeverLook;
    is_stopped_ = frame_.may_stop && core::StopScope::stopped();
    return is_stopped_;
  }

  /// Whether the value is there already.
  static bool is_leaf(const Node<T>& node) {
    return node.kind == NodeKind::kRead || node.kind == NodeKind::kNumber;
  }

  View eval(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer, T* free) {
    if (node.kind == NodeKind::kRead)
      return {frame_.tensors[node.tensor] + slots_[node.form.slot], node.form.lane};
    if (node.kind == NodeKind::kNumber) return {&node.number, 0};
    if (!node.uniform) return compute(node, low, high, buffer, free);
    return {compute(node, 0, 1, buffer, free).data, 0};
  }

  /// Evaluates a child whose value may be overwritten by the parent's: into the parent's buffer,
  /// but not if one value serves all lanes.
  View eval_into(const Node<T>& parent, const Node<T>& child, std::int64_t low, std::int64_t high,
                 T* buffer, T* free) {
    if (child.uniform && !parent.uniform) return eval(child, low, high, free, free + block_);
    return eval(child, low, high, buffer, free);
  }

  View compute(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer, T* free) {
    switch (node.kind) {
    case NodeKind::kIndexValue:
      for (std::int64_t l = low; l < high; ++l)
        buffer[l] = A::from_int(slots_[node.form.slot] + node.form.lane * l);
      return {buffer, 1};
    case NodeKind::kAdd:
      return fold_children(node, low, high, buffer, free, A::add);
    case NodeKind::kMul:
      return compute_product(node, low, high, buffer, free);
    case NodeKind::kInverse: {
      const View a = eval_into(node, nodes_[node.children[0]], low, high, buffer, free);
      invert_lanes(buffer, a, low, high);
      return {buffer, 1};
    }
    case NodeKind::kApply:
      return compute_function(node, low, high, buffer, free);
    case NodeKind::kGuard:
      return compute_guard(node, low, high, buffer, free);
    case NodeKind::kSum:
      return compute_sum(node, low, high, buffer, free);
    case NodeKind::kMax:
      return compute_maximum(node, low, high, buffer, free);
    case NodeKind::kLookup:
      return compute_lookup(node, low, high, buffer, free);
    case NodeKind::kRead:
    case NodeKind::kNumber:
      break;
    }
    CHECK(false, "reads and numbers are evaluated in place");
  }

  template <class F>
  View fold_children(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer, T* free,
                     F f) {
    // The first value may lie in `free` until the second operation has read it.
    View a = eval_into(node, nodes_[node.children[0]], low, high, buffer, free);
    for (std::size_t k = 1; k < node.children.size(); ++k) {
      T* const operand = free + block_;
      const View b = eval(nodes_[node.children[k]], low, high, operand, operand + block_);
      combine(buffer, a, b, low, high, [f](T x, T y) { return f(x, y); });
      a = {buffer, 1};
    }
    return a;
  }

  /// A double times 1/b is divided by b: 1/b overflows where b is subnormal, and rounds once more.
  View compute_product(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer,
                       T* free) {
    if constexpr (!std::is_same_v<T, double>)
      return fold_children(node, low, high, buffer, free, A::multiply);
    View a = eval_into(node, nodes_[node.children[0]], low, high, buffer, free);
    for (std::size_t k = 1; k < node.children.size(); ++k) {
      T* const operand = free + block_;
      const Node<T>& factor = nodes_[node.children[k]];
      const bool divides = factor.kind == NodeKind::kInverse;
      const Node<T>& child = divides ? nodes_[factor.children[0]] : factor;
      const View b = eval(child, low, high, operand, operand + block_);
      if (divides)
        combine(buffer, a, b, low, high, [](T x, T y) { return x / y; });
      else
        combine(buffer, a, b, low, high, [](T x, T y) { return x * y; });
      a = {buffer, 1};
    }
    return a;
  }

  /// A quotient of integers that is rounded at once: in between it has no value.
  bool is_rounded_quotient(const Node<T>& node) const {
    if (!integers::rounds(node.function)) return false;
    const Node<T>& product = nodes_[node.children[0]];
    return product.kind == NodeKind::kMul && product.children.size() == 2 &&
           nodes_[product.children[1]].kind == NodeKind::kInverse;
  }

  View compute_quotient(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer,
                        T* free) {
    const Node<T>& product = nodes_[node.children[0]];
    const Node<T>& divisor = nodes_[nodes_[product.children[1]].children[0]];
    const View a = eval(nodes_[product.children[0]], low, high, free, free + block_);
    T* const operand = free + block_;
    const View b = eval(divisor, low, high, operand, operand + block_);
    combine(buffer, a, b, low, high,
            [&](T x, T y) { return integers::quotient(node.function, x, y); });
    return {buffer, 1};
  }

  View compute_function(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer,
                        T* free) {
    if constexpr (std::is_same_v<T, Integer>)
      if (is_rounded_quotient(node)) return compute_quotient(node, low, high, buffer, free);
    View arguments[3];
    for (std::size_t k = 0; k < node.children.size(); ++k, free += block_)
      arguments[k] = eval(nodes_[node.children[k]], low, high, free, free + block_);
    apply_lanes(node.function, arguments, buffer, low, high, frame_.function_key);
    return {buffer, 1};
  }

  bool holds(const std::vector<Bound>& bounds) const {
    return std::all_of(bounds.begin(), bounds.end(), [&](const Bound& b) {
      const std::int64_t value = slots_[b.form.slot];
      return b.kind == Constraint::Kind::kZero ? value == 0 : value >= 0;
    });
  }

  void narrow_lanes(const std::vector<Bound>& bounds, std::int64_t& low, std::int64_t& high) const {
    for (const Bound& b : bounds) narrow(b.kind, b.form.lane, slots_[b.form.slot], low, high);
  }

  void narrow_loop(const Loop& loop, std::int64_t& low, std::int64_t& high) const {
    for (const Bound& b : loop.range_bounds) narrow(b.kind, b.step, slots_[b.form.slot], low, high);
  }

  View compute_guard(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer, T* free) {
    const Nest& nest = node.nests[0];
    std::int64_t from = low, to = high;
    narrow_lanes(nest.lane_bounds, from, to);
    if (!holds(nest.range_bounds) || from >= to) return {&kZero, 0};
    const Node<T>& body = nodes_[node.children[0]];
    const View a = eval_into(node, body, from, to, buffer, free);
    // A view starts at lane 0, which a guard may leave out of bounds, and one value for all lanes
    // lies in `free`: neither may leave this function.
    if (is_leaf(body) || (body.uniform && !node.uniform) || a.data == &kZero)
      copy(buffer, a, from, to);
    fill(buffer, kZero, low, from);
    fill(buffer, kZero, to, high);
    return {buffer, 1};
  }

  /// Calls body(low, high) for every iteration of loops first … last−1 that some lanes take part
  /// in.
  template <class F>
  void walk(const Nest& nest, std::size_t first, std::size_t last, std::int64_t low,
            std::int64_t high, const F& body) {
    if (first == last) return body(low, high);
    const Loop& loop = nest.loops[first];
    std::int64_t v = loop.low, end = loop.high;
    narrow_loop(loop, v, end);
    if (v >= end) return;
    advance(loop.updates, v);
    while (true) {
      std::int64_t from = low, to = high;
      narrow_lanes(loop.lane_bounds, from, to);
      if (from < to) walk(nest, first + 1, last, from, to, body);
      if (++v == end) break;
      advance(loop.updates, 1);
    }
    advance(loop.updates, 1 - end);
  }

  template <class F>
  void walk_nest(const Nest& nest, std::size_t loops, std::int64_t low, std::int64_t high,
                 const F& body) {
    if (!holds(nest.range_bounds)) return;
    narrow_lanes(nest.lane_bounds, low, high);
    if (low < high) walk(nest, 0, loops, low, high, body);
  }

  View compute_sum(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer, T* free) {
    fill(buffer, kZero, low, high);
    const Nest& nest = node.nests[0];
    if (node.is_product) {
      walk_nest(nest, nest.loops.size() - 1, low, high,
                [&](std::int64_t from, std::int64_t to) { add_products(node, from, to, buffer); });
      if (node.number != A::from_int(1))
        for (std::int64_t l = low; l < high; ++l) buffer[l] = A::multiply(buffer[l], node.number);
      return {buffer, 1};
    }
    const Node<T>& body = nodes_[node.children[0]];
    walk_nest(nest, nest.loops.size(), low, high, [&](std::int64_t from, std::int64_t to) {
      const View a = eval(body, from, to, free, free + block_);
      combine(buffer, View{buffer, 1}, a, from, to, [](T x, T y) { return A::add(x, y); });
    });
    return {buffer, 1};
  }

  View compute_maximum(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer,
                       T* free) {
    fill(buffer, A::least(), low, high);
    for (std::size_t k = 0; k < node.children.size(); ++k) {
      const Node<T>& body = nodes_[node.children[k]];
      const Nest& nest = node.nests[k];
      walk_nest(nest, nest.loops.size(), low, high, [&](std::int64_t from, std::int64_t to) {
        const View a = eval(body, from, to, free, free + block_);
        combine(buffer, View{buffer, 1}, a, from, to, [](T x, T y) { return A::larger(x, y); });
      });
    }
    return {buffer, 1};
  }

  View compute_lookup(const Node<T>& node, std::int64_t low, std::int64_t high, T* buffer,
                      T* free) {
    const Node<T>&body = nodes_[node.children[0]], &key_node = nodes_[node.children[1]];
    const Loop& loop = node.nests[0].loops[0];
    const std::int64_t offset = slots_[node.form.slot];
    const View keys = eval(key_node, low, high, free, free + block_);
    fill(buffer, kZero, low, high);
    const std::int64_t run = key_node.uniform ? high - low : 1;
    for (std::int64_t l = low; l < high; l += run) {
      std::int64_t v = 0;
      if (!A::is_int(keys[l], v)) continue;
      v -= offset;
      if (v < loop.low || v >= loop.high) continue;
      advance(loop.updates, v);
      T* const operand = free + block_;
      copy(buffer, eval(body, l, l + run, operand, operand + block_), l, l + run);
      advance(loop.updates, -v);
    }
    return {buffer, 1};
  }

  /// The innermost loop of a sum of products, for all lanes.
  void add_products(const Node<T>& node, std::int64_t low, std::int64_t high, T* sums) {
    const Loop& loop = node.nests[0].loops.back();
    Span range{loop.low, loop.high};
    narrow_loop(loop, range.low, range.high);
    if (range.low >= range.high) return;
    const Node<T>&a = nodes_[node.product.a], &b = nodes_[node.product.b];
    ProductLoop<T>{loop,
                   slots_,
                   {frame_.tensors[a.tensor] + slots_[a.form.slot], a.form.lane},
                   {frame_.tensors[b.tensor] + slots_[b.form.slot], b.form.lane},
                   node.product}
        .run(range, {low, high}, sums);
  }

  static constexpr T kZero{};
  /// So many results, even if each is a sum over many values, take a fraction of a second.
  static constexpr std::int64_t kElementsPerLook = 1024;
  static constexpr std::int64_t kNeverLook = std::numeric_limits<std::int64_t>::max();
  const Frame<T>& frame_;
  const Node<T>* const nodes_;
  std::int64_t* const slots_;
  const std::int64_t block_;
  std::int64_t elements_to_look_;
  bool is_stopped_ = false;
};

}  // namespace

template <class T>
void run_stage(const Frame<T>& frame) {
  Runner<T>(frame).run();
}

template void run_stage(const Frame<double>& frame);
template void run_stage(const Frame<std::uint64_t>& frame);
template void run_stage(const Frame<Integer>& frame);

}  // namespace soapstone::ops::evaluation

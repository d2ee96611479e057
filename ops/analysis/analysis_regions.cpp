// Finds the input elements that a box of the output needs. It goes from the output back through the
// stages; each read adds the interval of its index to the box that is needed of the tensor that it
// reads.
#include <algorithm>

#include "core/base/check.h"
#include "ops/analysis/analysis_intervals.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using analysis::Digits;
using analysis::interval_of;
using analysis::is_empty;
using analysis::Ranges;

class RegionWalk {
 public:
  explicit RegionWalk(std::vector<core::Dims> dims) : dims_(std::move(dims)) {
    for (const auto& d : dims_) needed_.emplace_back(d.size(), Interval{0, 0});
    is_read_.resize(dims_.size(), false);
  }

  void need(std::uint32_t tensor, const IndexBox& box) {
    IndexBox& region = needed_[tensor];
    for (std::size_t d = 0; d < region.size(); ++d) {
      const Interval& more = box[d];
      if (!is_read_[tensor])
        region[d] = more;
      else
        region[d] = {std::min(region[d].low, more.low), std::max(region[d].high, more.high)};
    }
    is_read_[tensor] = true;
  }

  void through(const Stage& stage, std::uint32_t tensor) {
    if (!is_read_[tensor]) return;
    Ranges ranges;
    for (std::size_t d = 0; d < stage.index.size(); ++d) {
      ranges[stage.index[d]] = needed_[tensor][d];
      if (is_empty(needed_[tensor][d])) return;
    }
    visit(*stage.body, ranges);
  }

  const IndexBox& needed(std::size_t tensor) const { return needed_[tensor]; }

 private:
  void visit(const ExprNode& e, const Ranges& ranges) {
    if (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) return visit_read(e, ranges);
    for (const Alternative& a : e.alternatives)
      visit_domain(a.binders, a.constraints, *a.body, ranges);
    if (e.kind == ExprKind::kGuard || e.kind == ExprKind::kSum)
      return visit_domain(e.binders, e.constraints, *e.arguments[0], ranges);
    for (const Expr& argument : e.arguments) visit(*argument, ranges);
  }

  void visit_domain(const std::vector<Binder>& binders, std::vector<Constraint> constraints,
                    const ExprNode& body, Ranges ranges) {
    for (const Binder& b : binders) {
      Interval& v = ranges[b.variable];
      v = {interval_of(b.low, ranges).low, interval_of(b.high, ranges).high - 1};
      if (is_empty(v)) return;
      if (!b.low.is_constant()) constraints.push_back(at_least(b.variable, b.low));
      if (!b.high.is_constant()) constraints.push_back(less(b.variable, b.high));
    }
    if (analysis::narrow(constraints, ranges)) visit(body, ranges);
  }

  void visit_read(const ExprNode& e, const Ranges& ranges) {
    const core::Dims& dims = dims_[e.tensor];
    IndexBox box(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) box[d] = {0, dims[d]};
    for (const Digits& digits : analysis::digits_of(e, dims, ranges)) {
      std::int64_t count = 1;
      for (std::size_t d = digits.first; d <= digits.last; ++d) count *= dims[d];
      const Interval values = interval_of(digits.position, ranges);
      const Interval inside{std::max<std::int64_t>(values.low, 0), std::min(values.high, count)};
      if (is_empty(inside)) return;  // what a guard excludes is not read
      place(inside, digits, dims, box);
    }
    need(e.tensor, box);
  }

  /// The smallest box of dimensions first … last that holds flat positions `values`: dimensions
  /// where both ends agree, then one range, then all of what is further in.
  static void place(Interval values, const Digits& digits, const core::Dims& dims, IndexBox& box) {
    std::int64_t stride = 1;
    for (std::size_t d = digits.first; d <= digits.last; ++d) stride *= dims[d];
    std::int64_t low = values.low, high = values.high - 1;
    for (std::size_t d = digits.first; d <= digits.last; ++d) {
      stride /= dims[d];
      box[d] = {low / stride, high / stride + 1};
      if (low / stride != high / stride) break;
      low %= stride;
      high %= stride;
    }
  }

  std::vector<core::Dims> dims_;
  std::vector<IndexBox> needed_;
  std::vector<bool> is_read_;
};

}  // namespace

std::vector<IndexBox> input_regions(const core::Graph& graph, core::NodeId node, std::size_t output,
                                    const IndexBox& box) {
  const Semantics semantics = semantics_of(graph, node);
  CHECK(output < semantics.outputs.size(), "no such output");
  RegionWalk walk(analysis::tensor_dims(graph, node, semantics));
  walk.need(semantics.outputs[output], box);
  for (std::size_t s = semantics.stages.size(); s-- > 0;)
    walk.through(semantics.stages[s], semantics.input_count + static_cast<std::uint32_t>(s));
  std::vector<IndexBox> regions;
  for (std::size_t k = 0; k < semantics.input_count; ++k) regions.push_back(walk.needed(k));
  return regions;
}

}  // namespace soapstone::ops

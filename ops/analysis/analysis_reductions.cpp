// The sums that an operator may compute in parts. A sum counts only where the output is linear in
// it and where its variable picks slices of the inputs: channels of a convolution, not its window.
#include "ops/analysis/analysis_reductions.h"

#include <algorithm>

namespace soapstone::ops::analysis {
namespace {

/// The sums that an output is linear in: a part of the range gives a summand of the output.
class ReductionWalk {
 public:
  explicit ReductionWalk(const Semantics& semantics) : semantics_(semantics) {
    follow(*semantics.stages[semantics.outputs[0] - semantics.input_count].body);
  }

  std::vector<DimInfo> found;

 private:
  void follow(const ExprNode& e) {
    switch (e.kind) {
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      if (e.tensor >= semantics_.input_count && reads_of(e.tensor) == 1)
        follow(*semantics_.stages[e.tensor - semantics_.input_count].body);
      return;
    case ExprKind::kMul:
      return follow_product(e);
    case ExprKind::kSum:
      for (const Binder& b : e.binders) add(b, *e.arguments[0]);
      [[fallthrough]];
    case ExprKind::kAdd:
    case ExprKind::kGuard:
      for (const Expr& argument : e.arguments) follow(*argument);
      return;
    default:
      return;
    }
  }

  /// Linear in a factor if no other factor can hold the same sum.
  void follow_product(const ExprNode& product) {
    const ExprNode* only = nullptr;
    for (const Expr& factor : product.arguments) {
      if (!has_sum(*factor)) continue;
      if (only) return;
      only = factor.get();
    }
    if (only) follow(*only);
  }

  bool has_sum(const ExprNode& e) const {
    const bool reads_stage = (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) &&
                             e.tensor >= semantics_.input_count;
    return e.kind == ExprKind::kSum || e.kind == ExprKind::kMax || reads_stage ||
           std::any_of(e.arguments.begin(), e.arguments.end(),
                       [&](const Expr& a) { return has_sum(*a); });
  }

  /// How often a stage is read in the text of all others.
  std::size_t reads_of(std::uint32_t tensor) const {
    std::size_t count = 0;
    for (const Stage& stage : semantics_.stages) count += reads_in(*stage.body, tensor);
    return count;
  }

  static std::size_t reads_in(const ExprNode& e, std::uint32_t tensor) {
    const bool is_read = e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat;
    std::size_t count = is_read && e.tensor == tensor ? 1 : 0;
    for (const Alternative& a : e.alternatives) count += reads_in(*a.body, tensor);
    for (const Expr& argument : e.arguments) count += reads_in(*argument, tensor);
    return count;
  }

  void add(const Binder& binder, const ExprNode& body) {
    DimInfo info{DimRole::kReduction, 0, std::nullopt, {}};
    info.input_dim.resize(semantics_.input_count);
    const auto size = (binder.high - binder.low).as_constant();
    bool is_alone = size.has_value(), is_used = false;
    visit(body, binder.variable, info, is_alone, is_used);
    if (!is_alone || !is_used) return;
    info.size = *size;
    found.push_back(std::move(info));
  }

  /// Notes which dimensions the variable indexes, and whether it does so alone.
  void visit(const ExprNode& e, Symbol v, DimInfo& info, bool& is_alone, bool& is_used) const {
    if (e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat)
      for (std::size_t d = 0; d < e.index.size(); ++d) {
        if (!e.index[d].mentions(v)) continue;
        const bool is_input = e.tensor < semantics_.input_count;
        is_alone &= is_input && e.kind == ExprKind::kRead && e.index[d] == Polynomial(v) &&
                    info.input_dim[e.tensor].value_or(d) == d;
        if (is_input) info.input_dim[e.tensor] = d;
        is_used = true;
      }
    for (const Alternative& a : e.alternatives) visit(*a.body, v, info, is_alone, is_used);
    for (const Expr& argument : e.arguments) visit(*argument, v, info, is_alone, is_used);
  }

  const Semantics& semantics_;
};

}  // namespace

std::vector<DimInfo> reductions_of(const Semantics& semantics) {
  return ReductionWalk(semantics).found;
}

}  // namespace soapstone::ops::analysis

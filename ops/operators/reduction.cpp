// Sums, means, maxima, minima and logarithms of sums of exponentials over dimensions. They differ
// in one expression and in the opset at which ONNX made the axes an input.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_reduction.h"
#include "ops/onnx/onnx_writing.h"
namespace soapstone::ops {
namespace {

using core::AttributeRole;

struct Reduction {
  const char* name;
  const char* onnx;
  const char* equation;
  Elements elements;
  bool nonempty;  ///< An empty maximum or mean has no value.
  /// Null: reduce_log_sum_exp, which takes several stages.
  Expr (*combine)(std::vector<Binder> over, Expr element, const Polynomial& count);
};

Expr combine_sum(std::vector<Binder> over, Expr element, const Polynomial&) {
  return sum(std::move(over), std::move(element));
}

Expr combine_mean(std::vector<Binder> over, Expr element, const Polynomial& count) {
  return sum(std::move(over), std::move(element)) * inverse(size_value(count));
}

Expr combine_max(std::vector<Binder> over, Expr element, const Polynomial&) {
  return maximum({{std::move(over), {}, std::move(element)}});
}

Expr combine_min(std::vector<Binder> over, Expr element, const Polynomial&) {
  return number(-1.0) * maximum({{std::move(over), {}, number(-1.0) * std::move(element)}});
}

constexpr Reduction kReductions[] = {
    {"reduce_sum", "ReduceSum", "x[…] → y = Σ of x over axes", Elements::kArithmetic, false,
     combine_sum},
    {"reduce_mean", "ReduceMean", "x[…] → y = Σ of x over axes / number of elements",
     Elements::kFloating, true, combine_mean},
    {"reduce_max", "ReduceMax", "x[…] → y = max of x over axes", Elements::kArithmetic, true,
     combine_max},
    {"reduce_min", "ReduceMin", "x[…] → y = min of x over axes", Elements::kArithmetic, true,
     combine_min},
    {"reduce_log_sum_exp", "ReduceLogSumExp",
     "x[…] → y = m + log Σ exp(x − m) over axes, m the maximum", Elements::kFloating, true,
     nullptr},
};

std::vector<TensorType> infer(const Reduction& reduction, InferContext& c) {
  if (!require_elements(c, reduction.name, reduction.elements)) return {};
  const auto keep = require_int(c, reduction.name, "keep_dims");
  const auto axes = require_axes(c, reduction.name, c.rank(0));
  if (!keep || !axes) return {};
  const Shape& x = c.shape(0);
  Shape kept = x;
  for (std::size_t axis : *axes) {
    if (reduction.nonempty && !c.require_at_least(x[axis], 1, label(reduction.name, "nonempty")))
      return {};
    kept[axis] = 1;
  }
  return {{c.input(0).data_type, *keep != 0 ? kept : without(x, *axes)}};
}

/// The part that all reductions share: which axes are reduced, and the shapes on both sides.
class Reducing {
 public:
  explicit Reducing(const OpInstance& op)
      : builder(1), x_(op.inputs[0].shape), axes_(axes_of(op.attributes)),
        keep_(op.attributes.get_int("keep_dims") != 0) {}

  /// value() of binders over the axes, the index of an element of x, and the number of elements.
  Expr over(const Index& i,
            const std::function<Expr(std::vector<Binder>, Index, const Polynomial&)>& value) {
    Index element = keep_ ? i : Index(x_.size());
    if (!keep_) {
      std::size_t next = 0, axis = 0;
      for (std::size_t d = 0; d < x_.size(); ++d) {
        if (axis < axes_.size() && axes_[axis] == d)
          ++axis;
        else
          element[d] = i[next++];
      }
    }
    std::vector<Binder> binders;
    Polynomial count = 1;
    for (std::size_t axis : axes_) {
      binders.push_back({builder.fresh(), 0, x_[axis]});
      element[axis] = binders.back().variable;
      count *= x_[axis];
    }
    return value(std::move(binders), std::move(element), count);
  }

  SemanticsBuilder builder;

 private:
  const Shape& x_;
  std::vector<std::size_t> axes_;
  bool keep_;
};

Semantics semantics(const Reduction& reduction, const OpInstance& op) {
  Reducing reducing(op);
  reducing.builder.output(op.outputs[0].shape, [&](const Index& i) {
    return reducing.over(
        i, [&](std::vector<Binder> binders, Index element, const Polynomial& count) {
          return reduction.combine(std::move(binders), read(0, std::move(element)), count);
        });
  });
  return std::move(reducing.builder).finish();
}

/// m + log Σ exp(x − m), m the maximum, or 0 where that is infinite: −∞ − −∞ would be no number.
Semantics log_sum_exp_semantics(const OpInstance& op) {
  Reducing reducing(op);
  const Shape& shape = op.outputs[0].shape;
  const auto largest = reducing.builder.stage(shape, [&](const Index& i) {
    return reducing.over(i, [](std::vector<Binder> binders, Index element, const Polynomial&) {
      return combine_max(std::move(binders), read(0, std::move(element)), 1);
    });
  });
  const auto shift = reducing.builder.stage(shape, [&](const Index& i) {
    const Expr m = read(largest, i), zero = number(Rational{0, 1});
    return apply(Function::kSelect, {apply(Function::kEqual, {m - m, zero}), m, zero});
  });
  reducing.builder.output(shape, [&](const Index& i) {
    const Expr total =
        reducing.over(i, [&](std::vector<Binder> binders, Index element, const Polynomial&) {
          const Expr centered = read(0, std::move(element)) - read(shift, i);
          return sum(std::move(binders), apply(Function::kExp, {centered}));
        });
    return read(shift, i) + apply(Function::kLog, {total});
  });
  return std::move(reducing.builder).finish();
}

ReadResult read_reduction(const Reduction& reduction, OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(const ReductionAxes over, read_reduction_axes(import));
  if (reduction.nonempty && core::element_count(input_dims(import, 0)) == 0)
    return cannot_read(import, "no elements");
  if (over.none && !reduction.combine) return cannot_read(import, "no axes");
  if (over.none) return std::vector{import.input(0)};
  return import.append(reduction.name, {import.input(0)}, over.attributes());
}

core::Status write_reduction(const Reduction& reduction, OnnxExport& out) {
  Emitter emitter(out);
  const std::vector<std::int64_t> axes = emitter.attributes().get_ints("axes");
  if (axes.empty()) return emitter.finish("Identity", {emitter.input(0)});
  const OnnxAttribute keep = emitter.attributes().get_int("keep_dims");
  if (out.opset() >= axes_input_since(reduction.onnx))
    return emitter.finish(reduction.onnx, {emitter.input(0), emitter.ints(axes)},
                          {{"keepdims", keep}});
  return emitter.finish(reduction.onnx, {emitter.input(0)}, {{"axes", axes}, {"keepdims", keep}});
}

OpDefinition define(const Reduction& reduction) {
  const auto read = [&reduction](OnnxImport& import) { return read_reduction(reduction, import); };
  const auto write = [&reduction](OnnxExport& out) { return write_reduction(reduction, out); };
  return OpDefinition({
      .name = reduction.name,
      .equation = reduction.equation,
      .attributes =
          std::vector<core::AttributeSchema>{
              {"axes", AttributeRole::kAxes, std::nullopt, {Sizes{0}, Sizes{1}, Sizes{2}}},
              {"keep_dims",
               AttributeRole::kKeepsRank,
               Polynomial(1),
               {Polynomial(0), Polynomial(1)}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kReduction,
      .infer = [&reduction](InferContext& c) { return infer(reduction, c); },
      .semantics =
          [&reduction](const OpInstance& op) {
            return reduction.combine ? semantics(reduction, op) : log_sum_exp_semantics(op);
          },
      .onnx = OnnxMapping{{reader(reduction.onnx, reduction.elements, read)}, write},
      .averages = reduction.combine == combine_mean,
  });
}

}  // namespace

int axes_input_since(std::string_view onnx_op) { return onnx_op == "ReduceSum" ? 13 : 18; }

Attributes ReductionAxes::attributes(bool keep) const {
  return {{"axes", to_sizes(axes)}, {"keep_dims", Polynomial(keep || keep_dims ? 1 : 0)}};
}

core::Result<ReductionAxes> read_reduction_axes(const OnnxImport& import) {
  const std::size_t rank = input_dims(import, 0).size();
  std::optional<std::vector<std::int64_t>> axes = import.ints("axes");
  if (import.opset() >= axes_input_since(import.op_type())) {
    SOAPSTONE_ASSIGN_OR_RETURN(axes, import.ints_or_input("axes", 1));
  }
  ReductionAxes result;
  result.keep_dims = import.int_or("keepdims", 1) != 0;
  if (axes && !axes->empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(result.axes, non_negative_axes(import, *axes, rank));
    return result;
  }
  result.none = import.int_or("noop_with_empty_axes", 0) != 0;
  if (result.none) return result;
  for (std::size_t axis = 0; axis < rank; ++axis)
    result.axes.push_back(static_cast<std::int64_t>(axis));
  return result;
}

std::vector<OpDefinition> reduction_ops() {
  std::vector<OpDefinition> ops;
  for (const Reduction& reduction : kReductions) ops.push_back(define(reduction));
  return ops;
}

}  // namespace soapstone::ops

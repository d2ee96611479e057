// `top_k`: the largest or the smallest elements along a dimension in order, and where they stood.
// Of equal elements the one that stands first comes first. ArgMax and ArgMin are read as the first
// place of all.
#include <fmt/format.h>

#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;

/// The first opset whose TopK says the order.
constexpr int kOldestOpset = 11;

std::vector<TensorType> infer_top_k(InferContext& c) {
  if (!require_elements(c, "top_k", Elements::kArithmetic)) return {};
  const auto axis = require_axis(c, "top_k", c.rank(0));
  const auto largest = require_int(c, "top_k", "descending");
  if (!axis || !largest ||
      !c.require(*largest == 0 || *largest == 1, "top_k.descending", "descending must be 0 or 1"))
    return {};
  const Polynomial& count = c.attributes().get_size("leading");
  if (!c.require_at_least(count, 1, "top_k.leading") ||
      !c.require_at_least(c.shape(0)[*axis], count, "top_k.leading"))
    return {};
  Shape shape = c.shape(0);
  shape[*axis] = count;
  return {{c.input(0).data_type, shape}, {DataType::kInt64, shape}};
}

/// The rank of an element is the number of those that come before it: the results are the element
/// of each rank and its place.
Semantics top_k_semantics(const OpInstance& op) {
  SemanticsBuilder builder(1);
  const Shape& x = op.inputs[0].shape;
  const std::size_t axis = axis_of(op.attributes);
  const bool largest = op.attributes.get_int("descending") != 0;
  const auto at = [&](Index i, const Polynomial& v) {
    i[axis] = v;
    return i;
  };
  const auto rank = builder.stage(x, [&](const Index& i) {
    return builder.sum_over(x[axis], [&](const Polynomial& v) {
      const Expr other = read(0, at(i, v)), self = read(0, i);
      const Expr tie = guard({less(v, i[axis])}, apply(Function::kEqual, {other, self}));
      return apply(Function::kLess, largest ? std::vector{self, other} : std::vector{other, self}) +
             tie;
    });
  });
  const auto of_rank = [&](const std::function<Expr(const Index&, const Polynomial&)>& value) {
    builder.output(op.outputs[0].shape, [&](const Index& i) {
      return builder.sum_over(x[axis], [&](const Polynomial& v) {
        const Index place = at(i, v);
        // Not a product: 0 times an infinite element is no number.
        return apply(Function::kSelect,
                     {apply(Function::kEqual, {read(rank, place), index_value(i[axis])}),
                      value(place, v), number(Rational{0, 1})});
      });
    });
  };
  of_rank([](const Index& place, const Polynomial&) { return read(0, place); });
  of_rank([](const Index&, const Polynomial& v) { return index_value(v); });
  return std::move(builder).finish();
}

Attributes top_k_attributes(std::int64_t axis, std::int64_t count, bool largest) {
  return {{"axis", Polynomial(axis)},
          {"leading", Polynomial(count)},
          {"descending", Polynomial(largest ? 1 : 0)}};
}

/// Without `sorted` the order is left to the runtime, and this one is as good as any.
ReadResult read_top_k(OnnxImport& import) {
  const core::Dims x = input_dims(import, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", -1), x.size()));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto count, import.ints_or_input("k", 1));
  if (!count || count->size() != 1 || count->front() < 0 ||
      count->front() > x[static_cast<std::size_t>(axis)])
    return bad_node(import, "K must be one number that is no larger than the dimension");
  if (count->front() == 0) return cannot_read(import, "no elements");
  return import.append("top_k", {import.input(0)},
                       top_k_attributes(axis, count->front(), import.int_or("largest", 1) != 0));
}

ReadFunction read_first_place(bool largest) {
  return [largest](OnnxImport& import) -> ReadResult {
    core::Dims x = input_dims(import, 0);
    SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                               non_negative_axis(import, import.int_or("axis", 0), x.size()));
    const auto at = x.begin() + axis;
    if (*at == 0) return cannot_read(import, "no elements");
    if (import.int_or("select_last_index", 0) != 0)
      return cannot_read(import, "of equal elements the last is wanted");
    SOAPSTONE_ASSIGN_OR_RETURN(
        const std::vector<TensorId> found,
        import.append("top_k", {import.input(0)}, top_k_attributes(axis, 1, largest)));
    Composer compose(import);
    if (import.int_or("keepdims", 1) != 0) return std::vector{found[1]};
    x.erase(at);
    return compose.finish(compose.reshape(found[1], x));
  };
}

/// Only where one element of floats stands is read: ArgMax leaves out what is no number, TopK
/// takes it for the greatest.
bool is_first_place(const OnnxExport& out) {
  const TensorId values = out.node().outputs[0];
  return out.node().attributes.get_int("leading") == 1 && out.graph().consumers(values).empty() &&
         !out.graph().is_output(values) &&
         core::is_floating(out.graph().tensor(values).type.data_type);
}

core::Status write_top_k(OnnxExport& out) {
  if (out.opset() < kOldestOpset) return cannot_write(out, "TopK has neither K nor an order there");
  Emitter emitter(out);
  if (is_first_place(out)) {
    const bool largest = emitter.attributes().get_int("descending") != 0;
    out.emit({largest ? "ArgMax" : "ArgMin",
              {},
              {emitter.input(0)},
              {out.name(out.node().outputs[1])},
              {{"axis", emitter.attributes().get_int("axis")}, {"keepdims", std::int64_t{1}}}});
    return core::Done{};
  }
  OnnxNode node{"TopK", {}, {emitter.input(0)}, {}, {}};
  node.inputs.push_back(emitter.ints({emitter.attributes().get_int("leading")}));
  for (const TensorId id : out.node().outputs) node.outputs.push_back(out.name(id));
  node.attributes = {{"axis", emitter.attributes().get_int("axis")},
                     {"largest", emitter.attributes().get_int("descending")}};
  out.emit(std::move(node));
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> top_k_ops() {
  return {OpDefinition({
      .name = "top_k",
      .equation =
          "x[a…,s,b…] → y[a…,leading,b…], j[a…,leading,b…] with y[a…,r,b…] = x[a…,j,b…], j the "
          "place of "
          "rank r",
      .attributes =
          std::vector<core::AttributeSchema>{
              axis_attribute(),
              {"leading", AttributeRole::kInteger, std::nullopt, {Polynomial(1), Polynomial(2)}},
              {"descending", AttributeRole::kFlag, Polynomial(1), {Polynomial(0), Polynomial(1)}}},
      .inputs = Arity(1, 1),
      .op_class = OpClass::kOrder,
      .infer = infer_top_k,
      .semantics = top_k_semantics,
      .onnx =
          OnnxMapping{
              {reader("TopK", Elements::kArithmetic, read_top_k, kOldestOpset),
               reader("ArgMax", Elements::kArithmetic, read_first_place(true), kOldestOpset),
               reader("ArgMin", Elements::kArithmetic, read_first_place(false), kOldestOpset)},
              write_top_k},
  })};
}

}  // namespace soapstone::ops

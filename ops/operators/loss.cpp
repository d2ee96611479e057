// `nll_loss`: the negative log likelihood of class labels. ONNX's SoftmaxCrossEntropyLoss is read
// as that of a log_softmax, which stays finite where the logarithm of a softmax does not.
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"
namespace soapstone::ops {
namespace {

using core::AttributeRole;
using core::DataType;

constexpr const char* kName = "nll_loss";

bool is_integer(DataType type) { return type == DataType::kInt64 || type == DataType::kInt32; }

std::vector<TensorType> infer_loss(InferContext& c) {
  if (!c.require(core::is_floating(c.input(0).data_type), "nll_loss.element_type",
                 "x must have floating-point elements"))
    return {};
  const std::string& reduction = c.attributes().get_text("reduction");
  const auto ignored = require_ints(c, kName, "ignore_index");
  if (!ignored ||
      !c.require(ignored->size() <= 1, "nll_loss.ignore_index", "at most one index is ignored") ||
      !c.require(reduction == "none" || reduction == "sum" || reduction == "mean",
                 "nll_loss.reduction", "reduction must be none, sum or mean") ||
      !c.require(c.rank(0) >= 2, "nll_loss.rank", "x must be [n, c, …]") ||
      !c.require(is_integer(c.input(1).data_type), "nll_loss.label_type",
                 "labels must have elements of type i64 or i32"))
    return {};
  constexpr std::size_t kClasses = 1;
  const Shape labels = without(c.shape(0), std::span(&kClasses, 1));
  if (!c.require(c.rank(1) == labels.size(), "nll_loss.labels",
                 "labels must have the dimensions of x but for the classes"))
    return {};
  for (std::size_t d = 0; d < labels.size(); ++d)
    if (!c.require_equal(c.shape(1)[d], labels[d], "nll_loss.labels")) return {};
  if (c.has_input(2) && (!c.require(c.input(2).data_type == c.input(0).data_type,
                                    "nll_loss.weight_type", "weights must be of the type of x") ||
                         !c.require_rank(2, 1, "nll_loss.weight") ||
                         !c.require_equal(c.shape(2)[0], c.shape(0)[1], "nll_loss.weight")))
    return {};
  return {{c.input(0).data_type, reduction == "none" ? labels : Shape{}}};
}

/// Builds the stages: the class of each label, its weight, its loss, and what is left of the
/// losses.
class Meaning {
 public:
  explicit Meaning(const OpInstance& op)
      : op_(op), x_(op.inputs[0].shape), labels_(op.inputs[1].shape),
        builder_(static_cast<std::uint32_t>(op.inputs.size())) {
    const std::vector<std::int64_t> ignored = op.attributes.get_ints("ignore_index");
    if (!ignored.empty()) ignored_ = ignored[0];
  }

  Semantics build() {
    const auto label = [&](const Index& i) {
      return where_ignored(i, number(Rational{0, 1}), read(1, i));
    };
    class_ = builder_.stage(labels_, label);
    builder_.require("label", labels_, label, 0, x_[1]);
    const bool is_mean = op_.attributes.get_text("reduction") == "mean";
    if (op_.has_input(2))
      weight_ = builder_.stage(labels_, [&](const Index& i) {
        return chosen(i, [&](const Polynomial& v) { return read(2, {v}); });
      });
    const auto loss = [&](const Index& i) {
      const Expr likelihood = chosen(i, [&](const Polynomial& v) {
        Index element = i;
        element.insert(element.begin() + 1, v);
        return read(0, std::move(element));
      });
      return where_ignored(i, number(Rational{0, 1}), number(-1.0) * likelihood * weight(i));
    };
    if (op_.attributes.get_text("reduction") == "none") {
      builder_.output(labels_, loss);
      return std::move(builder_).finish();
    }
    const auto losses = builder_.stage(labels_, loss);
    builder_.output({}, [&](const Index&) {
      Expr total = over_labels([&](const Index& i) { return read(losses, i); });
      if (!is_mean) return total;
      return total * inverse(over_labels([&](const Index& i) {
               return where_ignored(i, number(Rational{0, 1}), weight(i));
             }));
    });
    return std::move(builder_).finish();
  }

 private:
  Expr where_ignored(const Index& i, Expr ignored, Expr counted) const {
    if (!ignored_) return counted;
    Expr is_ignored = apply(Function::kEqual, {read(1, i), number(Rational{*ignored_, 1})});
    return apply(Function::kSelect,
                 {std::move(is_ignored), std::move(ignored), std::move(counted)});
  }

  Expr weight(const Index& i) const { return weight_ ? read(*weight_, i) : number(1.0); }

  /// The value at the class of the label.
  Expr chosen(const Index& i, const std::function<Expr(const Polynomial&)>& value) {
    return builder_.sum_over(x_[1], [&](const Polynomial& v) {
      return apply(Function::kEqual, {read(class_, i), index_value(v)}) * value(v);
    });
  }

  Expr over_labels(const std::function<Expr(const Index&)>& value) {
    std::vector<Binder> binders;
    Index index;
    for (const Polynomial& size : labels_) {
      binders.push_back({builder_.fresh(), 0, size});
      index.push_back(binders.back().variable);
    }
    return sum(std::move(binders), value(index));
  }

  const OpInstance& op_;
  const Shape &x_, &labels_;
  SemanticsBuilder builder_;
  std::optional<std::int64_t> ignored_;
  std::uint32_t class_ = 0;
  std::optional<std::uint32_t> weight_;
};

Attributes attributes_of(const OnnxImport& import) {
  Sizes ignored;
  if (import.attribute("ignore_index")) ignored.emplace_back(import.int_or("ignore_index", 0));
  return {{"reduction", import.text_or("reduction", "mean")}, {"ignore_index", ignored}};
}

std::vector<TensorId> with_weight(const OnnxImport& import, TensorId likelihood) {
  std::vector<TensorId> inputs{likelihood, import.input(1)};
  if (has_input(import, 2)) inputs.push_back(import.input(2));
  return inputs;
}

ReadResult read_nll_loss(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "it has no labels");
  return import.append(kName, with_weight(import, import.input(0)), attributes_of(import));
}

/// Results: the loss, and the logarithms of the probabilities where they are asked for.
ReadResult read_cross_entropy(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "it has no labels");
  Composer compose(import);
  const TensorId likelihood =
      compose.append("log_softmax", {import.input(0)}, {{"axis", Polynomial(1)}});
  const TensorId loss =
      compose.append(kName, with_weight(import, likelihood), attributes_of(import));
  if (import.output_count() < 2) return compose.finish(loss);
  return compose.finish({loss, likelihood});
}

core::Status write_loss(OnnxExport& out) {
  if (out.opset() < 12) return cannot_write(out, "NegativeLogLikelihoodLoss came with opset 12");
  const Attributes& attributes = out.node().attributes;
  OnnxAttributes written{{"reduction", attributes.get_text("reduction")}};
  const std::vector<std::int64_t> ignored = attributes.get_ints("ignore_index");
  if (!ignored.empty()) written.emplace_back("ignore_index", ignored[0]);
  out.emit_same("NegativeLogLikelihoodLoss", std::move(written));
  return core::Done{};
}

}  // namespace

std::vector<OpDefinition> loss_ops() {
  return {OpDefinition({
      .name = kName,
      .equation = "x[n,c,s…] labels[n,s…] weight[c]? → y[n,s…] = −x[n,label,s…]·weight[label], 0 "
                  "where the label is ignored; or their sum; or that over the sum of the weights",
      .attributes =
          std::vector<core::AttributeSchema>{
              {"reduction",
               AttributeRole::kVariant,
               std::string("mean"),
               {std::string("none"), std::string("sum"), std::string("mean")}},
              {"ignore_index", AttributeRole::kLabels, Sizes{}, {Sizes{}}}},
      .inputs = Arity(2, 3),
      .op_class = OpClass::kReduction,
      .operands = {OperandRole::kData, OperandRole::kIndices, OperandRole::kChannels},
      .infer = infer_loss,
      .semantics = [](const OpInstance& op) { return Meaning(op).build(); },
      .onnx =
          OnnxMapping{
              {reader("NegativeLogLikelihoodLoss", Elements::kFloating, read_nll_loss, 12),
               reader("SoftmaxCrossEntropyLoss", Elements::kFloating, read_cross_entropy, 12)},
              write_loss},
  })};
}

}  // namespace soapstone::ops

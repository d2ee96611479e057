// See composite.h. One expansion is walked with types, with meanings, in a graph, or in a model
// that is read: each walk collects something else.
#include "ops/composites/composite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ops/composites/composite_operators.h"
#include "ops/definition/composite_operators.h"
#include "ops/definition/registry.h"
#include "ops/gradients/renaming.h"

namespace soapstone::ops {
namespace {

TensorType nothing() { return {core::DataType::kOther, {}, false}; }

/// The walk over types: tensors are numbered, inputs first.
class Typing : public Expansion {
 public:
  Typing(InferContext& context, std::span<const TensorType> inputs)
      : context_(context), inputs_(inputs.size()), types_(inputs.begin(), inputs.end()) {}

  const Attributes& attributes() const override { return context_.attributes(); }
  std::size_t input_count() const override { return inputs_; }
  TensorId input(std::size_t k) const override {
    return types_[k].shape_known ? TensorId(k) : TensorId::none();
  }
  const TensorType& type(TensorId id) const override { return types_[id.index()]; }

  TensorId append(std::string_view op, std::vector<TensorId> inputs,
                  Attributes attributes) override {
    if (context_.failed()) return TensorId::none();
    const OpDefinition& definition = *registry().definition(op);
    const auto complete = complete_attributes(definition, attributes);
    CHECK(complete.ok(), "an expansion gives attributes that the operator has");
    std::vector<TensorType> types;
    for (const TensorId id : inputs) types.push_back(id.valid() ? type(id) : nothing());
    const std::vector<TensorType> results = infer(definition, *complete, types);
    if (context_.failed()) return TensorId::none();
    note({*complete, types, results}, definition, inputs);
    const TensorId first(types_.size());
    types_.insert(types_.end(), results.begin(), results.end());
    return first;
  }

 private:
  virtual void note(const OpInstance&, const OpDefinition&, std::span<const TensorId>) {}

  /// What the shape rule of a part requires is required of the whole.
  std::vector<TensorType> infer(const OpDefinition& part, const Attributes& attributes,
                                std::span<const TensorType> inputs) {
    InferContext inner(attributes, inputs, part.name);
    std::vector<TensorType> results = part.infer(inner);
    context_.require(!inner.failed(), label(part.name, "expansion"), inner.error().message);
    CHECK(inner.derived().empty(), "an expansion derives no sizes");
    for (const SizeConstraint& c : inner.constraints())
      c.kind == SizeConstraint::Kind::kZero
          ? context_.require_equal(c.expression, Polynomial(0), c.label)
          : context_.require_at_least(c.expression, Polynomial(0), c.label);
    return results;
  }

  InferContext& context_;
  std::size_t inputs_;
  std::vector<TensorType> types_;
};

/// The walk over meanings: the stages of all operators become those of one.
class Meaning final : public Typing {
 public:
  Meaning(InferContext& context, std::span<const TensorType> inputs) : Typing(context, inputs) {
    semantics_.input_count = static_cast<std::uint32_t>(inputs.size());
    for (std::uint32_t k = 0; k < semantics_.input_count; ++k) tensors_.push_back(k);
  }

  Semantics finish(const std::vector<TensorId>& results) && {
    for (const TensorId id : results) semantics_.outputs.push_back(tensors_[id.index()]);
    return std::move(semantics_);
  }

 private:
  void note(const OpInstance& op, const OpDefinition& definition,
            std::span<const TensorId> inputs) override {
    const Semantics inner = definition.semantics(op);
    std::vector<std::uint32_t> numbers;
    for (const TensorId id : inputs) numbers.push_back(id.valid() ? tensors_[id.index()] : 0);
    for (const Stage& stage : inner.stages) {
      Substitution by;
      const std::vector<Symbol> index = renamed(stage.index, by);
      Expr body = with_tensors(copy_of(stage.body, by, fresh_), numbers);
      numbers.push_back(next_tensor());
      semantics_.stages.push_back({stage.shape, index, std::move(body)});
    }
    for (const Requirement& r : inner.requirements) {
      Substitution by;
      const std::vector<Symbol> index = renamed(r.index, by);
      semantics_.requirements.push_back({r.shape, index,
                                         with_tensors(copy_of(r.value, by, fresh_), numbers),
                                         substituted(r.low, by), substituted(r.high, by), r.what});
    }
    for (const std::uint32_t output : inner.outputs) tensors_.push_back(numbers[output]);
  }

  std::vector<Symbol> renamed(const std::vector<Symbol>& index, Substitution& by) {
    std::vector<Symbol> result;
    for (const Symbol symbol : index) {
      result.push_back(fresh_());
      by.emplace(symbol, Polynomial(result.back()));
    }
    return result;
  }

  std::uint32_t next_tensor() const {
    return semantics_.input_count + static_cast<std::uint32_t>(semantics_.stages.size());
  }

  Semantics semantics_;
  FreshVariables fresh_{Semantics{}};
  std::vector<std::uint32_t> tensors_;  ///< The number in `semantics_`, by tensor of the walk.
};

/// The walk in a graph.
class InGraph final : public Expansion {
 public:
  InGraph(core::GraphBuilder& builder, const core::Node& node) : builder_(builder), node_(node) {}

  const Attributes& attributes() const override { return node_.attributes; }
  std::size_t input_count() const override { return node_.inputs.size(); }
  TensorId input(std::size_t k) const override { return node_.inputs[k]; }
  const TensorType& type(TensorId id) const override { return builder_.tensor(id).type; }
  TensorId append(std::string_view op, std::vector<TensorId> inputs,
                  Attributes attributes) override {
    const auto results = ops::append(builder_, op, std::move(inputs), attributes, node_.name);
    CHECK(results.ok(), "the shape rule has walked the same expansion");
    return results->front();
  }

 private:
  core::GraphBuilder& builder_;
  const core::Node& node_;
};

/// The walk in a model that is read.
class InModel final : public Expansion {
 public:
  InModel(OnnxImport& import, std::vector<TensorId> inputs, const Attributes& attributes)
      : import_(import), compose_(import), inputs_(std::move(inputs)), attributes_(attributes) {}

  const Attributes& attributes() const override { return attributes_; }
  std::size_t input_count() const override { return inputs_.size(); }
  TensorId input(std::size_t k) const override { return inputs_[k]; }
  const TensorType& type(TensorId id) const override { return import_.type(id); }
  TensorId append(std::string_view op, std::vector<TensorId> inputs,
                  Attributes attributes) override {
    return compose_.append(op, std::move(inputs), std::move(attributes));
  }
  ReadResult finish(std::vector<TensorId> results) const {
    return compose_.finish(std::move(results));
  }

 private:
  OnnxImport& import_;
  Composer compose_;
  std::vector<TensorId> inputs_;
  const Attributes& attributes_;
};

Semantics meaning_of(const ExpandFunction& expand, const OpInstance& op) {
  InferContext context(op.attributes, op.inputs, "expansion");
  Meaning walk(context, op.inputs);
  const std::vector<TensorId> results = expand(walk);
  CHECK(!context.failed(), "the shape rule has walked the same expansion");
  return std::move(walk).finish(results);
}

/// The shape rule of a composite operator, by which it is known, too.
struct CompositeRule {
  std::function<void(InferContext&)> check;
  ExpandFunction expand;

  std::vector<TensorType> operator()(InferContext& context) const {
    check(context);
    if (context.failed()) return {};
    std::vector<TensorType> inputs;
    for (std::size_t k = 0; k < context.input_count(); ++k) inputs.push_back(context.input(k));
    Typing walk(context, inputs);
    const std::vector<TensorId> results = expand(walk);
    std::vector<TensorType> types;
    if (context.failed()) return types;
    for (const TensorId id : results) types.push_back(walk.type(id));
    return types;
  }
};

/// Null: the node is no composite operator.
const ExpandFunction* expansion_of(const core::Node& node) {
  const OpDefinition* definition = definition_of(node);
  const auto* rule = definition ? definition->infer.target<CompositeRule>() : nullptr;
  return rule ? &rule->expand : nullptr;
}

}  // namespace

std::vector<OpDefinition> composite_operators() {
  std::vector<OpDefinition> operators;
  for (OpDefinition (*define)() : {attention_op, biased_gelu_op, quick_gelu_op, scaled_matmul_op,
                                   sum_layer_norm_op, sum_rms_norm_op})
    operators.push_back(define());
  return operators;
}

OpDefinition composite(CompositeFacets facets) {
  const ExpandFunction& expand = facets.expand;
  return OpDefinition({
      .name = std::move(facets.name),
      .equation = std::move(facets.equation),
      .attributes = std::move(facets.attributes),
      .inputs = facets.inputs,
      .op_class = facets.op_class,
      .infer = CompositeRule{std::move(facets.check), expand},
      .semantics = [expand](const OpInstance& op) { return meaning_of(expand, op); },
      .onnx = std::move(facets.onnx),
  });
}

TensorId scaled(Expansion& expansion, TensorId x, double factor) {
  if (factor == 1 || !x.valid()) return x;
  const core::DataType type = expansion.type(x).data_type;
  TensorId number =
      expansion.append("full", {}, {{"shape", std::vector<Polynomial>()}, {"value", factor}});
  if (type != core::DataType::kFloat32)
    number = expansion.append("cast", {number}, {{"to", std::string(core::to_string(type))}});
  return expansion.append("mul", {x, number});
}

core::Graph expanded(const core::Graph& graph) {
  const auto is_composite = [&](core::NodeId id) {
    return expansion_of(graph.node(id)) != nullptr;
  };
  if (std::ranges::none_of(graph.order(), is_composite)) return graph;
  core::GraphBuilder builder(graph);
  for (const core::NodeId id : graph.order()) {
    const core::Node node = builder.node(id);  // its inputs may be new ones already
    const ExpandFunction* expand = expansion_of(node);
    if (!expand) continue;
    InGraph walk(builder, node);
    const std::vector<TensorId> results = (*expand)(walk);
    for (std::size_t k = 0; k < results.size(); ++k)
      builder.replace_uses(node.outputs[k], results[k]);
  }
  auto result = std::move(builder).finish();
  CHECK(result.ok(), "an expansion reads what its node reads");
  return *std::move(result);
}

OnnxReader contrib_reader(std::string op_type, Elements elements, ReadFunction read) {
  OnnxReader result = reader(std::move(op_type), elements, std::move(read));
  result.domain = kContribDomain;
  return result;
}

core::Status require_dims(const OnnxImport& import, std::size_t k, const core::Dims& dims) {
  if (input_dims(import, k) == dims) return core::Done{};
  return cannot_read(
      import, fmt::format("input {} of other dimensions than [{}]", k, fmt::join(dims, ", ")));
}

ReadResult read_expanded(OnnxImport& import, const ExpandFunction& expand,
                         std::vector<TensorId> inputs, const Attributes& attributes) {
  InModel walk(import, std::move(inputs), attributes);
  return walk.finish(expand(walk));
}

core::Status write_contrib(OnnxExport& out, std::string op_type, std::vector<std::string> inputs,
                           OnnxAttributes attributes) {
  std::vector<std::string> outputs;
  for (const TensorId id : out.node().outputs) outputs.push_back(out.name(id));
  emit_contrib(out, std::move(op_type), std::move(inputs), std::move(outputs),
               std::move(attributes));
  return core::Done{};
}

void emit_contrib(OnnxExport& out, std::string op_type, std::vector<std::string> inputs,
                  std::vector<std::string> outputs, OnnxAttributes attributes) {
  out.emit({std::move(op_type), kContribDomain, std::move(inputs), std::move(outputs),
            std::move(attributes)});
}

}  // namespace soapstone::ops

// See random_terms.h. Operators are run one at a time on the samples of their operands.
#include "tests/fuzz/proofs/random_terms.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/text/statements.h"
#include "rules/checking/complete.h"
#include "rules/rule/substitute.h"

namespace soapstone::fuzz {
namespace {

using core::Dims;
using core::Polynomial;
using core::TensorType;
using Field = ops::Field::Value;

constexpr std::size_t kAssignments = 3;
constexpr std::int64_t kMostElements = 4096;

/// The first assignment has arbitrary values, the others small integers and reals of both signs.
Sample draw_input(const TensorType& type, const rules::Bindings& sizes, std::size_t assignment,
                  rules::Random& random) {
  Sample sample;
  for (const core::Size& size : type.shape)
    sample.dims.push_back(rules::substitute(size, sizes).constant());
  const auto count = static_cast<std::size_t>(core::element_count(sample.dims));
  const bool flag = type.data_type == core::DataType::kBool;
  const bool integer = !core::is_floating(type.data_type);
  for (std::size_t k = 0; k < count; ++k) {
    const std::int64_t number = random.between(flag || integer ? 0 : -4, flag ? 1 : 4);
    const std::uint64_t any = random.next();
    const bool exact = integer || assignment == 1;
    sample.field.push_back(!exact       ? any % ops::Field::kPrime
                           : number < 0 ? ops::Field::kPrime - Field(-number)
                                        : Field(number));
    const double unit = static_cast<double>(any >> 11) * 0x1p-53;
    sample.real.push_back(exact ? double(number) : assignment == 0 ? 0.1 + unit : 4 * unit - 2);
  }
  return sample;
}

/// To six digits, so that rounding does not tell equal results apart.
std::uint64_t rounded(double value) {
  constexpr double kTiny = 1e-9, kDigits = 1 << 20;
  if (std::isnan(value)) return 1;
  if (std::isinf(value)) return value > 0 ? 2 : 3;
  if (std::abs(value) < kTiny) return 4;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return core::hash_combine(static_cast<std::uint64_t>(std::llround(mantissa * kDigits)),
                            static_cast<std::uint64_t>(exponent));
}

void fingerprint(Term& term) {
  std::uint64_t shape = static_cast<std::uint64_t>(term.type);
  for (const Sample& sample : term.samples) {
    for (std::int64_t d : sample.dims) shape = core::hash_combine(shape, std::uint64_t(d));
    shape = core::hash_combine(shape, sample.dims.size());
  }
  term.field_print = term.real_print = shape;
  for (const Sample& sample : term.samples) {
    for (Field v : sample.field) term.field_print = core::hash_combine(term.field_print, v);
    for (double v : sample.real) term.real_print = core::hash_combine(term.real_print, rounded(v));
  }
}

template <class T>
std::vector<std::vector<T>> run(const ops::Semantics& semantics, const std::vector<Dims>& dims,
                                const std::vector<std::vector<T>>& inputs,
                                const std::vector<TensorType>& results, std::uint64_t key) {
  const ops::CompiledSemantics<T> program(semantics, dims, key);
  std::vector<std::vector<T>> values;
  std::vector<std::span<T>> outputs;
  for (const TensorType& type : results)
    values.emplace_back(std::size_t(core::element_count(*core::concrete(type.shape))));
  for (auto& value : values) outputs.emplace_back(value);
  std::vector<std::span<const T>> spans(inputs.begin(), inputs.end());
  program.compute(spans, outputs);
  return values;
}

bool is_small(const std::vector<TensorType>& types) {
  return std::ranges::all_of(types, [](const TensorType& type) {
    const auto dims = core::concrete(type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    return count && *count > 0 && *count <= kMostElements;
  });
}

/// One number for each symbol, all different.
rules::Bindings draw_sizes(std::size_t count, rules::Random& random) {
  std::vector<std::int64_t> numbers = {2, 3, 4, 5, 6, 7, 8};
  CHECK(count <= numbers.size(), "a world of too many symbols");
  rules::Bindings sizes;
  for (std::size_t k = 0; k < count; ++k) {
    const auto last = std::int64_t(std::min(numbers.size() - 1, count));
    const auto pick =
        std::size_t(random.between(std::int64_t(k), std::max<std::int64_t>(last, std::int64_t(k))));
    std::swap(numbers[k], numbers[pick]);
    sizes.emplace_back(numbers[k]);
  }
  return sizes;
}

}  // namespace

std::vector<std::string> world_texts() {
  return {
      "x: f32[m, n] z: f32[m, n] s: f32[n]",
      "x: f32[m, n] z: f32[m, p] s: f32[m, 1]",
      "a: f32[m, k] b: f32[k, n] c: f32[k, n]",
      "a: f32[m, k] b: f32[k, n] c: f32[n, p]",
      "x: f32[m, n, p] z: f32[m, n, p]",
      "x: f32[n, c, h, w] a: f32[o, c, 1, 1] b: f32[o]",
      "x: f32[n, c, h, w] a: f32[o, c, 3, 3] b: f32[o, c, 1, 1]",
      "x: f32[n, c, h, w] z: f32[n, c, h, w]",
      "x: f32[n, c, h] s: f32[c] b: f32[c] m: f32[c] v: f32[c]",
      "x: f32[m, n] s: f32[n] b: f32[n] z: f32[m, n]",
      "x: f32[n, c, h] s: f32[c] b: f32[c]",
      "x: f32[m, n] i: i64[k] j: i64[p]",
      "c: bool[m, n] x: f32[m, n] z: f32[m, n]",
      "c: bool[m] d: bool[m] x: f32[m]",
      "x: f32[m, n] s: f32[]",
      "i: i64[m, n] j: i64[m, n] x: f32[n]",
      "d: f32[k, n] e: f32[m] i: i64[k]",
      "x: f32[n, n] z: f32[m, n] s: f32[n]",
      "x: f32[n, c, h, w] a: f32[c, c, 3, 3] b: f32[c, c, 1, 1]",
  };
}

World make_world(const std::string& text, rules::Random& random) {
  World world;
  core::TokenStream tokens(text);
  while (!tokens.at_end()) {
    auto statement = core::parse_statement(tokens, world.symbols);
    CHECK(statement.ok(), "a world that cannot be read: " + text);
    const auto& input = std::get<core::InputSyntax>(*statement);
    world.inputs.push_back({input.name.name, {*input.type.data_type, input.type.shape, true}});
  }
  for (std::size_t k = 0; k < kAssignments; ++k)
    world.sizes.push_back(draw_sizes(world.symbols.size(), random));
  return world;
}

TermMaker::TermMaker(World world, std::uint64_t seed)
    : world_(std::move(world)), random_(seed), key_(random_.next()) {
  for (std::uint32_t k = 0; k < world_.inputs.size(); ++k) {
    Term term;
    term.result = k;
    term.type = world_.inputs[k].type.data_type;
    term.shape = world_.inputs[k].type.shape;
    for (std::size_t a = 0; a < kAssignments; ++a)
      term.samples.push_back(draw_input(world_.inputs[k].type, world_.sizes[a], a, random_));
    fingerprint(term);
    keep(std::move(term));
  }
}

std::size_t TermMaker::keep(Term term) {
  terms_.push_back(std::move(term));
  return terms_.size() - 1;
}

/// Inputs as often as all others: what they feed is small.
std::size_t TermMaker::draw_operand() {
  const bool input = random_.next() % 2 == 0;
  return random_.next() % (input ? world_.inputs.size() : terms_.size());
}

std::vector<Term> TermMaker::draw(const ops::OpDefinition* wanted, std::size_t most_nodes) {
  const auto all = ops::registry().all();
  TermNode node;
  node.op = wanted ? wanted : all[random_.next() % all.size()].get();
  const std::size_t most = std::min(node.op->max_inputs, node.op->min_inputs + 2);
  const auto count = std::size_t(random_.between(
      std::int64_t(std::max<std::size_t>(node.op->min_inputs, node.op->name == "concat" ? 2 : 0)),
      std::int64_t(most)));
  std::vector<const Term*> operands;
  std::vector<std::size_t> nodes{nodes_.size()};
  for (std::size_t k = 0; k < count; ++k) {
    node.operands.push_back(draw_operand());
    // Four vectors in a row are too rare to be left to chance.
    const auto is_vector = [&] { return terms_[node.operands.back()].samples[0].dims.size() == 1; };
    for (int again = 0; again < 8 && k > 0 && node.op->name == "batch_norm" && !is_vector();
         ++again)
      node.operands.back() = draw_operand();
    operands.push_back(&terms_[node.operands.back()]);
    nodes.insert(nodes.end(), operands.back()->nodes.begin(), operands.back()->nodes.end());
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (nodes.size() > most_nodes) return {};
  auto attributes = draw_attributes(*node.op, operands, world_, random_);
  if (!attributes) return {};
  auto complete = ops::complete_attributes(*node.op, *attributes);
  if (!complete) return {};
  node.attributes = *std::move(complete);
  std::vector<Term> results;
  if (!compute(node, results)) return {};
  for (Term& term : results) {
    term.node = nodes_.size();
    term.nodes = nodes;
    fingerprint(term);
  }
  node.results = results.size();
  nodes_.push_back(std::move(node));
  return results;
}

bool TermMaker::compute(const TermNode& node, std::vector<Term>& results) {
  std::vector<TensorType> symbolic;
  bool known = true;
  for (std::size_t operand : node.operands) {
    const Term& term = terms_[operand];
    known = known && term.shape.has_value();
    symbolic.push_back({term.type, term.shape.value_or(core::Shape()), true});
  }
  for (std::size_t a = 0; a < kAssignments; ++a) {
    std::vector<TensorType> types;
    std::vector<Dims> dims;
    std::vector<std::vector<Field>> field;
    std::vector<std::vector<double>> real;
    for (std::size_t operand : node.operands) {
      const Sample& sample = terms_[operand].samples[a];
      types.push_back({terms_[operand].type, core::to_shape(sample.dims), true});
      dims.push_back(sample.dims);
      field.push_back(sample.field);
      real.push_back(sample.real);
    }
    const auto attributes = rules::substitute(*node.op, node.attributes, world_.sizes[a]);
    const auto inferred = ops::infer_types(*node.op, attributes, types);
    if (!inferred || !is_small(*inferred)) return false;
    const ops::Semantics semantics = node.op->semantics({attributes, types, *inferred});
    const auto field_values = run<Field>(semantics, dims, field, *inferred, key_);
    const auto real_values = run<double>(semantics, dims, real, *inferred, key_);
    // On positive numbers all is to be defined: a division by zero has no value to agree on.
    const auto finite = [](double v) { return std::isfinite(v); };
    if (a == 0 && !std::ranges::all_of(real_values, [&](const std::vector<double>& values) {
          return std::ranges::all_of(values, finite);
        }))
      return false;
    results.resize(inferred->size());
    for (std::size_t k = 0; k < inferred->size(); ++k) {
      results[k].result = static_cast<std::uint32_t>(k);
      results[k].type = (*inferred)[k].data_type;
      results[k].samples.push_back(
          {*core::concrete((*inferred)[k].shape), field_values[k], real_values[k]});
    }
  }
  const auto types = known ? ops::infer_types(*node.op, node.attributes, symbolic)
                           : core::Result<std::vector<TensorType>>(core::invalid_input(""));
  for (std::size_t k = 0; types && k < results.size(); ++k) {
    // A size that is no polynomial is a symbol that the world does not have.
    const bool plain = std::ranges::all_of((*types)[k].shape, [&](const Polynomial& size) {
      return std::ranges::all_of(size.symbols(),
                                 [&](core::Symbol s) { return s.id < world_.symbols.size(); });
    });
    if (plain) results[k].shape = (*types)[k].shape;
  }
  return true;
}

std::vector<std::size_t> TermMaker::inputs_of(const Term& term) const {
  std::vector<std::size_t> inputs;
  if (!term.node) return {term.result};
  for (std::size_t n : term.nodes)
    for (std::size_t operand : nodes_[n].operands)
      if (!terms_[operand].node) inputs.push_back(terms_[operand].result);
  std::ranges::sort(inputs);
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

core::Result<core::Graph> TermMaker::graph(const Term& term,
                                           const std::vector<std::size_t>& inputs) const {
  core::GraphBuilder builder({}, world_.symbols);
  std::map<std::size_t, core::TensorId> leaves;
  std::map<std::size_t, std::vector<core::TensorId>> results;
  for (std::size_t k : inputs)
    leaves[k] = builder.add_input(world_.inputs[k].name, world_.inputs[k].type);
  const auto id_of = [&](const Term& t) {
    return t.node ? results.at(*t.node)[t.result] : leaves.at(t.result);
  };
  for (std::size_t n : term.nodes) {
    const TermNode& node = nodes_[n];
    std::vector<core::TensorId> operands;
    for (std::size_t operand : node.operands) operands.push_back(id_of(terms_[operand]));
    const TensorType unknown{core::DataType::kFloat32, {}, false};
    results[n] = builder.add_node(*node.op, node.attributes, std::move(operands),
                                  std::vector<TensorType>(node.results, unknown));
  }
  builder.set_outputs({id_of(term)});
  return std::move(builder).finish();
}

core::Result<rules::Rule> TermMaker::rule(const Term& source, const Term& target) const {
  const std::vector<std::size_t> inputs = inputs_of(source);
  if (!std::ranges::includes(inputs, inputs_of(target)))
    return core::invalid_input("the target reads more than the source");
  rules::Rule rule;
  rule.name = rule.base_name = "pair";
  rule.constant_inputs.assign(inputs.size(), false);
  SOAPSTONE_ASSIGN_OR_RETURN(rule.source, graph(source, inputs));
  SOAPSTONE_ASSIGN_OR_RETURN(rule.target, graph(target, inputs));
  return rules::complete(std::move(rule));
}

}  // namespace soapstone::fuzz

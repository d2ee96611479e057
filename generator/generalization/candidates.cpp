// See candidates.h. The forms of an equality, most general first: numbers of windows and kernels
// are symbols, or not; sizes are as different as they may be, or as they were found; offsets are
// anything, or what they were found to be; ranks are left open, or not, and which inputs are
// broadcast.
#include "generator/generalization/candidates.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "generator/generalization/broadcast.h"
#include "generator/generalization/generalize.h"
#include "generator/generalization/lift.h"
#include "generator/generalization/parametrize.h"
#include "generator/generalization/printed_attributes.h"
#include "generator/sides/reversal.h"
#include "generator/sides/roles.h"
#include "generator/sides/rule_between.h"
#include "generator/sides/term_hash.h"
#include "rules/checking/counterexample.h"
#include "rules/rule/constraints.h"
#include "rules/rule/typing.h"
#include "rules/sampling/sample.h"

namespace soapstone::generator {
namespace {

using core::Result;
using rules::Rule;

constexpr int kSampleAttempts = 100;
/// Sizes at which a rule is tried; a family shares them among its instances, two each at least.
constexpr int kChecks = 10;
constexpr std::int64_t kLargestSize = 12;

/// Different primes, so that no two sizes or products of sizes coincide by chance.
rules::Bindings different_sizes(const Rule& rule, std::size_t shift) {
  constexpr std::array<std::int64_t, 14> kPrimes{7,  11, 13, 17, 19, 23, 29,
                                                 31, 37, 41, 43, 47, 53, 59};
  rules::Bindings values(rule.source.symbols().size());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = kPrimes[(k + shift) % kPrimes.size()];
  return values;
}

std::optional<Sides> at(const Rule& rule, const rules::Bindings& values) {
  std::vector<std::int64_t> sizes;
  for (const auto& value : values) sizes.push_back(value.value_or(1));
  if (!rules::guard_holds(rule, sizes)) return std::nullopt;
  auto typed = rules::type_sides(rule.source, rule.target, values);
  if (!typed) return std::nullopt;
  for (const auto* list : {&typed->assumptions, &typed->requirements})
    for (const ops::SizeConstraint& c : *list) {
      const auto number = c.expression.as_constant();
      const bool zero = c.kind == ops::SizeConstraint::Kind::kZero;
      if (!number || (zero ? *number != 0 : *number < 0)) return std::nullopt;
    }
  return Sides{std::move(typed->source), std::move(typed->target)};
}

std::optional<Sides> instance_of(const Rule& rule) {
  if (rule.parameters.empty())
    for (std::size_t shift : {0, 5})
      if (auto sides = at(rule, different_sizes(rule, shift))) return sides;
  const rules::Sampler sampler(rule);
  rules::Random random(1);
  for (int attempt = 0; attempt < kSampleAttempts; ++attempt)
    if (auto sides = at(rule, sampler.all(random, kLargestSize))) return sides;
  return std::nullopt;
}

bool hold(std::span<const Rule> instances) {
  const int checks = std::max(2, kChecks / static_cast<int>(instances.size()));
  return std::ranges::all_of(instances, [&](const Rule& rule) {
    const auto counterexample = rules::find_counterexample(rule, checks, 1);
    return counterexample && !*counterexample;
  });
}

/// How far the shapes of inputs are left open.
enum class Shapes : std::uint8_t { kFound, kAnyRank, kBroadcast };

std::vector<std::string> plain_texts(const Rule& rule, Shapes shapes) {
  if (shapes == Shapes::kFound) return {rules::print(rule)};
  if (shapes == Shapes::kAnyRank) return lifted_texts(rule);
  const auto broadcasts = broadcasts_of(rule);
  if (!broadcasts) return {};
  return lifted_texts(broadcasts->largest, broadcasts->choices);
}

/// Most general first.
std::vector<std::string> texts_of(const Rule& rule, Shapes shapes) {
  std::vector<std::string> texts;
  for (std::string& text : plain_texts(rule, shapes)) {
    if (auto either = for_either_flag(text)) texts.push_back(*std::move(either));
    texts.push_back(std::move(text));
  }
  return texts;
}

/// The rule that is read back from the text. None if reading or a check fails.
std::optional<DirectedRule> directed(std::string text) {
  auto file = rules::parse_rules(text);
  if (!file || file->rules.empty()) return std::nullopt;
  if (!hold(file->rules)) return std::nullopt;
  return DirectedRule{std::move(text), std::move(file->rules)};
}

/// Operators; a split that only takes apart again what a concat joined counts more, and so does an
/// input that occurs again.
std::size_t weight(const core::Graph& side) {
  constexpr std::size_t kOfSplit = 3;
  std::size_t result = 0;
  for (core::NodeId id : side.order())
    result += side.node(id).op->movement == core::Movement::kSplit ? kOfSplit : 1;
  for (core::TensorId id : side.inputs())
    result += std::max<std::size_t>(side.consumers(id).size(), 1) - 1;
  return result;
}

/// Operators one behind the other.
std::size_t depth(const core::Graph& side) {
  std::vector<std::size_t> depths(side.tensor_bound());
  std::size_t most = 0;
  for (core::NodeId id : side.order()) {
    std::size_t before = 0;
    for (core::TensorId input : side.node(id).inputs)
      if (input.valid()) before = std::max(before, depths[input.index()]);
    for (core::TensorId output : side.node(id).outputs) depths[output.index()] = before + 1;
    most = std::max(most, before + 1);
  }
  return most;
}

/// Whether `whole` has a term that is `part`: such a target only adds to the source.
bool contains(const core::Graph& whole, const core::Graph& part) {
  if (part.outputs().size() != 1 || !part.tensor(part.outputs()[0]).producer.valid()) return false;
  const auto hashes = term_hashes(whole);
  const std::uint64_t wanted = term_hashes(part)[part.outputs()[0].index()];
  return std::ranges::any_of(whole.order(), [&](core::NodeId id) {
    return std::ranges::any_of(whole.node(id).outputs, [&](core::TensorId output) {
      return hashes[output.index()] == wanted;
    });
  });
}

struct Form {
  Parametrize numbers;
  bool general_sizes = true;
  Shapes shapes = Shapes::kFound;
  Offsets offsets = {};
};

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  std::vector<Offsets> offsets{{Offsets::Kind::kApart, 0}, {Offsets::Kind::kEqual, 0}};
  constexpr std::size_t kMostRank = 4;
  for (std::size_t axis = 0; axis < kMostRank; ++axis)
    offsets.push_back({Offsets::Kind::kInputs, axis});
  forms.push_back({{.kernel_sizes = true}, true, Shapes::kBroadcast, {}});
  forms.push_back({{}, true, Shapes::kBroadcast, {}});
  forms.push_back({{.kernel_sizes = true, .ones = true, .windows = true, .pads = true},
                   true,
                   Shapes::kAnyRank,
                   {}});
  forms.push_back({{.ones = true, .windows = true, .pads = true}, true, Shapes::kAnyRank, {}});
  for (const Offsets& offset : offsets) {
    forms.push_back({{.kernel_sizes = true, .ones = true}, true, Shapes::kAnyRank, offset});
    forms.push_back({{.kernel_sizes = true}, true, Shapes::kAnyRank, offset});
    forms.push_back({{}, true, Shapes::kAnyRank, offset});
    for (bool ones : {true, false})
      forms.push_back(
          {{.kernel_sizes = true, .ones = ones, .windows = true, .pads = true, .perms = true},
           true,
           Shapes::kFound,
           offset});
    forms.push_back({{.windows = true, .pads = true}, true, Shapes::kFound, offset});
    forms.push_back(
        {{.kernel_sizes = true, .ones = true, .windows = true}, true, Shapes::kFound, offset});
    for (bool kernel_sizes : {true, false})
      forms.push_back(
          {{.kernel_sizes = kernel_sizes, .windows = true}, true, Shapes::kFound, offset});
    forms.push_back({{.kernel_sizes = true, .pads = true}, true, Shapes::kFound, offset});
    forms.push_back({{.kernel_sizes = true}, true, Shapes::kFound, offset});
    forms.push_back({{}, true, Shapes::kFound, offset});
  }
  forms.push_back({{}, false, Shapes::kFound, {}});
  return forms;
}

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = all_forms();
  return kForms;
}

int directions_of(const Sides& sides) {
  return static_cast<int>(rule_between(sides.source, sides.target).has_value()) +
         static_cast<int>(rule_between(sides.target, sides.source).has_value());
}

/// Whether a split or a slice may be anywhere: a symbol is in an attribute and in no shape.
bool has_free_offsets(const Rule& rule) {
  const auto is_known = [&](core::Symbol symbol) {
    return std::ranges::find(rule.parameters, symbol) != rule.parameters.end() ||
           std::ranges::any_of(rule.source.inputs(), [&](core::TensorId id) {
             return std::ranges::any_of(rule.source.tensor(id).type.shape,
                                        [&](const auto& size) { return size.mentions(symbol); });
           });
  };
  for (core::NodeId id : rule.source.order())
    for (const auto& [name, value] : rule.source.node(id).attributes.values())
      if (const auto* list = std::get_if<std::vector<core::Polynomial>>(&value))
        for (const core::Polynomial& p : *list)
          if (!std::ranges::all_of(p.symbols(), is_known)) return true;
  return false;
}

/// Which instances of so many have an example beside the rule as it was found: a rule that follows
/// among scalars need not follow at other ranks.
std::vector<std::size_t> with_examples(std::size_t instances) {
  if (instances < 2) return {};
  if (instances == 2) return {1};
  return {instances / 2, instances - 1};
}

std::vector<Sides> examples_of(const Rule& rule, const std::vector<Rule>& instances) {
  std::vector<Sides> examples;
  const auto add = [&](const Rule& wanted) {
    if (auto example = instance_of(wanted)) examples.push_back(*std::move(example));
  };
  add(rule);
  if (examples.empty()) return examples;
  for (const std::size_t k : with_examples(instances.size())) add(instances[k]);
  return examples;
}

/// Both directions in one form, those that can be.
std::optional<RuleCandidate> in_form(const Sides& sides, const Sides& sized, const Form& form,
                                     int directions) {
  RuleCandidate candidate;
  const std::optional<Rule> there = rule_between(sized.source, sized.target);
  const std::optional<Rule> back = rule_between(sized.target, sized.source);
  if ((there ? 1 : 0) + (back ? 1 : 0) < directions) return std::nullopt;
  for (const auto& [rule, into] :
       {std::pair(&there, &candidate.forward), std::pair(&back, &candidate.backward)}) {
    if (!*rule) continue;
    // A direction that only adds to its source is no rule to rewrite with. It is kept to derive
    // others: it lets laws of relu(x) apply to values that are their own relu. Laws of constants
    // are few, so they stay rules.
    const bool adds = into == &candidate.forward ? contains(sized.target, sized.source)
                                                 : contains(sized.source, sized.target);
    const bool only_derives = adds && !(*rule)->source.inputs().empty();
    for (const std::string& text : texts_of(**rule, form.shapes))
      if (!*into) *into = directed(text);
    if (!*into && !only_derives) return std::nullopt;
    if (only_derives) candidate.expansion = std::exchange(*into, std::nullopt);
  }
  if (!candidate.forward && !candidate.backward) return std::nullopt;
  candidate.is_own_reverse = candidate.forward && candidate.backward && is_own_reverse(sized);
  if (candidate.is_own_reverse) candidate.backward.reset();
  const Rule& rule = there ? *there : *back;
  const auto& direction = candidate.forward ? candidate.forward : candidate.backward;
  // If a constant's split point is free, split it where the other tensors are split; a rule that
  // the point is free adds nothing.
  const auto found = has_free_offsets(rule) ? rule_between(sides.source, sides.target) : there;
  candidate.only_as_found = has_free_offsets(rule) && found;
  candidate.examples =
      candidate.only_as_found ? examples_of(*found, {}) : examples_of(rule, direction->instances);
  candidate.weight = weight(rule.source) + weight(rule.target);
  candidate.inputs = rule.source.inputs().size();
  candidate.depth = std::max(depth(rule.source), depth(rule.target));
  candidate.symbols = rules::size_symbols(rule.source).size();
  candidate.found = sides;
  return candidate;
}

}  // namespace

std::optional<RuleCandidate> candidate_of(const Sides& found, int first_form) {
  const std::vector<Form>& kForms = forms();
  const Sides sides = named_by_role(found);
  const int directions = directions_of(sides);
  if (directions == 0) return std::nullopt;
  const bool any_offsets = has_offsets(sides);
  const bool with_open_windows = lifts_windows(sides.source) && lifts_windows(sides.target);
  std::optional<Result<Sides>> general;  // with the offsets of the form before
  for (auto number = static_cast<std::size_t>(first_form); number < kForms.size(); ++number) {
    const Form& form = kForms[number];
    if (form.offsets.kind != Offsets::Kind::kApart && !any_offsets) continue;
    if (form.shapes == Shapes::kAnyRank && form.numbers.windows && !with_open_windows) continue;
    const bool is_same = number > 0 && kForms[number - 1].offsets == form.offsets;
    if (form.general_sizes && (!general || !is_same)) general = generalized(sides, form.offsets);
    Result<Sides> sized = form.general_sizes ? *general : sides;
    if (!sized) continue;
    if (form.numbers != Parametrize{}) sized = parametrized(*sized, form.numbers);
    if (!sized) continue;
    auto candidate = in_form(sides, *sized, form, directions);
    if (!candidate) continue;
    candidate->form = static_cast<int>(number);
    return candidate;
  }
  return std::nullopt;
}

std::optional<RuleCandidate> narrowest_candidate_of(const Sides& sides) {
  return candidate_of(sides, static_cast<int>(forms().size()) - 1);
}

std::vector<Sides> further_examples(const RuleCandidate& candidate) {
  std::vector<Sides> examples;
  const auto& direction = candidate.forward ? candidate.forward : candidate.backward;
  if (candidate.only_as_found || !direction) return examples;
  const auto known = with_examples(direction->instances.size());
  for (std::size_t k = 0; k < direction->instances.size(); ++k) {
    if (std::ranges::find(known, k) != known.end()) continue;
    if (auto example = instance_of(direction->instances[k]))
      examples.push_back(*std::move(example));
  }
  return examples;
}

std::optional<Sides> example_of(const Sides& sides) {
  if (const auto there = rule_between(sides.source, sides.target)) return instance_of(*there);
  const auto back = rule_between(sides.target, sides.source);
  return back ? instance_of(*back) : std::nullopt;
}

bool is_rule(const Sides& sides) { return directions_of(sides) > 0; }

bool more_general(const RuleCandidate& a, const RuleCandidate& b) {
  return std::tuple(a.weight, b.inputs, a.depth, b.symbols) <
         std::tuple(b.weight, a.inputs, b.depth, a.symbols);
}

}  // namespace soapstone::generator

// See sample.h. A symbol that stands in several places is drawn for the one that allows least.
#include "rules/sampling/sample.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/base/hash.h"
#include "rules/rule/constraints.h"

namespace soapstone::rules {

using core::Polynomial;
using core::Symbol;

std::uint64_t Random::next() { return core::hash_mix(state_ += 0x9e3779b97f4a7c15u); }

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto width = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(next() % width);
}

Sampler::Sampler(const Rule& rule) : uses_(rule.source.symbols().size(), Use::kNone) {
  parameters_ = rule.parameters;
  note_inputs(rule);
  note_attributes(rule.source);
  note_conditions(rule);
}

void Sampler::note(Symbol symbol, Use use) { uses_[symbol.id] = std::max(uses_[symbol.id], use); }

void Sampler::note_inputs(const Rule& rule) {
  for (TensorId id : rule.source.inputs())
    for (const core::Size& size : rule.source.tensor(id).type.shape)
      for (Symbol s : size.symbols()) note(s, Use::kSize);
}

/// Sizes of which only conditions speak: quotients, and what is chosen.
void Sampler::note_conditions(const Rule& rule) {
  for (const ops::SizeConstraint& c : rule.guard) {
    for (Symbol s : c.expression.symbols()) {
      const bool derived =
          std::ranges::find(rule.derived, s, &ops::DerivedSize::symbol) != rule.derived.end();
      if (is_stated(c) && !derived && uses_[s.id] == Use::kNone) note(s, Use::kSize);
    }
  }
}

Sampler::Use Sampler::use_of(const core::AttributeSchema& attribute) {
  using enum core::AttributeRole;
  switch (attribute.role) {
  case kReal:
    return Use::kReal;
  case kPositiveReal:
    return Use::kPositiveReal;
  case kAxis:
  case kAxes:
  case kPermutation:
    return Use::kAxis;
  case kFlag:
  case kKeepsRank:
  case kCountsPad:
    return Use::kFlag;
  case kBorder:
    return Use::kPad;
  case kStride:
  case kDilation:
  case kGroup:
  case kStep:
  case kWindow:
  case kExtent:
  case kParts:
  case kShape:
    return Use::kSmallPositive;
  default:
    return Use::kSmall;
  }
}

void Sampler::note_attributes(const Graph& side) {
  for (NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* value = node.attributes.find(schema.name);
      if (!value) continue;
      std::vector<Polynomial> elements;
      if (const auto* p = std::get_if<Polynomial>(value)) elements = {*p};
      if (const auto* list = std::get_if<std::vector<Polynomial>>(value)) elements = *list;
      std::vector<Symbol> symbols;
      for (const Polynomial& p : elements)
        for (Symbol s : p.symbols()) symbols.push_back(s);
      for (Symbol s : symbols) note(s, use_of(schema));
      const bool permutes = schema.role == core::AttributeRole::kPermutation;
      if (permutes && !symbols.empty() && symbols.size() == elements.size())
        permutations_.push_back(symbols);
    }
  }
}

std::int64_t Sampler::draw(Use use, Random& random, std::int64_t largest) {
  constexpr std::array kReals = {0.5, -0.25, 2.0, 1.5, -3.0, 0.125};
  switch (use) {
  case Use::kNone:
    return 0;
  case Use::kSize:
    return random.between(1, largest);
  case Use::kSmallPositive:
    return random.between(1, 3);
  case Use::kSmall:
    return random.between(0, 2);
  case Use::kPad: {
    const std::int64_t value = random.between(0, 2);
    return random.between(0, 3) == 0 ? -value : value;
  }
  case Use::kFlag:
    return random.between(0, 1);
  case Use::kAxis:
    return random.between(0, 3);
  case Use::kReal:
    return std::bit_cast<std::int64_t>(kReals[random.next() % kReals.size()]);
  case Use::kPositiveReal:
    return std::bit_cast<std::int64_t>(0x1p-6);
  }
  return 0;
}

void Sampler::draw_permutations(Bindings& values, Random& random) const {
  for (const auto& symbols : permutations_)
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const auto j = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)));
      values[symbols[i].id] = static_cast<std::int64_t>(i);
      std::swap(values[symbols[i].id], values[symbols[j].id]);
    }
}

Bindings Sampler::parameters(Random& random) const {
  constexpr std::int64_t kLargest = 4;
  Bindings values(uses_.size());
  for (Symbol s : parameters_) values[s.id] = draw(uses_[s.id], random, kLargest);
  draw_permutations(values, random);
  return values;
}

Bindings Sampler::all(Random& random, std::int64_t largest) const {
  Bindings values(uses_.size());
  for (std::size_t s = 0; s < uses_.size(); ++s)
    if (uses_[s] != Use::kNone) values[s] = draw(uses_[s], random, largest);
  draw_permutations(values, random);
  return values;
}

}  // namespace soapstone::rules

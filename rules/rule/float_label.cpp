// See float_label.h.
#include "rules/rule/float_label.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "core/syntax/lexer.h"

namespace soapstone::rules {
namespace {

using core::DataType;

constexpr std::array<std::string_view, 4> kFloatNames = {"exact", "reassociates", "extends-range",
                                                         "changes-range"};
constexpr std::array<std::string_view, 8> kEffectNames = {"overflow",  "underflow",  "recovers",
                                                          "nan",       "drops-nan",  "infinity",
                                                          "zero-sign", "other-value"};
constexpr std::string_view kExtreme = "extreme", kExtremePrefix = "extreme ";

/// The texts between commas.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (bool more = true; more;) {
    const std::size_t end = text.find(',');
    parts.push_back(core::trimmed(text.substr(0, end)));
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
  return parts;
}

/// Takes the first word if it is that one.
bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word) || text.size() == word.size() || text[word.size()] != ' ')
    return false;
  text = core::trimmed(text.substr(word.size()));
  return true;
}

/// A type is tried: its own edges, or those of the type that it is taken to behave as.
DataType tried_as(DataType type) {
  return std::ranges::find(kEdgeTypes, type) != std::end(kEdgeTypes) ? type : DataType::kFloat32;
}

auto order_of(const Edge& edge) { return std::tuple(edge.effect, edge.reach, edge.type); }

core::Error unknown(std::string_view what, std::string_view text,
                    std::span<const std::string_view> words) {
  return core::invalid_input(
      fmt::format("{} are `{}`, not `{}`", what, fmt::join(words, "`, `"), text));
}

core::Error unknown_edge(std::string_view text) {
  return core::invalid_input(fmt::format("edges are `none` or a list of effects ({}), each with "
                                         "`f32`, `f16` or `bf16` before it unless "
                                         "it is one of all types, and `extreme` if it is; not `{}`",
                                         fmt::join(kEffectNames, ", "), text));
}

}  // namespace

FloatTypes FloatTypes::only(std::vector<DataType> types) {
  std::ranges::sort(types);
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return {Kind::kListed, std::move(types)};
}

bool FloatTypes::hold_for(DataType type) const {
  if (kind == Kind::kAny) return core::is_floating(type);
  return kind == Kind::kListed && std::ranges::binary_search(listed, type);
}

FloatTypes FloatTypes::operator&(const FloatTypes& other) const {
  if (!known() || !other.known()) return {};
  if (kind == Kind::kAny) return other;
  std::vector<DataType> both;
  std::ranges::copy_if(listed, std::back_inserter(both),
                       [&](DataType type) { return other.hold_for(type); });
  return only(std::move(both));
}

void Edges::note(Edge edge) {
  const auto known = std::ranges::find_if(all_, [&](const Edge& other) {
    return other.type == edge.type && other.effect == edge.effect;
  });
  if (known != all_.end() && known->reach >= edge.reach) return;
  if (known != all_.end()) all_.erase(known);
  all_.insert(std::ranges::upper_bound(all_, order_of(edge), {}, order_of), edge);
}

void Edges::note(const Edges& others) {
  for (const Edge& edge : others.all()) note(edge);
}

bool Edges::has(DataType type, EdgeEffect effect, EdgeReach reach) const {
  return std::ranges::find(all_, Edge{tried_as(type), effect, reach}) != all_.end();
}

FloatBehavior range_behavior(const Edges& edges, DataType type) {
  const auto has = [&](EdgeEffect effect) { return edges.has(type, effect, EdgeReach::kOrdinary); };
  if (has(EdgeEffect::kOverflow) || has(EdgeEffect::kUnderflow))
    return FloatBehavior::kChangesRange;
  return has(EdgeEffect::kRecovers) ? FloatBehavior::kExtendsRange : FloatBehavior::kExact;
}

std::string_view to_string(FloatBehavior floats) {
  return kFloatNames[static_cast<std::size_t>(floats)];
}

std::string to_string(const FloatTypes& types) {
  if (types.kind == FloatTypes::Kind::kAny) return "any";
  if (types.kind == FloatTypes::Kind::kUnknown) return "unknown";
  if (types.listed.empty()) return "none";
  std::vector<std::string_view> names;
  for (const DataType type : types.listed) names.push_back(core::to_string(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string to_string(const Edges& edges) {
  if (edges.empty()) return "none";
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < kEffectNames.size(); ++k) {
    const auto effect = static_cast<EdgeEffect>(k);
    std::vector<DataType> extreme, ordinary;
    for (const Edge& edge : edges.all())
      if (edge.effect == effect)
        (edge.reach == EdgeReach::kOrdinary ? ordinary : extreme).push_back(edge.type);
    const auto add = [&](const std::vector<DataType>& types, std::string_view reach) {
      for (const DataType type : types)
        parts.push_back(fmt::format("{} {}{}", core::to_string(type), reach, kEffectNames[k]));
    };
    // An effect at ordinary magnitudes also occurs at extreme ones.
    constexpr std::size_t kAll = std::size(kEdgeTypes);
    const bool everywhere = ordinary.size() + extreme.size() == kAll;
    if (ordinary.size() == kAll) {
      parts.emplace_back(kEffectNames[k]);
      continue;
    }
    if (everywhere)
      parts.push_back(fmt::format("{}{}", kExtremePrefix, kEffectNames[k]));
    else
      add(extreme, kExtremePrefix);
    add(ordinary, "");
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

core::Result<FloatBehavior> parse_float_behavior(std::string_view text) {
  const auto known = std::ranges::find(kFloatNames, text);
  if (known == kFloatNames.end()) return unknown("floats", text, kFloatNames);
  return static_cast<FloatBehavior>(known - kFloatNames.begin());
}

core::Result<FloatTypes> parse_float_types(std::string_view text) {
  if (text == "any") return FloatTypes::any();
  if (text == "none") return FloatTypes::only({});
  std::vector<DataType> types;
  for (const std::string_view part : parts_of(text)) {
    const auto type = core::parse_data_type(part);
    if (!type || !core::is_floating(*type))
      return core::invalid_input(
          fmt::format("types are `any`, `none` or floating types, not `{}`", part));
    types.push_back(*type);
  }
  return FloatTypes::only(std::move(types));
}

core::Result<Edges> parse_edges(std::string_view text) {
  Edges edges;
  if (text == "none") return edges;
  for (const std::string_view part : parts_of(text)) {
    std::string_view rest = part;
    std::vector<DataType> types;
    for (const DataType type : kEdgeTypes)
      if (types.empty() && take_word(rest, core::to_string(type))) types.push_back(type);
    if (types.empty()) types.assign(std::begin(kEdgeTypes), std::end(kEdgeTypes));
    const EdgeReach reach = take_word(rest, kExtreme) ? EdgeReach::kExtreme : EdgeReach::kOrdinary;
    const auto effect = std::ranges::find(kEffectNames, rest);
    if (effect == kEffectNames.end()) return unknown_edge(part);
    for (const DataType type : types)
      edges.note({type, static_cast<EdgeEffect>(effect - kEffectNames.begin()), reach});
  }
  return edges;
}

}  // namespace soapstone::rules

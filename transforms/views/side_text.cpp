#include "transforms/views/side_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

/// How names of nodes begin before it is known on which side they stand.
constexpr char kPrefix = '$';

/// The transpose that is all the view does, dimensions of size 1 included. Empty: it does more.
std::vector<std::size_t> as_transpose(const View& view) {
  const Sizes& base = view.base_shape();
  const Sizes shape = view.shape();
  Sizes sizes;
  for (const View::Factor& factor : view.factors()) sizes.push_back(factor.size);
  std::vector<std::size_t> place, ones;  // by factor: its dimension; dimensions of size 1
  Sizes large;
  for (std::size_t d = 0; d < base.size(); ++d) {
    if (base[d] != 1) large.push_back(base[d]);
    (base[d] == 1 ? ones : place).push_back(d);
  }
  if (large != sizes || shape.size() != base.size()) return {};
  std::vector<std::size_t> order;
  for (const View::Factors& dim : view.dims()) {
    if (dim.size() > 1) return {};
    if (!dim.empty()) order.push_back(place[dim[0]]);
    if (!dim.empty()) continue;
    if (ones.empty()) return {};
    order.push_back(ones.front());
    ones.erase(ones.begin());
  }
  return order;
}

}  // namespace

Names declared_weights(const core::Graph& graph, const core::Node& node, std::string& head) {
  Names names;
  for (std::size_t k = 1; k < node.inputs.size(); ++k) {
    const core::TensorType& type = graph.tensor(node.inputs[k]).type;
    names.push_back(fmt::format("k{}", k));
    head +=
        fmt::format("  {}: {}\n", names.back(), declared(type, names_of(known_sizes(type.shape))));
  }
  return names;
}

View from_factors(const View& view) {
  const View coarse = view.coarsened();
  Sizes divided;
  for (const View::Factor& factor : coarse.factors()) divided.push_back(factor.size);
  if (!coarse.is_whole() || !coarse.is_permuted() || !as_transpose(coarse).empty() ||
      divided == coarse.base_shape())
    return view;
  return View(std::move(divided), coarse.factors(), coarse.dims());
}

std::string list_of(const Sizes& sizes) { return fmt::format("{}", fmt::join(sizes, ", ")); }

Names names_of(const Sizes& sizes) {
  Names names;
  for (const std::int64_t size : sizes) names.push_back(std::to_string(size));
  return names;
}

std::string declared(const core::TensorType& type, const Names& shape) {
  return fmt::format("{}[{}]",
                     core::is_floating(type.data_type) ? "" : core::to_string(type.data_type),
                     list_of(shape));
}

Names SideText::lines(const std::string& call, std::size_t results) {
  const auto known = std::ranges::find(lines_, call, &Line::call);
  return known != lines_.end() ? known->names : another(call, results);
}

bool SideText::has(const std::string& call) const {
  return std::ranges::find(lines_, call, &Line::call) != lines_.end();
}

Names SideText::another(const std::string& call, std::size_t results) {
  Line line{{}, call};
  for (std::size_t k = 0; k < results; ++k)
    line.names.push_back(results == 1 ? fmt::format("{}{}", kPrefix, lines_.size())
                                      : fmt::format("{}{}r{}", kPrefix, lines_.size(), k));
  lines_.push_back(line);
  return line.names;
}

std::string SideText::reshaped(const std::string& from, const Names& shape, const Names& to) {
  return shape == to ? from : line(fmt::format("reshape({}; shape=[{}])", from, list_of(to)));
}

std::string SideText::transposed(const std::string& from, const std::vector<std::size_t>& order) {
  if (std::ranges::is_sorted(order)) return from;
  return line(fmt::format("transpose({}; perm=[{}])", from, fmt::join(order, ", ")));
}

std::string SideText::expanded(const std::string& from, const Names& shape) {
  return line(fmt::format("expand({}; shape=[{}])", from, list_of(shape)));
}

std::string SideText::joined(const Names& parts, std::size_t axis) {
  return line(fmt::format("concat({}; axis={})", list_of(parts), axis));
}

Names SideText::split(const std::string& from, std::size_t axis, const Names& sizes) {
  return lines(fmt::format("split({}; axis={}, sizes=[{}])", from, axis, list_of(sizes)),
               sizes.size());
}

std::string SideText::viewed(const std::string& from, const View& view) {
  return viewed_apart(from, view.coarsened());
}

std::string SideText::viewed_apart(const std::string& from, const View& view) {
  const Names base = view.base_shape_text(), shape = view.shape_text();
  const auto order = view.order();
  if (std::ranges::is_sorted(order)) return reshaped(from, base, shape);
  if (const auto direct = as_transpose(view); !direct.empty()) return transposed(from, direct);
  Names divided, turned;
  for (const View::Factor& factor : view.factors()) divided.push_back(factor.text());
  for (const std::size_t f : order) turned.push_back(divided[f]);
  return reshaped(transposed(reshaped(from, base, divided), order), turned, shape);
}

std::string SideText::text(const Names& results, char prefix) const {
  const auto final_name = [&](const std::string& name) {
    const auto at = std::ranges::find(results, name);
    return at == results.end() ? name : fmt::format("y{}", at - results.begin());
  };
  std::string text;
  for (const Line& line : lines_) {
    Names names;
    for (const std::string& name : line.names) names.push_back(final_name(name));
    text += fmt::format("    {} = {}\n", fmt::join(names, ", "), line.call);
  }
  std::ranges::replace(text, kPrefix, prefix);
  return text;
}

std::string rule_text(std::string_view name, const std::string& head, const SideText& source,
                      const Names& source_results, const SideText& target,
                      const Names& target_results) {
  std::string aliases;
  for (std::size_t k = 0; k < target_results.size(); ++k)
    aliases += fmt::format("    y{} = {}\n", k, target_results[k]);
  std::ranges::replace(aliases, kPrefix, 't');
  return fmt::format("rule {}\n{}  placed\n  source\n{}  target\n{}{}", name, head,
                     source.text(source_results, 's'), target.text({}, 't'), aliases);
}

}  // namespace soapstone::transforms

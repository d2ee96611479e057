#include "transforms/affine/map_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/parts/einsum_equation.h"

namespace soapstone::transforms {

using core::Graph;
using core::Polynomial;
using core::TensorId;

namespace {

bool has_summed(const std::string& labels) {
  return labels.find(MapWriter::kSummed) != std::string::npos;
}
char label_of(std::size_t kept) { return static_cast<char>('a' + kept); }
std::size_t place_of(char label) { return static_cast<std::size_t>(label - 'a'); }

}  // namespace

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }

MapWriter::MapWriter(const Graph& graph, const MapSource& source, bool any_sizes)
    : graph_(graph), source_(source), any_sizes_(any_sizes) {
  for (std::size_t d = 0; d < shape_of(source.tensor).size(); ++d)
    if (std::ranges::find(source.kept, d) == source.kept.end()) summed_.push_back(d);
}

std::string MapWriter::size(std::int64_t n) const {
  return n == 1 || !any_sizes_ ? std::to_string(n) : fmt::format("d{}", n);
}

Names MapWriter::sizes(TensorId id) const {
  if (const auto known = written_.find(id); known != written_.end()) return known->second;
  Names names;
  for (const Polynomial& n : shape_of(id)) names.push_back(size(n.constant()));
  return names;
}

std::string MapWriter::declared(TensorId id) const {
  const core::DataType type = graph_.tensor(id).type.data_type;
  return fmt::format("{}[{}]", core::is_floating(type) ? "" : core::to_string(type),
                     joined(sizes(id)));
}

std::string MapWriter::count() const {
  const Names all = sizes(source_.tensor);
  if (!any_sizes_) {
    std::int64_t product = 1;
    for (const std::size_t d : summed_) product *= shape_of(source_.tensor)[d].constant();
    return std::to_string(product);
  }
  Names factors;
  for (const std::size_t d : summed_)
    if (all[d] != "1") factors.push_back(all[d]);
  return factors.empty() ? "1" : fmt::format("{}", fmt::join(factors, "*"));
}

std::string MapWriter::declared_source() const {
  return fmt::format("  {}: {}\n", is_one_axis() ? "x" : "u", declared(source_.tensor));
}

std::vector<std::size_t> MapWriter::order() const {
  std::vector<std::size_t> order;
  for (const char label : labels()) {
    if (label == kSummed)
      order.insert(order.end(), summed_.begin(), summed_.end());
    else
      order.push_back(source_.kept[place_of(label)]);
  }
  return order;
}

std::string MapWriter::source_name(const std::string& suffix) const {
  return is_one_axis() ? "x" : "x" + suffix;
}

std::string MapWriter::summed_source(const std::string& suffix) const {
  if (is_one_axis()) return "";
  std::string from = "u", text;
  if (!std::ranges::is_sorted(order())) {
    from = "ux" + suffix;
    text = fmt::format("    {} = transpose(u; perm=[{}])\n", from, fmt::join(order(), ", "));
  }
  return text + fmt::format("    {} = reshape({}; shape=[{}])\n", source_name(suffix), from,
                            joined(summed_shape()));
}

std::string MapWriter::labels() const {
  std::string text;
  const bool together = summed_.back() - summed_.front() + 1 == summed_.size();
  for (std::size_t k = 0; k < source_.kept.size(); ++k) {
    if (together && !has_summed(text) && source_.kept[k] > summed_.front()) text += kSummed;
    text += label_of(k);
  }
  if (!has_summed(text)) text += kSummed;
  return text;
}

Names MapWriter::summed_shape() const {
  Names names;
  const Names all = sizes(source_.tensor);
  for (const char label : labels())
    names.push_back(label == kSummed ? count() : all[source_.kept[place_of(label)]]);
  return names;
}

/// A unit matrix for each summed axis, so that no index has to be taken apart.
std::string MapWriter::unit_matrix() const {
  const Names all = sizes(source_.tensor);
  std::vector<std::size_t> axes = summed_;
  std::erase_if(axes, [&](std::size_t d) { return all[d] == "1"; });
  if (axes.empty()) axes.push_back(summed_.back());
  std::string text, rows, front, back;  // columns in front of the rows and behind them
  Names units, operands;
  for (const std::size_t d : axes) {
    const char row = static_cast<char>('a' + 2 * units.size());
    rows += row;
    (d < source_.kept[0] ? front : back) += static_cast<char>(row + 1);
    operands.push_back({row, static_cast<char>(row + 1)});
    units.push_back(fmt::format("i{}", d));
    text += fmt::format("    {0} = eye(; shape=[{1}, {1}])\n", units.back(), all[d]);
  }
  std::string whole = units.front();
  if (units.size() > 1) {
    whole = "units";
    text += fmt::format("    units = einsum({}; equation=\"{}->{}{}{}\")\n", joined(units),
                        fmt::join(operands, ","), front, rows, back);
  }
  return text + fmt::format("    unit = reshape({}; shape=[{}])\n", whole,
                            joined(lying_as(source_.tensor, source_.kept, count())));
}

Names MapWriter::lying_as(TensorId id, const std::vector<std::size_t>& kept,
                          const std::string& first) const {
  Names names = sizes(id);
  for (const std::size_t d : kept) names[d] = d == kept[0] ? first : "1";
  return names;
}

std::string MapWriter::equation(TensorId id, const std::vector<std::size_t>& kept) const {
  std::string matrix, result;
  for (std::size_t d = 0; d < shape_of(id).size(); ++d) {
    const auto at = std::ranges::find(kept, d);
    const bool is_free = at == kept.end();
    const char own = static_cast<char>('k' + d);  // stands alone where the matrix has one place
    result += is_free ? own : label_of(static_cast<std::size_t>(at - kept.begin()));
    matrix += d == kept[0] ? kSummed : own;
  }
  const std::string text = fmt::format("{},{}->{}", labels(), matrix, result);
  const std::array ranks{labels().size(), matrix.size()};
  return ops::EinsumEquation::from_onnx(text, ranks)->to_string();
}

std::string MapWriter::applied(TensorId id, const LinearMap& map, const std::string& suffix,
                               const std::string& name, const std::string& source) const {
  const std::string product = map.has_offset ? "e" + suffix : name;
  std::string text = fmt::format("    {} = einsum({}, v{}; equation=\"{}\")\n", product, source,
                                 suffix, equation(id, map.kept));
  if (map.has_offset) text += fmt::format("    {} = add({}, c{})\n", name, product, suffix);
  return text;
}

}  // namespace soapstone::transforms

#include "transforms/contract/product_order.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include <fmt/format.h>

namespace soapstone::transforms {
namespace {

bool holds(OperandSet operands, std::size_t k) { return (operands >> k & 1U) != 0; }

bool has(const IndexedName& tensor, std::size_t index) {
  return std::ranges::find(tensor.indices, index) != tensor.indices.end();
}

/// Those of both, of the first one, of the second one.
std::vector<std::size_t> order_of(const IndexedName& a, const IndexedName& b,
                                  const IndexSet& kept) {
  std::vector<std::size_t> order;
  for (const std::size_t index : a.indices)
    if (kept.contains(index) && has(b, index)) order.push_back(index);
  for (const std::size_t index : a.indices)
    if (kept.contains(index) && !has(b, index)) order.push_back(index);
  for (const std::size_t index : b.indices)
    if (kept.contains(index) && !has(a, index)) order.push_back(index);
  return order;
}

/// Whether the two are a batch of matrices with their dimensions where a product wants them.
bool is_matmul(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b,
               const std::vector<std::size_t>& result) {
  if (a.size() < 2 || b.size() < 2 || result.size() < 2) return false;
  const std::size_t summed = a.back();
  if (b[b.size() - 2] != summed || result.back() != b.back() || b.back() == summed) return false;
  std::vector<std::size_t> expected(a.begin(), a.end() - 1);
  expected.push_back(b.back());
  if (expected != result) return false;
  const std::vector<std::size_t> batch(b.begin(), b.end() - 2);
  return batch.empty() ||
         (a.size() == b.size() && std::equal(batch.begin(), batch.end(), a.begin()));
}

/// Whether each index of `few` is one of `all`, which are `kept`: the tensor of few is a scale.
bool is_scale_of(const IndexedName& all, const IndexedName& few, const IndexSet& kept) {
  const IndexSet whole(all.indices.begin(), all.indices.end());
  return whole == kept &&
         std::ranges::all_of(few.indices, [&](std::size_t index) { return whole.contains(index); });
}

/// That of a product of matrices, if it is one; of what is only scaled, its own.
std::vector<std::size_t> own_order(const IndexedName& a, const IndexedName& b,
                                   const IndexSet& kept) {
  if (is_scale_of(a, b, kept)) return a.indices;
  if (is_scale_of(b, a, kept)) return b.indices;
  std::vector<std::size_t> first = order_of(a, b, kept), second = order_of(b, a, kept);
  const bool is_turned = !is_matmul(a.indices, b.indices, first) &&
                         !is_matmul(b.indices, a.indices, first) &&
                         is_matmul(b.indices, a.indices, second);
  return is_turned ? second : first;
}

}  // namespace

IndexSet indices_of(const IndexList& list) {
  IndexSet indices;
  for (const auto& index : list)
    if (index) indices.insert(*index);
  return indices;
}

double elements_along(const IndexSet& indices, const Sizes& sizes) {
  double count = 1;
  for (const std::size_t index : indices) count *= static_cast<double>(sizes[index]);
  return count;
}

const IndexSet& OrderSearch::kept(OperandSet operands) const {
  const auto [known, is_new] = kept_.try_emplace(operands);
  if (is_new) known->second = indices_kept(operands);
  return known->second;
}

IndexSet OrderSearch::indices_kept(OperandSet operands) const {
  IndexSet needed = product_.result, own;
  for (std::size_t k = 0; k < product_.operands.size(); ++k) {
    const IndexSet& indices = product_.operands[k].indices;
    (holds(operands, k) ? own : needed).insert(indices.begin(), indices.end());
  }
  // What a single operand sums alone is summed when it is multiplied.
  if (std::has_single_bit(operands)) return own;
  IndexSet both;
  std::ranges::set_intersection(own, needed, std::inserter(both, both.begin()));
  return both;
}

bool OrderSearch::is_constant(OperandSet operands) const {
  for (std::size_t k = 0; k < product_.operands.size(); ++k)
    if (holds(operands, k) && !product_.operands[k].is_constant) return false;
  return true;
}

double OrderSearch::cost(OperandSet a, OperandSet b) const {
  if (is_constant(a | b)) return 0;
  const IndexSet &of_a = kept(a), &of_b = kept(b), &of_both = kept(a | b);
  IndexSet involved = of_a;
  involved.insert(of_b.begin(), of_b.end());
  const double moved =
      elements_along(of_a, sizes_) + elements_along(of_b, sizes_) + elements_along(of_both, sizes_);
  const bool may_be_step = product_.may_scale && involved == of_both;
  return 2 * elements_along(involved, sizes_) + kWorkOfElement * moved +
         (may_be_step ? kWorkOfStep : kWorkOfLaunch);
}

bool OrderSearch::has_sums() const {
  return std::ranges::any_of(product_.operands, [&](const ProductOperand& operand) {
    return !std::ranges::includes(product_.result, operand.indices);
  });
}

const OrderSearch::Best& OrderSearch::best(OperandSet operands) {
  const auto known = best_.find(operands);
  if (known != best_.end()) return known->second;
  Best found;
  for (OperandSet left = (operands - 1) & operands; left != 0; left = (left - 1) & operands) {
    const OperandSet right = operands & ~left;
    if (left < right) continue;  // the two are exchanged elsewhere
    const double now = best(left).cost + best(right).cost + cost(left, right);
    if (found.left == 0 || now < found.cost) found = {now, left};
  }
  return best_.emplace(operands, found).first->second;
}

double OrderSearch::cost_of(const std::vector<std::vector<std::size_t>>& joins) const {
  double sum = 0;
  std::vector<OperandSet> parts;
  for (const std::vector<std::size_t>& join : joins) {
    OperandSet whole = 0;
    for (const std::size_t k : join) whole |= OperandSet{1} << k;
    // What this joins: the sets that were joined before, and single operands.
    std::vector<OperandSet> within;
    OperandSet rest = whole;
    for (const OperandSet part : parts)
      if ((part & whole) == part) within.push_back(part), rest &= ~part;
    std::erase_if(parts, [&](OperandSet part) { return (part & whole) == part; });
    for (std::size_t k = 0; k < product_.operands.size(); ++k)
      if (holds(rest, k)) within.push_back(OperandSet{1} << k);
    OperandSet so_far = within[0];
    // A sum of what was multiplied before.
    if (within.size() == 1 && !std::has_single_bit(whole) && !is_constant(whole))
      sum += kWorkOfLaunch;
    for (std::size_t k = 1; k < within.size(); ++k) {
      sum += cost(so_far, within[k]);
      so_far |= within[k];
    }
    parts.push_back(whole);
  }
  return sum;
}

std::string elementwise_product(std::string_view a, std::string_view b) {
  return fmt::format("mul({}, {})", a, b);
}

Sizes ProductWriter::sizes_of(const std::vector<std::size_t>& indices) const {
  Sizes sizes;
  for (const std::size_t index : indices) sizes.push_back(sizes_[index]);
  return sizes;
}

IndexedName ProductWriter::write(OrderSearch& search,
                                 const std::function<IndexedName(std::size_t)>& operand,
                                 const std::vector<std::size_t>* wanted) {
  return multiplied(search, search.all(), operand, wanted);
}

IndexedName ProductWriter::multiplied(OrderSearch& search, OperandSet operands,
                                      const std::function<IndexedName(std::size_t)>& operand,
                                      const std::vector<std::size_t>* wanted) {
  const OperandSet left = search.best(operands).left;
  if (left == 0) return operand(static_cast<std::size_t>(std::countr_zero(operands)));
  const OperandSet right = operands & ~left;
  // What is only scaled is computed in the order that is wanted, so that a scale is a `mul`.
  const auto wanted_of = [&](OperandSet part, OperandSet scale) {
    const bool is_scaled = search.kept(part) == search.kept(operands) &&
                           std::ranges::includes(search.kept(part), search.kept(scale));
    return is_scaled ? wanted : nullptr;
  };
  const IndexedName a = multiplied(search, left, operand, wanted_of(left, right)),
                    b = multiplied(search, right, operand, wanted_of(right, left));
  IndexedName product{{}, wanted != nullptr ? *wanted : own_order(a, b, search.kept(operands))};
  const std::string text = call(a, b, product.indices, search.may_scale());
  if (!side_.has(text)) cost_ += search.cost(left, right);
  product.name = side_.line(text);
  return product;
}

std::optional<std::string> ProductWriter::broadcast(const IndexedName& tensor,
                                                    const std::vector<std::size_t>& result) {
  Sizes sizes;
  std::size_t found = 0;
  for (const std::size_t index : result) {
    const bool is_next = found < tensor.indices.size() && tensor.indices[found] == index;
    if (is_next) ++found;
    sizes.push_back(is_next ? sizes_[index] : 1);
  }
  if (found < tensor.indices.size()) return std::nullopt;
  return side_.reshaped(tensor.name, names_of(sizes_of(tensor.indices)), names_of(sizes));
}

std::string ProductWriter::call(const IndexedName& a, const IndexedName& b,
                                const std::vector<std::size_t>& result, bool may_scale) {
  const bool has_number = a.indices.empty() || b.indices.empty();
  if ((has_number || may_scale) && (a.indices == result || b.indices == result)) {
    const auto x = has_number ? a.name : broadcast(a, result);
    const auto y = has_number ? b.name : broadcast(b, result);
    if (x && y) return elementwise_product(*x, *y);
  }
  if (is_matmul(a.indices, b.indices, result)) return fmt::format("matmul({}, {})", a.name, b.name);
  if (is_matmul(b.indices, a.indices, result)) return fmt::format("matmul({}, {})", b.name, a.name);
  std::map<std::size_t, char> letters;
  const auto labels = [&](const std::vector<std::size_t>& indices) {
    std::string text;
    for (const std::size_t index : indices)
      text += letters.emplace(index, static_cast<char>('a' + letters.size())).first->second;
    return text;
  };
  const std::string of_a = labels(a.indices), of_b = labels(b.indices);
  return fmt::format("einsum({}, {}; equation=\"{},{}->{}\")", a.name, b.name, of_a, of_b,
                     labels(result));
}

}  // namespace soapstone::transforms

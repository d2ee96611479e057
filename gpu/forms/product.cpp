// See product.h.
#include "gpu/forms/product.h"

#include <algorithm>

namespace soapstone::gpu {
namespace {

using ops::evaluation::NodeKind;

core::Error no_product(const char* why) { return core::unsupported(why); }

/// The factors of a product of products.
void collect_factors(const FlatExpression& e, std::uint32_t node,
                     std::vector<std::uint32_t>& factors) {
  if (e.nodes[node].kind != NodeKind::kMul) return factors.push_back(node);
  for (const std::uint32_t child : e.nodes[node].children) collect_factors(e, child, factors);
}

std::optional<std::size_t> only_sum(const FlatExpression& e) {
  std::optional<std::size_t> sum;
  for (std::size_t k = 0; k < e.nodes.size(); ++k) {
    if (e.nodes[k].kind != NodeKind::kSum && e.nodes[k].kind != NodeKind::kGuard &&
        !(e.nodes[k].kind == NodeKind::kMax && !e.nodes[k].loops.empty()))
      continue;
    if (sum || e.nodes[k].kind != NodeKind::kSum || e.nodes[k].is_conditional) return std::nullopt;
    sum = k;
  }
  return sum;
}

class ProductFinder {
 public:
  explicit ProductFinder(Product& product) : product_(product), e_(product.expression) {}

  core::Status find(const core::Dims& dims) {
    const auto sum = only_sum(e_);
    if (!sum || e_.nodes[*sum].children.size() != 1) return no_product("no single sum");
    product_.sum = *sum;
    if (!find_factors()) return no_product("no sum of products of two tensors");
    SOAPSTONE_RETURN_IF_ERROR(sort_loops(dims));
    merge(rows_);
    merge(columns_);
    merge(product_.batch);
    merge(summed_);
    if (summed_.size() != 1) return no_product("several loops of a sum that are not one");
    product_.summed = summed_[0];
    choose_sides();
    if (product_.row.size == 1 && product_.column.size == 1 && !product_.batch.empty())
      return no_product("products of vectors");
    return core::Done{};
  }

 private:
  bool find_factors() {
    std::vector<std::uint32_t> factors, reads;
    collect_factors(e_, e_.nodes[product_.sum].children[0], factors);
    for (const std::uint32_t factor : factors) {
      if (e_.nodes[factor].kind == NodeKind::kRead) {
        reads.push_back(factor);
        continue;
      }
      const auto number = evaluate(e_, factor, e_.nodes.size(), 0);
      if (!number) return false;
      product_.scale *= *number;
    }
    if (reads.size() != 2) return false;
    left_ = &e_.nodes[reads[0]].position;
    right_ = &e_.nodes[reads[1]].position;
    product_.left = e_.nodes[reads[0]].tensor;
    product_.right = e_.nodes[reads[1]].tensor;
    return true;
  }

  core::Status sort_loops(const core::Dims& dims) {
    std::int64_t stride = core::element_count(dims);
    if (stride == 0) return no_product("no elements");
    for (const FlatLoop& axis : e_.axes) {
      stride /= axis.size;
      if (axis.size == 1) continue;
      const ProductLoop loop = loop_of(axis, stride);
      const bool in_left = loop.left != 0, in_right = loop.right != 0;
      if (!in_left && !in_right) return no_product("a product that is the same for all columns");
      (in_left == in_right ? product_.batch : in_left ? rows_ : columns_).push_back(loop);
    }
    for (const FlatLoop& axis : e_.nodes[product_.sum].loops) {
      if (axis.size == 1) continue;
      const ProductLoop loop = loop_of(axis, 0);
      if (loop.left == 0 || loop.right == 0)
        return no_product("a factor is the same for all terms");
      summed_.push_back(loop);
    }
    if (summed_.empty()) summed_.push_back({});
    product_.left_offset = left_->constant;
    product_.right_offset = right_->constant;
    return core::Done{};
  }

  ProductLoop loop_of(const FlatLoop& axis, std::int64_t stride) const {
    return {axis.variable, axis.size, left_->coefficient(axis.variable),
            right_->coefficient(axis.variable), stride};
  }

  /// True if all tensors advance by both loops as by one.
  bool are_one(const ProductLoop& outer, const ProductLoop& inner) const {
    const auto fits = [&](std::int64_t a, std::int64_t b) { return a == b * inner.size; };
    if (!fits(outer.left, inner.left) || !fits(outer.right, inner.right) ||
        !fits(outer.result, inner.result))
      return false;
    return std::all_of(e_.nodes.begin(), e_.nodes.end(), [&](const FlatNode& node) {
      return node.kind != NodeKind::kRead || fits(node.position.coefficient(outer.variable),
                                                  node.position.coefficient(inner.variable));
    });
  }

  void merge(std::vector<ProductLoop>& loops) const {
    for (std::size_t k = 0; k + 1 < loops.size();) {
      if (!are_one(loops[k], loops[k + 1])) {
        ++k;
        continue;
      }
      loops[k + 1].size *= loops[k].size;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  /// Rows and columns are the largest loops of either side; other ones are batches that one of the
  /// factors does not have. Columns are those that lie side by side.
  void choose_sides() {
    const auto take = [&](std::vector<ProductLoop>& loops) {
      ProductLoop taken;
      if (loops.empty()) return taken;
      const auto last = std::max_element(
          loops.begin(), loops.end(), [](const ProductLoop& a, const ProductLoop& b) {
            return std::pair(a.result == 1, a.size) < std::pair(b.result == 1, b.size);
          });
      taken = *last;
      loops.erase(last);
      product_.batch.insert(product_.batch.end(), loops.begin(), loops.end());
      return taken;
    };
    product_.row = take(rows_);
    product_.column = take(columns_);
    if (product_.row.result != 1 || product_.row.size == 1) return;
    std::swap(product_.row, product_.column);
    std::swap(product_.left, product_.right);
    std::swap(product_.left_offset, product_.right_offset);
    for (ProductLoop* loop : {&product_.row, &product_.column, &product_.summed})
      std::swap(loop->left, loop->right);
    for (ProductLoop& loop : product_.batch) std::swap(loop.left, loop.right);
  }

  Product& product_;
  const FlatExpression& e_;
  const Affine* left_ = nullptr;
  const Affine* right_ = nullptr;
  std::vector<ProductLoop> rows_, columns_, summed_;
};

}  // namespace

core::Result<Product> product_of(const Region& region, const core::Dims& dims) {
  if (region.outputs.size() != 1) return no_product("several results");
  return product_of(region, region.outputs[0], dims, {});
}

core::Result<Product> product_of(const Region& region, std::uint32_t tensor, const core::Dims& dims,
                                 std::optional<std::uint32_t> known) {
  Product product;
  SOAPSTONE_ASSIGN_OR_RETURN(product.expression, flatten(region, tensor, dims, known));
  SOAPSTONE_RETURN_IF_ERROR(ProductFinder(product).find(dims));
  return product;
}

}  // namespace soapstone::gpu

// See softmax.h.
#include "gpu/forms/softmax.h"

namespace soapstone::gpu {
namespace {

using ops::evaluation::NodeKind;
using runtime::generated::IndexSpace;

/// True if the node reads the tensor at the position.
bool reads_at(const FlatExpression& e, std::uint32_t node, std::uint32_t tensor,
              const Affine& position) {
  const FlatNode& n = e.nodes[node];
  return n.kind == NodeKind::kRead && n.tensor == tensor && n.position == position;
}

/// The position with another variable in the place of `from`.
Affine renamed(const Affine& position, std::uint32_t from, std::uint32_t to) {
  Affine result = position;
  result.coefficients.erase(from);
  result.add(IndexSpace::value_of(to), position.coefficient(from));
  return result;
}

/// One tensor of a region as the softmax of another one along its innermost dimension.
class SoftmaxMatch {
 public:
  SoftmaxMatch(const FlatExpression& e, std::uint32_t scores)
      : e_(e), scores_(scores), element_(position_of_element(e.axes)) {}

  bool holds() {
    if (e_.axes.empty() || !find_loops() || e_.nodes[e_.root()].kind != NodeKind::kMul)
      return false;
    const auto& factors = e_.nodes[e_.root()].children;
    if (factors.size() != 2) return false;
    return (is_exponential(factors[0], element_) && is_inverse_sum(factors[1])) ||
           (is_exponential(factors[1], element_) && is_inverse_sum(factors[0]));
  }

 private:
  /// There are one maximum over a row of scores and one sum of exponentials over it.
  bool find_loops() {
    int maxima = 0, sums = 0;
    for (std::uint32_t k = 0; k < e_.nodes.size(); ++k) {
      const FlatNode& node = e_.nodes[k];
      if (node.loops.empty()) continue;
      if (node.is_conditional || node.loops.size() != 1 || node.children.size() != 1 ||
          node.loops[0].size != e_.axes.back().size)
        return false;
      const Affine in_row = renamed(element_, e_.axes.back().variable, node.loops[0].variable);
      if (node.kind == NodeKind::kMax && reads_at(e_, node.children[0], scores_, in_row)) {
        maximum_ = k;
        ++maxima;
      } else if (node.kind == NodeKind::kSum) {
        sum_ = k;
        ++sums;
        position_in_sum_ = in_row;
      }
    }
    return maxima == 1 && sums == 1 && is_exponential(e_.nodes[sum_].children[0], position_in_sum_);
  }

  /// exp(score at the position − maximum)
  bool is_exponential(std::uint32_t node, const Affine& position) const {
    const FlatNode& n = e_.nodes[node];
    if (n.kind != NodeKind::kApply || n.function != ops::Function::kExp) return false;
    const auto terms = terms_of(e_, n.children[0]);
    if (terms.size() != 2) return false;
    const auto is_difference = [&](const AddedTerm& score, const AddedTerm& largest) {
      return score.factor == 1 && reads_at(e_, score.node, scores_, position) &&
             largest.factor == -1 && largest.node == maximum_;
    };
    return is_difference(terms[0], terms[1]) || is_difference(terms[1], terms[0]);
  }

  bool is_inverse_sum(std::uint32_t node) const {
    return e_.nodes[node].kind == NodeKind::kInverse && e_.nodes[node].children[0] == sum_;
  }

  const FlatExpression& e_;
  std::uint32_t scores_;
  Affine element_, position_in_sum_;
  std::uint32_t maximum_ = 0, sum_ = 0;
};

}  // namespace

bool is_softmax_of(const FlatExpression& expression, std::uint32_t scores) {
  return SoftmaxMatch(expression, scores).holds();
}

}  // namespace soapstone::gpu

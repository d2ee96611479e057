// See attention.h.
#include "gpu/forms/attention.h"

#include <algorithm>
#include <set>

#include "gpu/forms/product.h"
#include "gpu/forms/softmax.h"

namespace soapstone::gpu {
namespace {

using ops::evaluation::NodeKind;
using runtime::generated::RegionTensor;

/// A library is called so often at most: each call takes as long as a launch.
constexpr std::int64_t kMostRuns = 64;

/// A loop over rows of scores, and how far apart its neighbors lie in each tensor, in elements.
struct RowLoop {
  std::int64_t size = 1;
  std::int64_t queries = 0, keys = 0, values = 0, result = 0;
  std::vector<std::int64_t> added = {};
};

/// Takes loops, innermost first, as long as they are one with those that were taken.
class JoinedLoops {
 public:
  explicit JoinedLoops(bool has_keys) : has_keys_(has_keys) {}

  bool take(const RowLoop& loop) {
    const bool has_keys = loop.keys != 0, has_values = loop.values != 0;
    if (has_keys != has_values || (has_keys && !has_keys_)) return false;
    // Within a head of keys there may be several of queries, not the other way round.
    if (key_loop_.size > 1 && !has_keys) return false;
    if (loop_.size > 1 && !continues(loop)) return false;
    if (loop_.size == 1) loop_ = RowLoop{1, loop.queries, 0, 0, loop.result, loop.added};
    loop_.size *= loop.size;
    if (!has_keys) return true;
    if (key_loop_.size == 1) key_loop_ = RowLoop{1, 0, loop.keys, loop.values};
    key_loop_.size *= loop.size;
    return true;
  }

  const RowLoop& loop() const { return loop_; }
  const RowLoop& key_loop() const { return key_loop_; }

 private:
  bool continues(const RowLoop& outer) const {
    const auto fits = [&](std::int64_t a, std::int64_t b) { return a == b * loop_.size; };
    if (!fits(outer.queries, loop_.queries) || !fits(outer.result, loop_.result)) return false;
    for (std::size_t k = 0; k < outer.added.size(); ++k)
      if (!fits(outer.added[k], loop_.added[k])) return false;
    return key_loop_.size == 1 || (outer.keys == key_loop_.keys * key_loop_.size &&
                                   outer.values == key_loop_.values * key_loop_.size);
  }

  bool has_keys_;
  RowLoop loop_, key_loop_;
};

class AttentionFinder {
 public:
  AttentionFinder(const core::Graph& graph, const Region& region)
      : graph_(graph), region_(region) {}

  core::Result<Attention> find() {
    for (std::uint32_t t = 0; t < region_.tensors.size(); ++t) {
      if (!is_between(t)) continue;
      const auto scores = scores_of_softmax(t);
      if (!scores) continue;
      if (!core::is_floating(region_.tensors[region_.outputs[0]].data_type)) break;
      SOAPSTONE_ASSIGN_OR_RETURN(
          context_, product_of(region_, region_.outputs[0], dims_of(region_.outputs[0]), t));
      SOAPSTONE_ASSIGN_OR_RETURN(scores_, product_of(region_, *scores, dims_of(*scores), {}));
      if (context_.left != t || context_.right == t || context_.scale != 1 ||
          context_.expression.root() != context_.sum)
        return core::unsupported("a softmax that is no factor of a plain product");
      return describe();
    }
    return core::unsupported("no softmax before a product");
  }

 private:
  core::Dims dims_of(std::uint32_t tensor) const {
    return runtime::dims_of(graph_.tensor(region_.tensors[tensor].id).type);
  }

  /// True for the result of a node that stays within the region.
  bool is_between(std::uint32_t tensor) const {
    const RegionTensor& t = region_.tensors[tensor];
    return t.stage && t.id.valid() && !region_.is_output(tensor);
  }

  /// The tensor of which `tensor` is the softmax.
  std::optional<std::uint32_t> scores_of_softmax(std::uint32_t tensor) const {
    for (std::uint32_t s = 0; s < region_.tensors.size(); ++s) {
      if (s == tensor || !is_between(s) ||
          region_.tensors[s].elements != region_.tensors[tensor].elements)
        continue;
      const auto expression = flatten(region_, tensor, dims_of(tensor), s);
      if (expression && is_softmax_of(*expression, s)) return s;
    }
    return std::nullopt;
  }

  core::Result<Attention> describe() {
    SOAPSTONE_RETURN_IF_ERROR(check_products());
    SOAPSTONE_RETURN_IF_ERROR(find_added());
    JoinedLoops rows(false), heads(true), batch(true), runs(true);
    JoinedLoops* const all[] = {&rows, &heads, &batch, &runs};
    SOAPSTONE_RETURN_IF_ERROR(sort_loops(all));
    for (const JoinedLoops* const own : {&batch, &runs})
      if (own->loop().size != own->key_loop().size)
        return core::unsupported("keys that several batches share");
    if (runs.loop().size > kMostRuns) return core::unsupported("attention in too many parts");
    attention_.runs = runs.loop().size;
    const RowLoop &b = batch.loop(), &h = heads.loop(), &r = rows.loop();
    const RowLoop &of_batch = batch.key_loop(), &of_head = heads.key_loop(), &run = runs.loop(),
                  &of_run = runs.key_loop();
    const std::int64_t size = scores_.summed.size, columns = scores_.column.size,
                       value_size = context_.column.size;
    attention_.queries = tensor(scores_.left, scores_.left_offset, {b.size, h.size, r.size, size},
                                {b.queries, h.queries, r.queries, 1}, run.queries);
    attention_.keys =
        tensor(scores_.right, scores_.right_offset, {of_batch.size, of_head.size, size, columns},
               {of_batch.keys, of_head.keys, 1, scores_.column.right}, of_run.keys);
    attention_.values = tensor(
        context_.right, context_.right_offset, {of_batch.size, of_head.size, columns, value_size},
        {of_batch.values, of_head.values, context_.summed.right, 1}, of_run.values);
    attention_.result = tensor(region_.outputs[0], 0, {b.size, h.size, r.size, value_size},
                               {b.result, h.result, r.result, 1}, run.result);
    for (std::size_t k = 0; k < added_.size(); ++k) describe_added(k, b, h, r, run);
    return std::move(attention_);
  }

  core::Status check_products() const {
    if (scores_.column.result != 1 || context_.summed.left != 1 ||
        context_.summed.size != scores_.column.size)
      return core::unsupported("a softmax along another dimension than that of the scores");
    if (scores_.summed.left != 1 || scores_.summed.right != 1 || context_.column.right != 1 ||
        context_.column.result != 1)
      return core::unsupported("heads whose elements do not lie side by side");
    for (const std::uint32_t factor : {scores_.left, scores_.right, context_.right})
      if (region_.tensors[factor].data_type != region_.tensors[region_.outputs[0]].data_type)
        return core::unsupported("factors of another type than the result");
    return core::Done{};
  }

  /// `step`: from run to run.
  GraphTensor tensor(std::uint32_t id, std::int64_t offset, core::Dims dims, core::Dims strides,
                     std::int64_t step) const {
    const RegionTensor& t = region_.tensors[id];
    GraphTensor made{t.id, t.data_type, std::move(dims), std::move(strides), offset, {}, false};
    made.step = attention_.runs > 1 ? step : 0;
    return made;
  }

  /// Number k of what is added, over loops of batches, heads, rows and runs.
  void describe_added(std::size_t k, const RowLoop& b, const RowLoop& h, const RowLoop& r,
                      const RowLoop& run) {
    const FlatNode& read = scores_.expression.nodes[added_[k]];
    const auto stride = [&](const RowLoop& loop) { return loop.size > 1 ? loop.added[k] : 0; };
    core::Dims strides{stride(b), stride(h), stride(r),
                       read.position.coefficient(scores_.column.variable)};
    core::Dims dims{b.size, h.size, r.size, scores_.column.size};
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (strides[d] == 0) dims[d] = 1;
    attention_.added.push_back(tensor(read.tensor, read.position.constant, std::move(dims),
                                      std::move(strides), stride(run)));
  }

  /// What is added to the product of queries and keys.
  core::Status find_added() {
    const FlatExpression& e = scores_.expression;
    attention_.scale = scores_.scale;
    bool has_product = false;
    for (const AddedTerm& term : terms_of(e, e.root())) {
      if (term.node == scores_.sum && !std::exchange(has_product, true))
        attention_.scale *= term.factor;
      else if (e.nodes[term.node].kind == NodeKind::kRead && term.factor == 1)
        added_.push_back(term.node);
      else
        return core::unsupported("scores that are no scaled product with something added");
    }
    return has_product ? core::Status(core::Done{}) : core::unsupported("no product of scores");
  }

  /// Loops over rows of scores, innermost first, as both products cut them.
  core::Result<std::vector<RowLoop>> row_loops() const {
    std::vector<ProductLoop> of_scores = scores_.batch, of_context = context_.batch;
    of_scores.push_back(scores_.row);
    of_context.push_back(context_.row);
    std::set<std::int64_t> places{scores_.column.size};
    const auto note = [&](const ProductLoop& loop, std::int64_t place) {
      if (loop.size > 1) places.insert({place, place * loop.size});
    };
    for (const ProductLoop& loop : of_scores) note(loop, loop.result);
    for (const ProductLoop& loop : of_context) note(loop, loop.left);
    std::vector<RowLoop> loops;
    for (auto low = places.begin(), high = std::next(low); high != places.end(); low = high++) {
      const auto covers = [&](const ProductLoop& loop, std::int64_t place) {
        return loop.size > 1 && place <= *low && *high <= place * loop.size && *low % place == 0;
      };
      const auto of_s = std::ranges::find_if(
          of_scores, [&](const ProductLoop& loop) { return covers(loop, loop.result); });
      const auto of_c = std::ranges::find_if(
          of_context, [&](const ProductLoop& loop) { return covers(loop, loop.left); });
      if (of_s == of_scores.end() || of_c == of_context.end() || *high % *low != 0)
        return core::unsupported("rows of scores that both products cut differently");
      const std::int64_t in_s = *low / of_s->result, in_c = *low / of_c->left;
      RowLoop loop{*high / *low, of_s->left * in_s, of_s->right * in_s, of_c->right * in_c,
                   of_c->result * in_c};
      for (const std::uint32_t read : added_)
        loop.added.push_back(scores_.expression.nodes[read].position.coefficient(of_s->variable) *
                             in_s);
      loops.push_back(std::move(loop));
    }
    return loops;
  }

  /// Each loop goes to the first of those that are left which takes it.
  core::Status sort_loops(std::span<JoinedLoops* const> all) const {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<RowLoop> loops, row_loops());
    auto at = all.begin();
    for (const RowLoop& loop : loops) {
      while (at != all.end() && !(*at)->take(loop)) ++at;
      if (at == all.end()) return core::unsupported("heads at more than three distances");
    }
    return core::Done{};
  }

  const core::Graph& graph_;
  const Region& region_;
  Product scores_, context_;
  std::vector<std::uint32_t> added_;  // nodes of the scores' expression
  Attention attention_;
};

}  // namespace

core::Result<Attention> attention_of(const core::Graph& graph, const Region& region) {
  if (region.outputs.size() != 1) return core::unsupported("several results");
  return AttentionFinder(graph, region).find();
}

}  // namespace soapstone::gpu

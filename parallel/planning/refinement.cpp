#include "parallel/planning/refinement.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "parallel/elimination/ascending.h"
#include "parallel/planning/step_sums.h"
#include "parallel/sharding/sharding_problem.h"
#include "parallel/step/weight_traffic.h"

namespace soapstone::parallel {
namespace {

/// How often sums are tried that are to be larger than those before.
constexpr std::size_t kMostSums = 8;
/// Choices that are looked at in one shape, and plans that are timed.
constexpr std::size_t kMostSteps = 30'000;
constexpr std::size_t kMostTimed = 20'000, kMostTimedPipelines = 300;
/// A sum in another order may be more by that share.
constexpr double kRoundingOfSteps = 1e-12;

using ExchangeKind = std::pair<Layout, Layout>;

/// A way for a weight to lie, beside given choices of nodes.
struct WeightWay {
  std::optional<PricedExchange> exchange;
  double gathered_us = 0, exchanged_backward_us = 0, summed_us = 0, updated_us = 0;
  double held_bytes = 0;
  std::uint32_t choice = 0;  ///< The weight's variable has it.

  double cost(const StepWeights& weights) const {
    return weights.gathered * gathered_us + weights.exchanged_backward * exchanged_backward_us +
           weights.sums * summed_us + weights.updates * updated_us;
  }
};

/// A weight, or a copy of one on its way to a reader, which has a single way.
struct OpenWeight {
  std::optional<CostVariableId> variable;
  std::size_t position = 0;  ///< Where the node that exchanges it is in the order.
  std::vector<WeightWay> ways;
};

/// The least that is exchanged for weights in a stage, once some have their ways: those of the
/// first nodes in the order of the model.
class ExchangesSoFar {
 public:
  /// `ends_us`: when the node's backward pass has ended, from its begin.
  void add(const Mesh& mesh, const WeightExchange& exchange, double ends_us, bool is_one_bucket) {
    std::vector<Kind>& kinds = exchange.is_gathered ? gathered_ : summed_;
    auto kind = std::ranges::find(kinds, kind_of(exchange), &Kind::layouts);
    if (kind == kinds.end()) kind = kinds.insert(kind, Kind{kind_of(exchange)});
    (exchange.is_gathered ? scatter_us_ : sum_us_) -= kind->gradients_us;
    gather_us_ -= kind->gather_us;
    kind->bytes += exchange.bytes;
    const auto& [from, to] = kind->layouts;
    if (exchange.is_gathered) kind->gather_us = convert(mesh, kind->bytes, from, to).us;
    kind->gradients_us = convert_gradient(mesh, kind->bytes, from, to).us;
    gather_us_ += kind->gather_us;
    (exchange.is_gathered ? scatter_us_ : sum_us_) += kind->gradients_us;
    if (exchange.is_gathered) return;
    // No bucket with one that was met is full before the backward pass of the node of the last one.
    if (!begin_us_ || !is_one_bucket) begin_us_ = ends_us;
    summed_us_ = std::max(summed_us_, *begin_us_ + sum_us_);
  }
  double gather_us() const { return gather_us_; }
  double scatter_us() const { return scatter_us_; }
  /// When gradients are summed, from the begin of the last backward pass.
  double summed_us() const { return summed_us_; }

 private:
  struct Kind {
    ExchangeKind layouts;
    double bytes = 0, gather_us = 0, gradients_us = 0;
  };
  std::vector<Kind> gathered_, summed_;
  double gather_us_ = 0, scatter_us_ = 0, sum_us_ = 0, summed_us_ = 0;
  std::optional<double> begin_us_;
};

class FasterPlans {
 public:
  FasterPlans(const Refinement& refinement, double limit_us, std::int64_t most, MeshPlan& plan)
      : refinement_(refinement), options_(refinement.context.options), plan_(plan),
        limit_us_(limit_us), most_(most), fits_(plan.time.peak_bytes <= refinement.memory_bytes),
        is_one_bucket_(largest_bucket() < refinement.bucket_bytes),
        sums_(plan.shape, options_.is_training, is_one_bucket_, refinement.slowness,
              positions_of(refinement.context.mesh, refinement.context.rates, options_.choices)
                  .size()),
        most_timed_(plan.shape.stages == 1 ? kMostTimed : kMostTimedPipelines) {}

  RefinementEffort run() {
    const bool is_done = look();
    return {looked_at_, is_done};
  }

 private:
  bool look() {
    if (!find_sums()) return true;
    std::vector<CostGraph> graphs;
    for (const ShardingProblem& problem : problems_) graphs.push_back(problem.costs());
    std::vector<CostVariableId> weights;
    for (const WeightVariable& weight : problems_.front().weights())
      weights.push_back(weight.variable);
    AscendingAssignments assignments(graphs, tables_, weights);
    while (const auto next = assignments.next(enough_us(), kMostSteps)) {
      look_at(*next);
      if (has_given_up()) return false;
    }
    return !assignments.has_given_up();
  }

  bool has_given_up() const { return timed_ > most_timed_ || looked_at_ > most_; }

  /// A step that takes so long is of no use.
  double enough_us() const {
    return (1 - kRoundingOfSteps) * (fits_ ? std::min(limit_us_, plan_.time.total_us) : limit_us_);
  }

  // --- Sums that no step goes below ---

  /// Finds sums whose least is as large as it can be: each next one is the largest, at what was the
  /// least for the others (J. Kelley's cutting planes, 1960). False: no step can be fast enough.
  bool find_sums() {
    const std::vector<StepWeights>& all = sums_.weights();
    std::vector<double> known_us(all.size(), kImpossible);
    double bound_us = 0;
    std::size_t next = 0;
    while (problems_.size() < kMostSums) {
      ShardingOptions& options = options_of_problems_.emplace_back(options_);
      options.weights = all[next];
      options.bucket_bytes = largest_bucket();
      const ShardingContext& from = refinement_.context;
      problems_.emplace_back(
          ShardingContext{from.graph, from.loops, from.work, from.mesh, from.rates, options},
          tables_);
      const ShardingProblem& problem = problems_.back();
      const Assignment least = least_assignment(problem.costs(), tables_, problem.elimination());
      if (least.lower_bound >= enough_us()) return false;
      bound_us = std::max(bound_us, least.lower_bound);
      attempt(least);
      const StepParts parts = parts_of(least);
      for (std::size_t k = 0; k < all.size(); ++k)
        known_us[k] = std::min(known_us[k], sum_of(all[k], parts));
      next = static_cast<std::size_t>(std::ranges::max_element(known_us) - known_us.begin());
      if (known_us[next] <= bound_us * (1 + kRoundingOfSteps)) break;
    }
    return true;
  }

  /// No bucket has more bytes.
  double largest_bucket() const {
    double bytes = 0;
    const core::Graph& graph = refinement_.context.graph;
    for (std::size_t t = 0; t < graph.tensor_bound(); ++t) {
      const core::TensorId id(t);
      if (!graph.contains(id) || !refinement_.context.work.tensors[t].is_weight) continue;
      const auto readers = static_cast<double>(graph.consumers(id).size());
      bytes += refinement_.context.work.tensors[t].bytes * (readers > 1 ? readers + 1 : 1);
    }
    return bytes;
  }

  StepParts parts_of(const Assignment& assignment) {
    const ShardingProblem& problem = problems_.front();
    StepParts parts = parts_of_nodes(problems_.front().sharding_of(assignment));
    for (const PricedExchange& exchange : problem.exchanges_of_copies(assignment))
      problem.add(exchange, parts);
    for (const WeightVariable& weight : problem.weights())
      for (const WeightChoice& choice : problem.weight_choices(weight.tensor, assignment)) {
        if (choice.choice != assignment.choices[weight.variable.index()]) continue;
        if (choice.exchange) problem.add(*choice.exchange, parts);
        parts.updated_us += choice.held.update_us;
      }
    return parts;
  }

  StepParts parts_of_nodes(const Sharding& sharding) const {
    StepParts parts;
    const std::size_t positions =
        positions_of(refinement_.context.mesh, refinement_.context.rates, options_.choices).size();
    parts.passes.resize(positions);
    for (const core::NodeId id : refinement_.order.nodes) {
      const NodeCost& cost = sharding.costs[id.index()];
      for (std::size_t p = 0; p < positions; ++p) {
        const PartTime time = cost.by_position.empty() ? PartTime{cost.forward_us, cost.backward_us}
                                                       : cost.by_position[p];
        const PartTime passes = passes_of(cost, time, options_.recomputes);
        parts.passes[p].forward_us += passes.forward_us;
        parts.passes[p].backward_us += passes.backward_us;
      }
    }
    return parts;
  }

  // --- Weights beside given choices of nodes ---

  void look_at(const Assignment& assignment) {
    now_ = assignment;
    nodes_ = problems_.front().sharding_of(assignment);
    const StepParts parts = parts_of_nodes(nodes_);
    open_weights(assignment);
    choose_bounds(parts);
    run_passes();
    chosen_.assign(weights_.size(), nullptr);
    std::vector<double> so_far(bounds_.size());
    for (std::size_t b = 0; b < bounds_.size(); ++b) so_far[b] = sum_of(*bounds_[b], parts);
    choose_weight(0, so_far, 0, {});
  }

  void open_weights(const Assignment& assignment) {
    const ShardingProblem& problem = problems_.front();
    weights_.clear();
    for (const PricedExchange& copy : problem.exchanges_of_copies(assignment))
      weights_.push_back({std::nullopt, position_of(copy.exchange.reader), {way_of(copy)}});
    for (const WeightVariable& weight : problem.weights()) {
      OpenWeight& open = weights_.emplace_back();
      open.variable = weight.variable;
      open.position = refinement_.order.nodes.size();
      for (const core::NodeId reader : refinement_.context.graph.consumers(weight.tensor))
        if (!refinement_.context.graph.is_constant_expression(reader))
          open.position = std::min(open.position, position_of(reader));
      open.ways = different_ways(problem.weight_choices(weight.tensor, assignment));
    }
    std::ranges::stable_sort(weights_, {}, &OpenWeight::position);
  }

  std::size_t position_of(core::NodeId node) const {
    return refinement_.order.positions[node.index()];
  }

  WeightWay way_of(const std::optional<PricedExchange>& exchange) const {
    WeightWay way;
    way.exchange = exchange;
    if (!exchange) return way;
    StepParts parts;
    problems_.front().add(*exchange, parts);
    way.gathered_us = parts.gathered_us;
    way.exchanged_backward_us = parts.exchanged_backward_us;
    way.summed_us = parts.summed_us;
    return way;
  }

  /// The ways that are not in all slower than another one.
  std::vector<WeightWay> different_ways(const std::vector<WeightChoice>& choices) const {
    std::vector<WeightWay> ways;
    for (const WeightChoice& choice : choices) {
      WeightWay& way = ways.emplace_back(way_of(choice.exchange));
      way.updated_us = choice.held.update_us;
      way.held_bytes =
          choice.held.weight_bytes + choice.held.gradient_bytes + choice.held.state_bytes;
      way.choice = choice.choice;
    }
    std::ranges::stable_sort(ways, {}, &WeightWay::updated_us);
    std::vector<WeightWay> different;
    for (const WeightWay& way : ways)
      if (std::ranges::none_of(different,
                               [&](const WeightWay& other) { return is_no_better(way, other); }))
        different.push_back(way);
    return different;
  }

  /// `other` takes no longer to update, holds no more bytes, and is exchanged alike or not at all.
  static bool is_no_better(const WeightWay& way, const WeightWay& other) {
    if (other.held_bytes > way.held_bytes) return false;
    if (!way.exchange || !other.exchange) return !way.exchange && !other.exchange;
    const WeightExchange& a = way.exchange->exchange;
    const WeightExchange& b = other.exchange->exchange;
    return a.is_gathered == b.is_gathered && kind_of(a) == kind_of(b);
  }

  /// The sums that are the largest here, and what weights add to them at least.
  void choose_bounds(const StepParts& parts) {
    constexpr std::size_t kBounds = 6;
    std::vector<std::pair<double, const StepWeights*>> rated;
    for (const StepWeights& weights : sums_.weights()) {
      double us = sum_of(weights, parts);
      for (const OpenWeight& weight : weights_) us += least(weight.ways, weights);
      rated.emplace_back(-us, &weights);
    }
    const std::size_t count = std::min(kBounds, rated.size());
    std::ranges::partial_sort(rated, rated.begin() + static_cast<std::ptrdiff_t>(count));
    bounds_.clear();
    for (std::size_t b = 0; b < count; ++b) bounds_.push_back(rated[b].second);
    rest_.assign(weights_.size() + 1, std::vector<double>(count, 0));
    updates_of_rest_us_.assign(weights_.size() + 1, 0);
    for (std::size_t w = weights_.size(); w-- > 0;) {
      std::vector<WeightWay>& ways = weights_[w].ways;
      for (std::size_t b = 0; b < count; ++b)
        rest_[w][b] = rest_[w + 1][b] + least(ways, *bounds_[b]);
      updates_of_rest_us_[w] = updates_of_rest_us_[w + 1] +
                               std::ranges::min(ways, {}, &WeightWay::updated_us).updated_us;
      std::ranges::stable_sort(ways, {},
                               [&](const WeightWay& way) { return way.cost(*bounds_.front()); });
    }
  }

  static double least(const std::vector<WeightWay>& ways, const StepWeights& weights) {
    double least_us = kImpossible;
    for (const WeightWay& way : ways) least_us = std::min(least_us, way.cost(weights));
    return least_us;
  }

  bool can_be_faster(std::size_t w, const std::vector<double>& so_far, double updated_us,
                     const ExchangesSoFar& exchanged) const {
    for (std::size_t b = 0; b < bounds_.size(); ++b)
      if (so_far[b] + rest_[w][b] >= enough_us()) return false;
    if (plan_.shape.stages > 1) return true;
    const double updates_us = slowness().update * (updated_us + updates_of_rest_us_[w]);
    return least_us(exchanged) + updates_us < enough_us();
  }

  /// A step of one stage takes no less, without updates.
  double least_us(const ExchangesSoFar& exchanged) const {
    const bool gathers_again = options_.is_training && !options_.gathers_once;
    const double gather_us = exchanged.gather_us();
    const double again_us = gathers_again ? gather_us : 0, scatter_us = exchanged.scatter_us();
    const auto m = static_cast<double>(plan_.shape.microbatches);
    if (is_one_bucket_) {
      const double backward_us = again_us + passes_.backward_us + scatter_us;
      return m * (passes_.forward_us + gather_us) + (m - 1) * backward_us +
             std::max(backward_us, again_us + exchanged.summed_us());
    }
    const double backward_us = std::max(passes_.backward_us, again_us + scatter_us);
    return m * std::max(passes_.forward_us, gather_us) + (m - 1) * backward_us +
           std::max(backward_us, exchanged.summed_us());
  }

  void choose_weight(std::size_t w, const std::vector<double>& so_far, double updated_us,
                     const ExchangesSoFar& exchanged) {
    ++looked_at_;
    if (has_given_up() || !can_be_faster(w, so_far, updated_us, exchanged)) return;
    if (w == weights_.size()) return time();
    std::vector<double> next(bounds_.size());
    for (const WeightWay& way : weights_[w].ways) {
      chosen_[w] = &way;
      for (std::size_t b = 0; b < bounds_.size(); ++b) next[b] = so_far[b] + way.cost(*bounds_[b]);
      ExchangesSoFar with = exchanged;
      if (plan_.shape.stages == 1 && way.exchange)
        with.add(refinement_.context.mesh, way.exchange->exchange,
                 options_.is_training ? backward_ends_us_[weights_[w].position] : 0,
                 is_one_bucket_);
      choose_weight(w + 1, next, updated_us + way.updated_us, with);
    }
  }

  // --- Time ---

  void time() {
    ++timed_;
    if (plan_.shape.stages == 1 && one_stage_us() >= enough_us()) return;
    for (std::size_t w = 0; w < weights_.size(); ++w)
      if (weights_[w].variable) now_.choices[weights_[w].variable->index()] = chosen_[w]->choice;
    attempt(now_);
  }

  void attempt(const Assignment& assignment) {
    MeshPlan other = refinement_.completed(problems_.front().sharding_of(assignment));
    if (other.sharding.cost_us == kImpossible) return;
    if (other.time.peak_bytes > refinement_.memory_bytes) return;
    if (fits_ && other.time.total_us >= plan_.time.total_us) return;
    plan_ = std::move(other);
    fits_ = true;
  }

  /// The passes with nothing to exchange for weights, of which a real one takes no less.
  void run_passes() {
    if (plan_.shape.stages > 1) return;
    pass_nodes_.clear();
    const double again = options_.recomputes ? 1 : 0;
    for (const core::NodeId id : refinement_.order.nodes)
      pass_nodes_.push_back(pass_node(nodes_.costs[id.index()], again, slowness().work));
    exchanges_.assign(pass_nodes_.size(), {});
    const WeightTraffic passes = traffic();
    passes_ = {passes.forward_us(), passes.backward_us()};
    backward_ends_us_ = passes.backward_ends();
  }

  WeightTraffic traffic() const {
    return WeightTraffic(refinement_.context.mesh, refinement_.bucket_bytes, pass_nodes_,
                         exchanges_, {options_.is_training, options_.gathers_once});
  }

  Slowness slowness() const {
    return refinement_.slowness.empty() ? Slowness() : refinement_.slowness.front();
  }

  /// The step takes no less: exactly this, if exchanges go on beside passes.
  double one_stage_us() {
    exchanges_.assign(pass_nodes_.size(), {});
    double updates_us = 0;
    for (const WeightWay* way : chosen_) {
      if (way->exchange)
        exchanges_[position_of(way->exchange->exchange.reader)].push_back(&way->exchange->exchange);
      updates_us += slowness().update * way->updated_us;
    }
    const WeightTraffic timed = traffic();
    const auto m = static_cast<double>(plan_.shape.microbatches);
    const double ended_us = m * (timed.forward_us() + timed.backward_us());
    return std::max(ended_us, timed.summed_us(ended_us - timed.backward_us(), 0)) + updates_us;
  }

  const Refinement& refinement_;
  const ShardingOptions& options_;
  MeshPlan& plan_;
  const double limit_us_;
  const std::int64_t most_;
  bool fits_;
  const bool is_one_bucket_;  ///< All weights together do not fill it.
  const StepSums sums_;
  const std::size_t most_timed_;
  CostTables tables_;
  std::deque<ShardingOptions> options_of_problems_;
  std::deque<ShardingProblem> problems_;  ///< One for each sum; they differ in costs alone.
  std::size_t timed_ = 0;
  std::int64_t looked_at_ = 0;

  /// The choices of nodes that are looked at, and of weights so far.
  Assignment now_;
  Sharding nodes_;
  std::vector<PassNode> pass_nodes_;
  std::vector<ExchangesOfNode> exchanges_;
  std::vector<OpenWeight> weights_;  ///< In the order of the model.
  std::vector<const WeightWay*> chosen_;
  std::vector<const StepWeights*> bounds_;
  std::vector<std::vector<double>> rest_;  ///< By weight and bound: of this and the ones behind.
  std::vector<double> updates_of_rest_us_;
  PartTime passes_;                       ///< With nothing to exchange for weights.
  std::vector<double> backward_ends_us_;  ///< By position, from the begin of the backward pass.
};

}  // namespace

RefinementEffort look_for_faster(const Refinement& refinement, double limit_us, std::int64_t most,
                                 MeshPlan& plan) {
  return FasterPlans(refinement, limit_us, most, plan).run();
}

}  // namespace soapstone::parallel

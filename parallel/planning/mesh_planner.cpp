#include "parallel/planning/mesh_planner.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/tasks/tasks.h"
#include "parallel/planning/exchange_bound.h"
#include "parallel/planning/memory_fit.h"
#include "parallel/planning/mesh_shapes.h"

namespace soapstone::parallel {
namespace {

class MeshPlanner {
 public:
  MeshPlanner(const MeshEvaluator& evaluator, const Freedom& freedom, double enough_us, int threads,
              core::ProgressSink& progress, const core::StopToken& stop)
      : evaluator_(evaluator), freedom_(freedom), enough_us_(enough_us),
        devices_(evaluator.devices()), nodes_(evaluator.nodes()), shapes_(evaluator, freedom),
        is_large_(shapes_.are_large()), fit_(evaluator, freedom, stop), progress_(progress),
        stop_(stop), arena_(threads) {}

  core::Result<MeshPlanOutcome> run() {
    arena_.run([&] { search(); });
    MeshPlanOutcome outcome;
    const MeshPlan* best = best_plan();
    if (!best) return nothing_found();
    outcome.plan = *best;
    outcome.memory_bytes = evaluator_.memory_bytes();
    outcome.fits = fit_.fits(*best);
    outcome.meshes_tried = tried_.size();
    outcome.has_looked_at_all = has_looked_at_all_;
    return outcome;
  }

 private:
  void search() {
    consider(shapes_.first());
    if (!best_plan()) return;
    if (!is_large_) vary();
    climb(is_large_ ? kFewRounds : kMostRounds);
    consider(most_promising(shapes_.rest()));
    climb(kRoundsAgain);
    for (int round = 0; round < (is_large_ && !is_cheap() ? 1 : kRoundsAgain); ++round) {
      const double before_us = fastest_that_fits();
      vary();
      if (fastest_that_fits() == before_us) break;
    }
    hide_sums();
    refine();
    size_buckets();
  }

  /// Tries what seldom matters on the best shapes alone: to keep what was gathered, and to compute
  /// the loss in chunks where memory is short. The latter also on shapes that would be faster than
  /// all others if they had the memory.
  void vary() {
    std::vector<MeshShape> shapes;
    std::set<MeshShape> cores;
    for (const MeshPlan* plan : best_plans(few_shapes())) {
      if (!is_worth_climbing(*plan, kWorthClimbing)) break;
      MeshShape shape = shapes_.core_of(plan->shape);
      if (cores.insert(shape).second) add_loss_chunks(shape, shapes);
      shape.gathers_once = !shape.gathers_once;
      shapes.push_back(shape);
    }
    for (const MeshShape& shape : fastest_beyond_memory()) add_loss_chunks(shape, shapes);
    consider(shapes);
  }

  void add_loss_chunks(MeshShape shape, std::vector<MeshShape>& shapes) const {
    if (does_not_fit_.empty() || freedom_.loss_chunks) return;
    for (const std::int64_t chunks :
         {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}, kMostLossChunks}) {
      shape.loss_chunks = chunks;
      shapes.push_back(shape);
    }
  }

  /// The fastest cores that would be faster than the best plan, and that fit if the loss is in many
  /// chunks.
  std::vector<MeshShape> fastest_beyond_memory() const {
    if (freedom_.loss_chunks || (is_large_ && !is_cheap())) return {};
    const double limit_us = fastest_that_fits();
    std::vector<MeshPlan> plans;
    for (const auto& [core, time] : does_not_fit_) {
      MeshShape shape = core;
      shape.loss_chunks = kMostLossChunks;
      if (time.total_us >= limit_us || !evaluator_.can_cut_loss(shape)) continue;
      plans.emplace_back().shape = shape;
      plans.back().time = time;
    }
    std::ranges::stable_sort(plans, {}, [](const MeshPlan& plan) { return plan.time.total_us; });
    plans.resize(std::min(plans.size(), few_shapes()));
    in_parallel(0, plans.size(), [&](std::size_t k) { plans[k] = fit_.smallest(plans[k]); });
    std::vector<MeshShape> shapes;
    for (const MeshPlan& plan : plans)
      if (shapes.size() < kMoreShapesAgain && plan.sharding.cost_us < kImpossible &&
          fit_.fits(plan))
        shapes.push_back(shapes_.core_of(plan.shape));
    return shapes;
  }

  /// So many shapes of the model can be planned again in little time.
  std::size_t few_shapes() const {
    if (is_large_) return is_cheap() ? kFewShapesAgain : 1;
    const auto cheap = static_cast<std::size_t>(kCheapNodes / std::max<std::int64_t>(nodes_, 1));
    return std::max(cheap, kFewShapesAgain);
  }

  bool is_cheap() const { return nodes_ * devices_ < kCheapParts; }

  /// Those that were not considered and that no bound forbids to be the best: few beside those that
  /// were considered, and first those that share sizes with fast ones.
  std::vector<MeshShape> most_promising(std::vector<MeshShape> shapes) {
    if (is_large_ && !is_cheap()) return {};
    std::erase_if(shapes, [&](const MeshShape& shape) {
      return considered_.contains(shapes_.core_of(shape)) || !can_be_best(shape);
    });
    std::map<MeshShape, double> expected_us;
    for (const MeshShape& shape : shapes) expected_us[shape] = fastest_alike(shape);
    std::ranges::stable_sort(shapes, {}, [&](const MeshShape& s) { return expected_us.at(s); });
    shapes.resize(std::min(shapes.size(), considered_.size() / kShareOfRest));
    return shapes;
  }

  /// The fastest plan with as many stages and microbatches, and one more size in common.
  double fastest_alike(const MeshShape& shape) const {
    double fastest_us = kImpossible;
    for (const auto& [other, plan] : tried_)
      if (fit_.fits(plan) && other.stages == shape.stages &&
          other.microbatches == shape.microbatches &&
          (other.model == shape.model || other.any == shape.any || other.batch == shape.batch))
        fastest_us = std::min(fastest_us, plan.time.total_us);
    return fastest_us;
  }

  /// False: no step on the shape is faster than the best plan so far.
  bool can_be_best(const MeshShape& shape) const {
    const double limit_us = fastest_that_fits();
    return limit_us == kImpossible || evaluator_.has_measured_parts() ||
           evaluator_.least_step_us(shape) < limit_us;
  }

  /// Returns so many, the best first.
  std::vector<MeshPlan*> best_plans(std::size_t most) {
    std::vector<MeshPlan*> plans;
    for (auto& [shape, plan] : tried_) plans.push_back(&plan);
    std::ranges::stable_sort(
        plans, [&](const MeshPlan* a, const MeshPlan* b) { return fit_.is_better(*a, *b); });
    plans.resize(std::min(plans.size(), most));
    return plans;
  }

  /// Plans the best shapes again in buckets of other sizes, and for the case that passes hide other
  /// shares of what is exchanged for weights; a few at a time, so that the others have less to
  /// beat.
  void size_buckets() {
    const std::vector<MeshPlan*> plans = best_if_hidden();
    for (std::size_t first = 0; first < plans.size(); first += kFittedAtOnce) {
      const double limit_us = fastest_that_fits();
      in_parallel(first, std::min(first + kFittedAtOnce, plans.size()), [&](std::size_t k) {
        if (plans[k]->sharding.exchanges.empty() || us_if_hidden(*plans[k]) >= limit_us) return;
        for (const double bytes : kBuckets) {
          try_bucket(bytes, *plans[k]);
          if (bytes >= exchanged_bytes(*plans[k])) break;
        }
      });
    }
  }

  /// No bucket has more bytes.
  static double exchanged_bytes(const MeshPlan& plan) {
    double bytes = 0;
    for (const WeightExchange& exchange : plan.sharding.exchanges) bytes += exchange.bytes;
    return bytes;
  }

  void try_bucket(double bytes, MeshPlan& plan) const {
    if (!freedom_.bucket_bytes) {
      MeshPlan other = plan;
      other.bucket_bytes = bytes;
      other = evaluator_.timed_again(freedom_, std::move(other));
      if (fit_.is_better(other, plan)) plan = std::move(other);
    }
    if (is_large_ && bytes != kSmallBucket) return;
    for (const double sums : {1.0, 0.5, 0.2, kHiddenSums}) {
      const bool is_between = sums < 1 && sums > kHiddenSums;
      if (is_between && bytes != kSmallBucket) continue;
      MeshPlan again = made_for_buckets(bytes, plan.shape, {0, sums});
      if (again.sharding.cost_us < kImpossible && fit_.is_better(again, plan))
        plan = std::move(again);
    }
  }

  /// The best cuts for buckets of that size; in such buckets, unless another size is fixed.
  MeshPlan made_for_buckets(double bytes, const MeshShape& shape,
                            const MeshWeights& weights) const {
    Freedom freedom = freedom_;
    freedom.bucket_bytes = bytes;
    MeshPlan plan = evaluator_.plan_at(freedom, shape, weights);
    if (plan.sharding.cost_us == kImpossible || !freedom_.bucket_bytes) return plan;
    plan.bucket_bytes = *freedom_.bucket_bytes;
    return evaluator_.timed_again(freedom_, std::move(plan));
  }

  /// Looks a little at each shape, then more at those of which something is left, the fastest
  /// first, so that the others have less to look at.
  void refine() {
    std::vector<MeshPlan*> plans = refined(best_plans(tried_.size()), kFewLooks, kUnlimited);
    std::ranges::stable_sort(
        plans, [&](const MeshPlan* a, const MeshPlan* b) { return fit_.is_better(*a, *b); });
    has_looked_at_all_ = refined(std::move(plans), kMostLooksAtAShape, kMostLooks).empty();
  }

  /// Takes up to `most` looks at each and `most_of_all` at all, and returns those of which
  /// something is left.
  std::vector<MeshPlan*> refined(const std::vector<MeshPlan*>& plans, std::int64_t most,
                                 std::int64_t most_of_all) {
    std::vector<RefinementEffort> efforts(plans.size());
    for (std::size_t first = 0; first < plans.size(); first += kFittedAtOnce) {
      const double limit_us = fastest_that_fits();
      const std::size_t last = std::min(first + kFittedAtOnce, plans.size());
      in_parallel(first, last, [&](std::size_t k) {
        efforts[k] = evaluator_.refine(freedom_, limit_us, std::min(most, most_of_all), *plans[k]);
      });
      for (std::size_t k = first; k < last; ++k)
        most_of_all -= std::min(most_of_all, efforts[k].looked_at);
    }
    std::vector<MeshPlan*> left;
    for (std::size_t k = 0; k < plans.size(); ++k)
      if (!efforts[k].is_done) left.push_back(plans[k]);
    return left;
  }

  core::Error nothing_found() const {
    if (stop_.stop_requested())
      return {core::ErrorCode::kInterrupted, "stopped before there was a plan", {}, {}};
    if (!broken_.empty())
      return core::unsupported(broken_, "take another number of devices, or another strategy");
    return shapes_.why_none();
  }

  /// Doubles and halves the sizes of good shapes, the best first: one that is a little slower may
  /// have better neighbors. With a small model, which costs little, more of them.
  void climb(int most) {
    for (int round = 0; !stop_.stop_requested(); ++round) {
      const bool are_few = static_cast<std::int64_t>(tried_.size()) * nodes_ < kCheapNodes;
      if (round >= most && !are_few) break;
      const MeshPlan* next = best_plan_but(climbed_);
      if (!next || !is_worth_climbing(*next, are_few ? kWorthClimbingCheaply : kWorthClimbing))
        break;
      climbed_.insert(shapes_.core_of(next->shape));
      consider(shapes_.neighbors(shapes_.core_of(next->shape)));
    }
  }

  bool is_worth_climbing(const MeshPlan& plan, double slower) const {
    const MeshPlan* best = best_plan();
    if (fit_.fits(plan) != fit_.fits(*best)) return false;
    if (best->time.total_us > kFarFromEnough * enough_us_) return false;
    return !fit_.fits(plan) ? &plan == best : plan.time.total_us <= slower * best->time.total_us;
  }

  static double us_if_hidden(const MeshPlan& plan) {
    return plan.time.total_us - plan.time.gradient_sum_us - plan.time.exchange_us;
  }

  bool hides_sums() const { return evaluator_.is_training() && !freedom_.sums_behind; }

  /// Plans that would be faster than all others if they exchanged nothing: the fastest as they are,
  /// and some that would be the fastest then. Of those that take the same time, one.
  std::vector<MeshPlan*> best_if_hidden() {
    const double limit_us = fastest_that_fits();
    std::vector<MeshPlan*> plans = best_plans(tried_.size());
    std::erase_if(plans, [&](const MeshPlan* plan) { return us_if_hidden(*plan) >= limit_us; });
    const auto takes_same = [](const MeshPlan* a, const MeshPlan* b) { return a->time == b->time; };
    plans.erase(std::unique(plans.begin(), plans.end(), takes_same), plans.end());
    const std::size_t most = is_large_ && is_cheap() ? kMoreShapesAgain : kFewShapesAgain;
    if (plans.size() <= most) return plans;
    const auto slower = plans.begin() + static_cast<std::ptrdiff_t>(most);
    std::stable_sort(slower, plans.end(), [](const MeshPlan* a, const MeshPlan* b) {
      return us_if_hidden(*a) < us_if_hidden(*b);
    });
    const std::size_t more = is_large_ && !is_cheap() ? 0 : kFewShapesAgain;
    plans.resize(std::min(plans.size(), most + more));
    return plans;
  }

  /// Plans again for the case that the backward pass hides sums of gradients, where that could be
  /// the best.
  void hide_sums() {
    if (!hides_sums() || (!is_large_ && does_not_fit_.empty())) return;
    const double limit_us = fastest_that_fits();
    const std::vector<MeshPlan*> plans = best_if_hidden();
    in_parallel(0, plans.size(), [&](std::size_t k) {
      MeshPlan again = evaluator_.plan_at(freedom_, plans[k]->shape, {0, kHiddenSums});
      fit_.make_fit(again, limit_us, kHiddenSums);
      if (again.sharding.cost_us < kImpossible && fit_.is_better(again, *plans[k]))
        *plans[k] = std::move(again);
    });
  }

  /// Several at a time, without a price of memory first. What does not fit then, but would at the
  /// highest price, is fitted, the fastest first, a few at a time, as long as it could still be the
  /// best. How many does not depend on threads, so neither does the result.
  void consider(const std::vector<MeshShape>& shapes) {
    std::vector<MeshPlan> plans;
    for (const MeshShape& shape : shapes)
      if (shapes_.is_allowed(shape) && considered_.insert(shapes_.core_of(shape)).second &&
          can_be_best(shape))
        plans.emplace_back().shape = shape;
    std::vector<MeshPlan> in_pieces(plans.size());
    in_parallel(0, plans.size(), [&](std::size_t k) {
      plans[k] = evaluator_.plan_at(freedom_, plans[k].shape, {});
      in_pieces[k] = best_chunks(gathered_best(in_small_buckets(plans[k])));
    });
    std::vector<MeshPlan> unfitted;
    const auto add = [&](MeshPlan plan) {
      if (plan.sharding.cost_us < kImpossible && !fit_.fits(plan)) unfitted.push_back(plan);
      keep(std::move(plan));
    };
    for (std::size_t k = 0; k < plans.size(); ++k) {
      if (broken_.empty()) broken_ = evaluator_.broken(freedom_.premises, plans[k]);
      if (!is_large_ && plans[k].shape != in_pieces[k].shape) add(std::move(plans[k]));
      add(std::move(in_pieces[k]));
    }
    tell();
    std::ranges::stable_sort(unfitted, {}, [](const MeshPlan& plan) { return plan.time.total_us; });
    unfitted = keep_smallest(std::move(unfitted));
    for (std::size_t first = 0; first < unfitted.size(); first += kFittedAtOnce) {
      const double limit_us = fastest_that_fits();
      const std::size_t last = std::min(first + kFittedAtOnce, unfitted.size());
      std::vector<std::vector<MeshPlan>> found(last - first);
      in_parallel(first, last, [&](std::size_t k) {
        for (MeshPlan& plan : fit_.fitted(unfitted[k], limit_us))
          found[k - first].push_back(best_chunks(gathered_best(std::move(plan))));
      });
      for (std::vector<MeshPlan>& some : found)
        for (MeshPlan& plan : some) keep(std::move(plan));
      tell();
    }
  }

  /// Calls `body` for each index, on several threads, unless the search is stopped.
  template <class Body>
  void in_parallel(std::size_t begin, std::size_t end, const Body& body) const {
    core::parallel_for_uneven(begin, end, [&](std::size_t k) {
      if (!stop_.stop_requested()) body(k);
    });
  }

  /// The plan, or one with smaller buckets, which begin earlier and cost more: for the case that
  /// nothing hides them, and for the case that passes hide most of them.
  MeshPlan in_small_buckets(MeshPlan plan) const {
    if (plan.sharding.cost_us == kImpossible || !hides_sums() || is_large_) return plan;
    for (const double sums : {1.0, kHiddenSums}) {
      MeshPlan other = made_for_buckets(kSmallBucket, plan.shape, {0, sums});
      if (other.sharding.cost_us == kImpossible || fit_.fits(other) < fit_.fits(plan)) continue;
      if (other.time.total_us < plan.time.total_us) plan = std::move(other);
    }
    return plan;
  }

  /// The plan with what was gathered for the forward pass kept or not, as is best for it.
  MeshPlan gathered_best(MeshPlan plan) const {
    const bool gathers = std::ranges::any_of(plan.sharding.exchanges, &WeightExchange::is_gathered);
    MeshShape shape = plan.shape;
    shape.gathers_once = !shape.gathers_once;
    if (plan.sharding.cost_us == kImpossible || !gathers || !shapes_.is_allowed(shape)) return plan;
    MeshPlan other = plan;
    other.shape = shape;
    other = evaluator_.timed_again(freedom_, std::move(other));
    return fit_.is_better(other, plan) ? other : plan;
  }

  /// The plan in stages of as many pieces as are best for it.
  MeshPlan best_chunks(MeshPlan plan) const {
    if (plan.sharding.cost_us == kImpossible || plan.shape.stages == 1) return plan;
    MeshPlan best = plan;
    for (plan.shape.chunks = 1; plan.shape.stages * plan.shape.chunks <= nodes_;
         plan.shape.chunks *= 2) {
      if (plan.shape.chunks == best.shape.chunks || !shapes_.is_allowed(plan.shape)) continue;
      MeshPlan other = evaluator_.timed_again(freedom_, plan);
      const bool is_faster = other.time.total_us < best.time.total_us;
      if (fit_.fits(best) ? !fit_.is_better(other, best) : !is_faster) break;
      best = std::move(other);
    }
    if (best.shape.chunks == shapes_.core_of(best.shape).chunks || is_large_) return best;
    // Passes count more in pieces.
    MeshPlan again = evaluator_.plan_at(freedom_, best.shape, {});
    return again.sharding.cost_us < kImpossible && fit_.is_better(again, best) ? again : best;
  }

  /// Keeps the smallest plan of each shape beside the one that does not fit, and returns those
  /// whose smallest plan does.
  std::vector<MeshPlan> keep_smallest(std::vector<MeshPlan> unfitted) {
    const double limit_us = fastest_that_fits();
    std::vector<MeshPlan> smallest(unfitted.size());
    in_parallel(0, unfitted.size(), [&](std::size_t k) {
      if (unfitted[k].time.total_us >= limit_us) return;
      smallest[k] = fit_.smallest(unfitted[k]);
      const std::int64_t fewest = shapes_.core_of(unfitted[k].shape).chunks;
      if (fit_.fits(smallest[k]) || unfitted[k].shape.chunks == fewest) return;
      // Stages in pieces hold more.
      unfitted[k].shape.chunks = fewest;
      unfitted[k] = evaluator_.timed_again(freedom_, unfitted[k]);
      smallest[k] = fit_.smallest(unfitted[k]);
    });
    std::vector<MeshPlan> can_fit;
    for (std::size_t k = 0; k < unfitted.size(); ++k) {
      does_not_fit_[shapes_.core_of(unfitted[k].shape)] = unfitted[k].time;
      if (smallest[k].sharding.cost_us < kImpossible && fit_.fits(smallest[k]))
        can_fit.push_back(std::move(unfitted[k]));
      keep(std::move(smallest[k]));
    }
    return can_fit;
  }

  /// Keeps the better one of plans of a shape.
  void keep(MeshPlan plan) {
    if (plan.sharding.cost_us == kImpossible) return;
    const auto [at, is_new] = tried_.try_emplace(plan.shape);
    if (is_new || fit_.is_better(plan, at->second)) at->second = std::move(plan);
  }

  void tell() const {
    const MeshPlan* best = best_plan();
    if (best)
      progress_.update(tried_.size(), 0, fmt::format("best {:.1f} ms", best->time.total_us / 1e3));
  }

  /// A plan that takes so long is of no use.
  double fastest_that_fits() const {
    const MeshPlan* best = best_plan();
    return best && fit_.fits(*best) ? std::min(best->time.total_us, enough_us_) : enough_us_;
  }

  /// The fastest plan that fits; if none does, the one that takes the least memory.
  const MeshPlan* best_plan() const { return best_plan_but({}); }

  const MeshPlan* best_plan_but(const std::set<MeshShape>& excluded) const {
    const MeshPlan* best = nullptr;
    for (const auto& [shape, plan] : tried_)
      if (!excluded.contains(shapes_.core_of(shape)) && (!best || fit_.is_better(plan, *best)))
        best = &plan;
    return best;
  }

  static constexpr std::int64_t kFewLooks = 3'000, kMostLooksAtAShape = 200'000;
  static constexpr std::int64_t kMostLooks = 400'000, kUnlimited = std::int64_t{1} << 60;
  static constexpr std::int64_t kMostLossChunks = 64;
  static constexpr double kSmallBucket = 5e6;
  static constexpr std::array kBuckets{1e6, 5e6, 100e6, 400e6, 1600e6};
  static constexpr int kMostRounds = 12, kFewRounds = 9, kRoundsAgain = 3;
  static constexpr double kWorthClimbing = 1.2, kWorthClimbingCheaply = 2, kFarFromEnough = 1.5;
  /// So many nodes of all plans together take no time to speak of.
  static constexpr std::int64_t kCheapNodes = 8'000;
  static constexpr std::size_t kFewShapesAgain = 5, kMoreShapesAgain = 16;
  /// So many parts of a large model, which was planned in one way so far, take little time.
  static constexpr std::int64_t kCheapParts = 500'000;
  static constexpr std::size_t kShareOfRest = 4;
  static constexpr std::size_t kFittedAtOnce = 4;

  const MeshEvaluator& evaluator_;
  const Freedom& freedom_;
  const double enough_us_;  ///< Plans that fit and take so long are of no use.
  const std::int64_t devices_, nodes_;
  const MeshShapes shapes_;
  const bool is_large_;
  const MemoryFit fit_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  core::TaskArena arena_;
  std::map<MeshShape, MeshPlan> tried_;  ///< The best plan of each shape.
  std::string broken_;                   ///< The premise that the first plan broke that broke one.
  std::set<MeshShape> considered_;       ///< As shapes_.core_of() has them.
  std::set<MeshShape> climbed_;          ///< Cores whose neighbors were considered.
  /// Cores that do not fit without a price of memory: what they take then.
  std::map<MeshShape, StepTime> does_not_fit_;
  bool has_looked_at_all_ = false;
};

}  // namespace

core::Status check_devices(const Topology& topology, const MeshPlanOptions& options) {
  const auto there_are = static_cast<std::int64_t>(topology.device_count());
  if (options.devices && (*options.devices < 1 || *options.devices > there_are)) {
    return core::invalid_input(fmt::format("{} devices are asked for, {} has {}", *options.devices,
                                           topology.name(), there_are));
  }
  const std::int64_t devices = options.devices.value_or(there_are);
  if (there_are % devices != 0) {
    return core::invalid_input(
        fmt::format("{} devices are no equal share of the {} of {}", devices, there_are,
                    topology.name()),
        "take a number that divides them, or describe the smaller machine in a file");
  }
  return core::Done{};
}

core::Result<MeshPlanOutcome> plan_on_meshes(const MeshEvaluator& evaluator, const Freedom& freedom,
                                             double enough_us, int threads,
                                             core::ProgressSink& progress,
                                             const core::StopToken& stop) {
  SOAPSTONE_RETURN_IF_ERROR(evaluator.check(freedom.premises));
  if (freedom.recompute && !evaluator.can_recompute(*freedom.recompute))
    return core::unsupported(
        fmt::format("`recompute` {} has no effect in this model: {}", to_string(*freedom.recompute),
                    *freedom.recompute == Recompute::kAttention
                        ? "there are no scores of attention that are larger than their operands"
                        : "it keeps no less than a lower level"),
        "take another level, or leave it to the search");
  return MeshPlanner(evaluator, freedom, enough_us, threads, progress, stop).run();
}

core::Result<MeshPlanOutcome>
plan_on_meshes(const core::Graph& graph, const std::vector<bool>& is_weight,
               const Topology& topology, const MeshPlanOptions& options,
               core::ProgressSink& progress, const core::StopToken& stop) {
  SOAPSTONE_RETURN_IF_ERROR(check_devices(topology, options));
  const std::int64_t devices =
      options.devices.value_or(static_cast<std::int64_t>(topology.device_count()));
  SOAPSTONE_ASSIGN_OR_RETURN(const Freedom freedom,
                             freedom_on(topology, devices, options.freedom, options.sizes));
  const MeshEvaluator evaluator(graph, is_weight, topology, options);
  SOAPSTONE_ASSIGN_OR_RETURN(
      MeshPlanOutcome outcome,
      plan_on_meshes(evaluator, freedom, kImpossible, options.threads, progress, stop));
  outcome.lower_bound =
      bound_of_plan(evaluator, freedom, outcome.plan.time.total_us, options.threads, stop);
  return outcome;
}

}  // namespace soapstone::parallel

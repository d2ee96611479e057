#include "parallel/planning/mesh_planner.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/tasks/tasks.h"
#include "parallel/planning/exchange_bound.h"
#include "parallel/planning/memory_fit.h"

namespace soapstone::parallel {
namespace {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    result.push_back(d);
    if (d * d < n) result.push_back(n / d);
  }
  std::ranges::sort(result);
  return result;
}

class MeshPlanner {
 public:
  MeshPlanner(const MeshEvaluator& evaluator, const Freedom& freedom, int threads,
              core::ProgressSink& progress, const core::StopToken& stop)
      : evaluator_(evaluator), freedom_(freedom), devices_(evaluator.devices()),
        nodes_(evaluator.nodes()), batch_(evaluator.batch()), divisors_of_batch_(divisors(batch_)),
        fit_(evaluator, freedom, stop), progress_(progress), stop_(stop), arena_(threads) {}

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
    consider(first_shapes());
    if (!best_plan()) return;
    if (nodes_ <= kManyNodes) vary();
    climb();
    vary();
    hide_sums();
    refine();
    size_buckets();
  }

  /// Tries what seldom matters on the best shapes alone: to keep what was gathered, and to compute
  /// the loss in chunks where memory is short.
  void vary() {
    std::vector<MeshShape> shapes;
    const bool is_short = !does_not_fit_.empty();
    for (const MeshPlan* plan : best_plans(nodes_ > kManyNodes ? 1 : kFewShapesAgain)) {
      MeshShape shape = core_of(plan->shape);
      shape.gathers_once = !shape.gathers_once;
      shapes.push_back(shape);
      shape.gathers_once = !shape.gathers_once;
      for (const std::int64_t chunks : {1, 4, 16, 64}) {
        shape.loss_chunks = chunks;
        if (is_short && !freedom_.loss_chunks) shapes.push_back(shape);
      }
    }
    consider(shapes);
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

  void size_buckets() {
    if (freedom_.bucket_bytes) return;
    const std::vector<MeshPlan*> plans = best_plans(kFewShapesAgain);
    in_parallel(0, plans.size(), [&](std::size_t k) {
      MeshPlan other = *plans[k];
      if (other.sharding.exchanges.empty()) return;
      for (const double bytes : kBuckets) {
        other.bucket_bytes = bytes;
        const MeshPlan timed = evaluator_.timed_again(freedom_, other);
        if (fit_.is_better(timed, *plans[k])) *plans[k] = timed;
      }
    });
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
    const std::vector<MeshShape> shapes = first_shapes();
    const bool all_wait = std::ranges::all_of(shapes, [](const MeshShape& shape) {
      return shape.chunks > 1 && shape.microbatches % shape.stages != 0;
    });
    if (!shapes.empty() && all_wait)
      return core::unsupported(
          fmt::format("stages with several pieces need a multiple of their number of microbatches, "
                      "and {} is none of {}",
                      shapes[0].microbatches, shapes[0].stages),
          "take more microbatches, or another strategy");
    const std::int64_t loss_chunks = freedom_.loss_chunks.value_or(1);
    if (!shapes.empty() && std::ranges::none_of(shapes, [&](const MeshShape& shape) {
          return evaluator_.can_cut_loss(shape);
        }))
      return core::unsupported(
          fmt::format("there is no loss whose rows {} chunks divide", loss_chunks),
          "take a divisor of the number of rows, or leave `loss_chunks` to the search");
    const std::vector<std::int64_t> parts = parts_of_batch();
    if (parts.empty())
      return core::unsupported(
          fmt::format("the strategy has no mesh for {} operators on {} devices", nodes_, devices_),
          "take another number of devices, or another strategy");
    const std::string hint =
        fmt::format("take a {} {}, or another strategy",
                    freedom_.premises.divides_batch ? "multiple of" : "batch of at least",
                    fmt::join(parts, " or "));
    return core::unsupported(
        fmt::format("a batch of {} does not fit {} devices with this strategy", batch_, devices_),
        hint);
  }

  /// Into how many parts the first meshes cut the batch; without multiples of one another.
  std::vector<std::int64_t> parts_of_batch() const {
    std::vector<std::int64_t> parts, least;
    for (const MeshShape& shape : first_shapes()) {
      const std::int64_t microbatches =
          freedom_.microbatches.value_or(shape.chunks > 1 ? shape.stages : 1);
      if (holds(freedom_.premises, shape, 0)) parts.push_back(shape.batch * microbatches);
    }
    std::ranges::sort(parts);
    for (const std::int64_t count : parts)
      if (std::ranges::none_of(least, [&](std::int64_t less) { return count % less == 0; }))
        least.push_back(count);
    return least;
  }

  std::vector<MeshShape> first_shapes() const {
    std::vector<MeshShape> shapes;
    for (const std::int64_t stages : stage_counts())
      for (const std::int64_t model : divisors(devices_ / stages)) {
        if (freedom_.model ? model != *freedom_.model : model > kMostModel) continue;
        MeshShape shape = start();
        shape.stages = stages;
        shape.model = model;
        shape.any = freedom_.any.value_or(freedom_.premises.least.any);
        if (devices_ % (stages * model * shape.any) != 0) continue;
        shape.batch = devices_ / (stages * model * shape.any);
        shape.microbatches = usual_microbatches(shape);
        shapes.push_back(shape);
        add_few_microbatches(shape, shapes);
      }
    add_free_axis(shapes);
    for (std::size_t k = 0, evenly = shapes.size(); k < evenly; ++k) {
      MeshShape shape = shapes[k];
      shape.is_uneven = true;
      if (evaluator_.can_be_uneven(shape)) shapes.push_back(shape);
    }
    return shapes;
  }

  /// Stages in pieces need no more microbatches than there are stages.
  void add_few_microbatches(MeshShape shape, std::vector<MeshShape>& shapes) const {
    if (freedom_.microbatches || shape.stages == 1 || nodes_ > kManyNodes) return;
    if (shape.microbatches == shape.stages || freedom_.chunks.value_or(2) == 1) return;
    shape.microbatches = shape.stages;
    shapes.push_back(shape);
  }

  MeshShape start() const {
    MeshShape shape;
    shape.recompute = freedom_.recompute.value_or(Recompute::kNothing);
    shape.chunks = freedom_.chunks.value_or(freedom_.premises.least.chunks);
    shape.loss_chunks = freedom_.loss_chunks.value_or(1);
    shape.sums_behind = freedom_.sums_behind;
    shape.gathers_once = freedom_.gathers_once.value_or(false);
    return shape;
  }

  /// One axis that may cut anything, batch or not, for what no axis of one kind cuts well.
  void add_free_axis(std::vector<MeshShape>& shapes) const {
    if (freedom_.any || freedom_.model || freedom_.stages.value_or(1) != 1) return;
    MeshShape shape = start();
    shape.any = devices_;
    shape.microbatches = usual_microbatches(shape);
    shapes.push_back(shape);
  }

  std::vector<std::int64_t> stage_counts() const {
    if (freedom_.stages) return {*freedom_.stages};
    std::vector<std::int64_t> counts;
    for (const std::int64_t d : divisors(devices_))
      if (d == 1 || (freedom_.pipelines && d <= std::min(nodes_ / kNodesOfStage, kMostStages)))
        counts.push_back(d);
    return counts;
  }

  /// Numbers of microbatches that the batch and the strategy admit, ascending.
  std::vector<std::int64_t> microbatch_counts(const MeshShape& shape) const {
    std::vector<std::int64_t> counts;
    for (const std::int64_t count : divisors_of_batch_) {
      MeshShape with = shape;
      with.microbatches = count;
      if (count * shape.batch > batch_ || !holds(freedom_.premises, with, batch_)) continue;
      if (shape.chunks > 1 && count % shape.stages != 0) continue;
      counts.push_back(count);
    }
    return counts;
  }

  /// The most up to some for each stage.
  std::int64_t usual_microbatches(const MeshShape& shape) const {
    if (freedom_.microbatches) return *freedom_.microbatches;
    if (shape.stages == 1) return 1;
    const std::vector<std::int64_t> counts = microbatch_counts(shape);
    const auto above = std::ranges::upper_bound(counts, kMicrobatchesAStage * shape.stages);
    if (above != counts.begin()) return *std::prev(above);
    return counts.empty() ? 1 : counts.front();
  }

  /// The next smaller and larger numbers, those half and twice as large, and the largest one.
  std::vector<std::int64_t> other_microbatches(const MeshShape& from) const {
    const std::vector<std::int64_t> counts = microbatch_counts(from);
    std::set<std::int64_t> others;
    const auto add = [&](std::vector<std::int64_t>::const_iterator at) {
      if (at != counts.end()) others.insert(*at);
    };
    add(std::ranges::upper_bound(counts, from.microbatches));
    add(std::ranges::lower_bound(counts, 2 * from.microbatches));
    add(std::ranges::lower_bound(counts, (from.microbatches + 1) / 2));
    const auto here = std::ranges::lower_bound(counts, from.microbatches);
    if (here != counts.begin()) add(std::prev(here));
    if (!counts.empty()) others.insert(counts.back());
    others.erase(from.microbatches);
    return {others.begin(), others.end()};
  }

  /// A shape comes with all levels of recomputation and all numbers of pieces.
  MeshShape core_of(MeshShape shape) const {
    shape.recompute = start().recompute;
    shape.chunks = start().chunks;
    return shape;
  }

  /// Doubles and halves the sizes of good shapes, the best first: one that is a little slower may
  /// have better neighbors. With a small model, which costs little, more of them.
  void climb() {
    std::set<MeshShape> climbed;
    for (int round = 0; !stop_.stop_requested(); ++round) {
      const bool is_cheap = static_cast<std::int64_t>(tried_.size()) * nodes_ < kCheapNodes;
      if (round >= (nodes_ > kManyNodes ? kFewRounds : kMostRounds) && !is_cheap) break;
      const MeshPlan* next = best_plan_but(climbed);
      if (!next || !is_worth_climbing(*next, is_cheap ? kWorthClimbingCheaply : kWorthClimbing))
        break;
      climbed.insert(core_of(next->shape));
      consider(neighbors(core_of(next->shape)));
    }
  }

  bool is_worth_climbing(const MeshPlan& plan, double slower) const {
    const MeshPlan* best = best_plan();
    if (fit_.fits(plan) != fit_.fits(*best)) return false;
    return !fit_.fits(plan) ? &plan == best : plan.time.total_us <= slower * best->time.total_us;
  }

  /// Plans again for the case that the backward pass hides sums of gradients, where that could be
  /// the best.
  void hide_sums() {
    if (!evaluator_.is_training() || freedom_.sums_behind) return;
    const double limit_us = fastest_that_fits();
    std::vector<MeshPlan*> plans = best_plans(tried_.size());
    std::erase_if(plans, [&](const MeshPlan* plan) {
      return plan->time.total_us - plan->time.gradient_sum_us - plan->time.exchange_us >= limit_us;
    });
    const auto cheap = static_cast<std::size_t>(kCheapNodes / std::max<std::int64_t>(nodes_, 1));
    plans.resize(std::min(plans.size(), std::max(cheap, kFewShapesAgain)));
    in_parallel(0, plans.size(), [&](std::size_t k) {
      MeshPlan again = evaluator_.plan_at(freedom_, plans[k]->shape, {0, kHiddenSums});
      fit_.make_fit(again, limit_us, kHiddenSums);
      if (again.sharding.cost_us < kImpossible && fit_.is_better(again, *plans[k]))
        *plans[k] = std::move(again);
    });
  }

  std::vector<MeshShape> neighbors(const MeshShape& from) const {
    std::vector<MeshShape> all;
    const auto add = [&](MeshShape shape, std::int64_t MeshShape::*grows,
                         std::int64_t MeshShape::*shrinks) {
      if (shrinks && shape.*shrinks % 2 != 0) return;
      shape.*grows *= 2;
      if (shrinks) shape.*shrinks /= 2;
      all.push_back(shape);
      // The new sizes may not admit that many microbatches: the nearest smaller number is taken.
      if (freedom_.microbatches || is_allowed(shape)) return;
      const std::vector<std::int64_t> counts = microbatch_counts(shape);
      const auto near = std::ranges::upper_bound(counts, shape.microbatches);
      if (near == counts.begin()) return;
      all.back().microbatches = *std::prev(near);
    };
    const auto sizes = {&MeshShape::stages, &MeshShape::model, &MeshShape::any, &MeshShape::batch};
    for (const auto grows : sizes)
      for (const auto shrinks : sizes)
        if (grows != shrinks) add(from, grows, shrinks);
    for (const std::int64_t count : other_microbatches(from)) {
      all.push_back(from);
      all.back().microbatches = count;
    }
    MeshShape turned = from;
    turned.is_uneven = !from.is_uneven;
    all.push_back(turned);
    return all;
  }

  bool is_allowed(const MeshShape& shape) const {
    const auto differs = [](const std::optional<std::int64_t>& fixed, std::int64_t size) {
      return fixed && *fixed != size;
    };
    if (differs(freedom_.model, shape.model) || differs(freedom_.any, shape.any) ||
        differs(freedom_.stages, shape.stages) || differs(freedom_.chunks, shape.chunks) ||
        differs(freedom_.microbatches, shape.microbatches) ||
        differs(freedom_.loss_chunks, shape.loss_chunks) || !evaluator_.can_cut_loss(shape))
      return false;
    if (shape.stages > 1 && !freedom_.pipelines) return false;
    if (shape.is_uneven && !(freedom_.cuts_unevenly && evaluator_.can_be_uneven(shape)))
      return false;
    if (freedom_.recompute ? *freedom_.recompute != shape.recompute
                           : !evaluator_.can_recompute(shape.recompute))
      return false;
    if (shape.gathers_once && !evaluator_.is_training()) return false;
    if (freedom_.gathers_once && *freedom_.gathers_once != shape.gathers_once) return false;
    // Stages in pieces take turns with as many microbatches as there are stages.
    if (shape.chunks > 1 && (shape.stages == 1 || shape.microbatches % shape.stages != 0))
      return false;
    if (shape.stages * shape.chunks > nodes_) return false;
    if (!holds(freedom_.premises, shape, batch_)) return false;
    if (shape.batch * shape.microbatches > batch_) return false;
    return batch_ % shape.microbatches == 0 && shape.device_count() == devices_;
  }

  /// Several at a time, without a price of memory first. What does not fit then, but would at the
  /// highest price, is fitted, the fastest first, a few at a time, as long as it could still be the
  /// best. How many does not depend on threads, so neither does the result.
  void consider(const std::vector<MeshShape>& shapes) {
    std::vector<MeshPlan> plans;
    for (const MeshShape& shape : shapes)
      if (is_allowed(shape) && considered_.insert(core_of(shape)).second)
        plans.emplace_back().shape = shape;
    std::vector<MeshPlan> in_pieces(plans.size());
    in_parallel(0, plans.size(), [&](std::size_t k) {
      plans[k] = evaluator_.plan_at(freedom_, plans[k].shape, {});
      in_pieces[k] = best_chunks(plans[k]);
    });
    std::vector<MeshPlan> unfitted;
    const auto add = [&](MeshPlan plan) {
      if (plan.sharding.cost_us < kImpossible && !fit_.fits(plan)) unfitted.push_back(plan);
      keep(std::move(plan));
    };
    for (std::size_t k = 0; k < plans.size(); ++k) {
      if (broken_.empty()) broken_ = evaluator_.broken(freedom_.premises, plans[k]);
      if (nodes_ <= kManyNodes && plans[k].shape != in_pieces[k].shape) add(std::move(plans[k]));
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
          found[k - first].push_back(best_chunks(std::move(plan)));
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

  /// The plan in stages of as many pieces as are best for it.
  MeshPlan best_chunks(MeshPlan plan) const {
    if (plan.sharding.cost_us == kImpossible || plan.shape.stages == 1) return plan;
    MeshPlan best = plan;
    for (plan.shape.chunks = 1; plan.shape.stages * plan.shape.chunks <= nodes_;
         plan.shape.chunks *= 2) {
      if (plan.shape.chunks == best.shape.chunks || !is_allowed(plan.shape)) continue;
      MeshPlan other = evaluator_.timed_again(freedom_, plan);
      const bool is_faster = other.time.total_us < best.time.total_us;
      if (fit_.fits(best) ? !fit_.is_better(other, best) : !is_faster) break;
      best = std::move(other);
    }
    if (best.shape.chunks == core_of(best.shape).chunks || nodes_ > kManyNodes) return best;
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
      const std::int64_t fewest = core_of(unfitted[k].shape).chunks;
      if (fit_.fits(smallest[k]) || unfitted[k].shape.chunks == fewest) return;
      // Stages in pieces hold more.
      unfitted[k].shape.chunks = fewest;
      unfitted[k] = evaluator_.timed_again(freedom_, unfitted[k]);
      smallest[k] = fit_.smallest(unfitted[k]);
    });
    std::vector<MeshPlan> can_fit;
    for (std::size_t k = 0; k < unfitted.size(); ++k) {
      does_not_fit_.insert(core_of(unfitted[k].shape));
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

  double fastest_that_fits() const {
    const MeshPlan* best = best_plan();
    return best && fit_.fits(*best) ? best->time.total_us : kImpossible;
  }

  /// The fastest plan that fits; if none does, the one that takes the least memory.
  const MeshPlan* best_plan() const { return best_plan_but({}); }

  const MeshPlan* best_plan_but(const std::set<MeshShape>& excluded) const {
    const MeshPlan* best = nullptr;
    for (const auto& [shape, plan] : tried_)
      if (!excluded.contains(core_of(shape)) && (!best || fit_.is_better(plan, *best)))
        best = &plan;
    return best;
  }

  static constexpr std::int64_t kMostModel = 64;
  static constexpr std::int64_t kNodesOfStage = 4;
  static constexpr std::int64_t kMostStages = 64;
  static constexpr std::int64_t kMicrobatchesAStage = 4;
  static constexpr std::int64_t kFewLooks = 3'000, kMostLooksAtAShape = 200'000;
  static constexpr std::int64_t kMostLooks = 400'000, kUnlimited = std::int64_t{1} << 60;
  static constexpr std::array kBuckets{1e6, 5e6, 100e6, 400e6, 1600e6};
  static constexpr int kMostRounds = 12, kFewRounds = 9;
  static constexpr double kWorthClimbing = 1.2, kWorthClimbingCheaply = 2;
  /// So many nodes of all plans together take no time to speak of.
  static constexpr std::int64_t kCheapNodes = 8'000;
  static constexpr std::int64_t kManyNodes = 1000;
  static constexpr std::size_t kFewShapesAgain = 5;
  static constexpr std::size_t kFittedAtOnce = 4;

  const MeshEvaluator& evaluator_;
  const Freedom& freedom_;
  const std::int64_t devices_, nodes_, batch_;
  const std::vector<std::int64_t> divisors_of_batch_;
  const MemoryFit fit_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  core::TaskArena arena_;
  std::map<MeshShape, MeshPlan> tried_;  ///< The best plan of each shape.
  std::string broken_;                   ///< The premise that the first plan broke that broke one.
  std::set<MeshShape> considered_;       ///< As core_of() has them.
  std::set<MeshShape> does_not_fit_;     ///< Of these: without a price of memory.
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
                                             int threads, core::ProgressSink& progress,
                                             const core::StopToken& stop) {
  SOAPSTONE_RETURN_IF_ERROR(evaluator.check(freedom.premises));
  return MeshPlanner(evaluator, freedom, threads, progress, stop).run();
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
  SOAPSTONE_ASSIGN_OR_RETURN(MeshPlanOutcome outcome,
                             plan_on_meshes(evaluator, freedom, options.threads, progress, stop));
  outcome.lower_bound =
      bound_of_plan(evaluator, freedom, outcome.plan.time.total_us, options.threads, stop);
  return outcome;
}

}  // namespace soapstone::parallel

#include "parallel/planning/mesh_planner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/tasks/tasks.h"

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
        nodes_(evaluator.nodes()), batch_(evaluator.batch()), memory_(evaluator.memory_bytes()),
        divisors_of_batch_(divisors(batch_)), progress_(progress), stop_(stop), arena_(threads) {}

  core::Result<MeshPlanOutcome> run() {
    arena_.run([&] { search(); });
    MeshPlanOutcome outcome;
    const MeshPlan* best = best_plan();
    if (!best) return nothing_found();
    outcome.plan = *best;
    outcome.memory_bytes = memory_;
    outcome.fits = best->time.peak_bytes <= memory_;
    outcome.meshes_tried = tried_.size();
    outcome.has_looked_at_all = has_looked_at_all_;
    outcome.lower_bound = evaluator_.lower_bound();
    return outcome;
  }

 private:
  void search() {
    consider(first_shapes());
    if (!best_plan()) return;
    climb();
    hide_sums();
    refine();
  }

  /// The fastest shapes first, so that the others have less to look at.
  void refine() {
    std::vector<MeshPlan*> plans;
    for (auto& [shape, plan] : tried_)
      if (plan.sharding.cost_us < kImpossible) plans.push_back(&plan);
    std::ranges::stable_sort(
        plans, [&](const MeshPlan* a, const MeshPlan* b) { return is_better(*a, *b); });
    std::vector<char> is_done(plans.size(), 0);
    for (std::size_t first = 0; first < plans.size(); first += kPricedAtOnce) {
      const double limit_us = fastest_that_fits();
      core::parallel_for_uneven(first, std::min(first + kPricedAtOnce, plans.size()),
                                [&](std::size_t k) {
                                  if (!stop_.stop_requested())
                                    is_done[k] = evaluator_.refine(freedom_, limit_us, *plans[k]);
                                });
    }
    has_looked_at_all_ = std::ranges::count(is_done, 0) == 0;
  }

  core::Error nothing_found() const {
    if (stop_.stop_requested())
      return {core::ErrorCode::kInterrupted, "stopped before there was a plan", {}, {}};
    for (const auto& [shape, plan] : tried_)
      if (const std::string broken = evaluator_.broken(freedom_.premises, plan); !broken.empty())
        return core::unsupported(broken, "take another number of devices, or another strategy");
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
        MeshShape shape;
        shape.stages = stages;
        shape.model = model;
        shape.any = freedom_.any.value_or(freedom_.premises.least.any);
        if (devices_ % (stages * model * shape.any) != 0) continue;
        shape.batch = devices_ / (stages * model * shape.any);
        shape.chunks = freedom_.chunks.value_or(freedom_.premises.least.chunks);
        shape.microbatches = usual_microbatches(shape);
        shape.recomputes = freedom_.recomputes.value_or(false) && evaluator_.is_training();
        shape.gathers_once = freedom_.gathers_once.value_or(false);
        shapes.push_back(shape);
      }
    add_free_axis(shapes);
    for (std::size_t k = 0, evenly = shapes.size(); k < evenly; ++k) {
      MeshShape shape = shapes[k];
      shape.is_uneven = true;
      if (evaluator_.can_be_uneven(shape)) shapes.push_back(shape);
    }
    return shapes;
  }

  /// One axis that may cut anything, batch or not, for what no axis of one kind cuts well.
  void add_free_axis(std::vector<MeshShape>& shapes) const {
    if (freedom_.any || freedom_.model || freedom_.stages.value_or(1) != 1) return;
    MeshShape shape;
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

  /// Doubles and halves the sizes of good shapes, the best first: one that is a little slower may
  /// have better neighbors. With a small model, which costs little, more of them.
  void climb() {
    std::set<MeshShape> climbed;
    for (int round = 0; !stop_.stop_requested(); ++round) {
      const bool is_cheap = static_cast<std::int64_t>(tried_.size()) * nodes_ < kCheapNodes;
      if (round >= kMostRounds && !is_cheap) break;
      const MeshPlan* next = best_plan_but(climbed);
      if (!next || !is_worth_climbing(*next, is_cheap ? kWorthClimbingCheaply : kWorthClimbing))
        break;
      climbed.insert(next->shape);
      consider(neighbors(next->shape));
    }
  }

  bool is_worth_climbing(const MeshPlan& plan, double slower) const {
    const MeshPlan* best = best_plan();
    const bool fits = plan.time.peak_bytes <= memory_;
    if (fits != (best->time.peak_bytes <= memory_)) return false;
    return !fits ? &plan == best : plan.time.total_us <= slower * best->time.total_us;
  }

  /// Plans again for the case that the backward pass hides sums of gradients, where that could be
  /// the best.
  void hide_sums() {
    if (!evaluator_.is_training()) return;
    const double limit_us = fastest_that_fits();
    std::vector<MeshPlan*> plans;
    for (auto& [shape, plan] : tried_)
      if (plan.sharding.cost_us < kImpossible &&
          plan.time.total_us - plan.time.gradient_sum_us - plan.time.exchange_us < limit_us)
        plans.push_back(&plan);
    std::ranges::stable_sort(
        plans, [&](const MeshPlan* a, const MeshPlan* b) { return is_better(*a, *b); });
    plans.resize(std::min(plans.size(), nodes_ > kManyNodes ? kFewShapesAgain : kShapesAgain));
    core::parallel_for_uneven(0, plans.size(), [&](std::size_t k) {
      if (stop_.stop_requested()) return;
      MeshPlan again = evaluator_.plan_at(freedom_, plans[k]->shape, {0, kHiddenSums});
      make_fit(again, limit_us, kHiddenSums);
      if (again.sharding.cost_us < kImpossible && is_better(again, *plans[k]))
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
    add(from, &MeshShape::chunks, nullptr);
    if (from.chunks % 2 == 0) {
      all.push_back(from);
      all.back().chunks /= 2;
    }
    for (const std::int64_t count : other_microbatches(from)) {
      all.push_back(from);
      all.back().microbatches = count;
    }
    MeshShape turned = from;
    turned.recomputes = !from.recomputes;
    turned.recomputes_attention = false;
    all.push_back(turned);
    turned = from;
    turned.recomputes = false;
    turned.recomputes_attention = !from.recomputes_attention;
    all.push_back(turned);
    turned = from;
    turned.gathers_once = !from.gathers_once;
    all.push_back(turned);
    turned = from;
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
        differs(freedom_.microbatches, shape.microbatches))
      return false;
    if (shape.stages > 1 && !freedom_.pipelines) return false;
    if (shape.is_uneven && !(freedom_.cuts_unevenly && evaluator_.can_be_uneven(shape)))
      return false;
    if (freedom_.recomputes && *freedom_.recomputes != shape.recomputes) return false;
    if ((shape.recomputes || shape.gathers_once) && !evaluator_.is_training()) return false;
    if (freedom_.gathers_once && *freedom_.gathers_once != shape.gathers_once) return false;
    if (shape.recomputes_attention &&
        (freedom_.recomputes || !evaluator_.can_recompute_attention()))
      return false;
    // Stages in pieces take turns with as many microbatches as there are stages.
    if (shape.chunks > 1 && (shape.stages == 1 || shape.microbatches % shape.stages != 0))
      return false;
    if (shape.stages * shape.chunks > nodes_) return false;
    if (!holds(freedom_.premises, shape, batch_)) return false;
    if (shape.batch * shape.microbatches > batch_) return false;
    return batch_ % shape.microbatches == 0 && shape.device_count() == devices_;
  }

  /// Several at a time, without a price of memory first; what does not fit then, the fastest first,
  /// a few at a time, as long as it could still be the best. How many does not depend on threads,
  /// so neither does the result.
  void consider(const std::vector<MeshShape>& shapes) {
    std::vector<MeshPlan*> plans;
    for (const MeshShape& shape : shapes)
      if (is_allowed(shape) && !stop_.stop_requested()) {
        const auto [at, is_new] = tried_.try_emplace(shape);
        if (is_new) plans.push_back(&at->second);
        at->second.shape = shape;
      }
    core::parallel_for_uneven(0, plans.size(), [&](std::size_t k) {
      if (!stop_.stop_requested()) *plans[k] = evaluator_.plan_at(freedom_, plans[k]->shape, {});
    });
    tell();
    std::erase_if(plans, [&](const MeshPlan* plan) {
      return plan->sharding.cost_us == kImpossible || plan->time.peak_bytes <= memory_;
    });
    std::ranges::stable_sort(plans, {}, [](const MeshPlan* plan) { return plan->time.total_us; });
    for (std::size_t first = 0; first < plans.size(); first += kPricedAtOnce) {
      const double limit_us = fastest_that_fits();
      const std::size_t last = std::min(first + kPricedAtOnce, plans.size());
      core::parallel_for_uneven(first, last,
                                [&](std::size_t k) { make_fit(*plans[k], limit_us, 1); });
      tell();
    }
  }

  void tell() const {
    const MeshPlan* best = best_plan();
    if (best)
      progress_.update(tried_.size(), 0, fmt::format("best {:.1f} ms", best->time.total_us / 1e3));
  }

  double fastest_that_fits() const {
    const MeshPlan* best = best_plan();
    const bool fits = best && best->time.peak_bytes <= memory_;
    if (!fits) return kImpossible;
    return best->time.total_us;
  }

  /// The fastest plan that fits; if none does, the one that takes the least memory.
  const MeshPlan* best_plan() const { return best_plan_but({}); }

  const MeshPlan* best_plan_but(const std::set<MeshShape>& excluded) const {
    const MeshPlan* best = nullptr;
    for (const auto& [shape, plan] : tried_)
      if (plan.sharding.cost_us < kImpossible && !excluded.contains(shape) &&
          (!best || is_better(plan, *best)))
        best = &plan;
    return best;
  }

  bool is_better(const MeshPlan& a, const MeshPlan& b) const {
    const bool a_fits = a.time.peak_bytes <= memory_, b_fits = b.time.peak_bytes <= memory_;
    if (a_fits != b_fits) return a_fits;
    if (!a_fits) return a.time.peak_bytes < b.time.peak_bytes;
    return a.time.total_us < b.time.total_us;
  }

  /// A plan that does not fit is planned again at the lowest price of memory at which it does. Such
  /// a price makes no plan faster, so one that takes `limit_us` without it is left alone.
  void make_fit(MeshPlan& plan, double limit_us, double sums) const {
    if (plan.time.peak_bytes <= memory_ || plan.sharding.cost_us == kImpossible) return;
    if (plan.time.total_us >= limit_us || stop_.stop_requested()) return;
    double low = 0, high = plan.time.total_us / plan.time.peak_bytes * kHighPrice;
    MeshPlan best = evaluator_.plan_at(freedom_, plan.shape, {high, sums});
    if (!is_better(best, plan)) return;
    for (int k = 0; k < kPrices && best.time.peak_bytes <= memory_; ++k) {
      const double middle = k == 0 ? high * 1e-3 : low == 0 ? high * 0.1 : std::sqrt(low * high);
      MeshPlan found = evaluator_.plan_at(freedom_, plan.shape, {middle, sums});
      if (found.time.peak_bytes <= memory_) {
        high = middle;
        if (is_better(found, best)) best = std::move(found);
      } else {
        low = middle;
      }
    }
    plan = std::move(best);
  }

  static constexpr std::int64_t kMostModel = 64;
  static constexpr std::int64_t kNodesOfStage = 4;
  static constexpr std::int64_t kMostStages = 64;
  static constexpr std::int64_t kMicrobatchesAStage = 4;
  static constexpr int kMostRounds = 12;
  static constexpr double kWorthClimbing = 1.2, kWorthClimbingCheaply = 2;
  /// So many nodes of all plans together take no time to speak of.
  static constexpr std::int64_t kCheapNodes = 8'000;
  static constexpr std::int64_t kManyNodes = 1000;
  static constexpr std::size_t kShapesAgain = 16, kFewShapesAgain = 5;
  static constexpr int kPrices = 6;
  static constexpr std::size_t kPricedAtOnce = 4;
  static constexpr double kHighPrice = 100;

  const MeshEvaluator& evaluator_;
  const Freedom& freedom_;
  const std::int64_t devices_, nodes_, batch_;
  const double memory_;
  const std::vector<std::int64_t> divisors_of_batch_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  core::TaskArena arena_;
  std::map<MeshShape, MeshPlan> tried_;
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
  return plan_on_meshes(evaluator, freedom, options.threads, progress, stop);
}

}  // namespace soapstone::parallel

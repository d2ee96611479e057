// See check_plan.h.
#include "jobs/run/check_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "jobs/devices/devices.h"
#include "jobs/run/cut_model.h"
#include "jobs/run/program_check.h"
#include "jobs/run/resized_plan.h"
#include "jobs/run/small_sizes.h"
#include "parallel/lowering/lowering.h"
#include "parallel/lowering/plan_check.h"
#include "parallel/plans/repeated_layers.h"
#include "parallel/running/run_figures.h"

namespace soapstone::jobs {
namespace {

/// Ranks and microbatches together, of which all are written out.
constexpr std::int64_t kMostLanes = 64;

/// Writing the programs of more, none of which are alike, takes minutes and gigabytes.
constexpr std::size_t kMostOperators = 6000;

/// Operations of a model at small sizes that are run in the prime field: some seconds.
constexpr double kMostSmallWork = 2e8;

/// The same plan on at most two positions an axis. Grains of an uneven axis stay as they are.
parallel::PlanDocument on_fewer_devices(parallel::PlanDocument plan) {
  constexpr std::int64_t kPositions = 2;
  std::int64_t devices = plan.shape.stages;
  for (parallel::PlanAxis& axis : plan.axes) {
    if (axis.shares.empty()) axis.size = std::min(axis.size, kPositions);
    devices *= axis.size;
  }
  plan.shape.model = plan.axes[0].size;
  plan.shape.any = plan.axes[1].size;
  plan.shape.batch = plan.axes[2].size;
  plan.shape.microbatches = std::min(plan.shape.microbatches, kPositions);
  plan.devices = devices;
  return plan;
}

/// The check looks at this in place of the model: it has its loss, if it trains, and none of the
/// layers that repeat.
struct CheckedModel {
  MarkedModel model;
  parallel::PlanDocument plan;
  std::vector<bool> kept;               ///< As kept_results() has it.
  parallel::StaysNode stays = nullptr;  ///< As CutTrainingOptions has it.
};

core::Result<CheckedModel> without_layers(MarkedModel model, const parallel::PlanDocument& plan,
                                          const parallel::LeftOutLayers& left_out,
                                          std::vector<bool> kept, parallel::StaysNode stays) {
  CheckedModel checked{{}, plan, std::move(kept), std::move(stays)};
  if (left_out.nodes > 0) {
    SOAPSTONE_ASSIGN_OR_RETURN(core::Graph shorter,
                               parallel::without_layers(model.graph, left_out));
    SOAPSTONE_ASSIGN_OR_RETURN(checked.plan, parallel::without_layers(plan, model.graph, shorter,
                                                                      model.is_weight, left_out));
    model.is_weight = parallel::weights_read(shorter, model.is_weight);
    model.graph = std::move(shorter);
  }
  checked.model = std::move(model);
  return checked;
}

/// The graph that ranks run, and how it is cut.
struct CutGraph {
  core::Graph graph;
  parallel::GraphLoops loops;
  std::vector<bool> is_weight;
  parallel::PlannedCuts cuts;
  std::vector<std::string> uncut;
  bool is_composed = false;
};

core::Result<CutGraph> cut_graph(const CheckedModel& checked, const std::string& name,
                                 const parallel::PlanDocument& plan, bool composes,
                                 const Context& context) {
  if (plan.is_training) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        CutTraining training,
        cut_training(checked.model, name, plan, {checked.kept, composes, checked.stays}, context));
    parallel::CutStep& cut = training.cut;
    return CutGraph{std::move(training.step.graph), std::move(cut.loops),
                    std::move(cut.is_weight),       std::move(cut.cuts),
                    std::move(training.uncut),      training.is_composed};
  }
  SOAPSTONE_ASSIGN_OR_RETURN(CutInference cut, cut_inference(checked.model, plan));
  return CutGraph{checked.model.graph, std::move(cut.loops), checked.model.is_weight,
                  std::move(cut.cuts), std::move(cut.uncut), false};
}

core::Result<std::vector<parallel::RankProgram>> programs_of(const CutGraph& cut) {
  return parallel::lower(cut.graph, cut.loops, cut.is_weight, cut.cuts);
}

/// Runs the programs of a model in the prime field at small sizes, where its own are too large.
class SmallCheck {
 public:
  /// `cut` and `checked` are of the model at its own sizes.
  SmallCheck(const CheckedModel& checked, const CutGraph& cut, const PlannedModelRequest& request,
             const Context& context)
      : checked_(checked), cut_(cut), request_(request), context_(context) {}

  /// Changes `check` if there are such sizes: the smallest at which everything can be cut as it is,
  /// gradients, too. Errors: kInternal if the programs are wrong.
  core::Status run(const MarkedModel& whole, const parallel::PlanDocument& plan,
                   const parallel::LeftOutLayers& left_out, PlanCheck& check) const {
    std::deque<SizeLimits> tried(1);  // the next one in front
    for (bool has_others = true; !tried.empty();) {
      context_.progress.stage("looking for small sizes");
      SOAPSTONE_ASSIGN_OR_RETURN(const std::optional<SizedModel> sized,
                                 at_small_sizes(whole, request_, plan, tried.front(), context_));
      if (!sized) break;
      SOAPSTONE_ASSIGN_OR_RETURN(
          const CheckedModel small,
          without_layers(sized->model, sized->plan, left_out, checked_.kept, checked_.stays));
      auto cut = cut_graph(small, request_.model, small.plan, cut_.is_composed, context_);
      if (cut && is_same_graph(*cut)) {
        const PartsOfSizes missing = missing_parts(*cut);
        if (missing.empty()) {
          cut->cuts.loops = cut_.cuts.loops;
          return compute(*cut, sized->sizes, check);
        }
        if (tried.front().ask_for(missing)) continue;
      } else if (std::exchange(has_others, false)) {
        add_others(*sized, tried);
      }
      tried.pop_front();
    }
    check.why_not_computed += ", and it cannot be cut alike at other sizes";
    return core::Done{};
  }

 private:
  /// Gradients of tensors that have one shape by chance may share what they are composed of: other
  /// sizes, each with a number that is larger than at `sized`, and at last such that all differ.
  static void add_others(const SizedModel& sized, std::deque<SizeLimits>& tried) {
    const SizeLimits limits = tried.front();
    for (const auto& [name, number] : sized.sizes) {
      tried.push_back(limits);
      tried.back().least[name] = number + 1;
    }
    tried.push_back(limits);
    tried.back().are_distinct = true;
  }

  core::Status compute(const CutGraph& cut, const std::map<std::string, std::int64_t>& numbers,
                       PlanCheck& check) const {
    std::vector<std::string> named;
    for (const auto& [name, number] : numbers) named.push_back(fmt::format("{}={}", name, number));
    const std::string sizes = fmt::format("{}", fmt::join(named, ", "));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto programs, programs_of(cut));
    SOAPSTONE_ASSIGN_OR_RETURN(const ProgramCheck computed,
                               check_in_field(cut.graph, programs,
                                              parallel::tensor_names(cut.graph), context_,
                                              kMostSmallWork));
    check.is_computed = computed.is_done;
    if (computed.is_done) check.small_sizes = sizes;
    check.why_not_computed = computed.why_not;
    if (computed.is_too_much) check.why_not_computed += ", with " + sizes;
    return core::Done{};
  }

  /// Whether the graph is that at its own sizes in all but its sizes.
  bool is_same_graph(const CutGraph& cut) const {
    return cut.uncut == cut_.uncut &&
           std::ranges::equal(
               cut.graph.order(), cut_.graph.order(), [&](core::NodeId own, core::NodeId its) {
                 return own == its && cut.graph.node(own).op == cut_.graph.node(its).op &&
                        cut.graph.node(own).inputs == cut_.graph.node(its).inputs &&
                        have_same_loops(cut.loops.spaces[own.index()],
                                        cut_.loops.spaces[its.index()]);
               });
  }

  /// Some sizes may be too small for the parts into which the graph at its own sizes is cut.
  /// Returns how many parts those need.
  PartsOfSizes missing_parts(const CutGraph& cut) const {
    PartsOfSizes missing;
    for (const core::NodeId id : cut.graph.order()) {
      const std::vector<ops::Loop>& loops = cut.loops.spaces[id.index()].loops;
      for (std::size_t l = 0; l < loops.size(); ++l) {
        const std::int64_t whole = cut_.loops.spaces[id.index()].loops[l].size;
        const std::int64_t wanted = parts_of(id, l);
        if (has_parts_as(loops[l].size, whole, wanted)) continue;
        std::int64_t& most = missing[whole];
        most = std::max(most, wanted);
      }
    }
    for (std::size_t t = 0; t < cut.is_weight.size(); ++t)
      if (cut.is_weight[t]) add_missing(cut, core::TensorId(t), missing);
    return missing;
  }

  /// Adds the sizes of a weight that axes cut at its own sizes and do not cut here, as those of
  /// states of the optimizer are only cut where the parts divide them.
  void add_missing(const CutGraph& cut, core::TensorId id, PartsOfSizes& missing) const {
    const core::Dims dims = *core::concrete(cut_.graph.tensor(id).type.shape);
    std::vector<std::int64_t> parts(dims.size(), 1);
    std::vector<bool> is_missing(dims.size(), false);
    for (std::size_t a = 0; a < cut_.cuts.mesh.axis_count(); ++a) {
      const std::int8_t wanted = cut_.cuts.weights[id.index()].axes[a];
      if (wanted < 0) continue;
      const std::int8_t own = cut.cuts.weights[id.index()].axes[a];
      const std::size_t dim = cut_.loops.digits.dimension(wanted);
      parts[dim] *= cut_.cuts.mesh.grains(a);
      if (own < 0 || cut.loops.digits.dimension(own) != dim) is_missing[dim] = true;
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!is_missing[d]) continue;
      std::int64_t& most = missing[dims[d]];
      most = std::max(most, parts[d]);
    }
  }

  /// Into how many parts a loop of the graph at its own sizes is cut.
  std::int64_t parts_of(core::NodeId id, std::size_t loop) const {
    std::int64_t parts = 1;
    for (std::size_t a = 0; a < parallel::kMostAxes; ++a)
      if (cut_.cuts.loops[id.index()][a] == static_cast<std::int8_t>(loop))
        parts *=
            a < cut_.cuts.mesh.axis_count() ? cut_.cuts.mesh.grains(a) : cut_.cuts.microbatches;
    return parts;
  }

  const CheckedModel& checked_;
  const CutGraph& cut_;
  const PlannedModelRequest& request_;
  const Context& context_;
};

}  // namespace

core::Result<PlanCheck> check_plan(const MarkedModel& model, const PlannedModelRequest& request,
                                   const parallel::PlanDocument& plan, const Context& context) {
  PlanCheck check;
  context.progress.stage("looking for equal layers");
  const MarkedModel whole = plan.is_training ? with_loss(model, context) : model;
  std::vector<bool> kept;
  if (plan.is_training) kept = kept_results(whole, plan);
  const parallel::LeftOutLayers left_out =
      parallel::repeated_layers({whole.graph, whole.is_weight, kept}, plan);
  const std::size_t operators = whole.graph.order().size() - left_out.nodes;
  if (operators > kMostOperators) {
    check.why_not =
        fmt::format("the model has {} operators, more than {}, without layers that repeat",
                    operators, kMostOperators);
    return check;
  }
  // The device that would run the plan where nobody asks for another one.
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend(DeviceRequest()));
  check.left_out = left_out.nodes;
  check.is_smaller =
      left_out.stages * (plan.devices / plan.shape.stages) * plan.shape.microbatches > kMostLanes;
  const parallel::PlanDocument on_devices = check.is_smaller ? on_fewer_devices(plan) : plan;
  SOAPSTONE_ASSIGN_OR_RETURN(const CheckedModel checked,
                             without_layers(whole, on_devices, left_out, std::move(kept),
                                            gradients_with_kernels(*backend)));
  SOAPSTONE_ASSIGN_OR_RETURN(CutGraph cut,
                             cut_graph(checked, request.model, checked.plan, true, context));
  SOAPSTONE_ASSIGN_OR_RETURN(std::vector<parallel::RankProgram> programs, programs_of(cut));
  context.progress.stage("checking the programs of ranks");
  check.ranks = static_cast<std::int64_t>(programs.size());
  check.uncut = cut.uncut;
  for (const parallel::RankProgram& program : programs) check.steps += program.steps.size();
  SOAPSTONE_RETURN_IF_ERROR(parallel::check_exchanges(programs));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const ProgramCheck computed,
      check_in_field(cut.graph, programs, parallel::tensor_names(cut.graph), context));
  check.is_computed = computed.is_done;
  check.why_not_computed = computed.why_not;
  if (!computed.is_too_much) return check;
  programs.clear();
  const SmallCheck small(checked, cut, request, context);
  SOAPSTONE_RETURN_IF_ERROR(small.run(whole, on_devices, left_out, check));
  return check;
}

}  // namespace soapstone::jobs

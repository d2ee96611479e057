// See saturate.h.
#include "rules/saturation/saturate.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "rules/rule/substitute.h"

namespace soapstone::rules {

using core::hash_combine;

std::string_view to_string(SaturationEnd end) {
  switch (end) {
  case SaturationEnd::kSaturated:
    return "saturated";
  case SaturationEnd::kDone:
    return "done";
  case SaturationEnd::kNodes:
    return "limit of e-nodes";
  case SaturationEnd::kRounds:
    return "limit of rounds";
  case SaturationEnd::kStopped:
    return "stopped";
  }
  return "";
}

// Named, because a class that callers know has it inside.
namespace saturation {

/// A target at certain sizes: what has to be added. Its operations and types are the same for all
/// matches of these sizes.
struct Instance {
  struct Node {
    OperationId operation;
    std::vector<TypeId> results;
  };
  std::uint32_t rule = 0;
  std::vector<std::int64_t> sizes;
  std::vector<TypeId> inputs;
  bool fits = false;
  std::vector<Node> nodes;
};

/// Finds or makes instances.
class Instances {
 public:
  Instances(EGraph& graph, const SaturationFilter& admits) : graph_(graph), admits_(admits) {}

  /// None if the target does not fit at these sizes.
  const Instance* at(const EMatch& match, const PreparedRule& rule) {
    std::uint64_t hash = match.rule;
    for (std::int64_t size : match.sizes)
      hash = hash_combine(hash, static_cast<std::uint64_t>(size));
    for (ClassId input : match.inputs) hash = hash_combine(hash, graph_[input].type.value);
    const auto [begin, end] = table_.equal_range(hash);
    for (auto known = begin; known != end; ++known)
      if (is_same(instances_[known->second], match))
        return instances_[known->second].fits ? &instances_[known->second] : nullptr;
    table_.emplace(hash, instances_.size());
    instances_.push_back(make(match, rule));
    return instances_.back().fits ? &instances_.back() : nullptr;
  }

 private:
  bool is_same(const Instance& known, const EMatch& match) const {
    return known.rule == match.rule && std::ranges::equal(known.sizes, match.sizes) &&
           std::ranges::equal(known.inputs, match.inputs, {}, {},
                              [&](ClassId id) { return graph_[id].type; });
  }

  Instance make(const EMatch& match, const PreparedRule& rule) {
    Instance instance;
    instance.rule = match.rule;
    instance.sizes.assign(match.sizes.begin(), match.sizes.end());
    for (ClassId input : match.inputs) instance.inputs.push_back(graph_[input].type);
    std::vector<TypeId> slots = instance.inputs;
    for (const core::LiteralPtr& literal : rule.constants)
      slots.push_back(graph_.intern({literal->data_type(), core::to_shape(literal->dims())}));
    instance.fits = true;
    for (const PreparedRule::TargetNode& node : rule.target)
      instance.fits = instance.fits && add(node, slots, instance);
    for (std::size_t k = 0; instance.fits && k < rule.results.size(); ++k)
      instance.fits =
          slots[static_cast<std::size_t>(rule.results[k])] == graph_[match.outputs[k]].type;
    if (instance.fits && admits_)
      instance.fits = admits_(match.rule, match.sizes, match.float_type);
    return instance;
  }

  bool add(const PreparedRule::TargetNode& node, std::vector<TypeId>& slots, Instance& instance) {
    const core::OpSchema& op = *node.node->op;
    auto attributes = with_numbers(op, node.node->attributes, instance.sizes);
    if (!attributes) return false;
    std::vector<core::TensorType> types;
    for (std::int32_t slot : node.operands)
      types.push_back(slot < 0 ? core::TensorType{core::DataType::kOther, {}, false}
                               : graph_.type(slots[static_cast<std::size_t>(slot)]));
    const auto results = ops::infer_types(op, *attributes, types);
    if (!results || results->size() != node.node->outputs.size()) return false;
    Instance::Node made;
    made.operation = graph_.intern(Operation{&op, *std::move(attributes), nullptr, 0, 0});
    for (const core::TensorType& type : *results) made.results.push_back(graph_.intern(type));
    slots.insert(slots.end(), made.results.begin(), made.results.end());
    instance.nodes.push_back(std::move(made));
    return true;
  }

  EGraph& graph_;
  const SaturationFilter& admits_;
  std::deque<Instance> instances_;
  std::unordered_multimap<std::uint64_t, std::size_t> table_;
};

/// What one run is given.
struct Run {
  const SaturationRules& rules;
  const SaturationLimits& limits;
  const SaturationGoal& goal;
  const core::StopToken& stop;
};

class Saturation {
 public:
  Saturation(EGraph& graph, const SaturationFilter& admits, std::vector<Application>* log)
      : graph_(graph), log_(log), instances_(graph, admits) {}

  SaturationReport run(const Run& run) {
    run_ = &run;
    is_resumed_ = has_matched_;
    report_ = {};
    report_.by_rule.resize(run.rules.size());
    waiting_.resize(run.rules.family_count());
    lost_ = false;
    graph_.rebuild();
    report_.end = rounds();
    was_limited_ = report_.end == SaturationEnd::kNodes || report_.end == SaturationEnd::kRounds;
    report_.nodes = graph_.node_count();
    report_.classes = graph_.class_count();
    report_.size_bytes = graph_.size_bytes();
    return std::move(report_);
  }

 private:
  /// A match that waits to be replaced.
  struct Waiting {
    const Instance* instance = nullptr;
    std::vector<ClassId> classes;  ///< Inputs, then outputs.
    std::vector<ENodeId> matched;  ///< If there is a log.
  };

  SaturationEnd rounds() {
    if (run_->goal && run_->goal(graph_)) return SaturationEnd::kDone;
    std::size_t allowed = run_->limits.matches_a_round;
    while (true) {
      const std::size_t before = waiting_count_;
      find_matches();
      if (run_->stop.stop_requested()) return SaturationEnd::kStopped;
      // It goes on only for what is new.
      if (is_resumed_ && was_limited_ && report_.rounds == 0 && waiting_count_ == before)
        return SaturationEnd::kRounds;
      if (waiting_count_ == 0) return lost_ ? SaturationEnd::kRounds : SaturationEnd::kSaturated;
      if (report_.rounds == run_->limits.rounds) return SaturationEnd::kRounds;
      ++report_.rounds;
      const bool full = !replace(allowed);
      graph_.rebuild();
      if (run_->goal && run_->goal(graph_)) return SaturationEnd::kDone;
      if (full) return SaturationEnd::kNodes;
      allowed *= 2;
    }
  }

  void find_matches() {
    match(graph_.take_changed(), 0);
    if (has_matched_ && known_rules_ < run_->rules.size())
      match(graph_.live_nodes(), static_cast<std::uint32_t>(known_rules_));
    known_rules_ = run_->rules.size();
    has_matched_ = true;
  }

  void match(const std::vector<ENodeId>& nodes, std::uint32_t first_rule) {
    const auto take = [&](const EMatch& m) {
      note(m);
      return !run_->stop.stop_requested();
    };
    if (!for_each_match(graph_, run_->rules, nodes, run_->limits.match, take, first_rule))
      lost_ = true;
  }

  void note(const EMatch& match) {
    const PreparedRule& rule = run_->rules[match.rule];
    const std::uint32_t family = rule.family;
    if (family < run_->limits.left_out.size() && run_->limits.left_out[family]) return;
    std::uint64_t hash = match.rule;
    for (ClassId id : match.inputs) hash = hash_combine(hash, id.value);
    for (ClassId id : match.outputs) hash = hash_combine(hash, id.value);
    for (std::int64_t size : match.sizes)
      hash = hash_combine(hash, static_cast<std::uint64_t>(size));
    // A collision would lose a match, which is no harm but for one in 2^64.
    if (!noted_.insert(hash).second) return;
    ++report_.matches;
    if (waiting_count_ >= run_->limits.waiting) {
      lost_ = true;
      return;
    }
    const Instance* instance = instances_.at(match, rule);
    if (instance == nullptr) return;
    Waiting waiting{instance, {match.inputs.begin(), match.inputs.end()}, {}};
    waiting.classes.insert(waiting.classes.end(), match.outputs.begin(), match.outputs.end());
    if (log_) waiting.matched.assign(match.nodes.begin(), match.nodes.end());
    waiting_[family].push_back(std::move(waiting));
    ++waiting_count_;
  }

  /// Up to `allowed` matches of each rule as written. False: there are too many e-nodes.
  bool replace(std::size_t allowed) {
    for (std::size_t f = 0; f < waiting_.size(); ++f) {
      auto& family = waiting_[is_resumed_ ? waiting_.size() - 1 - f : f];
      for (std::size_t k = 0; k < allowed && !family.empty(); ++k) {
        if (graph_.node_count() >= run_->limits.nodes) return false;
        replace(family.front());
        family.pop_front();
        --waiting_count_;
      }
    }
    return true;
  }

  void replace(const Waiting& match) {
    const Instance& instance = *match.instance;
    const PreparedRule& rule = run_->rules[instance.rule];
    const std::size_t before = graph_.node_count();
    const std::size_t first_class = graph_.class_bound(), first_node = graph_.node_bound();
    const auto inputs = static_cast<std::ptrdiff_t>(instance.inputs.size());
    slots_.assign(match.classes.begin(), match.classes.begin() + inputs);
    for (const core::LiteralPtr& literal : rule.constants)
      slots_.push_back(graph_.add_constant(literal));
    for (std::size_t k = 0; k < rule.target.size(); ++k) {
      operands_.clear();
      for (std::int32_t slot : rule.target[k].operands)
        operands_.push_back(slot < 0 ? ClassId::none() : slots_[static_cast<std::size_t>(slot)]);
      const auto results = graph_.add(instance.nodes[k].operation, operands_,
                                      instance.nodes[k].results, instance.rule);
      slots_.insert(slots_.end(), results.begin(), results.end());
    }
    bool is_new = graph_.node_count() > before;
    for (std::size_t k = 0; k < rule.results.size(); ++k) {
      const ClassId replaced = match.classes[instance.inputs.size() + k];
      is_new |= graph_.merge(replaced, slots_[static_cast<std::size_t>(rule.results[k])]);
    }
    ++report_.applied;
    report_.by_rule[instance.rule] += is_new ? 1 : 0;
    if (log_ && is_new)
      log_->push_back({instance.rule,
                       instance.sizes,
                       {match.classes.begin(), match.classes.begin() + inputs},
                       match.matched,
                       {slots_.begin() + inputs, slots_.end()},
                       first_class,
                       first_node});
  }

  EGraph& graph_;
  const Run* run_ = nullptr;
  std::vector<Application>* log_;
  SaturationReport report_;
  Instances instances_;
  std::vector<std::deque<Waiting>> waiting_;  // by family
  std::size_t waiting_count_ = 0;
  bool lost_ = false;
  std::size_t known_rules_ = 0;  ///< They were matched everywhere.
  bool has_matched_ = false;     ///< The whole e-graph, once.
  bool is_resumed_ = false;
  bool was_limited_ = false;  ///< The run before ended at a limit.
  std::unordered_set<std::uint64_t> noted_;
  std::vector<ClassId> slots_, operands_;
};

}  // namespace saturation

SaturationReport saturate(EGraph& graph, const SaturationRules& rules,
                          const SaturationLimits& limits, const SaturationGoal& goal,
                          const core::StopToken& stop, const SaturationFilter& admits,
                          std::vector<Application>* log) {
  return saturation::Saturation(graph, admits, log).run({rules, limits, goal, stop});
}

class GrowingSaturation::State {
 public:
  explicit State(EGraph& graph) : saturation_(graph, all_, nullptr) {}
  SaturationReport run(const saturation::Run& run) { return saturation_.run(run); }

 private:
  const SaturationFilter all_ = {};
  saturation::Saturation saturation_;
};

GrowingSaturation::GrowingSaturation(EGraph& graph) : state_(std::make_unique<State>(graph)) {}
GrowingSaturation::~GrowingSaturation() = default;
GrowingSaturation::GrowingSaturation(GrowingSaturation&&) noexcept = default;

SaturationReport GrowingSaturation::run(const SaturationRules& rules,
                                        const SaturationLimits& limits, const SaturationGoal& goal,
                                        const core::StopToken& stop) {
  return state_->run({rules, limits, goal, stop});
}

}  // namespace soapstone::rules

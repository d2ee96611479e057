// See saturate.h.
#include "rules/saturation/saturate.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
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

namespace {

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
  Instances(EGraph& graph, const SaturationRules& rules, const SaturationFilter& admits)
      : graph_(graph), rules_(rules), admits_(admits) {}

  /// None if the target does not fit at these sizes.
  const Instance* at(const EMatch& match) {
    std::uint64_t hash = match.rule;
    for (std::int64_t size : match.sizes)
      hash = hash_combine(hash, static_cast<std::uint64_t>(size));
    for (ClassId input : match.inputs) hash = hash_combine(hash, graph_[input].type.value);
    const auto [begin, end] = table_.equal_range(hash);
    for (auto known = begin; known != end; ++known)
      if (is_same(instances_[known->second], match))
        return instances_[known->second].fits ? &instances_[known->second] : nullptr;
    table_.emplace(hash, instances_.size());
    instances_.push_back(make(match));
    return instances_.back().fits ? &instances_.back() : nullptr;
  }

 private:
  bool is_same(const Instance& known, const EMatch& match) const {
    return known.rule == match.rule && std::ranges::equal(known.sizes, match.sizes) &&
           std::ranges::equal(known.inputs, match.inputs, {}, {},
                              [&](ClassId id) { return graph_[id].type; });
  }

  Instance make(const EMatch& match) {
    Instance instance;
    instance.rule = match.rule;
    instance.sizes.assign(match.sizes.begin(), match.sizes.end());
    for (ClassId input : match.inputs) instance.inputs.push_back(graph_[input].type);
    const PreparedRule& rule = rules_[match.rule];
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
  const SaturationRules& rules_;
  const SaturationFilter& admits_;
  std::deque<Instance> instances_;
  std::unordered_multimap<std::uint64_t, std::size_t> table_;
};

class Saturation {
 public:
  Saturation(EGraph& graph, const SaturationRules& rules, const SaturationLimits& limits,
             const SaturationGoal& goal, const core::StopToken& stop,
             const SaturationFilter& admits, std::vector<Application>* log)
      : graph_(graph), rules_(rules), limits_(limits), goal_(goal), stop_(stop), log_(log),
        instances_(graph, rules, admits) {}

  SaturationReport run() {
    graph_.rebuild();
    report_.end = rounds();
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
    if (goal_ && goal_(graph_)) return SaturationEnd::kDone;
    std::size_t allowed = limits_.matches_a_round;
    while (true) {
      find_matches();
      if (stop_.stop_requested()) return SaturationEnd::kStopped;
      if (waiting_count_ == 0) return lost_ ? SaturationEnd::kRounds : SaturationEnd::kSaturated;
      if (report_.rounds == limits_.rounds) return SaturationEnd::kRounds;
      ++report_.rounds;
      const bool full = !replace(allowed);
      graph_.rebuild();
      if (goal_ && goal_(graph_)) return SaturationEnd::kDone;
      if (full) return SaturationEnd::kNodes;
      allowed *= 2;
    }
  }

  void find_matches() {
    const std::vector<ENodeId> changed = graph_.take_changed();
    const bool all = for_each_match(graph_, rules_, changed, limits_.match, [&](const EMatch& m) {
      note(m);
      return !stop_.stop_requested();
    });
    lost_ = lost_ || !all;
  }

  void note(const EMatch& match) {
    const std::uint32_t family = rules_[match.rule].family;
    if (family < limits_.left_out.size() && limits_.left_out[family]) return;
    std::uint64_t hash = match.rule;
    for (ClassId id : match.inputs) hash = hash_combine(hash, id.value);
    for (ClassId id : match.outputs) hash = hash_combine(hash, id.value);
    for (std::int64_t size : match.sizes)
      hash = hash_combine(hash, static_cast<std::uint64_t>(size));
    // A collision would lose a match, which is no harm but for one in 2^64.
    if (!noted_.insert(hash).second) return;
    ++report_.matches;
    if (waiting_count_ >= limits_.waiting) {
      lost_ = true;
      return;
    }
    const Instance* instance = instances_.at(match);
    if (instance == nullptr) return;
    Waiting waiting{instance, {match.inputs.begin(), match.inputs.end()}, {}};
    waiting.classes.insert(waiting.classes.end(), match.outputs.begin(), match.outputs.end());
    if (log_) waiting.matched.assign(match.nodes.begin(), match.nodes.end());
    waiting_[family].push_back(std::move(waiting));
    ++waiting_count_;
  }

  /// Up to `allowed` matches of each rule as written. False: there are too many e-nodes.
  bool replace(std::size_t allowed) {
    for (auto next = waiting_.begin(); next != waiting_.end();) {
      auto& matches = next->second;
      for (std::size_t k = 0; k < allowed && !matches.empty(); ++k) {
        if (graph_.node_count() >= limits_.nodes) return false;
        replace(matches.front());
        matches.pop_front();
        --waiting_count_;
      }
      next = matches.empty() ? waiting_.erase(next) : std::next(next);
    }
    return true;
  }

  void replace(const Waiting& match) {
    const Instance& instance = *match.instance;
    const PreparedRule& rule = rules_[instance.rule];
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
    if (is_new) ++report_.by_rule[instance.rule];
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
  const SaturationRules& rules_;
  const SaturationLimits& limits_;
  const SaturationGoal& goal_;
  const core::StopToken& stop_;
  std::vector<Application>* log_;
  SaturationReport report_;
  Instances instances_;
  /// By family. There are thousands, of which few match.
  std::map<std::uint32_t, std::deque<Waiting>> waiting_;
  std::size_t waiting_count_ = 0;
  bool lost_ = false;
  std::unordered_set<std::uint64_t> noted_;
  std::vector<ClassId> slots_, operands_;
};

}  // namespace

SaturationReport saturate(EGraph& graph, const SaturationRules& rules,
                          const SaturationLimits& limits, const SaturationGoal& goal,
                          const core::StopToken& stop, const SaturationFilter& admits,
                          std::vector<Application>* log) {
  return Saturation(graph, rules, limits, goal, stop, admits, log).run();
}

}  // namespace soapstone::rules

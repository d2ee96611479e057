// See explained_changes.h. Tensors get short names within a change, so that two places that were
// changed alike read alike, and that is how they are found.
#include "jobs/optimize/explained_changes.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/text.h"
#include "jobs/rules/rule_equation.h"
#include "search/explanation.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::Tensor;
using core::TensorId;
using search::ChangedPlace;
using search::ChangedPlaces;
using search::Step;

std::string shape_text(const Graph& graph, TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  std::string shape = type.shape_known ? core::to_string(type.shape, graph.symbols()) : "[?]";
  if (type.data_type == core::DataType::kFloat32) return shape;
  return std::string(core::to_string(type.data_type)) + shape;
}

std::string attributes_text(const Graph& graph, const Node& node) {
  std::vector<std::string> attributes;
  for (const auto& [name, value] : node.attributes.values()) {
    const auto* schema = node.op->find_attribute(name);
    if (schema && schema->default_value == value) continue;
    attributes.push_back(fmt::format("{}={}", name, core::to_string(value, graph.symbols())));
  }
  return fmt::format("{}", fmt::join(attributes, ", "));
}

/// x, y, z, x2, y2, …
std::string letter(std::string_view letters, std::size_t number) {
  const std::string name(1, letters[number % letters.size()]);
  const std::size_t round = number / letters.size();
  return round == 0 ? name : name + fmt::to_string(round + 1);
}

/// The short names of a change, which hold before and after.
struct Names {
  std::map<TensorId, std::string> by_id;
  std::size_t results = 0, data = 0, weights = 0;
};

/// The graph before or after, as far as a change goes.
class Side {
 public:
  Side(const Graph& graph, const std::vector<NodeId>& nodes, const ChangedPlaces& found,
       Names& names, std::vector<ExplainedInput>& inputs)
      : graph_(graph), nodes_(nodes), inside_(nodes.begin(), nodes.end()), found_(found),
        names_(names), inputs_(inputs) {}

  std::vector<ExplainedOperator> describe() {
    std::vector<ExplainedOperator> operators;
    for (const NodeId id : nodes_) operators.push_back(describe(id));
    return operators;
  }

 private:
  ExplainedOperator describe(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<std::string> arguments, results;
    for (const TensorId input : node.inputs) arguments.push_back(name_of(input));
    for (const TensorId output : node.outputs) results.push_back(name_of(output));
    return {std::move(results),
            node.op->name,
            std::move(arguments),
            attributes_text(graph_, node),
            shape_text(graph_, node.outputs.front()),
            node.name,
            graph_.is_constant_expression(id)};
  }

  std::string name_of(TensorId id) {
    if (!id.valid()) return "_";
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.value && tensor.value->count() == 1)
      return fmt::format("{:g}", tensor.value->to_doubles()[0]);
    // A tensor that is computed in another way now keeps its name for the operators that read it.
    const auto old = found_.stands_for.find(id);
    std::string& name = names_.by_id[old == found_.stands_for.end() ? id : old->second];
    if (name.empty()) name = new_name(id);
    return name;
  }

  std::string new_name(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    if (tensor.producer.valid() && inside_.contains(tensor.producer))
      return fmt::format("t{}", ++names_.results);
    const bool constant = graph_.is_constant_expression(id);
    std::string name = constant ? letter("ABCDEFGHIJKLMNOPQRSTUVWXYZ", names_.weights++)
                                : letter("xyzuvw", names_.data++);
    inputs_.push_back({name, shape_text(graph_, id), tensor.name, constant});
    return name;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  std::set<NodeId> inside_;
  const ChangedPlaces& found_;
  Names& names_;
  std::vector<ExplainedInput>& inputs_;
};

void describe_rules(const ChangedPlace& place, const std::vector<Step>& steps,
                    const rules::RuleSet& rules, ExplainedChange& change) {
  for (const std::size_t number : place.steps) {
    const Step& step = steps[number];
    if (change.rules.empty() || change.rules.back().instance != step.rule) {
      const rules::Rule& rule = step.rewriting(rules);
      const std::string equation = equation_text(rule);
      const std::size_t middle = equation.find(" = ");
      change.rules.push_back({step.base_rule, step.rule, rule.description,
                              equation.substr(0, middle), equation.substr(middle + 3), 0, 0});
    }
    ++change.rules.back().count;
    change.rules.back().gain_us += step.gain_us;
  }
}

/// Equal for places that were changed in the same way.
std::string key_of(const ExplainedChange& change) {
  std::string key;
  const auto add = [&](const std::vector<ExplainedOperator>& operators) {
    for (const ExplainedOperator& op : operators) key += fmt::format("{}:{};", op.text(), op.shape);
    key += '\n';
  };
  add(change.before);
  for (const ExplainedRule& rule : change.rules)
    key += fmt::format("{}*{};", rule.instance, rule.count);
  add(change.after);
  for (const ExplainedInput& input : change.inputs) key += input.name + input.shape;
  return key;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (const NodeId id : nodes)
    if (!graph.node(id).name.empty()) names.push_back(graph.node(id).name);
  return names;
}

std::vector<ExplainedChange> explain_changes(const search::OptimizeReport& report,
                                             const rules::RuleSet& rules) {
  const ChangedPlaces found = find_changed_places(report.baseline, rules, report.steps);
  std::vector<ExplainedChange> changes;
  std::map<std::string, std::size_t> known;
  for (const ChangedPlace& place : found.places) {
    ExplainedChange change;
    Names names;
    change.before = Side(report.baseline, place.before, found, names, change.inputs).describe();
    change.after = Side(found.after, place.after, found, names, change.inputs).describe();
    describe_rules(place, report.steps, rules, change);
    const auto [at, is_new] = known.emplace(key_of(change), changes.size());
    if (is_new) {
      changes.push_back(std::move(change));
    } else {
      auto& sum = changes[at->second].rules;
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k].gain_us += change.rules[k].gain_us;
    }
    ExplainedChange& all = changes[at->second];
    all.gain_us += place.gain_us;
    all.places.push_back(names_of(report.baseline, place.before));
  }
  for (ExplainedChange& change : changes)
    for (ExplainedRule& rule : change.rules)
      rule.gain_us /= static_cast<double>(change.places.size());
  std::ranges::stable_sort(changes, std::ranges::greater{}, &ExplainedChange::gain_us);
  return changes;
}

}  // namespace

std::string ExplainedOperator::text() const {
  return fmt::format("{} = {}({}{}{})", fmt::join(results, ", "), op, fmt::join(arguments, ", "),
                     arguments.empty() || attributes.empty() ? "" : "; ", attributes);
}

ExplainedResult explain(const search::OptimizeReport& report, const rules::RuleSet& baseline,
                        const rules::RuleSet& rules) {
  ExplainedResult result;
  for (const auto& [name, count] : report.simplify.rules_applied) {
    const auto rule = std::ranges::find(baseline.rules(), name, &rules::Rule::base_name);
    CHECK(rule != baseline.rules().end(), "the baseline applied a rule that it does not have");
    result.baseline.push_back({name, rule->description, count});
  }
  result.merged_duplicates = report.simplify.merged_duplicates;
  result.changes = explain_changes(report, rules);
  return result;
}

}  // namespace soapstone::jobs

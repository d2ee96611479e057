#include "transforms/restrict/demand.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/definition/registry.h"
#include "transforms/base/sequence_parts.h"
#include "transforms/restrict/partial_operator.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of nodes whose plans are made.
constexpr std::size_t kMostSteps = 400;

constexpr std::string_view kDemandDescription = "Only what is read of a result is computed.";

/// Goes from the results to the inputs. A tensor is *cut* once all that reads it are cuts: those of
/// the graph, and those that steps so far have made.
class DemandPlanner {
 public:
  explicit DemandPlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend() && parts_.steps() < kMostSteps; ++id)
      visit(*id);
    return std::move(parts_).plans();
  }

 private:
  /// A node that takes a piece of a tensor, as of the steps so far.
  struct Cut {
    Box box;
    NodeId node;  ///< Of the graph; none: a step makes it.
    GraphPart part;
  };
  enum class Reading : std::uint8_t { kNone, kPieces, kAll };

  Reading reading_of(TensorId id) const {
    const auto is_all = [&](NodeId reader) { return !cutting_.contains(reader); };
    if (graph_.is_output(id) || read_whole_.contains(id) ||
        std::ranges::any_of(graph_.consumers(id), is_all))
      return Reading::kAll;
    return cuts_.contains(id) ? Reading::kPieces : Reading::kNone;
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (graph_.is_constant_expression(id) || !has_known_sizes(graph_, node)) return;
    std::vector<std::size_t> read;
    std::size_t cut = 0;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const Reading reading = reading_of(node.outputs[o]);
      if (reading != Reading::kNone) read.push_back(o);
      cut += reading == Reading::kPieces ? 1 : 0;
    }
    if (read.empty()) {
      cutting_.insert(id);
    } else if (cut == read.size()) {
      compute_part(id, node, read);
    } else if (cut == 0) {
      if (const auto box = piece_taken(node, graph_)) {
        cutting_.insert(id);
        cuts_[node.inputs[0]].push_back({*box, id, parts_.make()});
      } else if (node.op->movement == Movement::kSplit && read.size() < node.outputs.size()) {
        take_split(id, node, read);
      }
    }
  }

  void compute_part(NodeId id, const Node& node, const std::vector<std::size_t>& read) {
    std::vector<WantedPiece> wanted;
    RewriteStep step;
    std::optional<GraphPart> part;
    for (const std::size_t o : read) {
      auto& cuts = cuts_.at(node.outputs[o]);
      // New nodes have larger numbers.
      std::ranges::stable_sort(cuts, {}, [&](const Cut& cut) {
        return cut.node.valid() ? cut.node.index() : graph_.node_bound();
      });
      for (const Cut& cut : cuts) {
        wanted.push_back({o, cut.box});
        part = parts_.join(part, cut.part);
      }
      step.readers_of.push_back(node.outputs[o]);
    }
    if (auto partial = partial_operator(graph_, id, wanted))
      add_step(id, std::move(step), *std::move(partial), *part);
  }

  void take_split(NodeId id, const Node& node, const std::vector<std::size_t>& read) {
    auto partial = partial_split(graph_, node, read);
    if (!partial) return;
    RewriteStep step;
    for (const std::size_t o : read) step.results.push_back(node.outputs[o]);
    add_step(id, std::move(step), *std::move(partial), parts_.make());
  }

  void add_step(NodeId id, RewriteStep step, PartialOperator partial, GraphPart part) {
    const Node& node = graph_.node(id);
    step.texts = std::move(partial.texts);
    step.description = kDemandDescription;
    const bool is_product = ops::definition_of(node)->op_class == ops::OpClass::kContraction;
    parts_.add(part, std::move(step), is_product);
    cutting_.insert(id);
    std::map<TensorId, Box> pieces;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const TensorId input = node.inputs[k];
      const OperandPiece& piece = partial.operands[k];
      if (piece.is_whole) read_whole_.insert(input);
      if (!piece.box) continue;
      // Two pieces of one tensor would stand in an order that is not known here.
      const auto [known, is_new] = pieces.emplace(input, *piece.box);
      if (!is_new && known->second != *piece.box) read_whole_.insert(input);
      if (is_new) cuts_[input].push_back({*piece.box, NodeId::none(), part});
    }
  }

  const Graph& graph_;
  std::map<TensorId, std::vector<Cut>> cuts_;
  std::set<NodeId> cutting_;       ///< Nodes that read pieces alone, or less than all operands.
  std::set<TensorId> read_whole_;  ///< By a node that is cut, nevertheless.
  SequenceParts parts_;
};

}  // namespace

std::vector<RewriteSequence> find_demand(const Graph& graph) { return DemandPlanner(graph).run(); }

}  // namespace soapstone::transforms

// What is left of a cost graph while variables are eliminated or get a choice, and how the choices
// of those that are gone follow from the others. Variables with at most two neighbors are gone as
// soon as there are any.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "parallel/elimination/cost_graph.h"

namespace soapstone::parallel {

class RemainingGraph {
 public:
  struct Neighbor {
    std::uint32_t variable;
    CostTableId costs;  ///< Rows: choices of the variable whose neighbor it is.
  };

  /// `first` are eliminated before all others, in that order. `tables` must outlive this.
  /// Precondition: variables in `first` have at most two neighbors.
  RemainingGraph(const CostGraph& graph, CostTables& tables,
                 const std::vector<CostVariableId>& first = {});

  std::size_t size() const { return own_.size(); }
  bool is_eliminated() const { return gone_.size() == size(); }
  bool is_gone(std::uint32_t v) const { return is_gone_[v]; }
  CostTableId own(std::uint32_t v) const { return own_[v]; }
  std::span<const Neighbor> neighbors(std::uint32_t v) const { return neighbors_[v]; }
  /// The least cost of what is gone and depends on nothing that is left.
  double cost() const { return cost_; }

  /// The variables that are not gone, ascending.
  std::vector<std::uint32_t> left() const;
  /// The first of those that have the most neighbors; none: all are gone.
  std::optional<std::uint32_t> most_neighbors();
  /// Gives a variable its choice. Precondition: it is not gone.
  void fix(std::uint32_t v, std::uint32_t choice);
  /// The least assignment that has the choices given. Precondition: all variables are gone.
  Assignment traced_back() const;

  /// A variable that is gone. Its choices cost something beside those of up to two others, which
  /// went later.
  struct Gone {
    std::uint32_t variable;
    std::optional<std::uint32_t> left, right;
    CostTableId left_costs, own, right_costs;  ///< As in CostTables::through().
    const CostTables::Minimum* minimum;        ///< Null: `choice` is fixed.
    std::uint32_t choice = 0;
  };
  /// In the order in which they went. Below, `at` is such a position, and `choices` are of all
  /// variables, of which those that went later matter.
  const Gone& gone(std::size_t at) const { return gone_[at]; }
  std::size_t choices_of_gone(std::size_t at) const;
  /// How much more the choice that the variable has in `choices` costs than the best one;
  /// kImpossible: it cannot be.
  double more_than_least(std::size_t at, const std::vector<std::uint32_t>& choices) const;
  /// Gives the variable its best choice.
  void choose_least(std::size_t at, std::vector<std::uint32_t>& choices) const;

 private:
  void connect(std::uint32_t a, std::uint32_t b, CostTableId costs);
  void disconnect(std::uint32_t a, std::uint32_t b);
  void reduce(std::vector<std::uint32_t> next);
  void eliminate(std::uint32_t v);

  /// Nobody ever gets more neighbors, so degrees here are at least those of now.
  struct Hub {
    std::size_t degree;
    std::uint32_t variable;
    bool operator<(const Hub& other) const {
      return degree != other.degree ? degree < other.degree : variable > other.variable;
    }
  };
  /// The place where the costs of the variable's choices are in the table of its minimum.
  std::size_t place_of_minimum(const Gone& gone, const std::vector<std::uint32_t>& choices) const;

  CostTables* tables_;
  std::vector<CostTableId> own_;
  std::vector<std::vector<Neighbor>> neighbors_;
  std::vector<bool> is_gone_;
  std::priority_queue<Hub> hubs_;
  std::vector<Gone> gone_;
  double cost_ = 0;
  std::size_t round_ = 0;
  std::vector<std::size_t> touched_;  ///< By variable: the last round that changed it.
};

}  // namespace soapstone::parallel

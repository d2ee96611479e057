// Long short-term memory, unrolled: the networks of recurrent layers are made of it. Private to
// the builders.
#pragma once

#include "models/layers/network.h"

namespace soapstone::models {

/// What a layer hands from one step to the next, both [batch, hidden].
struct LstmState {
  Network::Tensor hidden, cell;
};

/// Layers of LSTM over a sequence; all steps share a layer's weights. Source: Hochreiter and
/// Schmidhuber, Long Short-Term Memory, 1997, with forget gates (Gers et al., 2000), written as in
/// Zaremba et al., 2014, section 3.1.
class LstmLayers {
 public:
  /// The weights of layers that read `inputs` numbers (the first) or `hidden` (the others).
  LstmLayers(Network& net, const std::string& name, std::int64_t layers, std::int64_t inputs,
             std::int64_t hidden);

  /// The last layer's result at each step. `states` are those of the layers: before the first step
  /// when it is called (empty: zeros), behind the last one afterward.
  std::vector<Network::Tensor> run(const std::vector<Network::Tensor>& steps,
                                   std::vector<LstmState>& states);

 private:
  struct Layer {
    std::string name;
    Network::Tensor from_input, from_state, bias;
  };
  LstmState step(const Layer& layer, const std::string& name, Network::Tensor x,
                 const LstmState* before);

  Network& net_;
  std::int64_t hidden_;
  std::vector<Layer> layers_;
};

/// x[batch, steps, width] as a [batch, width] for each step.
std::vector<Network::Tensor> split_steps(Network& net, const std::string& name, Network::Tensor x);
/// The reverse.
Network::Tensor join_steps(Network& net, const std::string& name,
                           const std::vector<Network::Tensor>& steps);
/// The embedded tokens of a new input [batch, steps], as a [batch, width] for each step.
std::vector<Network::Tensor> embedded_steps(Network& net, const std::string& name,
                                            const core::Dims& ids, std::int64_t vocabulary,
                                            std::int64_t width);

}  // namespace soapstone::models

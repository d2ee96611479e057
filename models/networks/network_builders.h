// One function a built-in network, each in a file of its own. Private to the builders.
#pragma once

#include "models/networks/builders.h"

namespace soapstone::models {

ModelBuilder squeezenet_builder();
ModelBuilder inception_v3_builder();
ModelBuilder resnet50_builder();
ModelBuilder resnext50_builder();
ModelBuilder bert_base_builder();
ModelBuilder nasrnn_builder();
ModelBuilder swin_builder();
ModelBuilder mlp_builder();
ModelBuilder gpt_builder();
ModelBuilder llama_builder();
ModelBuilder moe_builder();
ModelBuilder lenet_builder();
ModelBuilder alexnet_builder();
ModelBuilder resnet101_builder();
ModelBuilder rnntc_builder();
ModelBuilder rnnlm_builder();
ModelBuilder nmt_builder();
ModelBuilder dlrm_builder();
ModelBuilder nasnet_a_builder();
ModelBuilder vgg_builder();
ModelBuilder resnet18_builder();
ModelBuilder resnet34_builder();
ModelBuilder vit_builder();
ModelBuilder unet_builder();
ModelBuilder bert_builder();
ModelBuilder bert_large_builder();
ModelBuilder gnmt_builder();
ModelBuilder mixtral_builder();
ModelBuilder deepseek_moe_builder();

}  // namespace soapstone::models

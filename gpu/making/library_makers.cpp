// Kernels of libraries; see makers.h.
#include <fmt/format.h>

#include "gpu/forms/matrix_product.h"
#include "gpu/libraries/library_kernels.h"
#include "gpu/making/makers.h"
#include "runtime/launches/view.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;

using core::TensorId;

constexpr std::size_t kLibraryAlignment = 16;  // bytes: what libraries take for granted
constexpr int kMostAlgorithms = 8;

/// True if the tensor lies where libraries can read it: not somewhere within another one.
bool is_aligned(const core::Graph& graph, TensorId id) {
  const core::NodeId producer = graph.tensor(id).producer;
  if (!producer.valid() || graph.is_constant_expression(id)) return true;
  constexpr auto kRowMajor = runtime::Layout::kRowMajor;
  if (!runtime::is_view(graph, producer, kRowMajor)) return true;
  const std::size_t output = graph.tensor(id).output_index;
  return runtime::view_offset(graph, producer, output, kRowMajor) % kLibraryAlignment == 0 &&
         is_aligned(graph, graph.node(producer).inputs[0]);
}

core::Status check_alignment(const KernelRequest& request) {
  for (const TensorId input : request.inputs)
    if (!is_aligned(request.graph, input))
      return core::unsupported("an input that begins where libraries cannot read it");
  return core::Done{};
}

/// The tensors in memory that a description mentions, each once.
class TensorList {
 public:
  void add(TensorId id) {
    if (!id.valid() || numbers_.contains(id)) return;
    numbers_.emplace(id, tensors_.size());
    tensors_.push_back(id);
  }
  const std::vector<TensorId>& tensors() const { return tensors_; }
  const ArgumentNumbers& numbers() const { return numbers_; }

 private:
  std::vector<TensorId> tensors_;
  ArgumentNumbers numbers_;
};

// --- cuDNN --------------------------------------------------------------------------------------

struct CudnnChoice {
  CudnnGraph graph;
  std::vector<CudnnDescriptor> configurations;
};

/// Begins the names of kernels that round their factors.
constexpr std::string_view kRounds = "tf32 factors, ";

core::Result<CudnnChoice> cudnn_choice(const MakerContext& context, const KernelRequest& request) {
  const Libraries& libraries = context.handles->libraries();
  if (!libraries.cudnn) return core::unavailable("there is no cuDNN");
  SOAPSTONE_RETURN_IF_ERROR(check_alignment(request));
  SOAPSTONE_ASSIGN_OR_RETURN(
      OperationGraph operations,
      operation_graph_of(request.graph, request.nodes, request.outputs, request.layouts));
  for (const GraphTensor& tensor : operations.tensors)
    if (tensor.step * static_cast<std::int64_t>(core::size_bytes(tensor.data_type)) %
            static_cast<std::int64_t>(kLibraryAlignment) !=
        0)
      return core::unsupported("runs that begin where libraries cannot read");
  SOAPSTONE_ASSIGN_OR_RETURN(CudnnGraph graph,
                             CudnnGraph::make(libraries.cudnn, std::move(operations)));
  SOAPSTONE_ASSIGN_OR_RETURN(const CudnnDescriptor* device, context.handles->cudnn_device());
  CudnnChoice choice{std::move(graph), {}};
  for (const auto mode : {cudnn::HeuristicMode::kA, cudnn::HeuristicMode::kFallback}) {
    SOAPSTONE_ASSIGN_OR_RETURN(choice.configurations,
                               choice.graph.configurations(*device, mode, context.options.math));
    if (!choice.configurations.empty()) return choice;
  }
  return core::unsupported("no engine of cuDNN");
}

// --- cuBLASLt -----------------------------------------------------------------------------------

struct CublasLtChoice {
  CublasLtMatmul matmul;
  std::vector<CublasLtMatmul::Algorithm> algorithms;
};

core::Result<CublasLtChoice> cublaslt_choice(const MakerContext& context,
                                             const KernelRequest& request) {
  const Libraries& libraries = context.handles->libraries();
  if (!libraries.cublaslt) return core::unavailable("there is no cuBLASLt");
  if (!request.layouts.empty()) return core::unsupported("a product with channels last");
  SOAPSTONE_RETURN_IF_ERROR(check_alignment(request));
  SOAPSTONE_ASSIGN_OR_RETURN(const Region region,
                             make_region(request.graph, request.nodes, request.outputs));
  const core::TensorType& type = request.graph.tensor(request.outputs[0]).type;
  SOAPSTONE_ASSIGN_OR_RETURN(const Product product, product_of(region, runtime::dims_of(type)));
  SOAPSTONE_ASSIGN_OR_RETURN(MatrixProduct matrices, matrix_product_of(region, product));
  SOAPSTONE_ASSIGN_OR_RETURN(void* const handle, context.handles->cublaslt());
  SOAPSTONE_ASSIGN_OR_RETURN(
      CublasLtMatmul matmul,
      CublasLtMatmul::make(libraries.cublaslt, matrices, context.options.math));
  SOAPSTONE_ASSIGN_OR_RETURN(
      auto algorithms, matmul.algorithms(handle, context.options.workspace_limit, kMostAlgorithms));
  return CublasLtChoice{std::move(matmul), std::move(algorithms)};
}

}  // namespace

core::Result<std::unique_ptr<GpuKernel>>
make_with_cudnn(const MakerContext& context, const KernelRequest& request, std::size_t number) {
  SOAPSTONE_ASSIGN_OR_RETURN(CudnnChoice choice, cudnn_choice(context, request));
  SOAPSTONE_ASSIGN_OR_RETURN(const CudnnDescriptor* device, context.handles->cudnn_device());
  const Cudnn& cudnn = choice.graph.cudnn();
  std::string refusal = "no plan of cuDNN of that number";
  for (std::size_t k = number; k < choice.configurations.size(); ++k) {
    auto plan = make_plan(cudnn, choice.configurations[k], *device);
    if (plan && plan->workspace_bytes <= context.options.workspace_limit) {
      TensorList list;
      for (const GraphTensor& tensor : choice.graph.operations().tensors) list.add(tensor.id);
      SOAPSTONE_ASSIGN_OR_RETURN(KernelArguments arguments,
                                 arguments_for(context, request, list.tensors()));
      SOAPSTONE_ASSIGN_OR_RETURN(
          const bool is_exact,
          choice.graph.computes_so(choice.configurations[k], FloatMath::kExact));
      return make_cudnn_kernel(
          context.handles, std::move(choice.graph), *std::move(plan), std::move(arguments),
          list.numbers(), fmt::format("{}cuDNN {}", is_exact ? std::string_view() : kRounds, k));
    }
    refusal = plan ? "a plan that needs more workspace than is allowed" : plan.error().message;
  }
  return core::unsupported(refusal);
}

std::size_t count_cudnn_plans(const MakerContext& context, const KernelRequest& request) {
  const auto choice = cudnn_choice(context, request);
  return choice ? choice->configurations.size() : 0;
}

core::Result<std::unique_ptr<GpuKernel>>
make_with_cublaslt(const MakerContext& context, const KernelRequest& request, std::size_t number) {
  SOAPSTONE_ASSIGN_OR_RETURN(CublasLtChoice choice, cublaslt_choice(context, request));
  if (number >= choice.algorithms.size())
    return core::unsupported("no algorithm of cuBLASLt of that number");
  const MatrixProduct& p = choice.matmul.product();
  const core::DataType type = request.graph.tensor(request.outputs[0]).type.data_type;
  const bool rounds =
      type == core::DataType::kFloat32 && context.options.math == FloatMath::kTensorFloat32;
  TensorList list;
  for (const StridedMatrix* matrix : {&p.left, &p.right, &p.result}) list.add(matrix->id);
  if (p.addend) list.add(p.addend->id);
  if (p.bias) list.add(p.bias->id);
  SOAPSTONE_ASSIGN_OR_RETURN(KernelArguments arguments,
                             arguments_for(context, request, list.tensors()));
  return make_cublaslt_kernel(
      context.handles, std::move(choice.matmul), choice.algorithms[number], std::move(arguments),
      list.numbers(), fmt::format("{}cuBLASLt {}", rounds ? kRounds : std::string_view(), number));
}

std::size_t count_cublaslt_algorithms(const MakerContext& context, const KernelRequest& request) {
  const auto choice = cublaslt_choice(context, request);
  return choice ? choice->algorithms.size() : 0;
}

}  // namespace soapstone::gpu

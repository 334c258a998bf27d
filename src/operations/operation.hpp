// SPDX-License-Identifier: Apache-2.0
// One product with everything that the front doors do with it: its problem, operands from files or from the seed, a
// run, the judge in FP64, what a plan would choose, what has to be compiled. Each operation is one file beside this
// one; who runs, prepares or explains does not know which it is.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/json.hpp"
#include "operations/epilogue_operands.hpp"
#include "operations/host_operand.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww::operations {

/// What a product is run with beside its problem.
struct Inputs {
  GemmOptions options;
  std::uint64_t seed = 0;
  std::optional<ArrayFile> a, b, scale_a, scale_b;  // the others are generated
  EpilogueFiles epilogue_files;
  std::array<float, kEpilogueSlots> scalar{1, 1, 1, 1};
};

/// What the device says of the groups that it met.
struct GroupFacts {
  std::uint32_t status = 0, expected = 0;  // the status word, and the one that the sizes deserve
  std::vector<TileWidth> widths = {};      // how many tiles had which width, where a kernel counts them
  const char* outside = "";                // what elements in no group must be: "untouched" or "zero"
};

/// What the judge says of D and of the other outputs, and the groups' part in it.
using Judgement = EpilogueComparison;

class Operation {
 public:
  virtual ~Operation() = default;

  /// "gemm 2 of 64 x 64 x 128, bf16 -> bf16, scale none"
  virtual std::string title() const = 0;
  virtual Fields sizes() const = 0;
  /// Multiplications and additions of one run, without what belongs to no group.
  virtual double flops() const = 0;
  const Inputs& inputs() const { return inputs_; }

  /// Refuses what no kernel computes, and then what does not fit into the memory of `device`.
  virtual Result<void> can_implement() const = 0;
  virtual Result<void> check_memory(const DeviceInfo& device) const = 0;
  virtual PrepareCase prepare_case() const = 0;
  /// The choice of a config on `device`, or without one (null) on an H200 with all its SMs.
  virtual Result<Explanation> explain(const Device* device) const = 0;

  /// A run takes these steps, in this order; `run` may be repeated where `repeats()`.
  virtual Result<void> plan(const Device& device) = 0;
  virtual Result<void> make_tensors() = 0;
  virtual Result<void> upload() = 0;
  virtual Result<void> run() const = 0;
  virtual Result<void> download() = 0;
  virtual Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) = 0;

  virtual bool repeats() const { return true; }
  virtual const GemmConfig& config() const = 0;
  virtual std::optional<EmuStats> last_stats() const = 0;
  virtual std::optional<GroupFacts> groups() const { return std::nullopt; }

  /// Results on the host. `matrices()`: the leading extent of D in a file, or 0 where a file has two extents.
  virtual std::int64_t matrices() const = 0;
  const Matrix& d() const { return host_.d; }
  const EpilogueTensors& epilogue() const { return host_.epilogue; }
  /// The largest magnitude before quantisation, where the epilogue finds it.
  virtual std::optional<float> amax() const { return std::nullopt; }

 protected:
  explicit Operation(Inputs inputs) : inputs_(std::move(inputs)) {}

  struct Shapes {
    OperandShape a = {}, b = {}, scale_a = {}, scale_b = {}, d = {};
    WideBytes bytes() const;
  };
  /// A, B and scales, from files or from the seed; D without values. `argument` is named when memory runs out.
  Result<void> make_operands(const Shapes& shapes, const char* argument);
  /// A, B, scales and the epilogue's tensors to `device`; D as `d`.
  Result<void> upload_operands(const Device& device, const Matrix& d);
  Result<Buffer> upload_zeros(const Device& device, std::size_t bytes) const;

  struct HostTensors {
    Matrix a, b, scale_a, scale_b, d;
    EpilogueTensors epilogue;
  };
  struct DeviceTensors {
    Buffer a, b, scale_a, scale_b, d, workspace;
    EpilogueBuffers epilogue;
  };
  Inputs inputs_;
  std::optional<Device> device_;  // once planned
  HostTensors host_;
  DeviceTensors on_device_;
};

/// D = epilogue(scale (A . B^T)), or a batch of such. Row strides of A and B are set.
std::unique_ptr<Operation> make_operation(const GemmProblem& problem, Inputs inputs);

/// Groups of rows. `scale_a_of_group`: per tensor, one number for each group; so for B.
struct GroupedInput {
  GroupedProblem problem;
  GroupLayout layout;
  GroupMeaning meaning;  // of layout
  bool scale_a_of_group = false, scale_b_of_group = false;
};
std::unique_ptr<Operation> make_operation(const GroupedInput& grouped, Inputs inputs);

/// Groups of K.
struct KGroupedInput {
  KGroupedProblem problem;
  GroupLayout layout;          // its rows are rows of K
  GroupMeaning meaning;        // of layout, cut to whole blocks where the problem needs them
  std::optional<ArrayFile> c;  // what D held before, where the product is added to it
};
std::unique_ptr<Operation> make_operation(KGroupedInput grouped, Inputs inputs);

}  // namespace ww::operations

// SPDX-License-Identifier: Apache-2.0
// One product with everything that the front doors do with it: its problem, operands from files or from the seed or
// none but their extents, a run, the judge in FP64, smaller versions, what a plan would choose, what has to be
// compiled. Each operation is one file beside this one; run, check, bench, prepare and explain do not know which it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "io/json.hpp"
#include "operations/epilogue_operands.hpp"
#include "operations/host_operand.hpp"
#include "reference/group_layout.hpp"
#include "warpwright/host/check.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/prepare.hpp"
#include "warpwright/host/verify.hpp"

namespace ww::operations {

/// What a product is run with beside its problem.
struct Inputs {
  GemmOptions options = {};
  std::uint64_t seed = 0;
  std::optional<ArrayFile> a = {}, b = {}, scale_a = {}, scale_b = {};  // the others are generated
  EpilogueFiles epilogue_files = {};
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

/// A, B, their scales and D of one run, in device memory.
struct OperandSet {
  Buffer a, b, scale_a, scale_b, d;
};
/// Bytes of each.
struct OperandBytes {
  std::int64_t a = 0, b = 0, scale_a = 0, scale_b = 0, d = 0;
};
/// Allocates a set without values; every operand has an address.
Result<OperandSet> allocate(const Device& device, const OperandBytes& bytes);

/// The groups of a product: as the device reads them, what that means, and as the caller described them.
struct Groups {
  GroupLayout layout;
  GroupMeaning meaning;  // of layout
  CheckGroups described;
};

/// One of the dense products that an operation consists of: a matrix of a batch, or a group.
struct ProductExtents {
  std::int64_t m = 0, n = 0, k = 0;
};

/// One element of D as a sum over K: where its terms are, in elements from the start of each operand.
struct DotProduct {
  std::int64_t a = 0, a_step = 1, b = 0, b_step = 1;  // steps along K
  bool scaled = false;
  std::int64_t scale_a = 0, scale_a_step = 0, scale_b = 0, scale_b_step = 0;  // steps from one 128 of K to the next
  std::int64_t d = 0;
};

class Operation {
 public:
  virtual ~Operation() = default;

  /// The name that the program gives it: "gemm".
  virtual const char* name() const = 0;
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
  /// What ww::check takes; once planned, with the config of the plan.
  virtual CheckTarget check_target() const = 0;
  /// The flags of the program, after its name, that describe the problem without its config. Empty where no command
  /// line can, because the groups' arrays are in no file.
  virtual std::string flags() const = 0;
  /// How many of its sizes may be halved.
  virtual int axes() const { return 3; }
  /// The same with one size halved and the same config, which must be resolved; null when that size is as small as it
  /// may be. Sizes stay what the operation allows, and no smaller than a tile, because below that a problem costs as
  /// much as a tile.
  virtual std::unique_ptr<Operation> halved(int axis) const = 0;
  /// The choice of a config on `device`, or without one (null) on an H200 with all its SMs.
  virtual Result<Explanation> explain(const Device* device) const = 0;

  /// A run takes these steps, in this order; `run` may be repeated where `repeats()`.
  virtual Result<void> plan(const Device& device) = 0;
  Result<void> make_tensors();
  virtual Result<void> upload();
  Result<void> run() const { return run(set_, {}); }
  virtual Result<void> download();
  virtual Result<Judgement> judge(EmuMath math, std::atomic<int>* progress) = 0;

  /// Between plan and run for operands that never were on the host: the caller allocates sets and fills them; set_up()
  /// makes everything else that a run needs, once for all sets. Nothing is downloaded or judged.
  Result<OperandSet> allocate() const { return operations::allocate(*device_, operand_bytes()); }
  Result<void> set_up();
  virtual Result<void> run(const OperandSet& set, Stream stream) const = 0;
  /// After a run that did not end.
  Result<void> clear_workspace() const;

  // What campaigns of the checker need for a set that allocate() made, on a device whose memory is the host's.
  /// Fills A, B, their scales and D with values drawn from the seed.
  virtual Result<void> fill(const OperandSet& set) const = 0;
  /// Makes the arrays of pointers to the matrices of `set`, the last matrix first, if the problem takes such arrays.
  virtual Result<void> point_to(const OperandSet&) { return {}; }
  /// One array that a run writes.
  struct Output {
    std::string name;
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  /// Returns D, the other results of the epilogue, and the status word of the groups.
  std::vector<Output> outputs(const OperandSet& set) const;
  /// Gives later runs other sizes of the groups, drawn from `seed` within the rows that there are; a seed of 0 gives
  /// them their own sizes again. Returns false if the sizes are those of the problem.
  Result<bool> draw_sizes(std::uint64_t seed);
  /// Compares what a run left in `set` with FP64. `before` is what D held if the product is added to it, else null.
  virtual Result<Verification> verify(const OperandSet& set, EmuMath math, const void* before) const = 0;

  /// How far the operands reach with the strides of the problem, the products that it consists of, and their elements.
  virtual OperandBytes operand_bytes() const = 0;
  virtual std::vector<ProductExtents> products() const = 0;
  virtual DotProduct dot_product(std::int64_t product, std::int64_t row, std::int64_t column) const = 0;

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
  virtual Shapes shapes() const = 0;
  virtual const char* sizes_argument() const = 0;  // the flags of the sizes, which are named when memory runs out
  virtual Result<EpilogueTensors> epilogue_tensors() const { return EpilogueTensors{}; }
  /// Returns the scales of A or B as the device has them, if that is not as the host has them.
  virtual Result<std::optional<Matrix>> stored_scales(bool) const { return std::nullopt; }
  /// What an operation changes in its generated operands, or adds to them.
  virtual Result<void> adapt_operands() { return {}; }
  virtual std::size_t workspace_bytes() const = 0;
  /// Sizes of groups are multiples of this.
  virtual std::int64_t size_step() const { return 1; }

  /// A, B and scales from the host to the device, and D as `d`.
  Result<void> upload_operands(const Matrix& d);
  /// Everything of a run that is in no operand set.
  Result<void> upload_rest();

  struct HostTensors {
    Matrix a, b, scale_a, scale_b, d;
    Matrix global_scale;  // nv: one float
    EpilogueTensors epilogue;
  };
  struct DeviceTensors {
    Buffer workspace, sizes, sizes2, status, global_scale;
    EpilogueBuffers epilogue;
  };
  Inputs inputs_;
  std::optional<Groups> groups_;
  std::optional<Device> device_;  // once planned
  HostTensors host_;
  OperandSet set_;
  DeviceTensors on_device_;
  std::uint32_t status_ = 0;  // the status word, once downloaded
};

/// D = epilogue(scale (A . B^T)), or a batch of such. Row strides of A and B are set.
std::unique_ptr<Operation> make_operation(const GemmProblem& problem, Inputs inputs);

/// Groups of rows.
std::unique_ptr<Operation> make_operation(const GroupedProblem& problem, Groups groups, Inputs inputs);

/// Groups of K, cut to whole blocks where the problem needs them. `c`: what D held before, where the product is added
/// to it.
std::unique_ptr<Operation> make_operation(const KGroupedProblem& problem, Groups groups, Inputs inputs,
                                          std::optional<ArrayFile> c = {});

/// The operation of a campaign; groups are laid out. Errors name members of the target.
Result<std::unique_ptr<Operation>> make_operation(const GemmCheck& check);
Result<std::unique_ptr<Operation>> make_operation(GroupedCheck check);
Result<std::unique_ptr<Operation>> make_operation(KGroupedCheck check);

}  // namespace ww::operations

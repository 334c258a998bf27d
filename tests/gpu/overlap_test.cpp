// SPDX-License-Identifier: Apache-2.0
// Launches that overlap give the bits of launches that do not: chains in which every launch reads what the preceding
// one wrote, in a stream and as a captured graph, with programmatic dependent launch and without. Needs a GPU; the
// chains themselves are tested on the emulated device (tests/kernel/overlap_emu_test.cpp).
#include <gtest/gtest.h>

#include <cstdio>

#include "overlap_chains.hpp"
#include "runtime/cuda_driver.hpp"

namespace ww::gpu_test {
namespace {

constexpr int kLinks = 24, kRuns = 3, kReplays = 3;

const Result<Device>& gpu() {
  static const Result<Device> device = Device::open("cuda:0");
  return device;
}

void check(CUresult status) { must((*runtime::CudaDriver::get())->check(status, "a call of this test")); }

/// A stream of its own, and what goes through it.
class Lane {
 public:
  explicit Lane(const runtime::CudaDriver& cuda) : cuda_(cuda) {
    check(cuda.stream_create(&stream_, CU_STREAM_NON_BLOCKING));
    check(cuda.event_create(&begin_, CU_EVENT_DEFAULT));
    check(cuda.event_create(&end_, CU_EVENT_DEFAULT));
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    if (ready_) cuda_.graph_exec_destroy(ready_);
    if (graph_) cuda_.graph_destroy(graph_);
    cuda_.event_destroy(begin_), cuda_.event_destroy(end_), cuda_.stream_destroy(stream_);
  }

  void enqueue(const Chain& chain, int skipped = -1) const {
    const auto copy = [this](void* to, const void* from, std::size_t bytes) {
      return cuda_.check(cuda_.memcpy_dtod_async(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from),
                                                 bytes, stream_),
                         "a copy on the device");
    };
    must(chain.enqueue({{stream_}, copy}, skipped));
  }
  void capture(const Chain& chain) {
    check(cuda_.stream_begin_capture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    enqueue(chain);
    check(cuda_.stream_end_capture(stream_, &graph_));
    check(cuda_.graph_instantiate(&ready_, graph_, 0));
  }
  void replay() const { check(cuda_.graph_launch(ready_, stream_)); }

  /// What `work` leaves behind, and the microseconds of each link.
  template <class Work> std::vector<Bytes> timed(const Chain& chain, double& microseconds, Work work) const {
    return results_of(chain, [&] {
      check(cuda_.event_record(begin_, stream_));
      work();
      check(cuda_.event_record(end_, stream_));
      must(gpu()->synchronize({stream_}));
      float milliseconds = 0;
      check(cuda_.event_elapsed_time(&milliseconds, begin_, end_));
      microseconds = 1000.0 * static_cast<double>(milliseconds) / kLinks;
    });
  }

 private:
  const runtime::CudaDriver& cuda_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec ready_ = nullptr;
};

class Overlap : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto driver = runtime::CudaDriver::get();
    if (!driver) GTEST_SKIP() << "no GPU: " << driver.error().message;
    if (!gpu()) GTEST_SKIP() << "no GPU: " << gpu().error().message;
    cuda_ = *driver;
  }

  // There is no test for each chain, because without a GPU each would be one more skipped test.
  void expect_same_bits(Slots slots) const {
    for (const ChainCase& c : all_chains()) {
      SCOPED_TRACE(c.name);
      expect_same_bits(c, slots);
    }
  }

 private:
  /// All runs of one chain. Errors are thrown: gtest reports them as failures.
  void expect_same_bits(const ChainCase& c, Slots slots) const {
    Setting setting{*gpu(), Pdl::off, slots, kLinks, true};
    const Chain off = c.make(setting);
    setting.pdl = Pdl::on;
    const Chain on = c.make(setting);
    const std::string where = slots == Slots::every ? "a slot for every link" : "two slots";

    // After the uploads, because they made the device's primary context, which the plan's runs use.
    CUdevice ordinal = 0;
    CUcontext context = nullptr;
    check(cuda_->device_get(&ordinal, 0));
    check(cuda_->primary_ctx_retain(&context, ordinal));
    const runtime::CudaContext keeper(*cuda_, ordinal, context);
    const runtime::CurrentContext current(keeper);
    Lane lane(*cuda_);

    double alone = 0, together = 0, replayed = 0, shorter = 0;
    std::vector<Bytes> want;
    for (int i = 0; i < 2; ++i) want = lane.timed(off, alone, [&] { lane.enqueue(off); });  // the second is warm
    EXPECT_EQ(off.emptiness(want), "") << where;
    for (int i = 0; i < kRuns; ++i) {
      const auto got = lane.timed(on, together, [&] { lane.enqueue(on); });
      EXPECT_EQ(on.difference(got, want), "") << where << ", run " << i;
    }
    lane.capture(on);
    for (int i = 0; i < kReplays; ++i) {
      const auto got = lane.timed(on, replayed, [&] { lane.replay(); });
      EXPECT_EQ(on.difference(got, want), "") << where << ", replay " << i;
    }
    const auto less = lane.timed(on, shorter, [&] { lane.enqueue(on, kLinks / 2); });
    EXPECT_NE(on.difference(less, want), "") << where << ": a link less changes nothing";
    std::printf("%-32s %-22s %6.1f us a link, overlapping %6.1f, in a graph %6.1f\n", c.name.c_str(), where.c_str(),
                alone, together, replayed);
  }

  const runtime::CudaDriver* cuda_ = nullptr;
};

TEST_F(Overlap, ChangesNoBitOfAnyLink) { expect_same_bits(Slots::every); }
TEST_F(Overlap, ChangesNoBitWhereTwoSlotsTakeTurns) { expect_same_bits(Slots::two); }

}  // namespace
}  // namespace ww::gpu_test

// SPDX-License-Identifier: Apache-2.0
// Rounds of replays, one contender after another on one stream, in another order each round, because at the power limit
// a contender's clock depends on its predecessor (up to 7 %, bench/grouped_torch.py on an H200, 2026-11-22). The host
// is always one round ahead of the GPU, so that the GPU is never idle between graphs and times come from events alone.
//   stream:  e0 [graph A] e1 [graph B] e2 | e0' [graph A] e1' [graph B] e2' | …      A = e1 - e0, B = e2 - e1
// Where contenders run alone, each replays only its own graph for a turn, as in bench/alone.py.
#include "bench/native/cuda.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "runtime/cuda_backend.hpp"

namespace ww::bench {

Result<double> host_us_per_call(const Device& device, const Enqueue& enqueue, std::span<const BufferSet> sets,
                                ::ww::Stream stream, int calls) {
  constexpr int kChunk = 200;  // below the driver's launch queue (about 1024), which blocks when it is full
  double seconds = 0;
  int done = 0;
  for (; done < calls; done += kChunk) {
    WW_CHECK(device.synchronize(stream));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kChunk; ++i) WW_CHECK(enqueue(sets[static_cast<std::size_t>(i) % sets.size()], stream));
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  WW_CHECK(device.synchronize(stream));
  return seconds / done * 1e6;
}

}  // namespace ww::bench

#if WARPWRIGHT_HAS_CUDA

namespace ww::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLoadSeconds = 1.2;      // until clocks have settled under power
constexpr double kIdleSeconds = 1.0;      // before a burst
constexpr double kSampleSeconds = 0.4;    // between samples of clock and power
constexpr double kGraphSeconds = 1.5e-3;  // a graph is at least this long, so that its launch is negligible
constexpr double kUncounted = 1.0 / 3;    // of the turn of a contender that runs alone
constexpr int kMinCalls = 24, kMaxCalls = 240, kMaxRounds = 61;
constexpr double kMaxError = 0.1;  // spot_check's bound

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

/// Driver objects of one measurement, released together.
class Objects {
 public:
  explicit Objects(const runtime::CudaDriver& driver) : driver_(driver) {}
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    for (CUgraphExec graph : graphs_) driver_.graph_exec_destroy(graph);
    for (CUevent event : events_) driver_.event_destroy(event);
  }
  Result<CUevent> event() {
    CUevent event = nullptr;
    WW_CHECK(driver_.check(driver_.event_create(&event, CU_EVENT_DEFAULT), "cuEventCreate"));
    events_.push_back(event);
    return event;
  }
  /// Records `calls` calls that rotate over `sets`.
  Result<CUgraphExec> graph(const Enqueue& enqueue, std::span<const BufferSet> sets, int calls, CUstream stream) {
    WW_CHECK(
        driver_.check(driver_.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "starting a capture"));
    Result<void> recorded;
    for (int i = 0; i < calls && recorded; ++i)
      recorded = enqueue(sets[static_cast<std::size_t>(i) % sets.size()], {stream});
    CUgraph graph = nullptr;
    // also after a failure, because the stream is used further
    const CUresult ended = driver_.stream_end_capture(stream, &graph);
    CUgraphExec ready = nullptr;
    Result<void> result = recorded ? driver_.check(ended, "ending a capture") : recorded;
    if (result) result = driver_.check(driver_.graph_instantiate(&ready, graph, 0), "instantiating a graph");
    if (graph != nullptr) driver_.graph_destroy(graph);
    if (!result) return failure(result.error());
    graphs_.push_back(ready);
    return ready;
  }

 private:
  const runtime::CudaDriver& driver_;
  std::vector<CUgraphExec> graphs_;
  std::vector<CUevent> events_;
};

/// A contender that is still in the race.
struct Runner {
  Contender* contender = nullptr;
  CUgraphExec graph = nullptr;
  std::vector<double> us;  // per call, one for each counted replay
};

class CudaGpuBench final : public GpuBench {
 public:
  CudaGpuBench(const Device& device, std::shared_ptr<const runtime::CudaContext> context)
      : device_(device), context_(std::move(context)), driver_(context_->driver), current_(*context_) {}
  ~CudaGpuBench() override {
    if (stream_ != nullptr) driver_.stream_destroy(stream_);
  }

  Result<void> prepare() {
    WW_CHECK(current_.status());
    WW_CHECK(driver_.check(driver_.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
    char bus[64] = {};
    if (driver_.device_get_pci_bus_id(bus, sizeof(bus), context_->device) == CUDA_SUCCESS) nvml_ = Nvml::open(bus);
    return {};
  }

  GpuFacts facts() const override {
    if (nvml_ == nullptr) return {};
    return {nvml_->driver_version(), nvml_->power_limit_watts().value_or(0)};
  }

  std::vector<GpuSample> measure(const SpotCheck& check, std::span<const BufferSet> sets,
                                 std::vector<Contender>& contenders, const MeasureOptions& options) override {
    samples_.clear();
    Objects objects(driver_);
    std::vector<Runner> runners;
    double fastest = INFINITY;  // seconds of a call
    for (Contender& contender : contenders) {
      if (contender.error) continue;
      if (Result<double> seconds = first_contact(check, sets, contender); seconds) {
        fastest = std::min(fastest, *seconds);
        runners.push_back({&contender, nullptr, {}});
      } else {
        contender.error = seconds.error();
      }
    }
    const int calls = calls_of_graph(fastest, sets.size());
    std::erase_if(runners, [&](Runner& runner) {
      Result<CUgraphExec> graph = objects.graph(runner.contender->alternatives[0], sets, calls, stream_);
      if (!graph) runner.contender->error = graph.error();
      runner.graph = graph.value_or(nullptr);
      runner.contender->measured.calls = calls;
      return !graph;
    });
    if (runners.empty()) return {};
    if (Result<void> ran =
            options.alone ? alone(objects, runners, calls, options) : race(objects, runners, calls, options);
        !ran)
      for (Runner& runner : runners) runner.contender->error = ran.error();
    return samples_;
  }

 private:
  /// Returns the calls of a graph: more for short kernels, always whole rotations.
  static int calls_of_graph(double seconds, std::size_t sets) {
    const double wanted = std::isfinite(seconds) && seconds > 0 ? kGraphSeconds / seconds : kMinCalls;
    const int calls = static_cast<int>(std::clamp(wanted, double{kMinCalls}, double{kMaxCalls}));
    const int rotation = static_cast<int>(sets);
    return (calls + rotation - 1) / rotation * rotation;
  }

  /// Runs every alternative once on poisoned output, checks it, keeps the fastest, and measures our host time.
  Result<double> first_contact(const SpotCheck& check, std::span<const BufferSet> sets, Contender& contender) {
    std::size_t best = 0;
    double best_seconds = INFINITY;
    for (std::size_t i = 0; i < contender.alternatives.size(); ++i) {
      WW_TRY(const double seconds, try_once(check, sets, contender, contender.alternatives[i]));
      if (seconds < best_seconds) best = i, best_seconds = seconds;
    }
    if (best != 0) contender.detail += fmt::format(", number {}", best);
    std::swap(contender.alternatives[0], contender.alternatives[best]);
    contender.alternatives.resize(1);
    if (contender.ours) {
      const int calls = static_cast<int>(std::clamp(0.3 / best_seconds, 200.0, 1000.0));
      WW_TRY(contender.measured.host_us, host_us_per_call(device_, contender.alternatives[0], sets, {stream_}, calls));
    }
    return best_seconds;
  }

  Result<double> try_once(const SpotCheck& check, std::span<const BufferSet> sets, Contender& contender,
                          const Enqueue& enqueue) {
    constexpr int kTrials = 4;
    const BufferSet& set = sets[0];
    WW_CHECK(driver_.check(
        driver_.memset_d8_async(reinterpret_cast<CUdeviceptr>(set.d.data()), 0xFF, set.d.bytes(), stream_),
        "poisoning D"));
    WW_CHECK(enqueue(set, {stream_}));
    WW_CHECK(device_.synchronize({stream_}));
    WW_TRY(contender.measured.max_error, check(set, contender));
    if (!(contender.measured.max_error < kMaxError))
      return failure(ErrorCode::wrong_result, "", fmt::format("an error below {} of the products' norm", kMaxError),
                     fmt::format("{}", contender.measured.max_error), contender.name);
    const auto start = Clock::now();
    for (int i = 0; i < kTrials; ++i) WW_CHECK(enqueue(sets[static_cast<std::size_t>(i) % sets.size()], {stream_}));
    WW_CHECK(device_.synchronize({stream_}));
    return seconds_since(start) / kTrials;
  }

  Result<void> race(Objects& objects, std::vector<Runner>& runners, int calls, const MeasureOptions& options) {
    Round rounds[2];
    for (Round& round : rounds) {
      round.events.resize(runners.size() + 1);
      for (CUevent& event : round.events) {
        WW_TRY(event, objects.event());
      }
      round.order.resize(runners.size());
      std::iota(round.order.begin(), round.order.end(), std::size_t{0});
    }
    std::mt19937 random(0);
    const bool burst = options.burst && options.seconds >= 3;
    const double load = std::min(kLoadSeconds, 0.3 * options.seconds);
    const double end = options.seconds - (burst ? static_cast<double>(runners.size()) * (kIdleSeconds + 0.05) : 0);
    const auto start = Clock::now();
    double sampled = load;
    int counted = 0;
    bool previous_counts = false;
    for (int round = 0; counted < options.replays || (counted < kMaxRounds && seconds_since(start) < end); ++round) {
      const bool counts = seconds_since(start) >= load;
      std::shuffle(rounds[round % 2].order.begin(), rounds[round % 2].order.end(), random);
      WW_CHECK(launch_round(runners, rounds[round % 2]));
      if (counts && seconds_since(start) >= sampled) {
        sampled += kSampleSeconds;
        if (const auto sample = nvml_ ? nvml_->sample() : std::nullopt) samples_.push_back(*sample);
      }
      if (round > 0) WW_CHECK(finish_round(runners, rounds[(round - 1) % 2], calls, previous_counts));
      counted += round > 0 && previous_counts;
      previous_counts = counts;
    }
    WW_CHECK(device_.synchronize({stream_}));
    for (Runner& runner : runners) summarize(runner);
    if (burst) WW_CHECK(bursts(runners, rounds[0].events, calls));
    return {};
  }

  /// Lets every contender take its turns, which share seconds_of(), in random order.
  Result<void> alone(Objects& objects, std::vector<Runner>& runners, int calls, const MeasureOptions& options) {
    CUevent events[3];
    for (CUevent& event : events) {
      WW_TRY(event, objects.event());
    }
    std::vector<std::size_t> order(runners.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random(0);
    const double turn = seconds_of(options, runners.size()) / static_cast<double>(kTurns * runners.size());
    for (int round = 0; round < kTurns; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order) WW_CHECK(take_turn(runners[i], events, calls, turn));
    }
    for (Runner& runner : runners) summarize(runner);
    return {};
  }

  /// Replays one contender for `seconds`. The device always has the next replay.
  Result<void> take_turn(Runner& runner, const CUevent (&events)[3], int calls, double seconds) {
    WW_CHECK(record(events[0]));
    WW_CHECK(launch(runner, events[1]));
    const auto start = Clock::now();
    std::size_t i = 1;
    do {
      WW_CHECK(launch(runner, events[(i + 1) % 3]));
      WW_CHECK(driver_.check(driver_.event_synchronize(events[i % 3]), "waiting for a replay"));
      WW_TRY(const double us, elapsed_us(events[(i - 1) % 3], events[i % 3]));
      if (seconds_since(start) >= kUncounted * seconds) runner.us.push_back(us / calls);
      ++i;
    } while (seconds_since(start) < seconds);
    if (const auto sample = nvml_ ? nvml_->sample() : std::nullopt) samples_.push_back(*sample);
    return device_.synchronize({stream_});
  }

  /// The order of the contenders, with an event before each of them and one behind the last.
  struct Round {
    std::vector<CUevent> events;
    std::vector<std::size_t> order;
  };

  Result<void> launch(const Runner& runner, CUevent behind) {
    WW_CHECK(
        driver_.check(driver_.graph_launch(runner.graph, stream_), "launching the graph of " + runner.contender->name));
    return record(behind);
  }

  Result<void> launch_round(const std::vector<Runner>& runners, const Round& round) {
    WW_CHECK(record(round.events[0]));
    for (std::size_t i = 0; i < runners.size(); ++i) WW_CHECK(launch(runners[round.order[i]], round.events[i + 1]));
    return {};
  }

  Result<void> finish_round(std::vector<Runner>& runners, const Round& round, int calls, bool counts) {
    WW_CHECK(driver_.check(driver_.event_synchronize(round.events.back()), "waiting for a round of replays"));
    for (std::size_t i = 0; counts && i < runners.size(); ++i) {
      WW_TRY(const double us, elapsed_us(round.events[i], round.events[i + 1]));
      runners[round.order[i]].us.push_back(us / calls);
    }
    return {};
  }

  static void summarize(Runner& runner) {
    Measured& m = runner.contender->measured;
    m.replays = static_cast<int>(runner.us.size());
    m.us = quantile(runner.us, 0.5);
    m.us_low = quantile(runner.us, 0.1);
    m.us_high = quantile(runner.us, 0.9);
  }

  Result<void> bursts(std::vector<Runner>& runners, const std::vector<CUevent>& events, int calls) {
    for (Runner& runner : runners) {
      std::this_thread::sleep_for(std::chrono::duration<double>(kIdleSeconds));
      WW_CHECK(record(events[0]));
      WW_CHECK(launch(runner, events[1]));
      WW_CHECK(driver_.check(driver_.event_synchronize(events[1]), "waiting for a burst"));
      WW_TRY(const double us, elapsed_us(events[0], events[1]));
      runner.contender->measured.burst_us = us / calls;
    }
    return {};
  }

  Result<void> record(CUevent event) { return driver_.check(driver_.event_record(event, stream_), "cuEventRecord"); }

  Result<double> elapsed_us(CUevent from, CUevent to) {
    float milliseconds = 0;
    WW_CHECK(driver_.check(driver_.event_elapsed_time(&milliseconds, from, to), "cuEventElapsedTime"));
    return double{milliseconds} * 1e3;
  }

  Device device_;
  std::shared_ptr<const runtime::CudaContext> context_;
  const runtime::CudaDriver& driver_;
  runtime::CurrentContext current_;
  CUstream stream_ = nullptr;
  std::unique_ptr<Nvml> nvml_;
  std::vector<GpuSample> samples_;
};

}  // namespace

Result<std::unique_ptr<GpuBench>> GpuBench::open(const Device& device) {
  auto context = runtime::cuda_context(device.backend());
  if (context == nullptr) return failure(ErrorCode::unsupported, "device", "a CUDA device", device.info().name);
  auto bench = std::make_unique<CudaGpuBench>(device, std::move(context));
  WW_CHECK(bench->prepare());
  return bench;
}

}  // namespace ww::bench

#else

namespace ww::bench {

Result<std::unique_ptr<GpuBench>> GpuBench::open(const Device& device) {
  return failure(ErrorCode::unsupported, "device", "a CUDA device", device.info().name,
                 "this program was built without CUDA");
}

}  // namespace ww::bench

#endif

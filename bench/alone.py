# SPDX-License-Identifier: Apache-2.0
"""Times and energy of contenders that run one at a time, for products at the power limit.

Among other kernels a hungry kernel borrows clock from its neighbours. Here a contender replays its own graph for some
time that does not count and then for some time that does, and no other kernel runs in between. All contenders take their
turns in random order, in several rounds. The power of a turn is read from NVML's energy counter, and the energy of a
call is that power times the call's time.
"""
import argparse
import ctypes
import math
import random
import statistics
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

QUEUED_SECONDS = 0.05  # of replays that the device has not begun, at most
READ_SECONDS = 1e-3    # between two readings of the counter, at least
SM_CLOCK = 1           # NVML_CLOCK_SM


class Meter:
    """Energy counter and SM clock of the current GPU of torch by NVML; each reads as None where there is none."""

    def __init__(self) -> None:
        self.nvml: Any = None
        self.handle = ctypes.c_void_p()
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            # By its UUID, because CUDA may number the GPUs otherwise than NVML, and show few of them.
            uuid = f"GPU-{torch.cuda.get_device_properties(torch.cuda.current_device()).uuid}".encode()
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.handle)) == 0:
                self.nvml = nvml
        except (OSError, AttributeError, RuntimeError, AssertionError):
            pass

    def joules(self) -> Optional[Tuple[float, float]]:
        """The time of the reading in seconds, and the joules since the driver was loaded."""
        millijoules = ctypes.c_ulonglong()
        if self.nvml is None or self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(millijoules)):
            return None
        return time.perf_counter(), millijoules.value * 1e-3

    def sm_mhz(self) -> Optional[float]:
        mhz = ctypes.c_uint()
        if self.nvml is None or self.nvml.nvmlDeviceGetClockInfo(self.handle, SM_CLOCK, ctypes.byref(mhz)):
            return None
        return float(mhz.value)


def watts_of(readings: List[Tuple[float, float]]) -> Optional[float]:
    """Mean power between the first and the last change of the counter, of readings (seconds, joules). The counter moves
    in steps of tens of milliseconds, so that an interval which begins or ends between two steps would miss part of one."""
    changes = [late for early, late in zip(readings, readings[1:]) if late[1] != early[1]]
    if len(changes) < 2:
        return None
    (start, low), (end, high) = changes[0], changes[-1]
    return (high - low) / (end - start)


def replay_us(contender: Any) -> float:
    """Microseconds of a replay that follows another."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    contender.graph.replay()
    begin.record()
    contender.graph.replay()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end) * 1e3)


def wait(event: Any, read: Callable[[], None]) -> None:
    """Calls `read` until the device has reached `event`."""
    while not event.query():
        read()
        time.sleep(READ_SECONDS)


def replays(contender: Any, count: int, queued: int, read: Callable[[], None]) -> List[float]:
    """Microseconds of each of `count` replays in a row. At most `queued` of them wait for the device, so that what
    `read` sees belongs to a replay at hand."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    events[0].record()
    for i, event in enumerate(events[1:], 1):
        contender.graph.replay()
        event.record()
        if i >= queued:
            wait(events[i - queued], read)
    wait(events[-1], read)
    return [early.elapsed_time(late) * 1e3 for early, late in zip(events, events[1:])]


def turn(contender: Any, one: float, load: float, seconds: float, meter: Meter) -> Dict[str, float]:
    """`load` seconds of replays of `one` microsecond each that do not count, then `seconds` that do: the median time of
    a call in microseconds, and, where NVML tells, the watts, the joules of a call and the median clock."""
    queued = max(1, math.ceil(QUEUED_SECONDS * 1e6 / one))
    readings: List[Tuple[float, float]] = []
    clocks: List[float] = []

    def read() -> None:
        reading, mhz = meter.joules(), meter.sm_mhz()
        readings.extend([reading] if reading is not None else [])
        clocks.extend([mhz] if mhz is not None else [])

    replays(contender, max(1, math.ceil(load * 1e6 / one)), queued, lambda: None)
    times = replays(contender, max(4, math.ceil(seconds * 1e6 / one)), queued, read)
    found = {"us": statistics.median(times) / contender.calls, "counted_seconds": sum(times) * 1e-6}
    watts = watts_of(readings)
    if watts is not None:
        found.update(watts=watts, joules=watts * statistics.fmean(times) * 1e-6 / contender.calls)
    if clocks:
        found["sm_mhz"] = statistics.median(clocks)
    return found


def race_alone(contenders: List[Any], rounds: int, load: float, seconds: float, rng: random.Random,
               meter: Optional[Meter] = None) -> List[str]:
    """Appends to `turns` of every contender what turn() found, once for each round, and its time to `us`. Returns the
    medians of clock in MHz and power in W, as loop.smi() does, or nothing where NVML is missing."""
    meter = meter or Meter()
    each = [replay_us(contender) for contender in contenders]
    for _ in range(rounds):
        for i in rng.sample(range(len(contenders)), len(contenders)):
            contenders[i].turns.append(turn(contenders[i], each[i], load, seconds, meter))
            contenders[i].us.append(contenders[i].turns[-1]["us"])
    found = [found for contender in contenders for found in contender.turns]
    if not all("watts" in one and "sm_mhz" in one for one in found):
        return []
    return [f"{statistics.median(one[key] for one in found):.1f}" for key in ("sm_mhz", "watts")]


def mean_of(contender: Any, key: str) -> Optional[float]:
    """Mean of the contender's turns; None where it has none, or one of them lacks the figure."""
    values = [one.get(key) for one in contender.turns]
    return None if not values or None in values else statistics.fmean(values)


def add_options(parser: argparse.ArgumentParser, seconds: float, load: float) -> None:
    parser.add_argument("--alone-flops", type=float, default=1e11,
                        help="cases of so many operations or more run alone; inf: none")
    parser.add_argument("--alone-rounds", type=int, default=2, help="turns of each contender")
    parser.add_argument("--alone-load", type=float, default=load, help="seconds of a turn that do not count")
    parser.add_argument("--alone-seconds", type=float, default=seconds, help="seconds of a turn that count")


def lines_of(entries: List[Dict[str, Any]]) -> List[str]:
    """A line for each recipe: the time of every contender and, where it ran alone, its TFLOP per joule. Behind a peer
    stand its time over ours and our TFLOP per joule over its; above 1 ours is better. `entries` are of loop.entry_of()."""
    lines = []
    timed = [entry for entry in entries if "us" in entry]
    for recipe in dict.fromkeys(entry["recipe"] for entry in timed):
        own = [entry for entry in timed if entry["recipe"] == recipe]
        ours = min((e for e in own if e["config"].startswith("arch=")), key=lambda e: float(e["us"]), default=None)
        parts = []
        for entry in own:
            text = f"{entry['name']} {entry['us']:.1f} us"
            if "joules" in entry:
                text += f" {entry['tflop_per_joule']:.3f} TFLOP/J"
            if ours is not None and not entry["config"].startswith("arch="):
                both = "joules" in entry and "joules" in ours
                text += f" (time {entry['us'] / ours['us']:.3f}"
                text += f", per joule {entry['joules'] / ours['joules']:.3f})" if both else ")"
            parts.append(text)
        lines.append("    alone: " + "; ".join(parts))
    return lines

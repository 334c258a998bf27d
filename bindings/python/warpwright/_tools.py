# SPDX-License-Identifier: Apache-2.0
"""What can be asked about a product before, or without, running it."""
import dataclasses
import json
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import invalid
from ._problems import GemmProblem, GroupedProblem, KGroupedProblem, Options

Problem = Union[GemmProblem, GroupedProblem, KGroupedProblem]
AnyDevice = Union[_native.Device, str]
_DEFAULTS = Options()


def version() -> str:
    """Returns the version of the library, "0.1.0"."""
    return _native.__version__


def can_implement(
    problem: Problem, options: Options = _DEFAULTS, arch: str = "", device: Optional[AnyDevice] = None
) -> Optional[str]:
    """Returns None if the library can run `problem` with `options`, else the reason. Touches no device without `device`.

    `arch` is "sm90" or "sm100", the same as arch= in the config of `options`, which must not name one as well. With a
    `device`, such as "emu:sm100", a plan of that device is meant, whose arch the config must not contradict. Without any
    of them it is sm90."""
    if device is not None and arch:
        raise invalid("device", "no device beside arch", repr(device))
    if arch:
        config = f"arch={arch},{options.config}" if options.config else f"arch={arch}"
        options = dataclasses.replace(options, config=config)
    return _native.can_implement(problem.operation, problem.fields(), options.fields(), device)


def configs(problem: Problem, options: Options = _DEFAULTS, device: Optional[AnyDevice] = None) -> List[str]:
    """Returns the configs that can solve `problem` with `options`, best first, as texts for config=. Without a device: for
    an H200, or for a B200 if the config of `options` has arch=sm100, whose times are unmeasured."""
    found = json.loads(_native.configs(problem.operation, problem.fields(), options.fields(), device))
    return list(found["configs"])


def explain(problem: Problem, options: Options = _DEFAULTS, device: Optional[AnyDevice] = None) -> Dict[str, Any]:
    """Returns why a plan of `problem` with `options` takes its config: {"chosen", "because", "ranking", "excluded", ...}.
    Nothing is compiled. Without a device: as configs()."""
    found: Dict[str, Any] = json.loads(
        _native.explain(problem.operation, problem.fields(), options.fields(), device))
    return found


def prepare(
    problems: Iterable[Union[str, Problem, Tuple[Problem, Options]]],
    device: AnyDevice = "auto",
    *,
    threads: int = 0,
    progress: Optional[Callable[[int, int, str, float, Optional[str]], object]] = None,
) -> Dict[str, Any]:
    """Compiles every kernel that `problems` need into the cache of `device`, each once, on `threads` threads (0: one per
    core). An entry is a problem, or a pair of it and its Options.

    A text is a config, a cast "quantize=1x128,x=bf16,q=e4m3,rows=1,transposed=0" (missing keys have these values, and
    128x128 is the other block), "cast=mx,x=bf16,q=e4m3" or "cast=nv,x=bf16,q=e2m1" (quantize_mx and quantize_nv), or
    "transpose=e4m3".

    progress(done, of, config, seconds, error) is called after each kernel; an exception that it raises is raised at the
    end. Returns {"kernels": [{"config", "cases", "seconds", "error"}], "failed", "seconds"}: a kernel that cannot be made
    does not stop the others.
    """
    cases: List[Any] = []
    for entry in problems:
        if isinstance(entry, str):
            cases.append(entry)
            continue
        problem, options = entry if isinstance(entry, tuple) else (entry, _DEFAULTS)
        cases.append((problem.operation, problem.fields(), options.fields()))
    report: Dict[str, Any] = json.loads(_native.prepare(device, cases, threads, progress))
    return report


def check(
    problem: Problem,
    options: Options = _DEFAULTS,
    *,
    counts: Optional[Sequence[int]] = None,
    gap: int = 0,
    sizes: Optional[Sequence[int]] = None,
    sizes2: Optional[Sequence[int]] = None,
    progress: Optional[Callable[[str, float], object]] = None,
    **settings: Any,
) -> Dict[str, Any]:
    """Runs the kernel of `problem` with `options` under many schedules of the emulated device and reports every rule that
    it breaks.

    Groups are given as `counts` of rows (with a `gap` between them), or as the arrays `sizes` and `sizes2` that the device
    reads. progress(phase, fraction) is called about ten times a second. Settings are
    schedules=200, seed=0, seconds=60, only="", math="exact", processes=0, pct_depth=3, no_shrink=False, traffic=False,
    cache_dir, worker, launches=0 (of each schedule; 0: the usual number), verify=False (compare every launch with FP64),
    and relaxed="NAME,NAME" and strict="NAME" for the strict rules of docs/checking-kernels.md. Returns
    {"verdict": "clean", "findings": [...], ...}. Kernels run in worker processes.
    """
    groups = {"counts": counts, "gap": gap, "sizes": sizes, "sizes2": sizes2}
    report: Dict[str, Any] = json.loads(
        _native.check(problem.operation, problem.fields(), options.fields(), settings, groups, progress))
    return report


def check_kernel(
    source: str,
    entry: str,
    launch: str,
    *,
    text: Optional[str] = None,
    sms: int = 0,
    progress: Optional[Callable[[str, float], object]] = None,
    **settings: Any,
) -> Dict[str, Any]:
    """Checks a kernel of your own: the header `source` (or `text`, if given) that defines `entry` with WW_KERNEL. `launch`
    is as in docs/checking-kernels.md, and `sms` are the SMs of the emulated device, 1 to 132 (0: 4), which limit how many
    clusters are resident; progress, settings and result are those of check()."""
    fields = {"source": source, "text": text, "entry": entry, "launch": launch, "sms": sms}
    report: Dict[str, Any] = json.loads(_native.check_kernel(fields, settings, progress))
    return report

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites recorded config texts and command lines to the names of config fields since version 0.1.0.
    rename_config_text.py FILE ...
Only names change: the recorded hashes, times and values stay as they are. A second run changes nothing."""
import pathlib
import re
import sys

KEY = r"(?<![\w-])"  # the start of a key, flag or word
RENAMES = [
    (KEY + r"mechanism=k-grouped((?:,\w+=[^,\s\"';]*)*?),groups=", r"grouping=k-groups\1,k_groups="),
    (KEY + r"mechanism=(contiguous|masked|descriptors|ragged)", r"variant=\1"),
    (KEY + r"order=(auto|single|static|dynamic|stream-k|split-k|horizontal|vertical)\b", r"tile_scheduler=\1"),
    (KEY + r"warpgroups=(?=\d)", "consumer_warpgroups="),
    (KEY + r"promotion=(?=\d)", "partial_accumulators="),
    (KEY + r"ctas_per_sm=(?=\d)", "occupancy="),
    (r"--mechanism(s?)\b", r"--variant\1"),
    (r"--scheduler\b", "--tile-scheduler"),
    (r"--promotion\b", "--partial-accumulators"),
    (r'"mechanism":', '"variant":'),
]


def rename(text: str) -> str:
    for pattern, name in RENAMES:
        text = re.sub(pattern, name, text)
    return text


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        old = path.read_text()
        new = rename(old)
        if new != old:
            path.write_text(new)
            print(path)

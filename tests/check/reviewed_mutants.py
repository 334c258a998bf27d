# SPDX-License-Identifier: Apache-2.0
"""Mutants of random_mutants.py that no schedule catches, each reviewed by a person. "equivalent": the edited kernel is
still correct, and why. "missed": it is not, and why the checker cannot see it."""

REVIEWED = {  # (header, operator, what the report prints of the edit): (verdict, argument)
    ("mainloop/sm90/promotion.hpp", "swap", "alternate(): order.arrive(); / arch::wgmma::wait<0>(even, odd);"): (
        "equivalent", "the ordered barrier only gives the other warpgroup its turn to issue MMAs, after this one has waited "
        "for its last stage; no memory access depends on whether its own MMAs have retired before that"),
}

# SPDX-License-Identifier: Apache-2.0
"""Mutants of random_mutants.py that no schedule catches, each reviewed by a person. "equivalent": the edited kernel is
still correct, and why. "missed": it is not, and why the checker cannot see it."""

REVIEWED = {  # (header, operator, what the report prints of the edit): (verdict, argument)
}

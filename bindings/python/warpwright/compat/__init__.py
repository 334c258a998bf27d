# SPDX-License-Identifier: Apache-2.0
"""Other libraries' interfaces over this one. warpwright.compat.deep_gemm has DeepGEMM's names for SM90; install() puts
it in place of deep_gemm, also through the plugins of vLLM and SGLang when WARPWRIGHT_DEEP_GEMM=1."""
from ._install import install, install_if_requested, uninstall

__all__ = ["install", "uninstall", "install_if_requested"]

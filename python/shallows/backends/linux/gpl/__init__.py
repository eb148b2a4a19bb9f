# SPDX-License-Identifier: GPL-2.0-only
"""Edits and settings of kernel sources, under the kernel's own licence (LICENSE in this folder)."""

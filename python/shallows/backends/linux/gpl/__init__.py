# SPDX-License-Identifier: GPL-2.0-only
"""What edits or configures kernel sources, under the kernel's own licence (LICENSE in this folder)."""

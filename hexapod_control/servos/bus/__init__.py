# SPDX-License-Identifier: Apache-2.0
"""The bus interface, and the parts shared by protocols: serial port, transactions, frames, addressing, timing."""

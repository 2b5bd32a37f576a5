"""Frames of 64 bytes, little-endian. docs/protocol.md defines their meaning."""

from __future__ import annotations

import struct

MAGIC, VERSION = 0x66627370, 2

HEADER = struct.Struct("<IHBBqiiqqQQQ")
"""magic, version, op, flags, batch, bucket, rows, arg, arg2, payload, sequence, link"""

Header = tuple[int, int, int, int, int, int, int, int, int, int, int, int]

# For all kinds.
HELLO, ACKNOWLEDGE, REFUSE = 0x01, 0x02, 0x03
SEGMENT, TENSOR, PING, FAILED, MEMORY, EXPECT = range(0x60, 0x66)
# For hooks. Operations are those of psbench.hook, 0x69 to 0x6f and 0x72.
REDUCE, ENDED, REDUCED, ROUND = 0x68, 0x70, 0x71, 0x72
DONE = 0x80
"""The flag of a hook's last operation."""
# For criteria.
LOSS, LOSS_GRADIENT = 0x78, 0x79
# For models.
BIND, INITIALIZE, FORWARD, EVALUATE, BACKWARD, BACKWARD_INPUT, GRADIENT, STEP = range(0x80, 0x88)
# For servers.
RECEIVE, RECEIVED, ANSWER, ANSWERED = range(0x90, 0x94)
# For data.
LOAD, ORIGIN = 0x98, 0x99

# Roles of tensors.
VALUES, PARAMETER_GRADIENT, GRADIENT_ROWS, BUCKET, BUCKET_ROWS = 1, 2, 3, 4, 5
INDICES, OFFSETS, FEATURES, TARGETS = 6, 7, 8, 9
OUTPUT, OUTPUT_GRADIENT, FEATURE_GRADIENT = 10, 11, 12
PUSH, PUSH_ROWS, OWN, OWN_ROWS = 13, 14, 15, 16
LIMITS = 17
LOADED_INDICES, LOADED_OFFSETS, LOADED_FEATURES, LOADED_TARGETS, LOADED_BATCHES = 18, 19, 20, 21, 22
FLOAT_TARGETS, LOADED_FLOAT_TARGETS = 23, 24
ASKED, ASKED_ROWS, ASKED_COUNTS = 25, 26, 27
PAYLOAD = 28

ELEMENTS = {
    GRADIENT_ROWS: "int32", BUCKET_ROWS: "int32", PUSH_ROWS: "int32", OWN_ROWS: "int32",
    INDICES: "int64", OFFSETS: "int64", TARGETS: "int64", LIMITS: "int64",
    LOADED_INDICES: "int64", LOADED_OFFSETS: "int64", LOADED_TARGETS: "int64", LOADED_BATCHES: "int64",
    ASKED_ROWS: "int32", ASKED_COUNTS: "int64", PAYLOAD: "uint8",
}
"""What the elements of a role are, where not float32."""

"""The process around a part, which psbench starts and calls: docs/protocol.md, word for word."""

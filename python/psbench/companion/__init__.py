"""The process of a part, which psbench starts and calls. It implements docs/protocol.md exactly."""

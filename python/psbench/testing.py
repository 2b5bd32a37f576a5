"""Tests of plugins: psbench's conformance kit, from unittest."""

import assert from 'node:assert/strict';
import test from 'node:test';
import { shownOf, typical } from './comm.js';

const row = (more) => ({ operation: 'allreduce', server: '', hook: 'allreduce', transport: 'shm', mode: '', place: '', trainers: 2, servers: 0, bytes: 4096, p50_us: 1, p95_us: 2, algbw_gb_per_s: 1, busbw_gb_per_s: 1, share: 0, share_of: '', verified: 'yes', void: '', ...more });

test('columns in which all rows are equal are told once', () => {
  const { shown, common } = shownOf([row(), row({ bytes: 8192 })]);
  assert.deepEqual(shown.map((c) => c.title), ['size', 'median', '95th percentile', 'algorithm GB/s', 'bus GB/s', 'of the limit', 'verified']);
  assert.deepEqual(common, [['operation', 'allreduce'], ['hook', 'allreduce'], ['transport', 'shm'], ['trainers', '2']]);
});

test('no rows are no error', () => {
  assert.deepEqual(shownOf([]).common, []);
});

test('of several runs the one of the median latency stands for a cell; what is void stays', () => {
  const rows = [row({ cell: 0, p50_us: 3 }), row({ cell: 0, p50_us: 1 }), row({ cell: 0, p50_us: 2 }), row({ cell: 1, p50_us: 9 }), row({ cell: 1, p50_us: 0, void: 'wrong' }), row({ cell: 2, p50_us: 8 }), row({ cell: 2, p50_us: 7 }), row({ cell: -1, p50_us: 5 })];
  assert.deepEqual(typical(rows).map((r) => [r.cell, r.p50_us]), [[0, 2], [1, 9], [1, 0], [2, 7], [-1, 5]]);
});

import assert from 'node:assert/strict';
import test from 'node:test';
import { shownOf } from './comm.js';

const row = (more) => ({ operation: 'allreduce', server: '', hook: 'allreduce', transport: 'shm', mode: '', place: '', trainers: 2, servers: 0, bytes: 4096, p50_us: 1, p95_us: 2, algbw_gb_per_s: 1, busbw_gb_per_s: 1, share: 0, share_of: '', verified: 'yes', void: '', ...more });

test('columns in which all rows are equal are told once', () => {
  const { shown, common } = shownOf([row(), row({ bytes: 8192 })]);
  assert.deepEqual(shown.map((c) => c.title), ['size', 'median', '95th percentile', 'algorithm GB/s', 'bus GB/s', 'of the limit', 'verified']);
  assert.deepEqual(common, [['operation', 'allreduce'], ['hook', 'allreduce'], ['transport', 'shm'], ['trainers', '2']]);
});

test('no rows are no error', () => {
  assert.deepEqual(shownOf([]).common, []);
});

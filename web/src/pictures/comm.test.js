import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colourOf, dashOf, markerOf } from './colour.js';
import { collect, lookOf, shows } from './comm.js';
import { comm, empty, stateOf } from './testing.js';

const of = (doc, own = {}) => collect(doc, stateOf(doc), own);

test('lines are named by what differs, and have the rows by size', () => {
  const doc = comm([1048576, 4096]);
  const data = of(doc);
  assert.deepEqual(data.lines.map((l) => l.name), ['pushpull shm', 'pushpull tcp', 'allreduce shm']);
  assert.deepEqual(data.lines[1].latency.bytes, [4096, 1048576]);
  const row = doc.comm.rows.find((r) => r.transport === 'tcp' && r.bytes === 4096);
  assert.equal(data.lines[1].latency.values[0], row.p50_us);
  assert.equal(data.lines[1].bandwidth.values[0], row.busbw_gb_per_s);
  assert.equal(of(doc, { bandwidth: 'algbw' }).lines[1].bandwidth.values[0], row.algbw_gb_per_s);
});

test('the limit is where the share would be 1', () => {
  const doc = comm([4096]);
  const [row] = doc.comm.rows;
  const [line] = of(doc).lines;
  assert.equal(line.bandwidth.limit[0], row.busbw_gb_per_s / row.share);
  assert.equal(line.latency.limit[0], row.p50_us * row.share);
  assert.deepEqual(of(doc).limits.map((l) => l.gb_per_s), [76.5, 3.68]);
});

test('void rows, rows without share and what has no size are no points', () => {
  const doc = comm([4096, 65536]);
  doc.comm.rows[0].void = 'element 3 is 4, not 5';
  for (const r of doc.comm.rows) r.share = 0;
  const data = of(doc);
  assert.deepEqual(data.lines[0].latency.values[0], null);
  assert.deepEqual(data.lines[0].latency.limit, [null, null]);
  assert.match(data.note, /No row has a share of a limit\..*barrier shm moves no data and takes 1\.500 µs\..*1 row with wrong answers is void/);
});

test('one size, no sizes, no rows', () => {
  assert.equal(of(comm([4096])).lines.length, 3);
  assert.equal(of(comm([])), null);
  assert.equal(shows(empty(), stateOf(empty())), false);
});

test('a line looks as its first cell does', () => {
  const doc = comm([4096, 65536]);
  for (const line of of(doc).lines) {
    assert.deepEqual(line.cells.map((cell) => doc.cells[cell].values[2]), ['4096', '65536']);
    assert.deepEqual(lookOf(doc, line), { colour: colourOf(doc, line.cells[0]), marker: markerOf(doc, line.cells[0]), dash: dashOf(doc, line.cells[0]) });
  }
});

test('lines have the cells that the filter keeps', () => {
  const doc = comm([4096, 65536]);
  const filtered = (filter) => collect(doc, { ...stateOf(doc), filter }, {});
  assert.deepEqual(filtered({ transport: ['tcp'] }).lines.map((l) => l.name), ['pushpull']);
  assert.deepEqual(filtered({ bytes: ['65536'] }).lines.map((l) => l.latency.bytes), [[65536], [65536], [65536]]);
  assert.equal(filtered({ transport: [] }), null);
});

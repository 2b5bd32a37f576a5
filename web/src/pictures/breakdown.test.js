import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, fillOf } from './breakdown.js';
import { empty, stateOf, study } from './testing.js';

test('bars are stacked from the parts of the median run', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] } });
  const data = collect(doc, stateOf(doc), { by: 'parts' });
  const parts = doc.details[doc.cells[1].median].parts;
  const bar = data.bars[1];
  assert.deepEqual(bar.parts.map((p) => [p.name, p.ms]), parts.map((p) => [p.name, p.mean_ms]));
  assert.equal(bar.parts[2].from, parts[0].mean_ms + parts[1].mean_ms);
  assert.equal(bar.total, parts.reduce((sum, p) => sum + p.mean_ms, 0));
});

test('buckets are bars of their own, with what takes time', () => {
  const doc = study({ axes: {} });
  const data = collect(doc, stateOf(doc), { by: 'buckets' });
  assert.deepEqual(data.bars.map((b) => b.bucket), [0, 1, 2]);
  assert.deepEqual(data.parts, ['waiting', 'transfer', 'reduction']);
  assert.equal(data.bars[2].parts[1].ms, doc.details[0].buckets[2].transfer_ms);
});

test('the time of a hook is a part of a bucket, where it was stamped', () => {
  const doc = study({ axes: {} });
  for (const d of doc.details) d.buckets[0].hook_ms = 2;
  const [first, second] = collect(doc, stateOf(doc), { by: 'buckets' }).bars;
  assert.deepEqual(first.parts[0], { name: 'hook', ms: 2, from: 0 });
  assert.equal(second.parts[0].name, 'waiting');
});

test('without buckets there are parts', () => {
  const doc = study({ axes: {} });
  for (const d of doc.details) d.buckets = [];
  assert.equal(collect(doc, stateOf(doc), { by: 'buckets' }).by, 'parts');
});

test('chosen cells are shown, else all that have parts', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop', 'x'] }, failed: ([h]) => h === 'x' });
  assert.equal(collect(doc, stateOf(doc), {}).bars.length, 2);
  assert.deepEqual(collect(doc, { ...stateOf(doc), chosen: [1, 2] }, {}).bars.map((b) => b.name), ['hook=noop']);
  assert.equal(collect(empty(), stateOf(empty()), {}), null);
  const many = study({ axes: { n: Array.from({ length: 100 }, (_, i) => String(i)) }, runs: 1 });
  assert.match(collect(many, stateOf(many), {}).note, /60 more cells are not shown/);
});

test('a part that is not known looks like the rest', () => {
  assert.equal(fillOf('exposed communication'), 'var(--part-exposed)');
  assert.equal(fillOf('url(x)'), 'var(--part-rest)');
});

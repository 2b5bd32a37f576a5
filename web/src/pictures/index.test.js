import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as breakdown from './breakdown.js';
import * as distribution from './distribution.js';
import * as dots from './dots.js';
import { pictures } from './index.js';
import * as iterations from './iterations.js';
import * as learning from './learning.js';
import * as timeline from './timeline.js';
import { comm, empty, stateOf, study } from './testing.js';

test('pictures have what the page asks of them', () => {
  assert.equal(pictures.length, 9);
  assert.equal(new Set(pictures.map((p) => p.name)).size, 9);
  for (const p of pictures) {
    assert.match(p.title, /^[A-Z].*[^.]$/, p.name);
    assert.match(p.about, /\.$/, p.name);
    for (const fn of ['shows', 'draw', 'reserves']) assert.equal(typeof p[fn], 'function', `${p.name} ${fn}`);
  }
});

test('of nothing nothing is shown, of a study with evaluation all but comm, of comm that alone', () => {
  const shown = (doc) => pictures.filter((p) => p.shows(doc, stateOf(doc))).map((p) => p.name);
  assert.deepEqual(shown(empty()), []);
  assert.deepEqual(shown(study({ failed: () => true })), []);
  assert.deepEqual(shown(study({ epochs: 3 })), pictures.map((p) => p.name).filter((name) => name !== 'comm'));
  assert.deepEqual(shown(comm()), ['comm']);
});

test('what a picture shows takes room, for 100 cells and 64 ranks too', () => {
  const doc = study({ axes: { a: ['1', '2', '3', '4', '5'], b: Array.from({ length: 20 }, (_, i) => String(i)) }, ranks: 64, runs: 2, epochs: 2, iterations: 40 });
  for (const p of pictures.filter((each) => each.name !== 'comm')) {
    for (const width of [320, 1100]) assert.ok(p.reserves(doc, stateOf(doc), width) > 150, p.name);
  }
});

test('documents that miss values break no picture', () => {
  const doc = study({ epochs: 2, runs: 2, ranks: 2 });
  for (const r of doc.runs) for (const key of Object.keys(r.values)) r.values[key] = null;
  for (const e of doc.judged.throughput.estimates) e.median = null;
  for (const d of doc.details) Object.assign(d, { quantiles: [], parts: [], noise: [] });
  for (const state of [stateOf(doc), { ...stateOf(doc), baseline: 99, chosen: [99, -1], metric: 'none' }]) {
    for (const p of pictures) assert.equal(typeof p.shows(doc, state), 'boolean', p.name);
  }
});

test('every module of a picture is in the list', () => {
  const folder = new URL('./', import.meta.url);
  const modules = readdirSync(folder).filter((name) => /^\w+\.js$/.test(name) && readFileSync(new URL(name, folder), 'utf8').includes('= picture({'));
  assert.deepEqual(modules.map((name) => name.slice(0, -3)).sort(), pictures.map((p) => p.name).sort());
});

test('names that mean something to scripts are names', () => {
  const values = ['__proto__', 'constructor', '<script>', '</text>', '\u202e', ''];
  const doc = study({ axes: { __proto__: null, constructor: values, ['__proto__']: ['1', '2'], '"><img src=x onerror=y>': ['1', '2'] }, epochs: 2, runs: 2 });
  doc.runs[0].epochs[0].values['constructor'] = 1;
  for (const d of doc.details) d.parts.push({ name: '__proto__', mean_ms: 1 });
  const shown = pictures.filter((p) => p.shows(doc, stateOf(doc))).map((p) => p.name);
  assert.deepEqual(shown, pictures.map((p) => p.name).filter((name) => name !== 'comm'));
});

test('the A/A cell has a name of its own in every picture', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, epochs: 2 });
  Object.assign(doc.cells[1], { name: doc.cells[0].name, values: doc.cells[0].values, again: true });
  const names = {
    dots: dots.collect(doc, stateOf(doc)).rows, learning: learning.collect(doc, stateOf(doc), {}).lines,
    breakdown: breakdown.collect(doc, stateOf(doc), {}).bars, distribution: distribution.collect(doc, stateOf(doc)).lines,
  };
  for (const [picture, list] of Object.entries(names)) assert.deepEqual([...new Set(list.map((each) => each.name))], ['hook=rpc', 'hook=rpc, again'], picture);
  for (const { collect } of [iterations, timeline]) {
    const data = collect(doc, stateOf(doc), { cell: '1' });
    assert.equal(data.name, 'hook=rpc, again');
    assert.deepEqual(data.cells.map((c) => c.label), ['hook=rpc', 'hook=rpc, again']);
  }
});

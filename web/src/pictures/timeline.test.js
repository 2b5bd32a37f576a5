import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, depthsOf } from './timeline.js';
import { empty, stateOf, study } from './testing.js';
import { within } from './zooming.js';
import { nearest } from './pointing.js';

const of = (doc, own = {}, state = {}) => collect(doc, { ...stateOf(doc), ...state }, { cell: '', run: 'median', arrows: '', ...own });

test('tracks and arrows are those of the document', () => {
  const doc = study({ axes: { hook: ['rpc', 'noop'] }, ranks: 3 });
  const data = of(doc, {}, { chosen: [1] });
  const { timeline } = doc.details[doc.cells[1].median];
  assert.equal(data.name, 'hook=noop');
  assert.deepEqual(data.tracks, timeline.tracks);
  assert.deepEqual(data.arrows, timeline.arrows);
  assert.equal(data.drawn, 'all');
  assert.equal(data.iteration, 61);
});

test('many arrows are drawn of what is pointed at, unless all are asked for', () => {
  const doc = study({ axes: {}, ranks: 64, runs: 1 });
  assert.equal(of(doc).drawn, 'some');
  assert.equal(of(doc, { arrows: 'all' }).drawn, 'all');
});

test('a run without a timeline gives way to the one that has it', () => {
  const doc = study({ axes: {} });
  delete doc.details[doc.cells[0].median].timeline;
  const data = of(doc);
  assert.deepEqual([data.run, data.both], ['worst', false]);
});

test('nothing to draw', () => {
  const none = study({ axes: {} });
  for (const d of none.details) delete d.timeline;
  const bare = study({ axes: {}, runs: 1 });
  bare.details[0].timeline = { iteration: 0, micros: 0, tracks: [], arrows: [] };
  for (const doc of [empty(), none, bare, study({ failed: () => true })]) assert.equal(of(doc), null);
});

test('spans within spans are deeper', () => {
  const span = (start, end) => ({ start, end });
  assert.deepEqual(depthsOf([span(0, 10), span(1, 5), span(2, 3), span(5, 9), span(10, 12)]), [0, 1, 2, 1, 0]);
  assert.deepEqual(depthsOf([]), []);
});

test('zoom stays within what there is, and all of it is no zoom', () => {
  assert.deepEqual(within([2, 5], [0, 10]), [2, 5]);
  assert.deepEqual(within([-2, 5], [0, 10]), [0, 5]);
  assert.equal(within([-1, 11], [0, 10]), null);
  assert.equal(within([5, 5], [0, 10]), null);
  assert.equal(within([12, 15], [0, 10]), null);
});

test('pointed at is the smallest box around, else the nearest point', () => {
  const marks = [{ x: 0, y: 0, w: 100, h: 20 }, { x: 10, y: 0, w: 20, h: 20 }, { x: 200, y: 10 }, { x: 210, y: 10 }];
  assert.equal(nearest(marks, 15, 10), 1);
  assert.equal(nearest(marks, 50, 10), 0);
  assert.equal(nearest(marks, 207, 12), 3);
  assert.equal(nearest(marks, 300, 300), -1);
  assert.equal(nearest([], 0, 0), -1);
});

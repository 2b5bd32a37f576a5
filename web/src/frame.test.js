import assert from 'node:assert/strict';
import test from 'node:test';
import { arrange } from './frame.js';

// boxOf returns a fake box with a table, each of a given width. It has only what arrange uses.
function boxOf(clientWidth, offsetWidth) {
  const classes = new Set();
  const cell = (textContent, cellIndex) => ({ textContent, cellIndex, dataset: {} });
  const row = { cells: [cell('1', 0), cell('2', 1), cell('3', 2)] };
  const table = { tHead: { rows: [{ cells: [cell('one', 0), cell('two', 1)] }] }, tBodies: [{ rows: [row] }] };
  Object.defineProperty(table, 'offsetWidth', { get: () => (classes.has('stacked') ? clientWidth : offsetWidth) });
  return { clientWidth, firstElementChild: table, classes, heads: () => row.cells.map((c) => c.dataset.head), classList: { remove: (name) => classes.delete(name), toggle: (name, on) => (on ? classes.add(name) : classes.delete(name)) } };
}

test('a table that is wider than its box is stacked, and its values have the heads of their columns', () => {
  const [wide, narrow, unseen] = [boxOf(368, 921), boxOf(368, 300), boxOf(0, 921)];
  for (let turn = 0; turn < 2; turn++) {
    arrange([wide, narrow, unseen]);
    assert.deepEqual([wide, narrow, unseen].map((box) => box.classes.has('stacked')), [true, false, false]);
  }
  assert.deepEqual(wide.heads(), ['one', 'two', '']);
  assert.deepEqual(narrow.heads(), [undefined, undefined, undefined]);
  wide.clientWidth = 1280;
  arrange([wide]);
  assert.equal(wide.classes.has('stacked'), false);
});

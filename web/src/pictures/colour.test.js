import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colourOf, dashOf, markerOf, markers, outline } from './colour.js';
import { study } from './testing.js';

const many = (n) => study({ axes: { n: Array.from({ length: n }, (_, i) => String(i)) }, runs: 1 });

test('a cell keeps its colour when others come', () => {
  const [few, more] = [many(3), many(30)];
  for (let i = 0; i < 3; i++) {
    assert.equal(colourOf(few, i), colourOf(more, i));
    assert.equal(markerOf(few, i), markerOf(more, i));
  }
});

test('cells of the same colour have other markers and dashes', () => {
  const doc = many(48);
  const looks = new Set(doc.cells.map((_, i) => `${colourOf(doc, i)} ${markerOf(doc, i)} ${dashOf(doc, i)}`));
  assert.equal(looks.size, 48);
  assert.equal(colourOf(doc, 0), 'var(--cell-1)');
  assert.equal(colourOf(doc, 8), 'var(--cell-1)');
  assert.notEqual(markerOf(doc, 0), markerOf(doc, 8));
});

test('a cell that has the runs of another one looks like it', () => {
  const doc = many(4);
  doc.cells[3].same = 1;
  assert.equal(colourOf(doc, 3), colourOf(doc, 1));
});

test('places that are none have a colour', () => {
  for (const cell of [-1, 99, NaN, undefined]) assert.match(colourOf(many(2), cell), /^var\(--cell-[1-8]\)$/);
});

test('markers are closed outlines of numbers', () => {
  for (const marker of markers) assert.match(outline(marker, 4), /^M[-\d.,aLHhvM ]+Z$/, marker);
  assert.equal(new Set(markers.map((m) => outline(m, 4))).size, markers.length);
});

import assert from 'node:assert/strict';
import test from 'node:test';
import { lastPart } from './head.js';

test('a path is called by its last part', () => {
  for (const [name, want] of [['study', 'study'], ['runs/a/', 'a'], ['/', '/'], ['7 runs', '7 runs'], ['', '']]) assert.equal(lastPart(name), want);
});

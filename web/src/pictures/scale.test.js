import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extent, linear, logTicks, numeric, padded, paddedLog, shortened, spread, ticks } from './scale.js';

test('ticks are round and within', () => {
  for (const [low, high, count, want] of [
    [0, 10, 5, [0, 2, 4, 6, 8, 10]],
    [0.13, 0.42, 3, [0.2, 0.3, 0.4]],
    [-1, 1, 4, [-1, -0.5, 0, 0.5, 1]],
    [0, 0.3, 3, [0, 0.1, 0.2, 0.3]],
    [995, 1012, 4, [995, 1000, 1005, 1010]],
    [5, 5, 4, [5]],
    [NaN, 1, 4, []],
    [0, Infinity, 4, [0]],
  ]) {
    assert.deepEqual(ticks(low, high, count), want, `${low} to ${high}`);
  }
});

test('ticks of logarithms are powers, and twos and fives where there are few', () => {
  for (const [low, high, base, count, want] of [
    [1, 10000, 10, 8, [1, 10, 100, 1000, 10000]],
    [4096, 2 ** 20, 4, 8, [4096, 16384, 65536, 262144, 1048576]],
    [4096, 2 ** 20, 4, 3, [4096, 65536, 1048576]],
    [3, 60, 10, 8, [5, 10, 20, 50]],
    [0, 10, 10, 8, []],
    [-1, 10, 10, 8, []],
    [10, 1, 10, 8, []],
  ]) {
    assert.deepEqual(logTicks(low, high, base, count), want, `${low} to ${high}`);
  }
  assert.ok(logTicks(1.1, 1.4).length > 1, 'a narrow range has ticks as well');
});

test('extents leave out what is no number', () => {
  assert.deepEqual(extent([3, null, NaN, 1, undefined, Infinity, 2]), [1, 3]);
  assert.equal(extent([null, NaN]), null);
  assert.deepEqual(padded([0, 100], 0.1), [-10, 110]);
  assert.deepEqual(padded([50, 50]), [45, 55]);
  assert.deepEqual(padded([0, 0]), [-1, 1]);
  const [low, high] = paddedLog([1, 100], 0.5);
  assert.ok(Math.abs(low - 0.1) < 1e-12 && Math.abs(high - 1000) < 1e-9);
});

test('a scale maps back what it maps', () => {
  const scale = linear([10, 20], [100, 300]);
  assert.equal(scale(15), 200);
  assert.equal(scale.invert(200), 15);
  assert.equal(linear([5, 5], [0, 9])(5), 0);
});

test('values of axes are numbers, with or without a unit of bytes', () => {
  for (const [text, want] of [['4', 4], ['0.5', 0.5], ['4KiB', 4096], ['2M', 2 ** 21], ['1e3', 1000], ['64 B', 64], ['rpc', null], ['4 trainers', null], ['', null], [undefined, null], ['1,2', null], ['Infinity', null]]) {
    assert.equal(numeric(text), want, String(text));
  }
});

test('a shortened text keeps its ends', () => {
  assert.equal(shortened('server=average', 20), 'server=average');
  const cut = shortened('server=average hook=allreduce trainers=16', 20);
  assert.ok([...cut].length <= 20 && cut.startsWith('server=') && cut.endsWith('=16'), cut);
});

test('names are moved apart in their order', () => {
  assert.deepEqual(spread([10, 11, 100], 15, 0, 200), [10, 25, 100]);
  assert.deepEqual(spread([195, 199], 15, 0, 200), [185, 200]);
  assert.deepEqual(spread([], 15, 0, 200), []);
});

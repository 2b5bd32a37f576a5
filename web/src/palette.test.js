// These tests check the rules for colours in docs/style.md. Colours drawn together must be distinguishable for
// colour-blind readers, and visible on their background.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const read = (name) => readFileSync(new URL(name, import.meta.url), 'utf8').split('@media');
const [theme, fills] = [read('./theme.css'), read('./pictures/fills.css')];

// Colours are linear sRGB, from 0 to 1.
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

/** coloursOf returns the colour of each custom property in the light or the dark theme. */
function coloursOf(dark) {
  const all = [...`${theme[dark]} ${fills[dark]}`.matchAll(/--([\w-]+): #([0-9a-f]{6});/g)];
  return Object.fromEntries(all.map(([, name, hex]) => [name, [0, 2, 4].map((i) => linear(Number.parseInt(hex.slice(i, i + 2), 16) / 255))]));
}

const mixed = (rows, c) => rows.map((row) => row[0] * c[0] + row[1] * c[1] + row[2] * c[2]);

// These matrices simulate vision without one type of cones (Machado, Oliveira and Fernandes 2009, severity 1).
const seen = {
  'all cones': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** oklab converts a colour to a space in which distances match perception. A distance of 0.02 is barely visible. */
function oklab(c) {
  const lms = mixed([[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]], c).map(Math.cbrt);
  return mixed([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]], lms);
}

function apart(eyes, a, b) {
  const [x, y] = [a, b].map((c) => oklab(mixed(seen[eyes], c).map((v) => Math.min(1, Math.max(0, v)))));
  return Math.hypot(...x.map((v, i) => v - y[i]));
}

const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

function contrast(a, b) {
  const [high, low] = [a, b].map(luminance).sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const cells = Array.from({ length: 8 }, (_, i) => `cell-${i + 1}`);
const parts = (names) => names.map((name) => `part-${name}`);
// Each entry has colours that are drawn together, and their required distance for each type of vision.
const together = [
  { names: cells, least: { 'all cones': 0.1, protanopia: 0.06, deuteranopia: 0.06, tritanopia: 0.05 } },
  ...[
    parts(['data', 'lookup', 'forward', 'backward', 'exposed', 'optimizer', 'parameters', 'rest', 'waiting']),
    parts(['hook', 'waiting', 'transfer', 'reduction', 'codec']),
    ['bucket-1', 'bucket-2', 'bucket-3', 'bucket-4'],
  ].map((names) => ({ names, least: { 'all cones': 0.05, protanopia: 0.04, deuteranopia: 0.04, tritanopia: 0.03 } })),
  ...[['good', 'bad'], ['heat-better', 'heat-worse']].map((names) => ({ names, least: { 'all cones': 0.15, protanopia: 0.14, deuteranopia: 0.14, tritanopia: 0.14 } })),
];

for (const [dark, look] of ['light', 'dark'].entries()) {
  const colours = coloursOf(dark);

  test(`${look}: colours that are drawn together are told apart by all eyes`, () => {
    for (const { names, least } of together) {
      names.forEach((a, i) => {
        for (const b of names.slice(i + 1)) {
          for (const eyes of Object.keys(seen)) {
            const distance = apart(eyes, colours[a], colours[b]);
            assert.ok(distance >= least[eyes], `--${a} and --${b} are ${distance.toFixed(3)} apart with ${eyes}, less than ${least[eyes]}`);
          }
        }
      });
    }
  });

  test(`${look}: text and what is drawn are seen on what they stand on`, () => {
    const on = (name, grounds, least) => {
      for (const ground of grounds) assert.ok(contrast(colours[name], colours[ground]) >= least, `--${name} on --${ground} has a contrast of ${contrast(colours[name], colours[ground]).toFixed(2)}, less than ${least}`);
    };
    for (const text of ['ink', 'ink-soft', 'accent', 'good', 'bad', 'warn']) on(text, ['surface', 'raised', 'hover'], 4.5);
    on('warn', ['warn-field'], 4.5);
    on('ink', Object.keys(colours).filter((name) => /^(part|bucket|heat)-/.test(name)), 4.5);
    for (const cell of cells) on(cell, ['surface', 'raised'], 3);
  });
}

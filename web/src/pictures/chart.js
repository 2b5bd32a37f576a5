/*! Pages have uPlot 1.6.32 in them, and with it goes:

The MIT License (MIT)

Copyright (c) 2022 Leon Sorokin

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/

// Line charts over numbers. The library uPlot draws the axes and the lines. This module draws markers, intervals,
// reference lines and the names at line ends onto its canvas.

import uPlot from '../../vendor/uplot/uPlot.esm.js';
import { h } from '../dom.js';
import { outline } from './colour.js';
import { padded, paddedLog, shortened, spread, ticks, logTicks, linear } from './scale.js';

// In narrower charts and in charts with more lines, names are in the legend.
const narrow = 560;
const mostNames = 8;
const nameHeight = 15;

/** theme returns the values of an element's custom properties. */
export function theme(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  const font = of('--font') || 'sans-serif';
  return {
    of: (colour) => (colour.startsWith('var(') ? of(colour.slice(4, -1)) || '#888' : colour),
    font: `12px ${font}`,
    strong: `600 12px ${font}`,
  };
}

/**
 * chart draws into a stage. An axis is {label, extent, log, base, format, ticks, fixed, every}. The extent is the
 * range of the data; it is padded unless fixed is set. The function ticks(low, high, count) replaces the default
 * ticks. A series is {label, colour, dash, marker, width, alpha, xs, ys, lows, highs, name, text(i)}. The xs ascend,
 * and null in ys is a gap. A loose series may leave the picture. A name stands at the end of its series. The function
 * text(i) describes point i; without it, no point can be selected. Reference lines are {y or x, label, colour, dash,
 * below}. Their labels stand above the line, or below it if below is set. The function under(u, canvas) draws below
 * the lines.
 */
export function chart(stage, { width, height, x, y, series, lines = [], own, under, canName = true }) {
  const look = theme(stage);
  const canvas = measurer(look.font);
  const full = x.fixed ? x.extent : x.log ? paddedLog(x.extent, 0.04) : padded(x.extent, 0.03);
  const shown = own.zoom ?? full;
  const able = canName && width >= narrow ? nameable(series, shown, x.log) : [];
  const room = Math.min(230, width * 0.32, Math.max(0, ...able.map((one) => canvas.measureText(one.name).width)));
  // If shortened names would be equal, the names go to the legend.
  const cut = able.map((one) => fitting(canvas, one.name, room));
  const named = new Set(cut).size === able.length ? able.map((one, i) => ({ one, name: cut[i] })) : [];
  const count = Math.max(2, Math.floor(width / 110));
  const data = series.length > 0 ? uPlot.join(series.map((one) => [one.xs, one.ys])) : [[], []];

  const opts = {
    width,
    height,
    padding: [26, named.length > 0 ? room + 26 : 14, 0, 0],
    pxAlign: 0,
    legend: { show: false },
    cursor: { show: false },
    select: { show: false },
    scales: {
      x: { time: false, distr: x.log ? 3 : 1, range: () => shown },
      y: { distr: y.log ? 3 : 1, range: () => yRange(y, series, shown) },
    },
    axes: [
      { ...axisOf(x, look, count), label: x.label, labelSize: 20, labelGap: 2, labelFont: look.font, size: 26 },
      { ...axisOf(y, look, Math.max(3, Math.floor(height / 60))), size: (u, values) => 14 + Math.max(20, ...(values ?? []).map((v) => canvas.measureText(v ?? '').width)) },
    ],
    series: [{}, ...series.map((one) => ({ label: one.label, stroke: look.of(one.colour), width: one.width ?? 2, dash: one.dash ?? [], alpha: one.alpha ?? 1, spanGaps: true, points: { show: false }, paths: one.width === 0 ? () => null : undefined }))],
    hooks: {
      drawAxes: [(u) => under?.(u, pen(u, look), look)],
      draw: [
        (u) => {
          const p = pen(u, look);
          title(p, y.label, look);
          for (const line of lines) reference(u, p, line, look);
          for (const one of series) decorate(u, p, one, look);
          names(u, p, named, shown, look);
        },
      ],
    },
  };
  const root = h('div', { class: 'picture-chart', 'aria-hidden': 'true' });
  stage.append(root);
  const u = new uPlot(opts, data, root);
  u.batch(() => {}); // draw now, because the positions of points are needed below
  u.root.style.width = '100%';
  const from = u.bbox.left / uPlot.pxRatio;
  const to = from + u.bbox.width / uPlot.pxRatio;
  const at = (value, scale) => u.valToPos(value, scale) + (scale === 'x' ? u.bbox.left : u.bbox.top) / uPlot.pxRatio;
  const marks = [];
  // The keyboard reaches series with markers first.
  for (const one of [...series].sort((a, b) => Number(Boolean(b.marker)) - Number(Boolean(a.marker)))) {
    if (!one.text) continue;
    one.xs.forEach((v, i) => {
      if (v < shown[0] || v > shown[1] || typeof one.ys[i] !== 'number') return;
      const top = at(one.ys[i], 'y');
      if (Number.isFinite(top)) marks.push(markOf(at(v, 'x'), top, () => one.text(i)));
    });
  }
  const back = x.log ? linear([from, to], shown.map(Math.log)) : linear([from, to], shown);
  return { u, at, marks, named: named.length > 0, x: { from, to, full, invert: (p) => (x.log ? Math.exp(back(p)) : back(p)) }, destroy: () => u.destroy() };
}

// nameable returns the series that get names at line ends: only if there are few, and if most end far to the right.
function nameable(series, [from, to], log) {
  const some = series.filter((one) => one.name);
  const along = (v) => (log ? Math.log(v / from) / Math.log(to / from) : (v - from) / (to - from));
  const early = some.filter((one) => along(one.xs.at(-1)) < 0.8).length;
  return some.length <= mostNames && early * 3 <= some.length ? some : [];
}

/** markOf returns a point whose text is computed on demand, because there may be thousands of points. */
export const markOf = (x, y, text) => ({
  x,
  y,
  get text() {
    return text();
  },
});

function measurer(font) {
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.font = font;
  return canvas;
}

// yRange returns a y range that fits the visible points.
function yRange(y, series, [from, to]) {
  if (y.fixed) return y.extent;
  let low = y.zero ? 0 : Infinity;
  let high = -Infinity;
  for (const one of series) {
    if (one.loose) continue;
    one.ys.forEach((v, i) => {
      if (one.xs[i] < from || one.xs[i] > to) return;
      for (const each of [v, one.lows?.[i], one.highs?.[i]]) {
        if (typeof each !== 'number' || (y.log && each <= 0)) continue;
        low = Math.min(low, each);
        high = Math.max(high, each);
      }
    });
  }
  if (!(low <= high)) return y.extent ?? [0, 1];
  const beyond = Math.max(...series.filter((one) => one.loose).flatMap((one) => one.ys.filter((v, i) => one.xs[i] >= from && one.xs[i] <= to)), high);
  high = Math.min(beyond, high + (y.log ? 2 * high : 0.5 * Math.abs(high)));
  const wide = y.log ? paddedLog([low, high], 0.08) : padded([low, high], 0.08);
  return y.zero ? [0, wide[1]] : wide;
}

function axisOf(axis, look, count) {
  const soft = look.of('var(--line)');
  return {
    stroke: look.of('var(--ink-soft)'),
    font: look.font,
    gap: 4,
    space: 10,
    grid: { stroke: soft, width: 1, show: axis.grid ?? true },
    ticks: { stroke: soft, width: 1, size: 4 },
    splits: (u, i, low, high) => axis.ticks?.(low, high, count) ?? (axis.log ? logTicks(low, high, axis.base ?? 10, count) : ticks(low, high, count)),
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map((v) => axis.format(v)),
  };
}

// pen returns functions that draw in CSS pixels, independent of the screen's resolution.
function pen(u, look) {
  const ratio = uPlot.pxRatio;
  const { ctx } = u;
  return {
    ctx,
    x: (v) => u.valToPos(v, 'x', true) / ratio,
    y: (v) => u.valToPos(v, 'y', true) / ratio,
    box: Object.fromEntries(Object.entries(u.bbox).map(([k, v]) => [k, v / ratio])),
    draw(fn, inside) {
      ctx.save();
      ctx.scale(ratio, ratio);
      ctx.font = look.font;
      ctx.textAlign = 'left';
      ctx.setLineDash([]);
      if (inside) {
        const b = u.bbox;
        ctx.beginPath();
        ctx.rect(b.left / ratio - 6, b.top / ratio - 6, b.width / ratio + 12, b.height / ratio + 12);
        ctx.clip();
      }
      fn(ctx);
      ctx.restore();
    },
  };
}

function title(p, label, look) {
  p.draw((ctx) => {
    ctx.fillStyle = look.of('var(--ink-soft)');
    ctx.textBaseline = 'top';
    ctx.fillText(fitting(ctx, label, p.box.left + p.box.width - 2), 2, 2);
  });
}

function reference(u, p, line, look) {
  const { left, top, width, height } = p.box;
  p.draw((ctx) => {
    ctx.strokeStyle = ctx.fillStyle = look.of(line.colour ?? 'var(--ink-soft)');
    ctx.setLineDash(line.dash ?? [4, 3]);
    ctx.beginPath();
    const upright = line.x !== undefined;
    const at = upright ? p.x(line.x) : p.y(line.y);
    if (upright ? at < left || at > left + width : at < top || at > top + height) return;
    ctx.moveTo(upright ? at : left, upright ? top : at);
    ctx.lineTo(upright ? at : left + width, upright ? top + height : at);
    ctx.stroke();
    ctx.textBaseline = 'bottom';
    if (upright) {
      ctx.textAlign = at > left + width - 60 ? 'right' : 'left';
      ctx.fillText(line.label, at + (ctx.textAlign === 'left' ? 4 : -4), top + 12);
    } else {
      if (line.below) ctx.textBaseline = 'top';
      ctx.fillText(line.label, left + 4, at + (line.below ? 3 : -2));
    }
  });
}

function decorate(u, p, one, look) {
  if (!one.marker && !one.lows) return;
  p.draw((ctx) => {
    ctx.strokeStyle = look.of(one.colour);
    ctx.lineWidth = 1.5;
    const path = one.marker && new Path2D(outline(one.marker, one.radius ?? 4));
    one.xs.forEach((v, i) => {
      if (typeof one.ys[i] !== 'number') return;
      const [x, y] = [p.x(v), p.y(one.ys[i])];
      const [low, high] = [one.lows?.[i], one.highs?.[i]];
      if (typeof low === 'number' && typeof high === 'number') {
        ctx.beginPath();
        ctx.moveTo(x, p.y(low));
        ctx.lineTo(x, p.y(high));
        for (const end of [low, high]) {
          ctx.moveTo(x - 3, p.y(end));
          ctx.lineTo(x + 3, p.y(end));
        }
        ctx.stroke();
      }
      if (!path) return;
      ctx.save();
      ctx.translate(x, y);
      ctx.fillStyle = look.of(one.colours?.[i] ?? one.colour);
      ctx.fill(path);
      ctx.restore();
    });
  }, true);
}

// names draws the names at line ends. It moves them apart if they would overlap.
function names(u, p, named, [from, to], look) {
  const { left, top, width, height } = p.box;
  const ends = [];
  for (const { one, name } of named) {
    let end = -1;
    one.xs.forEach((v, i) => {
      if (v >= from && v <= to && typeof one.ys[i] === 'number') end = i;
    });
    if (end >= 0) ends.push({ one, name, x: Math.min(left + width, p.x(one.xs[end])), y: Math.min(top + height, Math.max(top, p.y(one.ys[end]))) });
  }
  const places = spread(ends.map((e) => e.y), nameHeight, top + 4, top + height);
  p.draw((ctx) => {
    ctx.textBaseline = 'middle';
    ends.forEach((e, i) => {
      ctx.strokeStyle = look.of(e.one.colour);
      ctx.globalAlpha = 0.5;
      ctx.beginPath();
      ctx.moveTo(e.x + 5, e.y);
      ctx.lineTo(left + width + 14, places[i]);
      ctx.lineTo(left + width + 20, places[i]);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.fillStyle = look.of('var(--ink)');
      ctx.fillText(e.name, left + width + 23, places[i]);
    });
  });
}

/** fitting cuts the middle out of a text so that the text fits the room. */
export function fitting(ctx, text, room) {
  let kept = text;
  for (let letters = [...text].length; letters > 3 && ctx.measureText(kept).width > room + 1; letters--) kept = shortened(text, letters - 1);
  return kept;
}

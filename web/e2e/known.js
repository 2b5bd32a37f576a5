// The data that each picture must draw, computed from the document alone. A picture without a check fails the test.

import assert from 'node:assert/strict';

const valueOf = (doc, run, metric) => doc.runs[run].values[metric] ?? null;
const detail = (doc, cell, which = 'median') => doc.details[doc.cells[owner(doc, cell)][which]];
// A cell with the same experiment as another cell shares the runs of that cell.
const owner = (doc, cell) => (doc.cells[cell].same >= 0 ? doc.cells[cell].same : cell);
const name = (doc, cell) => doc.cells[cell].name + (doc.cells[cell].again ? ', again' : '');
const estimate = (doc, metric, cell) => doc.judged[metric].estimates[owner(doc, cell)];

export const known = {
  dots(data, doc) {
    assert.equal(data.metric.name, doc.metric);
    assert.equal(data.rows.length, doc.cells.length, 'a row for each cell');
    for (const row of data.rows) {
      assert.equal(row.name, name(doc, row.cell));
      const runs = doc.cells[owner(doc, row.cell)].runs.filter((r) => valueOf(doc, r, doc.metric) !== null);
      assert.deepEqual(row.runs.map((r) => r.value), runs.map((r) => valueOf(doc, r, doc.metric)));
      assert.equal(row.median, estimate(doc, doc.metric, row.cell)?.median ?? null);
      assert.equal(row.low, estimate(doc, doc.metric, row.cell)?.low ?? null);
      if (runs.length === 0) assert.ok(row.why, `${row.name} has no run, and no reason`);
    }
  },
  distribution(data, doc) {
    assert.ok(data.lines.length > 0);
    for (const line of data.lines) assert.deepEqual(line.ms, detail(doc, line.cell).quantiles);
  },
  breakdown(data, doc) {
    assert.ok(data.bars.length > 0);
    for (const bar of data.bars) assert.deepEqual(bar.parts.map((p) => [p.name, p.ms]), detail(doc, bar.cell).parts.map((p) => [p.name, p.mean_ms]));
  },
  iterations(data, doc) {
    const lanes = detail(doc, data.cell, data.run).lanes;
    assert.ok(lanes.length > 0);
    assert.deepEqual(data.lanes.map((l) => [l.rank, l.seconds, l.min_ms, l.max_ms]), lanes.map((l) => [l.rank, l.seconds, l.min_ms, l.max_ms]));
  },
  scaling(data, doc) {
    assert.ok(data.lines.length > 0);
    const place = doc.axes.findIndex((a) => a.name === data.axis);
    for (const line of data.lines) {
      line.cells.forEach((cell, i) => {
        assert.equal(line.xs[i], Number.parseFloat(doc.cells[cell].values[place]));
        assert.equal(line.values[i], estimate(doc, doc.metric, cell).median);
      });
    }
  },
  heat(data, doc) {
    assert.ok(data.fields.length > 0);
    for (const f of data.fields) {
      const { values } = doc.cells[f.cell];
      assert.ok(values.includes(data.x.values[f.column]) && values.includes(data.y.values[f.row]));
      assert.equal(f.value, estimate(doc, doc.metric, f.cell)?.median ?? null);
    }
  },
  learning(data, doc) {
    assert.ok(data.lines.length > 0);
    for (const line of data.lines) {
      const { epochs } = doc.runs[line.run];
      assert.deepEqual(line.values, epochs.map((e) => e.values[data.measure] ?? null));
      assert.deepEqual(line.xs, epochs.map((e) => e[data.over]));
      assert.deepEqual(line.numbers, epochs.map((e) => e.number));
    }
  },
  comm(data, doc) {
    const drawn = data.lines.flatMap((l) => l.latency.bytes.map((bytes, i) => `${bytes} ${l.latency.values[i]}`)).sort();
    const rows = doc.comm.rows.filter((r) => r.bytes > 0).map((r) => `${r.bytes} ${r.void ? null : r.p50_us}`).sort();
    assert.deepEqual(drawn, rows);
    for (const line of data.lines) assert.ok(line.cells.every((cell, i) => doc.cells[cell].values.includes(String(line.latency.bytes[i]))), 'a point is of another cell');
  },
  timeline(data, doc) {
    const { timeline } = detail(doc, data.cell, data.run);
    assert.equal(data.iteration, timeline.iteration);
    assert.deepEqual(data.tracks, timeline.tracks);
    assert.deepEqual(data.arrows, timeline.arrows);
    assert.ok(data.tracks.some((t) => t.lanes.some((l) => l.spans.length > 0)));
  },
};

// Documents of any size for tests. Equal parameters give equal documents.

/** random returns a generator of numbers from 0 to 1. The sequence depends only on the seed. */
export function random(seed = 1) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** empty returns a document without content. */
export function empty() {
  return {
    schema: 'psbench.page/1', name: 'empty', heading: '', machine: '', made: '2026-03-02T12:00:00Z', psbench: '', sentences: [], warnings: [], floor: '', remarks: [],
    metric: 'throughput', metrics: [], axes: [], cells: [], baseline: -1, judged: {}, runs: [], details: [], environments: [], sampling: '',
  };
}

/** stateOf returns the initial state of a page. */
export const stateOf = (doc) => ({ metric: doc.metric, baseline: doc.baseline, chosen: [], filter: {}, sort: { column: 'order', down: false } });

/**
 * study returns a document of cells over the axes {name: [values]}, with so many runs each. A cell's throughput is
 * speed(values), within a per cent or two. A cell has failed if failed(values) is true.
 */
export function study({ axes = { hook: ['rpc', 'noop'], trainers: ['1', '2', '4', '8'] }, runs = 6, ranks = 2, speed = () => 1000, failed = () => false, epochs = 0, iterations = 120, spread = 0.02 } = {}) {
  const doc = empty();
  const rnd = random(7);
  doc.name = 'study';
  doc.axes = Object.entries(axes).map(([name, values]) => ({ name, values }));
  doc.metrics = [
    { name: 'throughput', unit: 'samples/s', better: 'higher', means: 'samples of all trainers in a second' },
    { name: 'time_per_batch', unit: 'ms', better: 'lower', means: 'median of the iterations' },
  ];
  let points = [[]];
  for (const axis of doc.axes) points = points.flatMap((p) => axis.values.map((v) => [...p, v]));
  doc.baseline = points.length > 0 ? 0 : -1;
  for (const m of doc.metrics) doc.judged[m.name] = { estimates: [], against: { 0: [] }, floor: 0.021 };
  points.forEach((values, i) => {
    const name = doc.axes.map((a, k) => `${a.name}=${values[k]}`).join(' ');
    const cell = { id: `c${i}`, name, again: false, values, state: 'done', reason: '', same: -1, runs: [], waiting: 0, failed: [], warnings: [], shorts: [], environment: 0, median: -1, worst: -1 };
    doc.cells.push(cell);
    if (failed(values)) {
      cell.state = 'failed';
      cell.reason = 'trainer1 ended with exit status 3';
      cell.failed = [{ folder: `f${i}`, round: 0, reason: cell.reason, logs: [] }];
      for (const m of doc.metrics) {
        doc.judged[m.name].estimates.push(null);
        doc.judged[m.name].against[0].push(null);
      }
      return;
    }
    const value = speed(values);
    for (let round = 0; round < runs; round++) {
      const throughput = value * (1 + spread * (rnd() - 0.5));
      cell.runs.push(doc.runs.length);
      doc.runs.push({ folder: `${cell.id}/${round}`, cell: i, round, started: doc.made, seed: round, values: { throughput, time_per_batch: 20000 / throughput }, iterations, epochs: epochsOf(epochs, throughput), warnings: [], environment: 0, detail: -1 });
    }
    cell.median = doc.details.length;
    doc.details.push(detail(cell.runs[0], ranks, iterations, 20000 / value, rnd));
    cell.worst = cell.median;
    if (runs > 1) cell.worst = doc.details.push(detail(cell.runs[runs - 1], ranks, iterations, 20800 / value, rnd)) - 1;
    for (const m of doc.metrics) {
      const sorted = cell.runs.map((r) => doc.runs[r].values[m.name]).sort((a, b) => a - b);
      const median = (sorted[Math.floor((runs - 1) / 2)] + sorted[Math.floor(runs / 2)]) / 2;
      const enough = runs >= 6;
      const e = { n: runs, median, low: enough ? sorted[0] : null, high: enough ? sorted[runs - 1] : null, spread };
      const judged = doc.judged[m.name];
      judged.estimates.push(e);
      const base = judged.estimates[0];
      const change = base && i > 0 ? median / base.median - 1 : null;
      judged.against[0].push(change === null ? null : { change, low: change - 0.02, high: change + 0.02, p: 0.001, verdict: Math.abs(change) < 0.021 ? 'cannot tell' : change > 0 === (m.better === 'higher') ? 'better' : 'worse', needed: 0 });
    }
  });
  return doc;
}

function epochsOf(n, throughput) {
  return Array.from({ length: n }, (_, e) => ({
    number: e + 1,
    seconds: ((e + 1) * 5000) / throughput,
    bytes: (e + 1) * 4e7,
    values: { train_loss: 0.35 + 0.4 * Math.exp(-0.5 * e), held_out_loss: 0.38 + 0.35 * Math.exp(-0.4 * e), held_out_auc: 0.8 - 0.3 * Math.exp(-0.5 * e), held_out_accuracy: e === 1 ? null : 0.8 - 0.1 * Math.exp(-0.4 * e) },
  }));
}

function detail(run, ranks, iterations, ms, rnd) {
  const lanes = Array.from({ length: ranks }, (_, rank) => {
    const lane = { rank, name: `trainer${rank}`, each: 2, iterations: 2 * iterations, seconds: [], min_ms: [], max_ms: [] };
    for (let i = 0; i < iterations; i++) {
      const slow = (rank === 1 ? 1.08 : 1) * (i > iterations * 0.7 ? 1.1 : 1) * (rnd() < 0.01 ? 2.2 : 1);
      const low = ms * slow * (0.97 + 0.06 * rnd());
      lane.seconds.push((i * 2 * ms) / 1000);
      lane.min_ms.push(low);
      lane.max_ms.push(low * (1 + 0.06 * rnd()));
    }
    return lane;
  });
  const sorted = lanes.flatMap((l) => l.max_ms).sort((a, b) => a - b);
  const quantiles = sorted.length ? Array.from({ length: 201 }, (_, q) => sorted[Math.round((q / 200) * (sorted.length - 1))]) : [];
  const parts = { data: 0.01, forward: 0.24, backward: 0.46, 'exposed communication': 0.12, optimizer: 0.15, rest: 0.02 };
  const second = 1e9;
  return {
    run, command: ['psbench'], config: [], processes: [], plugins: [], warnings: [], lanes, quantiles,
    parts: Object.entries(parts).map(([name, part]) => ({ name, mean_ms: part * ms })),
    buckets: [0, 1, 2].map((index) => ({ index, waiting_ms: 0.03 * ms, transfer_ms: (0.02 + index * 0.01) * ms, reduction_ms: 0.02 * ms, codec_ms: 0 })),
    noise: [
      { name: 'before', duration_ns: second, processes: [] },
      { name: 'measured', duration_ns: Math.round(iterations * 2 * ms * 1e6), machine: { cores: 2, others_ns: iterations * ms * 0.4 * 1e6, uncertainty_ns: 1e7, steal_ns: 0, idle_ns: 0 }, processes: [] },
    ],
    timeline: timeline(ranks, ms),
  };
}

/** timeline returns one iteration of so many trainers and one server. */
export function timeline(ranks, ms) {
  const us = ms * 1000;
  const tracks = [];
  const arrows = [];
  for (let rank = 0; rank < ranks; rank++) {
    const late = 0.02 * us * rank / ranks;
    const span = (name, start, end, bucket = -1) => ({ name, start: start * us + (start > 0 ? late : 0), end: end * us + late, bucket });
    tracks.push({
      rank, name: `trainer${rank}`, kind: 'trainer',
      lanes: [
        { name: 'compute', spans: [span('data', 0, 0.01), span('forward', 0.01, 0.25), span('backward', 0.25, 0.7), span('exposed communication', 0.7, 0.82), span('optimizer', 0.82, 0.97)] },
        { name: 'communication', spans: [span('bucket 0', 0.4, 0.56, 0), span('bucket 1', 0.58, 0.69, 1), span('bucket 2', 0.7, 0.82, 2)] },
      ],
    });
  }
  const work = [0, 1, 2].map((b) => ({ name: `bucket ${b}`, start: (0.45 + 0.15 * b) * us, end: (0.53 + 0.14 * b) * us, bucket: b }));
  tracks.push({ rank: ranks, name: 'server0', kind: 'server', lanes: [{ name: 'work', spans: work }] });
  for (let rank = 0; rank < ranks; rank++) {
    work.forEach((w, b) => {
      const span = tracks[rank].lanes[1].spans[b];
      arrows.push({ from_track: rank, from_lane: 1, from: span.start, to_track: ranks, to_lane: 0, to: w.start, bucket: b });
      arrows.push({ from_track: ranks, from_lane: 0, from: w.end, to_track: rank, to_lane: 1, to: span.end, bucket: b });
    });
  }
  return { iteration: 61, micros: us, tracks, arrows };
}

/** comm returns a document of psbench comm over some sizes. */
export function comm(sizes = [4096, 65536, 1048576, 26214400]) {
  const doc = empty();
  doc.axes = [{ name: 'operation', values: [] }, { name: 'transport', values: [] }, { name: 'bytes', values: [] }];
  const cellOf = (...values) => {
    values.forEach((v, i) => doc.axes[i].values.includes(v) || doc.axes[i].values.push(v));
    return doc.cells.push({ name: values.join(' '), again: false, values, state: 'done', reason: '', same: -1, runs: [], waiting: 0, failed: [], warnings: [], shorts: [], environment: -1, median: -1, worst: -1 }) - 1;
  };
  const row = (operation, transport, bytes, us, share, shareOf) => ({
    cell: cellOf(operation, transport, String(bytes)), operation, server: operation === 'pushpull' ? 'average' : '', hook: '', transport, trainers: 2, servers: 1, mode: 'fresh', place: 'inplace', sparse: false, bytes, rounds: 300,
    p50_us: us, p95_us: us * 1.3, min_us: us * 0.8, algbw_gb_per_s: bytes / us / 1000, busbw_gb_per_s: (2 * bytes) / us / 1000, share, share_of: shareOf, verified: 'every answer', void: '',
  });
  const rows = [];
  for (const bytes of sizes) {
    rows.push(row('pushpull', 'shm', bytes, 6 + bytes / 12000, Math.min(0.9, 0.04 * (bytes / 4096) ** 0.4), 'memcpy, dirty source, 2MiB, 2 cores'));
    rows.push(row('pushpull', 'tcp', bytes, 54 + bytes / 1100, Math.min(0.8, 0.04 * (bytes / 4096) ** 0.4), 'loopback TCP, both ways'));
    rows.push(row('allreduce', 'shm', bytes, 4 + bytes / 16000, Math.min(0.95, 0.06 * (bytes / 4096) ** 0.4), 'memcpy, dirty source, 2MiB, 2 cores'));
  }
  rows.push({ ...row('barrier', 'shm', 0, 1.5, 0, ''), algbw_gb_per_s: 0, busbw_gb_per_s: 0 });
  doc.comm = { rows, limits: [{ name: 'memcpy, dirty source', bytes: 2 << 20, cores: 2, connections: 0, gb_per_s: 76.5 }, { name: 'loopback TCP, both ways', bytes: 0, cores: 0, connections: 2, gb_per_s: 3.68 }] };
  return doc;
}

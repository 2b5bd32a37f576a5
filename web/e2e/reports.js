// These functions make the reports for the tests from recorded runs, with the psbench that PSBENCH names.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
export const psbench = process.env.PSBENCH ?? join(root, 'bin/psbench');
const recorded = join(root, 'core/show/view/testdata');

/** reports writes the reports to a new folder. The function remove deletes that folder. */
export function reports() {
  const folder = mkdtempSync(join(tmpdir(), 'psbench-e2e-'));
  execFileSync('tar', ['xzf', join(recorded, 'sweep.tar.gz'), '-C', folder]);
  const paths = { sweep: join(folder, 'sweep'), dlrm: join(recorded, 'dlrm'), comm: join(recorded, 'comm') };
  const made = (name, path) => {
    const file = join(folder, `${name}.html`);
    execFileSync(psbench, ['report', path, '-o', file], { stdio: ['ignore', 'ignore', 'inherit'] });
    return file;
  };
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const files = Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, made(name, path)]));
    return { folder, files, made, remove };
  } catch (e) {
    remove();
    throw e;
  }
}

/** attack is a text that would become markup if any code inserted it as HTML. */
export const attack = '"\'><img src=x onerror=alert(1)><script>alert(2)</script></script><!--<svg onload=alert(3)> javascript:alert(4) ${alert(5)}';

/** hostileRun returns the report of a recorded run in which every word unknown to psbench is an attack. */
export function hostileRun({ folder, made }) {
  const result = JSON.parse(gunzipSync(readFileSync(join(root, 'core/record/folder/testdata/schema2.json.gz'))));
  result.warnings = [...(result.warnings ?? []), attack];
  result.command = ['psbench', attack];
  for (const p of result.processes) {
    p.name = attack;
    p.plugin = attack;
    p.key = attack;
    p.facts = { ...p.facts, [attack]: attack };
  }
  for (const v of result.config) if (typeof v.value === 'string') v.origin = attack;
  const path = join(folder, 'hostile.json');
  writeFileSync(path, JSON.stringify(result));
  return made('hostile', path);
}

// The page interprets these fields, so they keep their values.
const kept = new Set(['schema', 'state', 'better', 'verdict', 'kind', 'unit', 'metric', 'made', 'started', 'label']);

/** rewritten returns a report whose document the function change has modified. */
export function rewritten({ folder }, file, name, change) {
  const [, before, data, after] = /^([^]*<script type="application\/json" id="data">)([^]*?)(<\/script>[^]*)$/.exec(readFileSync(file, 'utf8'));
  const escaped = JSON.stringify(change(JSON.parse(data))).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const path = join(folder, `${name}.html`);
  writeFileSync(path, before + escaped + after);
  return path;
}

/** hostilePage returns a report in whose document every text is an attack. */
export function hostilePage(made, file, name) {
  return rewritten(made, file, `hostile-${name}`, spoiltOf);
}

function spoiltOf(doc) {
  const metrics = new Set(doc.metrics.map((m) => m.name));
  const laned = new Set(['compute', 'communication', 'work']);
  const spoilt = (value, key) => {
    if (Array.isArray(value)) return value.map((v) => spoilt(v, key));
    if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, spoilt(v, k)]));
    if (typeof value !== 'string' || kept.has(key) || metrics.has(value) || laned.has(value)) return value;
    return `${attack} ${value}`;
  };
  return spoilt(doc);
}

// This module copies the table as Markdown or CSV. Cell content stays data there, too: no pipe ends a Markdown cell,
// and no spreadsheet takes a text for a formula.

import { metricOf, nameOf, neededCount, neededOf, reasonOf, rowsOf, single, toldOf, withinOf } from './cells.js';
import { changeText, endsOf, nothing, number, there } from './format.js';

/** tableOf returns the shown table as a list of columns and a list of rows of raw values. */
export function tableOf(doc, state) {
  const metric = metricOf(doc, state);
  const unit = metric.unit ? ` (${metric.unit})` : '';
  const names = namesOf(doc);
  const columns = [...names, 'state', 'runs', `median ${metric.name}${unit}`, 'low', 'high', 'change', 'change low', 'change high', 'p', 'verdict', 'needed runs', 'note'];
  const shown = rowsOf(doc, state);
  // If percentages are meaningless, a difference replaces the relative change.
  const differ = shown.some((row) => row.change?.difference);
  if (differ) columns.push(`difference${unit}`, 'difference low', 'difference high');
  const rows = shown.map((row) => {
    const { cell, estimate: e, change: c } = row;
    const name = doc.axes.length > 0 ? cell.values : [nameOf(doc, row.at)];
    return [
      ...name,
      cell.again ? `${cell.state}, again` : cell.state,
      e?.n ?? cell.runs.length,
      e?.median ?? null,
      e?.low ?? null,
      e?.high ?? null,
      row.baseline && !single(doc) ? 'baseline' : (c?.change ?? null),
      c?.low ?? null,
      c?.high ?? null,
      c?.p ?? null,
      c?.verdict ?? '',
      neededCount(c),
      [reasonOf(row), ...cell.shorts].filter(Boolean).join('; '),
      ...(differ ? [c?.difference?.change ?? null, c?.difference?.low ?? null, c?.difference?.high ?? null] : []),
    ];
  });
  return { columns, rows };
}

// These columns name a row.
const namesOf = (doc) => (doc.axes.length > 0 ? doc.axes.map((a) => a.name) : [single(doc) ? 'run' : 'cell']);

/** csv returns raw values with all digits of the document. Changes are fractions. */
export function csv(doc, state) {
  const { columns, rows } = tableOf(doc, state);
  return [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
}

/** csvCell quotes a value if necessary, and disarms texts that a spreadsheet would take for formulas. */
export function csvCell(value) {
  if (value === null || value === undefined) return '';
  if (there(value)) return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r\n|%]/.test(text)) text = `'${text}`;
  return /[",\r\n\t';]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** markdown returns values as the page shows them. */
export function markdown(doc, state) {
  const metric = metricOf(doc, state);
  const names = namesOf(doc);
  const against = single(doc) ? '' : doc.within ? `${toldOf(doc, state.baseline, withinOf(doc))} of the same ${doc.within}` : nameOf(doc, state.baseline);
  const head = [...names, 'runs', `median${metric.unit ? `, ${metric.unit}` : ''}`, '95 % interval', 'change', '95 % interval', 'verdict', 'note'];
  const rows = rowsOf(doc, state).map((row) => {
    const { cell, estimate: e, change: c } = row;
    return [
      ...(doc.axes.length > 0 ? cell.values : [nameOf(doc, row.at)]),
      String(e?.n ?? cell.runs.length),
      number(e?.median),
      span(e?.low, e?.high, number),
      row.baseline && !single(doc) ? 'baseline' : changeText(c, metric.unit) || nothing,
      span(...endsOf(c, metric.unit)),
      c?.verdict ?? '',
      [cell.again ? 'again' : '', reasonOf(row), neededOf(c), ...cell.shorts].filter(Boolean).join('; '),
    ];
  });
  const right = head.map((_, i) => (i >= names.length && i < head.length - 2 ? '---:' : '---'));
  const lines = [head, right, ...rows].map((row, i) => `| ${row.map((text) => (i === 1 ? text : markdownCell(text))).join(' | ')} |`);
  const better = `${metric.name}: ${metric.better} is better`;
  return `${lines.join('\n')}\n\n${markdownCell(against ? `${better}; changes against ${against}` : better)}\n`;
}

/** markdownCell escapes a text, so it contains no markup and cannot end its cell or line. */
export function markdownCell(text) {
  return String(text)
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\\`*_{}[\]<>#|~!&]/g, (c) => (c === '<' ? '&lt;' : c === '>' ? '&gt;' : c === '&' ? '&amp;' : `\\${c}`))
    .trim();
}

/** span returns "low to high". It is "" if neither end is bounded. */
export function span(low, high, format) {
  if (!there(low) && !there(high)) return '';
  return `${there(low) ? format(low) : '−∞'} to ${there(high) ? format(high) : '∞'}`.replaceAll(nothing, '');
}

// The table as text for other programs: Markdown and CSV. What is in a cell is data there, too: no pipe
// ends a cell of Markdown, and no spreadsheet takes a text for a formula.

import { metricOf, nameOf, neededCount, neededOf, reasonOf, rowsOf, single, toldOf, withinOf } from './cells.js';
import { changeText, endsOf, nothing, number, there } from './format.js';

/** tableOf is what is shown, as it stands, as a list of columns and of rows of raw values. */
export function tableOf(doc, state) {
  const metric = metricOf(doc, state);
  const unit = metric.unit ? ` (${metric.unit})` : '';
  const names = namesOf(doc);
  const columns = [...names, 'state', 'runs', `median ${metric.name}${unit}`, 'low', 'high', 'change', 'change low', 'change high', 'p', 'verdict', 'needed runs', 'note'];
  const shown = rowsOf(doc, state);
  // Where no percentage tells a change, there is a difference in its place.
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

// The columns that name a row.
const namesOf = (doc) => (doc.axes.length > 0 ? doc.axes.map((a) => a.name) : [single(doc) ? 'run' : 'cell']);

/** csv has values as they are, with all digits of the document; changes are fractions. */
export function csv(doc, state) {
  const { columns, rows } = tableOf(doc, state);
  return [columns, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';
}

/** csvCell quotes what must be quoted, and disarms texts that a spreadsheet would compute. */
export function csvCell(value) {
  if (value === null || value === undefined) return '';
  if (there(value)) return String(value);
  let text = String(value);
  if (/^[=+\-@\t\r\n|%]/.test(text)) text = `'${text}`;
  return /[",\r\n\t';]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** markdown has values as the page shows them. */
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

/** markdownCell is text that stays text: no markup, no cell's end, no line's end. */
export function markdownCell(text) {
  return String(text)
    .replace(/[\r\n\t]+/g, ' ')
    .replace(/[\\`*_{}[\]<>#|~!&]/g, (c) => (c === '<' ? '&lt;' : c === '>' ? '&gt;' : c === '&' ? '&amp;' : `\\${c}`))
    .trim();
}

/** span is "low to high", "" where neither is bounded. */
export function span(low, high, format) {
  if (!there(low) && !there(high)) return '';
  return `${there(low) ? format(low) : '−∞'} to ${there(high) ? format(high) : '∞'}`.replaceAll(nothing, '');
}

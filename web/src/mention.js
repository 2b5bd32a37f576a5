// Names of cells in sentences stand out and link to the details of their cells.

/**
 * mentions splits a text at the names of cells: [{text, cell}]. For other text, cell is -1. A name must begin and end
 * at a word boundary. If several names match, the longest wins.
 */
export function mentions(text, names) {
  const order = names.map((name, cell) => ({ name, cell })).filter((n) => n.name.length > 2);
  order.sort((a, b) => b.name.length - a.name.length || a.cell - b.cell);
  const pieces = [];
  let plain = '';
  for (let at = 0; at < text.length; ) {
    const found = atWord(text, at) ? order.find((n) => text.startsWith(n.name, at) && atWord(text, at + n.name.length)) : undefined;
    if (!found) {
      plain += text[at++];
      continue;
    }
    if (plain) pieces.push({ text: plain, cell: -1 });
    plain = '';
    pieces.push({ text: found.name, cell: found.cell });
    at += found.name.length;
  }
  if (plain) pieces.push({ text: plain, cell: -1 });
  return pieces;
}

const word = /[\p{L}\p{N}_=]/u;

// atWord reports whether a position is a word boundary.
const atWord = (text, at) => at === 0 || at >= text.length || !word.test(text[at - 1]) || !word.test(text[at]);

/** sentence capitalizes the first letter, unless the text begins with one of the names or with another identifier. */
export function sentence(text, names) {
  const first = /^[^\s:,;]*/.exec(text)[0];
  if (!/^\p{Ll}[\p{Ll}-]*$/u.test(first) || names.some((name) => name !== '' && text.startsWith(name) && atWord(text, name.length))) return text;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

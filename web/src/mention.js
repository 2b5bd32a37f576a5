// Cells in sentences: their names stand out and lead to their details.

/**
 * mentions cuts a text where it names cells: [{text, cell}], cell is -1 of what is no name. A name is only
 * one where no other word goes on, and of names that begin alike the longest is meant.
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

// Between two letters no name begins or ends.
const atWord = (text, at) => at === 0 || at >= text.length || !word.test(text[at - 1]) || !word.test(text[at]);

/** sentence begins with a capital letter, unless it begins with one of the names or with another identifier. */
export function sentence(text, names) {
  const first = /^[^\s:,;]*/.exec(text)[0];
  if (!/^\p{Ll}[\p{Ll}-]*$/u.test(first) || names.some((name) => name !== '' && text.startsWith(name) && atWord(text, name.length))) return text;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

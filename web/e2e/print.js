// These functions find the page on which each part of a print stands. The information comes from the tags of a PDF
// that Chromium wrote.

const numbers = (text) => [...text.matchAll(/(\d+) 0 R/g)].map(([, id]) => id);

/** tagsOf returns the tags in reading order as {tag, depth, pages}. Pages count from 0. */
export function tagsOf(pdf) {
  const objects = new Map([...pdf.toString('latin1').matchAll(/^(\d+) 0 obj\n([^]*?)\nendobj/gm)].map(([, id, body]) => [id, body]));
  const bodies = [...objects.values()];
  const pagesOf = (id) => (/\/Type \/Pages\b/.test(objects.get(id)) ? numbers(/\/Kids (\[[^\]]*\])/.exec(objects.get(id))[1]).flatMap(pagesOf) : [id]);
  const [, root] = /\/Pages (\d+) 0 R/.exec(bodies.find((body) => body.includes('/Type /Catalog')));
  const place = new Map(pagesOf(root).map((id, i) => [id, i]));
  const tags = [];
  const read = (id, depth) => {
    const body = objects.get(id) ?? '';
    const one = { tag: /\/S \/(\w+)/.exec(body)?.[1] ?? '', depth, pages: [...body.matchAll(/\/Pg (\d+) 0 R/g)].map(([, page]) => place.get(page)) };
    tags.push(one);
    for (const kid of numbers(/\/K (\[[^\]]*\]|\d+ 0 R)/.exec(body)?.[1] ?? '')) one.pages.push(...read(kid, depth + 1).pages);
    return one;
  };
  read([...objects].find(([, body]) => body.includes('/Type /StructTreeRoot'))[0], 0);
  return tags;
}

/** within returns the tags below the tag with index i. */
export function within(tags, i) {
  const end = tags.findIndex((t, k) => k > i && t.depth <= tags[i].depth);
  return tags.slice(i + 1, end < 0 ? undefined : end);
}

/** lonely describes every heading and every table head that is separated from its content by a page break. */
export function lonely(pdf) {
  const tags = tagsOf(pdf);
  const found = [];
  tags.forEach((t, i) => {
    if (/^H\d$/.test(t.tag)) {
      const next = tags.slice(i + 1 + within(tags, i).length).find((each) => each.pages.length > 0);
      if (next && next.pages[0] !== t.pages.at(-1)) found.push(`a head of page ${t.pages.at(-1) + 1}`);
    }
    if (t.tag !== 'Table') return;
    // Later pages repeat the head, so only its first page counts.
    const [head, ...rows] = within(tags, i).filter((each) => each.tag === 'TR' && each.pages.length > 0).map((each) => Math.min(...each.pages));
    if (rows.slice(0, 2).some((page) => page !== head)) found.push(`the head of a table of ${rows.length} rows on page ${head + 1}`);
  });
  return { heads: tags.filter((t) => /^H\d$/.test(t.tag)).length, tables: tags.filter((t) => t.tag === 'Table').length, found };
}

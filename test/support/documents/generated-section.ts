import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readDocument, ROOT } from './markdown';

/**
 * The part of a document between `<!-- name: begin … -->` and `<!-- name: end -->`, which a test generates. With
 * UPDATE_DOCUMENTS=1 it is replaced by what was generated, and then is up to date.
 */
export function generatedSection(path: string, name: string, produced: string): string {
  const document = readDocument(path);
  const [begin, end] = [document.indexOf(`<!-- ${name}: begin`), document.indexOf(`<!-- ${name}: end -->`)];
  if (begin < 0 || end < 0) throw new Error(`${path} has no section ${name}.`);
  const start = document.indexOf('-->\n', begin) + '-->\n'.length;
  if (process.env['UPDATE_DOCUMENTS'] !== '1') return document.slice(start, end);
  writeFileSync(join(ROOT, path), document.slice(0, start) + produced + document.slice(end));
  return produced;
}

/** A Markdown table. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
    .replaceAll('| --- ', '|---')
    .replaceAll('|--- |', '|---|');
}

/** Cells that mark which of the columns apply. */
export function marks(names: readonly string[], columns: readonly string[]): string[] {
  return columns.map((column) => (names.includes(column) ? '×' : ''));
}

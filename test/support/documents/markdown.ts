import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the project. */
export const ROOT = join(__dirname, '..', '..', '..');

export interface CodeBlock {
  readonly language: string;
  readonly code: string;
}

/** The text of a document by its path in the project. */
export function readDocument(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Paths of all Markdown documents. */
export function documentPaths(): string[] {
  const [top, others] = [readdirSync(ROOT), ['docs', 'examples', 'clients', 'test/fixtures']];
  return [...top, ...others.flatMap(filesBelow)].filter((path) => path.endsWith('.md'));
}

/** Paths of the files in a folder of the project and in the folders below it, without installed packages. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return entry.name === 'node_modules' ? [] : filesBelow(path);
  });
}

/** The section under a heading, up to the next heading of the same or a higher level. */
export function section(document: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const start = document.indexOf(`${heading}\n`);
  if (start < 0) throw new Error(`There is no heading "${heading}".`);
  const body = document.slice(start + heading.length);
  const end = new RegExp(`^#{1,${level}} `, 'm').exec(withoutCode(body))?.index;
  return body.slice(0, end);
}

/** The fenced code blocks of a text, in order. */
export function codeBlocks(text: string): CodeBlock[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({ language, code }));
}

/** The text with its code blocks blanked out, so that positions stay the same. */
export function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, (block) => block.replace(/[^\n]/g, ' '));
}

/** The rows of the tables of a text without their headers, as trimmed cells. */
export function tableRows(text: string): string[][] {
  const lines = withoutCode(text).split('\n');
  const isRow = (line: string | undefined): boolean => line?.startsWith('|') === true;
  const isHead = (index: number): boolean => !isRow(lines[index - 1]) || !isRow(lines[index - 2]);
  const rows = lines.filter((line, index) => isRow(line) && !isHead(index));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The texts in backticks. */
export function codeSpans(text: string): string[] {
  return [...withoutCode(text).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

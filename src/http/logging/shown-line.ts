import { shownText } from '../../core/values/shown-text';

/** Of an escape in JSON: one that is a character by itself, or a line break before a frame of a stack. */
const HARMLESS = /^\\["\\/]$|^\\n {4}at $/;

/** An equal line of JSON that does nothing to the terminal it is shown on: what is left unescaped by JSON is escaped, too. */
export function withoutActing(line: string): string {
  // The line feed ends the line: those in texts are escaped already.
  return line.endsWith('\n') ? `${shownText(line.slice(0, -1))}\n` : shownText(line);
}

/**
 * A line of JSON whose texts, once they are read, still show these escapes, but for the line breaks of stack traces. For who reads
 * it and writes its texts to a terminal.
 */
export function withShownEscapes(line: string): string {
  return line.replace(/\\(?:n {4}at |u[0-9a-f]{4}|.)/gi, (escape) => (HARMLESS.test(escape) ? escape : `\\${escape}`));
}

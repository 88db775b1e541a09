import { shownText } from '../../core/values/shown-text';

/**
 * An escape in JSON that does no harm: of a quotation mark or a slash, or of a line break before a frame of a stack.
 */
const HARMLESS = /^\\["\\/]$|^\\n {4}at $/;

/** An equal line of JSON that does nothing to a terminal: characters that JSON may leave unescaped are escaped, too. */
export function withoutActing(line: string): string {
  // The line feed ends the line: those in texts are escaped already.
  return line.endsWith('\n') ? `${shownText(line.slice(0, -1))}\n` : shownText(line);
}

/**
 * A line of JSON whose texts still have these escapes after they are parsed, except line breaks of stack traces: for a
 * program that parses the line and prints its texts on a terminal.
 */
export function withShownEscapes(line: string): string {
  return line.replace(/\\(?:n {4}at |u[0-9a-f]{4}|.)/gi, (escape) => (HARMLESS.test(escape) ? escape : `\\${escape}`));
}

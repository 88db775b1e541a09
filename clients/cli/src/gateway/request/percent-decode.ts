import { isUtf8 } from 'node:buffer';

const ESCAPE = /%([0-9A-Fa-f]{2})/g;

/** Decodes a part of a path once. @returns undefined if what was encoded is not UTF-8, or has a NUL */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text.includes('\0') ? undefined : text;
  const encoded = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = encoded.replace(ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  const bytes = Buffer.from(decoded, 'latin1');
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}

/** Decodes a name or value of a query or form once, in which "+" is a blank. @returns undefined as above */
export function formDecode(text: string): string | undefined {
  return percentDecode(text.replaceAll('+', ' '));
}

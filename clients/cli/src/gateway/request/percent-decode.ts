import { isUtf8 } from 'node:buffer';
import { hexDigit } from './hex-digit.js';

const PERCENT = 0x25;

/** Decodes a part of a path once. @returns undefined if what was encoded is not UTF-8, or has a NUL */
export function percentDecode(text: string): string | undefined {
  if (!text.includes('%')) return text.includes('\0') ? undefined : text;
  const bytes = decodeBytes(Buffer.from(text, 'utf8'));
  return isUtf8(bytes) && !bytes.includes(0) ? bytes.toString('utf8') : undefined;
}

/** Decodes in place; a "%" that begins no escape stays. */
function decodeBytes(bytes: Buffer): Buffer {
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1, length += 1) {
    const isEscape = bytes[index] === PERCENT;
    const byte = isEscape ? 16 * hexDigit(bytes[index + 1] ?? 0) + hexDigit(bytes[index + 2] ?? 0) : NaN;
    bytes[length] = Number.isNaN(byte) ? (bytes[index] ?? 0) : byte;
    if (!Number.isNaN(byte)) index += 2;
  }
  return bytes.subarray(0, length);
}

/**
 * Decodes a name or value of a query or form once, in which "+" is a blank.
 * @returns undefined if it is not UTF-8, or has a NUL
 */
export function formDecode(text: string): string | undefined {
  return percentDecode(text.replaceAll('+', ' '));
}

import { marksFault, normalFormC } from './normal-form.js';
const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}]/u;

/**
 * Returns the fault of a name that rules refer to; undefined if it is valid. No two valid names differ only in
 * invisible characters.
 */
export function labelFault(text: string): string | undefined {
  if (text.trim() !== text) return 'must not begin or end with white space';
  return CONTROL_OR_FORMAT_CHARACTER.test(text) ? 'must not contain control or format characters' : marksFault(text);
}

/** Returns the fault of a label that is compared as it is written and must not look like another one. */
export function exactLabelFault(text: string): string | undefined {
  return labelFault(text) ?? notComposedFault(text);
}

export function notComposedFault(text: string): string | undefined {
  return text === normalFormC(text) ? undefined : 'must be in Unicode normal form C';
}

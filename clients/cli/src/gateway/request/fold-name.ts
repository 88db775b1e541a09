import { normalFormKc } from '../../service-rules/normal-form.js';

/**
 * Folds a name, so that names which a program could take for the same one become equal. A name with too many combining
 * characters in a row has no such form, and is refused before.
 */
export function foldName(name: string): string {
  // Some programs compare upper cases: those of "i" and "\u0131" are the same. A lower case may have another compatible
  // form.
  return normalFormKc(normalFormKc(name).toUpperCase().toLowerCase());
}

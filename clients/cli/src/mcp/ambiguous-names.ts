import { foldName } from '../gateway/request/fold-name.js';
import { hasManyMarks } from '../service-rules/normal-form.js';
import { placeIn } from '../unsafe-number.js';

/** Characters of different names that are not ASCII: to fold more of them takes long, in one step. */
const MAX_CHARACTERS = 16_384;
const ASCII = /^[\0-\x7f]*$/;

/**
 * Where an object has names that programs can read in two ways: policies would compare one member, and the server take
 * the other. Undefined if there is none.
 */
export function ambiguousNamesIn(value: unknown, path: string): string | undefined {
  const names = new FoldedNames();
  return placeIn(value, path, (place) => names.areAmbiguousIn(place));
}

/** Returns the text about names that are ambiguous. */
export function ambiguousNamesText(path: string): string {
  return (
    `${path} has two names that some programs take for one, such as "amount" and "Amount", or names that cannot be compared: with ` +
    `too many combining characters in a row, or, together, more than ${MAX_CHARACTERS} characters that are not ASCII.`
  );
}

/** The names of a value, each folded once. */
class FoldedNames {
  private readonly forms = new Map<string, string>();
  private characters = 0;

  areAmbiguousIn(value: unknown): boolean {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    const names = Object.keys(value);
    const forms = new Set<string>();
    for (const name of names) {
      const form = this.formOf(name);
      if (form === undefined) return true;
      forms.add(form);
    }
    return forms.size < names.length;
  }

  /** Undefined for a name that is not compared. */
  private formOf(name: string): string | undefined {
    if (ASCII.test(name)) return name.toLowerCase();
    const existing = this.forms.get(name);
    if (existing !== undefined) return existing;
    this.characters += name.length;
    if (this.characters > MAX_CHARACTERS || hasManyMarks(name)) return undefined;
    const form = foldName(name);
    this.forms.set(name, form);
    return form;
  }
}

import { editsBetween } from '../../../core/values/edits';

/** Of a shorter name, one letter may differ; of one shorter still, none. */
const SHORT = 5;
const SHORTEST = 3;

/**
 * The known name that was probably meant: it differs in case or separators, in a letter or two, or in the prefix of a
 * subject (a role named as an agent). Null if there is none.
 */
export function nearestOf(text: string, known: Iterable<string>): string | null {
  const distanceTo = distanceFrom(text);
  let nearest: string | null = null;
  let least = Infinity;
  for (const name of known) {
    const distance = distanceTo(name);
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Infinite where a name is not similar. */
function distanceFrom(text: string): (name: string) => number {
  const own = withoutPrefix(text);
  const letters = lettersOf(own);
  const isRole = text.startsWith('role:');
  const most = own.length < SHORTEST ? 0 : own.length < SHORT ? 1 : 2;
  return (name) => {
    const other = withoutPrefix(name);
    if (lettersOf(other) === letters) return 0;
    if (name.startsWith('role:') !== isRole || Math.abs(own.length - other.length) > most) return Infinity;
    const edits = editsBetween(own, other);
    return edits <= most ? edits : Infinity;
  };
}

function withoutPrefix(subject: string): string {
  return subject.replace(/^(?:role|agent):/, '');
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[-_. ]/g, '');
}

import { preconditionFailed } from '../../core/errors/domain-error';

const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/;
const SEPARATOR = /^[ \t]*,[ \t]*/;

interface EntityTag {
  readonly isWeak: boolean;
  readonly value: string;
}

/** What a client requires of the record's revision before it is changed. */
export interface Precondition {
  /** @throws PRECONDITION_FAILED when the record has another revision */
  require(revision: number): void;
}

const NO_PRECONDITION: Precondition = { require: () => undefined };

/** Reads `If-Match`: absent, `*`, or a list of entity tags, of which a weak one never matches. Undefined when malformed. */
export function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined || header.trim() === '*') {
    return NO_PRECONDITION;
  }
  const tags = parseEntityTags(header);
  if (tags === undefined) {
    return undefined;
  }
  return { require: (revision) => requireTag(tags, String(revision)) };
}

/**
 * A weak tag never matches. If a proxy has weakened one of our tags, the client has to learn it here, or it would never find
 * out why.
 */
function requireTag(tags: readonly EntityTag[], revision: string): void {
  const named = tags.filter(({ value }) => value === revision);
  if (named.every(({ isWeak }) => isWeak)) {
    throw preconditionFailed(named.length > 0 ? weakForm(revision) : undefined);
  }
}

function weakForm(revision: string): string {
  return (
    `The revision is the current one, but W/"${revision}" is a weak tag, which matches nothing in If-Match. Send "${revision}". ` +
    'A proxy that compresses answers makes weak tags of ours.'
  );
}

/** Whether `If-None-Match` includes the revision; a malformed header includes none. */
export function isCurrentCopy(header: string | undefined, revision: number): boolean {
  if (header === undefined) {
    return false;
  }
  if (header.trim() === '*') {
    return true;
  }
  const tags = parseEntityTags(header) ?? [];
  return tags.some((tag) => tag.value === String(revision));
}

function parseEntityTags(header: string): EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  let rest = header.trim();
  for (;;) {
    const match = ENTITY_TAG.exec(rest);
    if (match === null) {
      return undefined;
    }
    tags.push({ isWeak: match[1] !== undefined, value: match[2] ?? '' });
    rest = rest.slice(match[0].length);
    if (rest === '') {
      return tags;
    }
    const separator = SEPARATOR.exec(rest);
    if (separator === null) {
      return undefined;
    }
    rest = rest.slice(separator[0].length);
  }
}

import { createHash } from 'node:crypto';
import { preconditionFailed } from '../../core/errors/domain-error';
import { HeaderParameter } from './routes';
import { exchangeParameter } from './service-request';

/** Entity tags, with commas between them: `W/"1", "2"`. */
const ENTITY_TAGS = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/;
const ENTITY_TAG = /(?:W\/)?"[^"]*"/g;

/** The revision that a client requires of the record before a change. */
export interface Precondition {
  /** @throws PRECONDITION_FAILED when the record has another revision */
  require(revision: number): void;
}

const NO_PRECONDITION: Precondition = { require: () => undefined };

/**
 * Reads `If-Match`: absent, `*`, or a list of entity tags, of which a weak one never matches. Undefined if malformed.
 */
function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined || header.trim() === '*') return NO_PRECONDITION;
  const tags = parseEntityTags(header);
  const require = (revision: number): void => {
    if (tags?.includes(`"${revision}"`) !== true) throw preconditionFailed();
  };
  return tags && { require };
}

/** True if `If-None-Match` includes the strong entity tag, or its weak form; a malformed header includes none. */
export function isCurrentCopy(header: string | undefined, tag: string): boolean {
  const tags = parseEntityTags(header ?? '') ?? [];
  return header?.trim() === '*' || tags.includes(tag) || tags.includes(`W/${tag}`);
}

function parseEntityTags(header: string): string[] | undefined {
  return ENTITY_TAGS.test(header.trim()) ? (header.match(ENTITY_TAG) ?? []) : undefined;
}

/** Provides the request's `If-Match` as a Precondition, which matches every revision if the header is absent. */
export function IfMatch(): ParameterDecorator {
  return HeaderParameter({
    name: 'If-Match',
    description: 'ETag of the revision the change is based on (one, a list, or `*`); 412 when it is not current.',
    expected: 'must be "*", an entity tag such as "3" with its quotes, or a comma-separated list of them',
    read: parseIfMatch,
  });
}

/** The request's `If-None-Match`. */
export const IfNoneMatch = exchangeParameter(({ headers }) => headers['if-none-match']);

/** Returns a strong entity tag for the content of a response, for routes marked `isTagged`. */
export function entityTagOf(content: object): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32)}"`;
}

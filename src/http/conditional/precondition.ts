import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { preconditionFailed } from '../../core/errors/domain-error';
import { HeaderParameter } from '../request/routes';
import type { Exchange } from '../request/service-request';

/** Entity tags, with commas between them: `W/"1", "2"`. */
const ENTITY_TAGS = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")*$/;
const ENTITY_TAG = /(W\/)?"([^"]*)"/g;

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
function parseIfMatch(header: string | undefined): Precondition | undefined {
  if (header === undefined || header.trim() === '*') return NO_PRECONDITION;
  const tags = parseEntityTags(header);
  return tags && { require: (revision) => requireTag(tags, String(revision)) };
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
  if (header === undefined) return false;
  const tags = parseEntityTags(header) ?? [];
  return header.trim() === '*' || tags.some(({ value }) => value === String(revision));
}

function parseEntityTags(header: string): EntityTag[] | undefined {
  if (!ENTITY_TAGS.test(header.trim())) return undefined;
  return Array.from(header.matchAll(ENTITY_TAG), ([, weak, value = '']) => ({ isWeak: weak !== undefined, value }));
}

const EXPECTED = 'must be "*", an entity tag such as "3" with its quotes, or a comma-separated list of them';

const HEADER = {
  name: 'If-Match',
  description: 'ETag of the revision the change is based on (one, a list, or `*`); 412 when it is not current.',
  faultOf: (header: string): string | undefined => (parseIfMatch(header) === undefined ? EXPECTED : undefined),
};

const Parsed = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition | undefined => {
  const [{ headers }] = context.getArgs<Exchange>();
  return parseIfMatch(headers['if-match']);
});

/** The request's `If-Match` as a Precondition, which matches everything when the header is absent. */
export function IfMatch(): ParameterDecorator {
  return HeaderParameter(HEADER, Parsed());
}

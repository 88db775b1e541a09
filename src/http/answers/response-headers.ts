import type { Response } from 'express';
import { isCurrentCopy } from '../conditional/precondition';
import type { ServiceRequest } from '../request/service-request';

/** Header of an answer that replays the answer to an earlier request. */
export const REPLAYED = 'Idempotent-Replayed';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Sets the headers that a route's answer needs: `Location` for a created record, `ETag` for a record with a revision.
 * Returns the body, which is empty for a 304 to a client whose copy is current.
 */
export function withRecordHeaders(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const { traits } = request;
  if (traits.creates && response.statusCode === 201) {
    setLocation(answer, request, response);
  }
  return traits.isRevisioned && !isOfThePast(request) ? revisioned(answer, request, response) : answer;
}

/** A past state has no ETag: no change could be based on it. */
function isOfThePast({ query, traits }: ServiceRequest): boolean {
  return traits.query !== 'none' && query['asOf'] !== undefined;
}

function setLocation(answer: unknown, request: ServiceRequest, response: Response): void {
  const id = member(answer, 'id');
  if (typeof id === 'string') {
    response.setHeader('Location', `${request.path.replace(/\/+$/, '')}/${id}`);
  }
}

function revisioned(answer: unknown, request: ServiceRequest, response: Response): unknown {
  const revision = member(answer, 'revision');
  if (typeof revision !== 'number') {
    return answer;
  }
  // A strong entity tag.
  response.setHeader('ETag', `"${revision}"`);
  if (READS.has(request.method) && isCurrentCopy(request.headers['if-none-match'], revision)) {
    response.status(304);
    return undefined;
  }
  return answer;
}

function member(answer: unknown, name: string): unknown {
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>)[name] : undefined;
}

import type { IdempotentRequest } from './idempotency/idempotent-request';

/** Who authenticated, or `system` for what the service does by itself. */
export interface Actor {
  readonly type: 'api_key' | 'agent' | 'system';
  readonly id: string;
}

/** On whose behalf something is written; it is sealed into every audit entry. */
export interface Caller {
  readonly actor: Actor;
  readonly requestId: string | null;
  readonly ip: string | null;
  /** Set when the request has an idempotency key: what it writes takes effect once, however often it is sent. */
  readonly idempotency?: IdempotentRequest;
}

/** The service acting by itself: expiry of decisions, executions found interrupted at start. */
export const SYSTEM_CALLER: Caller = {
  actor: { type: 'system', id: 'service' },
  requestId: null,
  ip: null,
};

/** The same, for what is written on behalf of a request but is no part of its answer. */
export function withoutKey({ actor, requestId, ip }: Caller): Caller {
  return { actor, requestId, ip };
}

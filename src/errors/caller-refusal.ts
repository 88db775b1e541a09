import { DomainError } from './domain-error';
import type { DenialReason } from './error-codes';

/** A refusal because of who the caller is, whatever the records say. It is recorded as `access.denied`. */
export class CallerRefusal extends DomainError {
  /** @param scope the first one that would suffice; null if no scope would. */
  constructor(
    reason: DenialReason,
    message: string,
    readonly scope: string | null = null,
  ) {
    super('PERMISSION_DENIED', message, { reason });
    this.name = 'CallerRefusal';
  }
}

/** @param scopes any of which would suffice. */
export function scopeMissing(scopes: readonly string[]): CallerRefusal {
  const named = scopes.map((scope) => `"${scope}"`).join(' or ');
  const message = `The key or token lacks the scope for this: ${named}.`;
  return new CallerRefusal('scope_missing', message, scopes[0] ?? null);
}

export function callerSuspended(): CallerRefusal {
  return new CallerRefusal(
    'agent_suspended',
    'The agent that the key or token acts as is suspended. Somebody else has to resume it first.',
  );
}

/** A caller bound to an agent can only act as that agent. */
export function notThisAgent(): CallerRefusal {
  return new CallerRefusal('not_this_agent', 'The key or token acts as one agent, and this is another.');
}

/** A caller cannot change the agent that it acts as. */
export function ownAgent(): CallerRefusal {
  return new CallerRefusal('own_agent', 'The key or token acts as this agent. Somebody else has to change it.');
}

export function reviewerNotBound(): CallerRefusal {
  return new CallerRefusal(
    'reviewer_not_bound',
    'A review of this decision needs a key or token that is bound to the reviewing agent.',
  );
}

/** A token names an agent that does not exist, or for which its issuer is not trusted. */
export function agentUnknown(): CallerRefusal {
  return new CallerRefusal('agent_unknown', 'The token names no agent that its issuer may speak for.');
}

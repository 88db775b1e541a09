import type { EventFilter } from '../events/event-filter';
import type { Webhook } from './webhook.entity';

/** Which entries concern a webhook. */
export function filterOf({ actions, agentId }: Webhook): EventFilter {
  const chosen = actions.includes('*') ? {} : { actions };
  return agentId === null ? chosen : { ...chosen, agentId };
}

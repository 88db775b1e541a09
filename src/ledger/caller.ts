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
}

/** The service acting by itself: expiry of decisions, executions found interrupted at start. */
export const SYSTEM_CALLER: Caller = {
  actor: { type: 'system', id: 'service' },
  requestId: null,
  ip: null,
};

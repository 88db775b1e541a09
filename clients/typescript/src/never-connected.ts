/** Faults of a connection that was never made: nothing was sent. Outside Node.js they cannot be distinguished. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether `fetch` threw this before it had sent anything. */
export function wasNeverConnected(thrown: unknown): boolean {
  const { cause } = (thrown ?? {}) as { cause?: { code?: unknown } };
  return NEVER_CONNECTED.has(cause?.code);
}

/** Returns a random key. Browsers have no `randomUUID` on pages that came over plain HTTP from another machine. */
export function newIdempotencyKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Returns a JSON value in the form of RFC 8785: members sorted by UTF-16 code units, no white space. Undefined members
 * are left out.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Returns the SHA-256 of a text in UTF-8, in hex, and the number of its bytes. */
export async function digestOf(text: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const encoded = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoded));
  return { sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''), bytes: encoded.length };
}

/** The form of RFC 8785 of a JSON value: members sorted by UTF-16 code units, no white space. Members that are undefined are left out. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Of the UTF-8 form of a text: its SHA-256 in hex, and its length. */
export async function digestOf(text: string): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const encoded = new TextEncoder().encode(text);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', encoded));
  return { sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''), bytes: encoded.length };
}

import { plainJson } from './plain-json.js';

/** The RFC 8785 form of what the service would record of a value. @throws TypeError for what is not plain JSON. */
export function canonicalJson(value: unknown): string {
  return written(JSON.parse(plainJson(value)));
}

/** Members by their UTF-16 code units, as JavaScript compares texts; scalars as JSON.stringify writes them. */
function written(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(',')}}`;
}

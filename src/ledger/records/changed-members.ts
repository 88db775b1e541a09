import type { JsonValue } from '../../core/json/json-value';
import { canonicalJson } from '../chain/canonical-json';

/** Returns the members of a row whose value an update changes. Members that the update leaves out stay. */
export function changedMembers<Row extends object, Name extends keyof Row & string>(
  row: Row,
  update: { readonly [Member in Name]?: Row[Member] | undefined },
  names: readonly Name[],
): Partial<Pick<Row, Name>> {
  const text = (value: unknown): string => canonicalJson(value as JsonValue);
  const changed = names.filter((name) => update[name] !== undefined && text(update[name]) !== text(row[name]));
  return Object.fromEntries(changed.map((name) => [name, update[name]])) as Partial<Pick<Row, Name>>;
}

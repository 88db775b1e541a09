import type { Parsed } from '../support/application/send';
import type { OtherValue, SeenValues } from './other-values';

/** One change of a decision file, to be sealed again. */
export interface Row {
  /** The member that it changes, such as `decision.reviews[].comment`. */
  readonly path: string;
  /** The action of the entry. */
  readonly action: string;
  /** The type of the decision that the entry is about; empty if it is about none. */
  readonly type: string;
  /** From which value to which. */
  readonly place: string;
  readonly change: (file: Parsed) => void;
}

/** The members of each kind: those that are always there, and those that may be absent. */
export type Forms = Readonly<
  Record<string, { readonly members: readonly string[]; readonly later: readonly string[] }>
>;

const AUDIT = ['actor', 'agentId', 'entityId', 'outcome', 'reason', 'requestId', 'ip', 'id'];

export function noteSeen(file: Parsed, seen: SeenValues): void {
  for (const { subjectType, state, audit, timestamp } of file.entries) {
    for (const [name, value] of Object.entries(state)) seen.add(`${subjectType}.${name}`, value);
    for (const name of AUDIT) seen.add(`audit.${name}`, audit[name]);
    for (const [name, value] of Object.entries(audit.details)) seen.add(`details.${name}`, value);
    seen.add('audit.timestamp', timestamp);
  }
  for (const policy of file.policies)
    for (const [name, value] of Object.entries(policy)) seen.add(`policy.${name}`, value);
  for (const rules of file.rules) seen.add('rules.defaultEffect', rules.defaultEffect);
}

/** Every member of every record of a file with every other value that is tried. */
export function rowsOf(
  file: Parsed,
  seen: SeenValues,
  forms: Forms,
  details: ReadonlyMap<string, ReadonlySet<string>>,
): Row[] {
  const rows: Row[] = [];
  file.entries.forEach((entry: Parsed, index: number) => {
    const { subjectType, subjectId, action, state, audit } = entry;
    const type: string = subjectType === 'decision' ? state.type : '';
    const { members = [], later = [] } = forms[subjectType] ?? {};
    const isFirst = file.entries.findIndex((other: Parsed) => other.subjectId === subjectId) === index;
    const isOnly = file.entries.filter((other: Parsed) => other.subjectId === subjectId).length === 1;
    for (const name of [...members, ...later]) {
      const path = `${subjectType}.${name}`;
      const dropped = later.includes(name) && state[name] !== undefined ? [{ path, value: undefined }] : [];
      for (const other of [...seen.others(path, state[name]), ...dropped]) {
        const here = `${action}: ${JSON.stringify(state[name])} -> ${JSON.stringify(other.value)}`;
        if (isFirst)
          rows.push({
            action,
            type,
            ...stateRow(other, `every ${here}`, (at) => at.subjectId === subjectId, name, state[name]),
          });
        if (!isOnly)
          rows.push({ action, type, ...stateRow(other, `one ${here}`, (_, at) => at === index, name, state[name]) });
      }
    }
    const row = (other: OtherValue, name: string, before: unknown, change: (entry: Parsed) => void): Row => ({
      path: other.path,
      action,
      type,
      place: `${action} ${name}: ${JSON.stringify(before)} -> ${JSON.stringify(other.value)}`,
      change: ({ entries }) => change(entries[index]),
    });
    for (const name of AUDIT)
      for (const other of seen.others(`audit.${name}`, audit[name]))
        rows.push(
          row(other, name, audit[name], (at) => {
            at.audit[name] = other.value;
            if (name === 'id') at.auditId = other.value;
          }),
        );
    const [later1] = seen.others('audit.timestamp', entry.timestamp).slice(-1);
    if (later1 !== undefined)
      rows.push(row(later1, 'timestamp', entry.timestamp, (at) => (at.timestamp = later1.value)));
    for (const name of details.get(action) ?? []) {
      const dropped = audit.details[name] === undefined ? [] : [{ path: `details.${name}`, value: undefined }];
      for (const other of [...seen.others(`details.${name}`, audit.details[name]), ...dropped])
        rows.push(row(other, `details.${name}`, audit.details[name], (at) => set(at.audit.details, name, other.value)));
    }
  });
  file.policies.forEach((policy: Parsed, index: number) => {
    for (const name of [...(forms['policy']?.members ?? []), ...(forms['policy']?.later ?? [])])
      for (const other of seen.others(`policy.${name}`, policy[name]))
        rows.push({
          path: other.path,
          action: '',
          type: '',
          place: `policy ${policy.name}: ${JSON.stringify(policy[name])} -> ${JSON.stringify(other.value)}`,
          change: ({ policies }) => set(policies[index], name, other.value),
        });
  });
  rows.push({
    path: 'rules.defaultEffect',
    action: '',
    type: '',
    place: 'rules',
    change: ({ rules }) => {
      for (const one of rules) one.defaultEffect = one.defaultEffect === 'allow' ? 'deny' : 'allow';
    },
  });
  return rows;
}

function stateRow(
  { path, value }: OtherValue,
  place: string,
  isMeant: (entry: Parsed, index: number) => boolean,
  name: string,
  before: unknown,
): Omit<Row, 'action' | 'type'> {
  const change = ({ entries }: Parsed): void => {
    entries.forEach((entry: Parsed, index: number) => {
      if (!isMeant(entry, index) || JSON.stringify(entry.state[name]) !== JSON.stringify(before)) return;
      set(entry.state, name, value);
      if (name === 'id') entry.subjectId = entry.audit.subjectId = value;
    });
  };
  return { path, place, change };
}

function set(object: Parsed, name: string, value: unknown): void {
  if (value === undefined) Reflect.deleteProperty(object, name);
  else object[name] = structuredClone(value);
}

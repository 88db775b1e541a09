import type { Parsed } from '../support/application/send';

/** Maps kinds to what an erasure leaves of a record's contents. Members that a record lacks stay so. */
const LEFT: Record<string, object> = {
  execution: {
    ...{ parameters: {}, resourceId: '', result: null, failureReason: null },
    ...{ actionHash: undefined, onBehalfOf: undefined, run: undefined, instead: undefined, erased: true },
  },
  decision: { title: '', description: '', context: {}, actionHash: undefined, erased: true },
  grant: { resourceId: '', resources: null, parametersHash: null, onBehalfOf: null },
};

/**
 * Takes the contents of entries about a record, as an erasure does, and adds the entry that says so. The log is not
 * sealed yet.
 * @param isTaken selects the entries that lose their contents
 */
export function eraseIn(
  entries: readonly Parsed[],
  [type, id]: readonly [type: string, id: string],
  isTaken: (entry: Parsed) => boolean = ({ subjectId }) => subjectId === id,
  details: object = { erasureId: null },
): Parsed[] {
  const [first] = entries.filter(({ subjectId }) => subjectId === id);
  const last = entries.findLast(({ subjectId }) => subjectId === id);
  const sequence = entries.length + 1;
  const erasing = structuredClone(last);
  const action = `${type}.erased`;
  const { timestamp } = entries.at(-1) ?? {};
  Object.assign(erasing, { id: `${first.id}9`, sequence, action, timestamp, auditId: `${first.auditId}9` });
  Object.assign(erasing.audit, { id: erasing.auditId, action, details });
  if (erasing.state !== null) erasing.state = JSON.parse(JSON.stringify({ ...erasing.state, ...LEFT[type] }));
  return [...entries.map((entry) => (isTaken(entry) ? emptied(entry, sequence) : entry)), erasing];
}

/** The entries about a record as they were before its erasure, which is left out. */
export function unerase(entries: readonly Parsed[], before: readonly Parsed[], subjectId: string): Parsed[] {
  const earlier = new Map(before.map((entry) => [entry.id, entry]));
  return entries.flatMap((entry) => (entry.subjectId === subjectId ? (earlier.get(entry.id) ?? []) : entry));
}

/** Lets each completed erasure count what has lost its contents now, as a forger would. */
export function recount(entries: readonly Parsed[]): Parsed[] {
  const log = structuredClone([...entries]);
  for (const { subjectId, action, audit } of log) {
    if (action !== 'erasure.completed') continue;
    const erasing = log.filter((entry) => entry.audit.details?.erasureId === subjectId);
    const sequences = new Set(erasing.map(({ sequence }) => sequence));
    audit.details.records = erasing.length;
    audit.details.entries = log.filter(({ erased }) => sequences.has(erased)).length;
  }
  return log;
}

function emptied(entry: Parsed, erased: number): Parsed {
  const audit = { ...entry.audit, details: null, ip: null, reason: null, requestId: null };
  return { ...entry, audit, state: null, salts: { details: null, state: null }, erased };
}

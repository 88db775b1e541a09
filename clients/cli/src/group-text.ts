/** Approvers of one group, as policies and decisions name them. */
interface Group {
  readonly subjects: readonly string[];
  readonly approvals: number;
  readonly signed?: boolean;
  readonly escalate?: { readonly after: string; readonly subjects: readonly string[]; readonly at?: string };
}

/** Returns a group as text, for example "1 of role:security, signed". */
export function groupText({ subjects, approvals, signed, escalate }: Group): string {
  const isEscalated = escalate?.at !== undefined;
  const all = isEscalated ? [...subjects, ...escalate.subjects] : subjects;
  const later =
    escalate === undefined || isEscalated ? '' : `, after ${escalate.after} also ${escalate.subjects.join(', ')}`;
  return `${approvals} of ${all.join(', ')}${signed === true ? ', signed' : ''}${later}`;
}

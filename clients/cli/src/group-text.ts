/** Approvers of one group, as policies and decisions name them. */
interface Group {
  readonly subjects: readonly string[];
  readonly approvals: number;
  readonly signed?: boolean;
}

/** Such as "1 of role:security, signed". */
export function groupText({ subjects, approvals, signed }: Group): string {
  return `${approvals} of ${subjects.join(', ')}${signed === true ? ', signed' : ''}`;
}

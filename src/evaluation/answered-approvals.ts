import { invalidField } from '../errors/domain-error';
import type { ApprovalRequirement } from '../policies/approval/approval-requirement';

/** As much as a page of a list takes. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Of a subject as JSON, besides its text. */
const AROUND_SUBJECT = 3;

/**
 * Limits how much the answers to one request say about approvals: each repeats all approvers that the policies name, which a
 * short question can multiply beyond the memory.
 */
export class AnsweredApprovals {
  private characters = 0;

  /** @param field of the request, for the fault. */
  constructor(private readonly field: string) {}

  /** @throws VALIDATION_ERROR */
  add(requirement: Pick<ApprovalRequirement, 'approvers'> | null | undefined): void {
    for (const { subjects } of requirement?.approvers ?? [])
      for (const subject of subjects) this.characters += subject.length + AROUND_SUBJECT;
    if (this.characters <= MOST_CHARACTERS) return;
    const message = `must be fewer: the approvers in their answers would take more than ${MOST_CHARACTERS} characters`;
    throw invalidField(this.field, message);
  }
}

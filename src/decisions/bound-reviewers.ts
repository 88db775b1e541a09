import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../config/configuration';
import { reviewerNotBound } from '../errors/caller-refusal';
import type { DomainError } from '../errors/domain-error';
import type { AdmissionRule } from '../http/request/route-marks';
import { type Caller, SYSTEM_CALLER } from '../ledger/caller';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Decision } from './decision.entity';
import { DECISION } from './decision.kind';

/** Whether a review needs a key or token of the reviewer's own: one that could name any agent says nothing of who reviewed. */
@Injectable()
export class BoundReviewers implements AdmissionRule {
  private readonly areRequired: boolean;

  constructor(
    { requireBoundReviewers }: Configuration,
    private readonly reader: RecordReader,
  ) {
    this.areRequired = requireBoundReviewers;
  }

  async refusalOf(caller: Caller, { params }: Request<{ id: string }>): Promise<DomainError | null> {
    if (caller.agentId !== null) return null;
    if (this.areRequired) return reviewerNotBound();
    if (isOperator(caller)) return null;
    // For the order of checks alone: the review asks again, under the ledger's lock.
    const decision = await this.reader.find(DECISION, params.id, SYSTEM_CALLER);
    return decision === undefined ? null : unboundRefusal(caller, decision);
  }
}

/** What an agent asks to do is decided by who holds a key of their own; the operator's key is excepted. */
export function unboundRefusal(caller: Caller, { executionId }: Decision): DomainError | null {
  return executionId !== null && caller.agentId === null && !isOperator(caller) ? reviewerNotBound() : null;
}

function isOperator({ actor }: Caller): boolean {
  return actor.type === 'api_key' && actor.id === 'env';
}

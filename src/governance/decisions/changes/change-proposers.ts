import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { type DomainError, scopeMissing } from '../../../core/errors/domain-error';
import type { AdmissionRule } from '../../../http/request/routes';
import { type Caller, type Scope, SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { DECISION } from '../decision.entity';
import { isAboutChange, isProposerOf } from './change';

/** Scopes for reading decisions, and scopes for cancelling any decision. */
const FOR_READING: readonly Scope[] = ['read', 'propose', 'review'];
const FOR_CANCELLING: readonly Scope[] = ['propose'];

/** Lets the proposer of a change follow and cancel it with any scope. Other decisions need the usual scopes. */
@Injectable()
export class ChangeProposers implements AdmissionRule {
  constructor(private readonly records: RecordReader) {}

  async refusalOf(caller: Caller, { method, params }: Request<{ id?: string }>): Promise<DomainError | null> {
    const usual = method === 'POST' ? FOR_CANCELLING : FOR_READING;
    if (usual.some((scope) => caller.effectiveScopes.has(scope))) return null;
    const decision = await this.records.find(DECISION, params.id ?? '', SYSTEM_CALLER);
    const isOwn = decision !== undefined && isAboutChange(decision) && isProposerOf(decision, caller);
    return isOwn ? null : scopeMissing(usual);
  }
}

import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { type DomainError, scopeMissing } from '../../../core/errors/domain-error';
import type { AdmissionRule } from '../../../http/request/routes';
import { type Caller, type Scope, SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { DECISION } from '../decision.entity';
import { isAboutChange, isProposerOf } from './change';

/** The scopes with which callers may read decisions, and those with which they may cancel any. */
const FOR_READING: readonly Scope[] = ['read', 'propose', 'review'];
const FOR_CANCELLING: readonly Scope[] = ['propose'];

/** Whoever proposed a change may follow and cancel it, with whichever scope; for any other decision the usual ones are needed. */
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

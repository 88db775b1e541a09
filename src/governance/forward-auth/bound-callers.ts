import { Injectable } from '@nestjs/common';
import { callerNotBound, type DomainError } from '../../core/errors/domain-error';
import type { AdmissionRule } from '../../http/request/routes';
import type { Caller } from '../../ledger/caller';

/** Nothing in the request says which agent acts, so the key or token has to. */
@Injectable()
export class BoundCallers implements AdmissionRule {
  refusalOf({ agentId }: Pick<Caller, 'agentId'>): DomainError | null {
    return agentId === null ? callerNotBound() : null;
  }
}

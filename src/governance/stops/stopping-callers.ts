import { Injectable } from '@nestjs/common';
import { type DomainError, scopeMissing } from '../../core/errors/domain-error';
import type { AdmissionRule } from '../../http/request/routes';
import { type Caller, SYSTEM_CALLER } from '../../ledger/caller';
import { RecordReader } from '../../ledger/reading/record-reader';
import { AGENT } from '../agents/agent.entity';

/** People may stop agents, and so may an admin; a machine must not stop others. An agent's kind never changes. */
@Injectable()
export class StoppingCallers implements AdmissionRule {
  constructor(private readonly records: RecordReader) {}

  async refusalOf({ grants, agentId }: Caller): Promise<DomainError | null> {
    if (grants.has('admin')) return null;
    const agent = agentId === null ? undefined : await this.records.find(AGENT, agentId, SYSTEM_CALLER);
    return agent?.kind === 'human' ? null : scopeMissing(['admin']);
  }
}

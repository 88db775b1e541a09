import { Injectable } from '@nestjs/common';
import { referencedAgent, suspension } from '../agents/agent-reference';
import { AGENT } from '../agents/agent.kind';
import { Configuration } from '../config/configuration';
import { invalidField, notFound } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import { Refusal } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { byId } from '../ledger/lookup';
import type { Page, PageRequest } from '../ledger/record-page';
import { RecordReader } from '../ledger/record-reader';
import { deniedProposalNote, proposedNote } from './decision-notes';
import type { Decision } from './decision.entity';
import { DECISION } from './decision.kind';
import { expiryRule } from './dto/expiry-field';
import type { ProposeDecisionRequest } from './dto/propose-decision.request';

@Injectable()
export class DecisionsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly configuration: Configuration,
  ) {}

  list(request: PageRequest): Promise<Page<Decision>> {
    return this.reader.page(DECISION, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<Decision> {
    const decision = await this.reader.find(DECISION, id);
    if (decision === undefined) throw notFound('decision');
    return decision;
  }

  /** @throws VALIDATION_ERROR for an unknown proposer; PERMISSION_DENIED for a suspended one, with the refusal recorded. */
  propose(caller: Caller, request: ProposeDecisionRequest): Promise<Decision> {
    return this.ledger.expecting(byId(AGENT, request.proposedBy)).write(caller, async (transaction) => {
      refusePastExpiry(request.expiresAt, this.ledger.clockTime);
      const proposer = await referencedAgent(transaction, 'proposedBy', request.proposedBy);
      const refused = suspension(proposer);
      if (refused !== null) {
        transaction.record(AGENT, proposer, deniedProposalNote(proposer.id, request.riskLevel));
        return new Refusal(refused);
      }
      const decision = this.proposed(transaction.newId(DECISION), request, transaction.now);
      return transaction.insert(DECISION, decision, proposedNote(decision));
    });
  }

  private proposed(id: string, request: ProposeDecisionRequest, now: string): Omit<Decision, 'createdSequence'> {
    const { type, title, description = '', context = {}, proposedBy, riskLevel, expiresAt = null } = request;
    return {
      id,
      type,
      title,
      description,
      context,
      proposedBy,
      riskLevel,
      status: 'proposed',
      requiredApprovals: this.configuration.requiredApprovals[riskLevel],
      reviews: [],
      expiresAt,
      createdAt: now,
      updatedAt: now,
      resolvedAt: null,
    };
  }
}

/** Compared with what the clock shows, as the client does: the ledger's time may be ahead of that. */
function refusePastExpiry(expiresAt: string | undefined, now: Date): void {
  if (expiresAt !== undefined && expiresAt <= now.toISOString()) throw invalidField('expiresAt', expiryRule(now));
}

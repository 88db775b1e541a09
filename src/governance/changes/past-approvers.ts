import { Injectable } from '@nestjs/common';
import { subtractDuration } from '../../core/values/duration';
import { RecordHistory } from '../../ledger/record-history';
import { type Agent, AGENT } from '../agents/agent.entity';
import type { Decision } from '../decisions/decision.entity';
import { isChangeApprover } from './change-approvers';
import { FourEyes } from './four-eyes';

/**
 * Period before an emergency, as an ISO 8601 duration: people who could approve changes in it hear of the emergency.
 */
const WITHIN = 'P30D';
/** Most states of a person that are examined. */
const MAX_STATES = 200;

/**
 * Finds people who could have approved an emergency change. Past states count, because the change itself may have taken
 * their roles.
 */
@Injectable()
export class PastApprovers {
  constructor(
    private readonly history: RecordHistory,
    private readonly fourEyes: FourEyes,
  ) {}

  /**
   * True if the person could have approved the change shortly before it was made, even if suspended then or now without
   * the role. False for the person who made the change.
   */
  async couldHaveApproved(
    { id }: Pick<Agent, 'id'>,
    { createdSequence, createdAt, proposedBy }: Pick<Decision, 'createdSequence' | 'createdAt' | 'proposedBy'>,
  ): Promise<boolean> {
    if (id === proposedBy) return false;
    const from = subtractDuration(WITHIN, createdAt);
    let sequence = createdSequence;
    for (let count = 0; count < MAX_STATES; count += 1) {
      const state = await this.history.stateAt(AGENT, id, sequence);
      if (state === undefined) return false;
      if (isChangeApprover(state.record, this.fourEyes.groups)) return true;
      // The state was already in force at the beginning of the period.
      if (state.record.updatedAt <= from) return false;
      sequence = state.since - 1;
    }
    return false;
  }
}

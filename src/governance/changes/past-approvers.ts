import { Injectable } from '@nestjs/common';
import { subtractDuration } from '../../core/values/duration';
import { RecordHistory } from '../../ledger/record-history';
import { type Agent, AGENT } from '../agents/agent.entity';
import type { Decision } from '../decisions/decision.entity';
import { isChangeApprover } from './change-approvers';
import { FourEyes } from './four-eyes';

/** Time before an emergency in which a person could have approved the change, so that they hear of it. */
const WITHIN = 'P30D';
/** Most states of a person that are examined. */
const MAX_STATES = 200;

/** Finds people who could have approved an emergency change, because the change may have taken their role. */
@Injectable()
export class PastApprovers {
  constructor(
    private readonly history: RecordHistory,
    private readonly fourEyes: FourEyes,
  ) {}

  /**
   * True if the person could have approved. Suspended people count, and people who have lost the role since. Nobody
   * could have approved their own change.
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
      // The state already held at the beginning of the time.
      if (state.record.updatedAt <= from) return false;
      sequence = state.since - 1;
    }
    return false;
  }
}
